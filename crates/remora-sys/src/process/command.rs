//! The command that starts this program from a shell.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The command that starts this program from a shell with this process's environment: `name` if the PATH has a
/// program with that name, otherwise its path.
pub fn command(name: &str) -> String {
    let on_path = env::var_os("PATH").is_some_and(|path| find_program(&path, name).is_some());
    match env::current_exe() {
        Ok(program) if !on_path => quoted(&program.to_string_lossy()),
        _ => name.to_owned(),
    }
}

/// The first program with this name in the directories of `path`, a value of `PATH`. Relative directories do not count,
/// because a shell may run elsewhere.
pub fn find_program(path: impl AsRef<OsStr>, name: &str) -> Option<PathBuf> {
    env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_program(file))
}

/// Whether this is a file that the user may execute.
pub fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// The absolute path for later calls of this program. A link on the PATH is preferred to its target, because an
/// update may rename the target.
pub fn path_of_this(name: &str) -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let is_this =
        |file: &PathBuf| file.is_absolute() && file.canonicalize().is_ok_and(|real| real == program);
    let linked = env::split_paths(&path).map(|directory| directory.join(name)).find(is_this);
    Ok(linked.unwrap_or(program))
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_an_executable_file_in_an_absolute_directory_is_a_program() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("remora");
        let path = env::join_paths([Path::new("/nonexistent"), directory.path()]).unwrap();
        assert_eq!(find_program(&path, "remora"), None);
        fs::create_dir(&file).unwrap();
        assert_eq!(find_program(&path, "remora"), None, "a directory");
        fs::remove_dir(&file).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(find_program(&path, "remora"), None, "not executable");
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_program(&path, "remora"), Some(file));
        assert_eq!(find_program("", "remora"), None);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/usr/local/bin/remora-1.2"), "/usr/local/bin/remora-1.2");
        let strange = "/home/o'neil/my tools/$x/remora";
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", quoted(strange))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), strange);
    }
}
