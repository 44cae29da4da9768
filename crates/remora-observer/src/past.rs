//! Transcripts of past sessions: where hosts keep them, and the events in them.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_hosts::transcript::{Past, Replay};
use remora_sys::file::is_absent;

/// Longer lines are skipped. The longest are images returned by tools.
const MAX_LINE_LEN: u64 = 64 << 20;
/// The directory of a session is in one of this many first lines.
const HEAD_LINES: usize = 50;

/// Folders below the home directory in which hosts keep transcripts, and the depth of their subfolders.
const FOLDERS: [(Host, &str, u8); 2] =
    [(Host::ClaudeCode, ".claude/projects", 1), (Host::Codex, ".codex/sessions", 3)];

/// The transcript of a session, not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTranscript {
    pub host: Host,
    pub path: PathBuf,
    pub bytes: u64,
}

/// A session of the past.
#[derive(Debug)]
pub struct PastSession {
    pub session: SessionRef,
    /// In order, each with its time.
    pub events: Vec<Past>,
    /// Whether it belongs to a subagent; its report is in the session that started it.
    pub of_subagent: bool,
    /// The last working directory.
    pub directory: Option<PathBuf>,
    /// Lines that were skipped: too long, or invalid JSON because the file was cut or written by two programs.
    pub damaged: usize,
}

impl PastTranscript {
    /// The id of the session, as far as the file name shows it.
    fn id(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The session, if its file is named after it.
    pub fn session(&self) -> Option<SessionRef> {
        (self.host == Host::ClaudeCode).then(|| SessionRef { host: self.host, id: self.id() })
    }

    /// Reads the whole transcript. Private parts are removed.
    pub fn read(&self) -> io::Result<PastSession> {
        let mut events = Vec::new();
        let (replay, damaged) = self.replay(usize::MAX, &mut events)?;
        let session = replay.session().clone();
        let of_subagent = replay.is_of_subagent();
        let directory = directory(&replay);
        replay.finish(&mut events);
        Ok(PastSession { session, events, of_subagent, directory, damaged })
    }

    /// The first working directory of the session.
    pub fn directory(&self) -> io::Result<Option<PathBuf>> {
        let (replay, _) = self.replay(HEAD_LINES, &mut Vec::new())?;
        Ok(directory(&replay))
    }

    /// Reads at most `most` lines. With a limit, it stops as soon as the directory is known.
    fn replay(&self, most: usize, events: &mut Vec<Past>) -> io::Result<(Replay, usize)> {
        let path = std::path::absolute(&self.path)?;
        let mut replay = Replay::new(self.host, &self.id(), &path.to_string_lossy());
        let mut reader = BufReader::new(File::open(&self.path)?);
        let (mut line, mut damaged) = (Vec::new(), 0);
        for _ in 0..most {
            line.clear();
            if reader.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE_LEN {
                reader.skip_until(b'\n')?;
                damaged += 1;
                continue;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let mut intake = Intake::default();
            match intake.push(&line).and_then(|_| intake.finish()) {
                Ok(document) => replay.push(&document, events),
                Err(_) => damaged += 1,
            }
            if most < usize::MAX && !replay.cwd().is_empty() {
                break;
            }
        }
        Ok((replay, damaged))
    }
}

fn directory(replay: &Replay) -> Option<PathBuf> {
    Some(replay.cwd()).filter(|cwd| !cwd.is_empty()).map(PathBuf::from)
}

/// The transcripts below a home directory, sorted by path. Cheap, because only file names and sizes are read.
pub fn find(home: &Path) -> io::Result<Vec<PastTranscript>> {
    let mut found = Vec::new();
    for (host, folder, depth) in FOLDERS {
        walk(host, &home.join(folder), depth, &mut found)?;
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The transcripts at a path given by the user: a file, or a folder of any depth. File names tell the hosts apart.
pub fn find_at(path: &Path) -> io::Result<Vec<PastTranscript>> {
    const MAX_DEPTH: u8 = 8;
    let mut found = Vec::new();
    if fs::metadata(path)?.is_file() {
        found.extend(transcript(host_of(path), path)?);
        return Ok(found);
    }
    walk_any(path, MAX_DEPTH, &mut found)?;
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

/// The entries of a folder, without links, which may be circular.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let entries = match fs::read_dir(folder) {
        // A host that was never used has no folder, and folders come and go.
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

/// `None` if it is not named like a session. Subagents have their own files, called `agent-…`.
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
