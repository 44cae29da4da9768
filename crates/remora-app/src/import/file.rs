//! Imports lines of JSON written by `remora export` or by another program. `docs/import.md` describes the format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use remora_core::portable::Line;
use remora_store::Store;

use super::pipeline::{Decides, Pipeline};
use super::{ImportError, Imported, Progress, Report, Request};

/// Longer lines are skipped: all fields of a record are cut to a fraction of this.
const LONGEST_LINE: u64 = 16 << 20;
/// Lines between two progress reports.
const STEP: u64 = 100;
/// Name of unreadable lines in the report.
const UNREADABLE: &str = "lines";

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
            },
        )?;
        Ok(pipeline.finish()?)
    })
}

/// Imports lines that are built into the program, into a separate memory that needs no backup.
pub fn carried(request: &Request<'_>, store: &mut Store, lines: &str) -> Result<Report, ImportError> {
    let mut pipeline = Pipeline::new(store, request.rules(Decides::Line));
    read(lines.as_bytes(), &mut pipeline, |_| {}).map_err(|error| match error {
        Failed::Reading(source) => ImportError::Unreadable { path: PathBuf::new(), source },
        Failed::Storing(error) => error.into(),
    })?;
    Ok(pipeline.finish()?)
}

enum Failed {
    Reading(io::Error),
    Storing(crate::AppError),
}

fn read(
    mut reader: impl BufRead,
    pipeline: &mut Pipeline<'_>,
    mut progress: impl FnMut(u64),
) -> Result<(), Failed> {
    let (mut bytes, mut done) = (Vec::new(), 0);
    for number in 1_u64.. {
        bytes.clear();
        let length =
            reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(Failed::Reading)?;
        if length == 0 {
            break;
        }
        done += length as u64;
        if length as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
            done += reader.skip_until(b'\n').map_err(Failed::Reading)? as u64;
            damaged(pipeline.report(), number, "it is too long");
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        match Line::parse(text) {
            Ok(line) => {
                let kind = plural(&line);
                pipeline.take(kind, &format!("line {number}"), line).map_err(Failed::Storing)?;
            }
            Err(problem) => damaged(pipeline.report(), number, &problem),
        }
        if number % STEP == 0 {
            progress(done);
        }
    }
    progress(done);
    Ok(())
}

fn damaged(report: &mut Report, number: u64, problem: &str) {
    report.damaged(UNREADABLE, format!("line {number}: {problem}"));
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
