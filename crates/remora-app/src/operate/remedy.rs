//! The remedy for a store error, as a command. Every door that talks to a person shows the same one.

use std::path::Path;

use remora_store::{DataDir, DataError, SchemaAge, StoreError, backup};

/// The next command after this error.
pub fn of(error: &StoreError) -> String {
    match error {
        StoreError::Data(DataError::Unusable { .. }) => {
            "give a directory you can write to: `REMORA_DATA_DIR=/path/to/dir remora status`".to_owned()
        }
        StoreError::Data(DataError::ForeignDirectory { .. }) => {
            "give a directory of your own: `REMORA_DATA_DIR=/path/to/dir remora status`".to_owned()
        }
        StoreError::Data(DataError::OpenDirectory { path }) => {
            format!(
                "check that the files in it are yours, then make it private: `chmod 700 {}`",
                path.display()
            )
        }
        StoreError::Data(DataError::NetworkFileSystem { .. }) => {
            "give a directory on a local disk: `REMORA_DATA_DIR=/local/dir remora status`".to_owned()
        }
        StoreError::Busy => "see who holds it and try again: `remora doctor`".to_owned(),
        StoreError::Damaged { path, .. } => damaged(path),
        StoreError::NoDatabase { .. } => {
            "nothing was captured yet; the first hook makes one: `remora status`".to_owned()
        }
        StoreError::TooOld { path, .. } => too_old(path),
        StoreError::HoldsForgotten { .. } => "the next command forgets it again: `remora status`".to_owned(),
        StoreError::Data(DataError::DiskFull) => {
            "free some space; hooks then continue by themselves".to_owned()
        }
        StoreError::ReadOnly { path } => format!(
            "free some space, or see how it is mounted: `df {0}; findmnt -T {0}`; search works meanwhile",
            path.parent().unwrap_or(path).display()
        ),
        StoreError::Schema { age: SchemaAge::Newer, .. } => {
            "a newer Remora made this database; this one can read it: update `remora` to write".to_owned()
        }
        _ => "look for what is wrong: `remora doctor`".to_owned(),
    }
}

/// The next commands for a database, or a backup, that only an earlier program reads.
fn too_old(path: &Path) -> String {
    const EXPORT: &str = "`remora export --out memory.jsonl`";
    let dir = path.parent().map(DataDir::new).filter(|dir| dir.database() == path);
    let Some(dir) = dir else {
        return format!(
            "restore and export it with the Remora that wrote it: `remora restore {}`, {EXPORT}; \
             then import it with this one: `remora import memory.jsonl`",
            path.display()
        );
    };
    // With backups beside it, a missing database counts as lost.
    let backups = if dir.backups().exists() {
        format!("mv {0} {0}.old; ", dir.backups().display())
    } else {
        String::new()
    };
    format!(
        "export it with the Remora that wrote it: {EXPORT}; then move it away: `{backups}mv {0} {0}.old`; \
         and import it with this one: `remora import memory.jsonl`",
        path.display()
    )
}

/// The next command for a damaged database: restore a backup if there is one.
pub fn damaged(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return "see what is wrong with it, and how to restore: `remora verify`".to_owned();
    }
    let waits = "events captured meanwhile wait in the spool";
    let dir = path.parent().map(DataDir::new);
    match dir.filter(|dir| backup::list(dir).is_ok_and(|backups| !backups.is_empty())) {
        Some(dir) => {
            let backups = format!("mv {0} {0}.old", dir.backups().display());
            let afresh = if path.exists() {
                format!("{backups}; mv {0} {0}.damaged", path.display())
            } else {
                backups
            };
            format!(
                "{waits}; restore the newest backup: `remora restore`; or start with an empty memory: `{afresh}`"
            )
        }
        None => format!(
            "{waits}; there is no backup, so move the file away and start with a new one: `mv {0} {0}.damaged`",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use remora_core::time::Time;
    use remora_store::Store;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "no code of ours makes an old database")]
    fn a_database_that_is_too_old_comes_with_a_command_that_helps() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        drop(Store::open(&dir).unwrap());
        backup::make(&dir, Time(0)).unwrap();
        let database = rusqlite::Connection::open(dir.database()).unwrap();
        database.pragma_update(None, "user_version", 13).unwrap();
        database.close().unwrap();

        let error = Store::open(&dir).unwrap_err();
        let path = dir.database().display().to_string();
        let message =
            format!("the database {path} has schema 13, which this program cannot bring up to date");
        assert_eq!(error.to_string(), message);
        let hint = of(&error);
        let backups = dir.backups().display().to_string();
        let command = format!("mv {backups} {backups}.old; mv {path} {path}.old");
        assert_eq!(
            hint,
            format!(
                "export it with the Remora that wrote it: `remora export --out memory.jsonl`; then move it away: \
                 `{command}`; and import it with this one: `remora import memory.jsonl`"
            )
        );
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
        Store::open(&dir).unwrap();
    }

    #[test]
    fn a_backup_that_is_too_old_is_restored_by_the_program_that_made_it() {
        let error = StoreError::TooOld { path: "/home/me/.remora/backups/mine.db".into(), found: 13 };
        assert_eq!(
            of(&error),
            "restore and export it with the Remora that wrote it: `remora restore /home/me/.remora/backups/mine.db`, \
             `remora export --out memory.jsonl`; then import it with this one: `remora import memory.jsonl`"
        );
    }
}
