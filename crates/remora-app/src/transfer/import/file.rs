//! Imports lines of JSON written by `remora export` or by another program. `docs/import.md` describes the format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use remora_core::portable::Line;
use remora_store::Store;

use super::pipeline::{Decides, Pipeline};
use super::{ImportError, ImportReport, Imported, Progress, Request};

/// Longer lines are skipped: all fields of a record are cut to a fraction of this.
const MAX_LINE_LEN: u64 = 16 << 20;
/// Lines between two progress reports.
const STEP: u64 = 100;
/// Name of unreadable lines in the report.
const UNREADABLE: &str = "lines";
/// If this many lines at the beginning are unreadable, it is another kind of file, such as the Markdown export.
const FIRST_LINES: u64 = 20;

/// Imports a file of lines; `-` is standard input.
pub fn import(
    request: &Request<'_>,
    path: &Path,
    mut progress: impl FnMut(Progress),
) -> Result<Imported, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let (reader, total): (Box<dyn BufRead>, u64) = if path == Path::new("-") {
        (Box::new(BufReader::new(io::stdin())), 0)
    } else {
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(unreadable(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        (Box::new(BufReader::new(file)), metadata.len())
    };
    request.run(|store| {
        let mut pipeline = Pipeline::new(store, request.rules(Decides::Line));
        read(reader, &mut pipeline, |done| progress(Progress { done, total })).map_err(
            |error| match error {
                Failed::Reading(source) => unreadable(source),
                Failed::Storing(error) => error.into(),
                Failed::NotLines { line, problem } => {
                    ImportError::NotLines { path: path.to_owned(), line, problem }
                }
            },
        )?;
        Ok(pipeline.finish()?)
    })
}

/// Imports lines that are built into the program, into a separate memory that needs no backup.
pub fn carried(request: &Request<'_>, store: &Store, lines: &str) -> Result<ImportReport, ImportError> {
    let mut pipeline = Pipeline::new(store, request.rules(Decides::Line));
    read(lines.as_bytes(), &mut pipeline, |_| {}).map_err(|error| match error {
        Failed::Reading(source) => ImportError::Unreadable { path: PathBuf::new(), source },
        Failed::Storing(error) => error.into(),
        Failed::NotLines { line, problem } => ImportError::NotLines { path: PathBuf::new(), line, problem },
    })?;
    Ok(pipeline.finish()?)
}

enum Failed {
    Reading(io::Error),
    Storing(crate::AppError),
    /// No line could be read. The first problem.
    NotLines {
        line: u64,
        problem: String,
    },
}

fn read(
    mut reader: impl BufRead,
    pipeline: &mut Pipeline<'_>,
    mut progress: impl FnMut(u64),
) -> Result<(), Failed> {
    let (mut bytes, mut done) = (Vec::new(), 0);
    let mut unread = Unread::default();
    for number in 1_u64.. {
        bytes.clear();
        let length =
            reader.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut bytes).map_err(Failed::Reading)?;
        if length == 0 {
            break;
        }
        done += length as u64;
        if length as u64 == MAX_LINE_LEN && !bytes.ends_with(b"\n") {
            done += reader.skip_until(b'\n').map_err(Failed::Reading)? as u64;
            unread.add(pipeline.report(), number, "it is too long")?;
            continue;
        }
        // Nothing is replaced: a text with other characters would look as if it were the original.
        let line = match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let text = text.trim_start_matches('\u{feff}').trim();
                if text.is_empty() {
                    continue;
                }
                Line::parse(text)
            }
            Err(_) => Err("it is not UTF-8".to_owned()),
        };
        match line {
            Ok(line) => {
                unread.is_of_lines = true;
                let kind = plural(&line);
                pipeline.take(kind, &format!("line {number}"), line).map_err(Failed::Storing)?;
            }
            Err(problem) => unread.add(pipeline.report(), number, &problem)?,
        }
        if number % STEP == 0 {
            progress(done);
        }
    }
    progress(done);
    unread.end()
}

/// Lines that could not be read.
#[derive(Default)]
struct Unread {
    /// Whether another line could be.
    is_of_lines: bool,
    count: u64,
    first: Option<(u64, String)>,
}

impl Unread {
    fn add(&mut self, report: &mut ImportReport, number: u64, problem: &str) -> Result<(), Failed> {
        report.damaged(UNREADABLE, format!("line {number}: {problem}"));
        self.count += 1;
        self.first.get_or_insert_with(|| (number, problem.to_owned()));
        if self.count < FIRST_LINES { Ok(()) } else { self.end() }
    }

    /// Fails if the file has no line of the format.
    fn end(&mut self) -> Result<(), Failed> {
        match self.first.take() {
            Some((line, problem)) if !self.is_of_lines => Err(Failed::NotLines { line, problem }),
            first => {
                self.first = first;
                Ok(())
            }
        }
    }
}

fn plural(line: &Line) -> &'static str {
    match line {
        Line::Project(_) => "projects",
        Line::Session(_) => "sessions",
        Line::Message(_) => "messages",
        Line::Observation(_) => "observations",
        Line::Summary(_) => "summaries",
        Line::Fact(_) => "facts",
    }
}
