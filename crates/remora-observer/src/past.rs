//! Transcripts of past sessions: where hosts keep them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remora_core::host::Host;
use remora_sys::file::is_absent;

/// Folders below the home directory in which hosts keep transcripts, and how many levels of folders are in them.
const FOLDERS: [(Host, &str, u8); 2] =
    [(Host::ClaudeCode, ".claude/projects", 1), (Host::Codex, ".codex/sessions", 3)];

/// The transcript of a session, not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTranscript {
    pub host: Host,
    pub path: PathBuf,
    pub bytes: u64,
}

/// The transcripts below a home directory, sorted by path. Only names are read, so it is cheap.
pub fn find(home: &Path) -> io::Result<Vec<PastTranscript>> {
    let mut found = Vec::new();
    for (host, folder, depth) in FOLDERS {
        walk(host, &home.join(folder), depth, &mut found)?;
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The transcripts at a path that the user names: a file, or a folder of any depth. The names tell the hosts apart.
pub fn find_at(path: &Path) -> io::Result<Vec<PastTranscript>> {
    const DEEPEST: u8 = 8;
    let mut found = Vec::new();
    if fs::metadata(path)?.is_file() {
        found.extend(transcript(host_of(path), path)?);
        return Ok(found);
    }
    walk_any(path, DEEPEST, &mut found)?;
    found.sort_by(|one: &PastTranscript, other| one.path.cmp(&other.path));
    Ok(found)
}

fn host_of(path: &Path) -> Host {
    let is_rollout = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"));
    if is_rollout { Host::Codex } else { Host::ClaudeCode }
}

fn walk(host: Host, folder: &Path, depth: u8, found: &mut Vec<PastTranscript>) -> io::Result<()> {
    for (path, is_folder) in entries(folder)? {
        if is_folder && depth > 0 {
            walk(host, &path, depth - 1, found)?;
        } else if !is_folder && host_of(&path) == host {
            found.extend(transcript(host, &path)?);
        }
    }
    Ok(())
}

fn walk_any(folder: &Path, depth: u8, found: &mut Vec<PastTranscript>) -> io::Result<()> {
    for (path, is_folder) in entries(folder)? {
        if !is_folder {
            found.extend(transcript(host_of(&path), &path)?);
        } else if depth > 0 {
            walk_any(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// What is in a folder, without links, which may lead in circles.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let entries = match fs::read_dir(folder) {
        // A host that was never used has none, and folders come and go.
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        other => other?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || kind.is_file() {
            all.push((entry.path(), kind.is_dir()));
        }
    }
    Ok(all)
}

/// `None` if the name is not that of a session. Subagents have files of their own, called `agent-…`.
fn transcript(host: Host, path: &Path) -> io::Result<Option<PastTranscript>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.ends_with(".jsonl") || name.starts_with("agent-") {
        return Ok(None);
    }
    let bytes = match fs::metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        other => other?.len(),
    };
    Ok((bytes > 0).then(|| PastTranscript { host, path: path.to_owned(), bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_and_subagents_are_not() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(find(home.path()).unwrap(), []);
        write(".claude/projects/-home-dev-shop/3a36.jsonl", "{}\n");
        write(".claude/projects/-home-dev-shop/agent-77.jsonl", "{}\n");
        write(".claude/projects/-home-dev-shop/3a36/subagents/agent-78.jsonl", "{}\n");
        write(".claude/projects/-home-dev-shop/empty.jsonl", "");
        write(".claude/projects/-home-dev-shop/notes.md", "x");
        write(".codex/sessions/2026/03/10/rollout-2026-03-10T09-12-00-5d1e.jsonl", "{}\n");
        let found: Vec<(Host, String)> = find(home.path())
            .unwrap()
            .into_iter()
            .map(|found| (found.host, found.path.file_name().unwrap().to_string_lossy().into_owned()))
            .collect();
        let expected = [
            (Host::ClaudeCode, "3a36.jsonl".to_owned()),
            (Host::Codex, "rollout-2026-03-10T09-12-00-5d1e.jsonl".to_owned()),
        ];
        assert_eq!(found, expected);
        assert_eq!(find_at(home.path()).unwrap().len(), 2);
    }
}
