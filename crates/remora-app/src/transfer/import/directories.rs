//! Finds the directories of claude-mem's projects. It stores only the name of a directory, and two directories may
//! share one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use remora_core::portable::Line;
use remora_observer::past;
use remora_store::claude_mem::{Source, Table};
use remora_store::locate;

use crate::AppError;

/// Known directories, from tool calls, transcripts and the files of observations.
#[derive(Debug, Default)]
pub(super) struct Directories {
    by_session: HashMap<(String, String), BTreeSet<PathBuf>>,
    by_name: BTreeMap<String, BTreeSet<PathBuf>>,
}

impl Directories {
    pub(super) fn of(source: &Source, home: Option<&Path>) -> Result<Self, AppError> {
        let mut known = Self::default();
        for (session, project, directory) in source.directories()? {
            known.note(&session, &project, &directory);
        }
        // Transcripts of an uninstalled host may be gone, and unreadable ones are skipped.
        let transcripts = home.and_then(|home| past::find(home).ok()).unwrap_or_default();
        let transcripts: HashMap<String, &past::PastTranscript> = transcripts
            .iter()
            .filter_map(|transcript| Some((transcript.session()?.id, transcript)))
            .collect();
        let sessions = source.sessions()?;
        for table in Table::ALL {
            let mut after = i64::MIN;
            loop {
                let chunk = source.chunk(table, after, &sessions)?;
                let Some(last) = chunk.rows.last() else { break };
                after = last.id;
                for line in chunk.rows.iter().filter_map(|row| row.line.as_ref().ok()) {
                    known.note_line(line, &transcripts);
                }
            }
        }
        Ok(known)
    }

    fn note_line(&mut self, line: &Line, transcripts: &HashMap<String, &past::PastTranscript>) {
        match line {
            Line::Session(line) => {
                let transcript = transcripts.get(&line.id);
                let directory = transcript.and_then(|transcript| transcript.directory().ok().flatten());
                if let (Some(project), Some(directory)) = (&line.project, directory) {
                    self.note(&line.id, project, &directory);
                }
            }
            Line::Observation(line) => {
                let (Some(session), Some(project)) = (&line.session, &line.project) else { return };
                for file in line.files_read.iter().chain(&line.files_modified) {
                    self.note(session, project, Path::new(file));
                }
            }
            _ => {}
        }
    }

    /// Records the directory of a project: the closest ancestor of `path` with the project's name. Other paths are
    /// ignored.
    fn note(&mut self, session: &str, project: &str, path: &Path) {
        let name = project.rsplit('/').next().unwrap_or(project);
        let is_it = |ancestor: &&Path| ancestor.file_name().is_some_and(|own| own == name);
        let Some(directory) = path.is_absolute().then(|| path.ancestors().find(is_it)).flatten() else {
            return;
        };
        let session = (session.to_owned(), project.to_owned());
        self.by_session.entry(session).or_default().insert(directory.to_owned());
        self.by_name.entry(project.to_owned()).or_default().insert(directory.to_owned());
    }

    /// The directory of a project, if there is exactly one candidate in this session or else in all sessions.
    pub(super) fn find(&self, session: &str, project: &str) -> Option<&Path> {
        let own = self.by_session.get(&(session.to_owned(), project.to_owned()));
        own.and_then(only).or_else(|| self.by_name.get(project).and_then(only))
    }
}

/// Returns the only directory. Worktrees and links of one project count as one.
fn only(directories: &BTreeSet<PathBuf>) -> Option<&Path> {
    let mut places = directories.iter().map(|directory| locate(directory).path);
    let first = places.next()?;
    places.all(|place| place == first).then(|| directories.first().map(PathBuf::as_path)).flatten()
}
