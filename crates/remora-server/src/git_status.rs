//! Asks git which files are changed in the projects somebody works in, so that a session can begin with what is known
//! of them: woken by news, never polling, and never at the cost of a hook.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::changed_files::WorkedIn;
use remora_store::{StoreError, problems};
use tokio::process::Command;
use tokio::sync::watch;

use crate::shared::Shared;

/// News within this time cause one look.
const MOMENT: Duration = Duration::from_secs(1);
/// Minimum pause between two `git status` runs: 10 s, or 20 times the duration of the last run if that is longer.
const PAUSE: Duration = Duration::from_secs(10);
const PAUSE_TIMES: u32 = 20;
/// A repository in which git takes longer is left alone.
const PATIENCE: Duration = Duration::from_secs(5);
/// A new daemon asks about what was worked in lately.
const LATELY: Duration = Duration::from_hours(24);
const MOST_FILES: usize = 50;

pub(crate) async fn keep(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut seen: HashMap<ProjectId, Time> = HashMap::new();
    loop {
        news.borrow_and_update();
        let started = Instant::now();
        if let Err(error) = look(&shared, &mut seen).await {
            problems::report(
                Some(&shared.dir),
                &format!("daemon: what git calls changed is not known: {error}"),
            );
        }
        let pause = PAUSE.max(started.elapsed() * PAUSE_TIMES);
        let next = async {
            tokio::time::sleep(pause).await;
            // It fails when the daemon is ending.
            let _ = news.changed().await;
            tokio::time::sleep(MOMENT).await;
        };
        tokio::select! {
            () = next => {}
            _ = stop.changed() => return,
        }
    }
}

async fn look(shared: &Shared, seen: &mut HashMap<ProjectId, Time>) -> Result<(), StoreError> {
    let since = Time(Time::now().0.saturating_sub(i64::try_from(LATELY.as_millis()).unwrap_or(i64::MAX)));
    for WorkedIn { project, root, last_activity_at } in
        shared.reader.call(move |store| store.worked_in_since(since)).await?
    {
        if seen.insert(project, last_activity_at) == Some(last_activity_at) {
            continue;
        }
        let Some(files) = changed_in(Path::new(&root)).await else { continue };
        shared.writer.call(move |store| store.set_changed_files(project, &files)).await?;
    }
    Ok(())
}

/// `None` where git is not there, is not asked about a repository of its own, or takes too long.
async fn changed_in(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    // Read-only: no lock that another git would wait for, no program that the repository's settings name.
    git.args(["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "-z"])
        .args(["--untracked-files=normal", "--ignore-submodules=all"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        git.env_remove(name);
    }
    let output = tokio::time::timeout(PATIENCE, git.output()).await.ok()?.ok()?;
    output.status.success().then(|| paths(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads `XY PATH`, each ended by a zero; a file that was renamed is followed by the name it had.
fn paths(status: &str) -> Vec<String> {
    let mut entries = status.split('\0');
    let mut paths = Vec::new();
    while let Some(entry) = entries.next() {
        let Some((state, path)) = entry.split_at_checked(3) else { continue };
        if state.starts_with(['R', 'C']) {
            entries.next();
        }
        paths.push(path.to_owned());
    }
    paths.truncate(MOST_FILES);
    paths
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn git_tells_states_and_paths() {
        let status = " M src/a b.rs\0?? new/\0R  src/new.rs\0src/old.rs\0A  日本.md\0";
        assert_eq!(paths(status), ["src/a b.rs", "new/", "src/new.rs", "日本.md"]);
        assert_eq!(paths(""), [""; 0]);
        assert_eq!(paths("x\0"), [""; 0]);
    }
}
