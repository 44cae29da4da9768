//! Asks git which files have changed in recently used projects, so that a session can start with the memory
//! about them. News wakes it; it never polls, and no hook waits for it.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remora_core::ids::ProjectId;
use remora_core::time::Time;
use remora_store::StoreError;
use remora_store::files::WorkedIn;
use tokio::process::Command;
use tokio::sync::watch;

use crate::shared::Shared;

/// News within this time causes one check.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Minimum pause between two `git status` runs: 10 s, or 20 times the duration of the last run if that is longer.
const PAUSE: Duration = Duration::from_secs(10);
const PAUSE_TIMES: u32 = 20;
/// Timeout of `git status`. Slower repositories are skipped.
const GIT_TIMEOUT: Duration = Duration::from_secs(5);
/// A new daemon checks the projects with events within this time.
const RECENT_WINDOW: Duration = Duration::from_hours(24);
const MAX_FILES: usize = 50;

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut news = shared.news.subscribe();
    let mut seen: HashMap<ProjectId, Time> = HashMap::new();
    loop {
        news.borrow_and_update();
        let started = Instant::now();
        if let Err(error) = look(&shared, &mut seen).await {
            tracing::error!("what git calls changed is not known: {error}");
        }
        let pause = PAUSE.max(started.elapsed() * PAUSE_TIMES);
        let next = async {
            tokio::time::sleep(pause).await;
            // Fails only when the daemon is ending.
            let _ = news.changed().await;
            tokio::time::sleep(DEBOUNCE).await;
        };
        tokio::select! {
            () = next => {}
            _ = stop.changed() => return,
        }
    }
}

async fn look(shared: &Shared, seen: &mut HashMap<ProjectId, Time>) -> Result<(), StoreError> {
    let since = shared.dir.now().before(RECENT_WINDOW);
    for WorkedIn { project, root, last_activity_at } in
        shared.reader.call(move |store| store.files().worked_in_since(since)).await?
    {
        if seen.insert(project, last_activity_at) == Some(last_activity_at) {
            continue;
        }
        let began = Instant::now();
        let Some(files) = changed_in(Path::new(&root)).await else { continue };
        let took = began.elapsed().as_millis();
        tracing::debug!("git: {} changed files in project {project} in {took} ms", files.len());
        shared.writer.call(move |store| store.files().set_uncommitted(project, &files)).await?;
    }
    Ok(())
}

/// `None` if git is missing, fails or takes too long, or if `root` is not the root of a repository.
async fn changed_in(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    // Read-only: takes no lock that another git would wait for, and runs no program named in the repository's
    // configuration.
    git.args(["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "-z"])
        .args(["--untracked-files=normal", "--ignore-submodules=all"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        git.env_remove(name);
    }
    let output = tokio::time::timeout(GIT_TIMEOUT, git.output()).await.ok()?.ok()?;
    output.status.success().then(|| paths(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses entries of the form `XY PATH`, each ended by a zero byte. After a renamed file follows its old
/// name.
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
    paths.truncate(MAX_FILES);
    paths
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn states_and_paths_of_git_are_parsed() {
        let status = " M src/a b.rs\0?? new/\0R  src/new.rs\0src/old.rs\0A  日本.md\0";
        assert_eq!(paths(status), ["src/a b.rs", "new/", "src/new.rs", "日本.md"]);
        assert_eq!(paths(""), [""; 0]);
        assert_eq!(paths("x\0"), [""; 0]);
    }
}
