//! Imports a claude-mem database, row by row.

use std::path::Path;

use remora_core::portable::Line;
use remora_store::claude_mem::{Source, Table};
use remora_store::{DataError, StoreError};

use super::directories::Directories;
use super::pipeline::{Decides, Pipeline};
use super::report::Skipped;
use super::{ImportError, Imported, Progress, Request};

/// Project of rows that name neither a project nor a known session.
const UNKNOWN_PROJECT: &str = "claude-mem";

/// Imports the database at `path` without changing it.
pub fn import(
    request: &Request<'_>,
    path: &Path,
    mut progress: impl FnMut(Progress),
) -> Result<Imported, ImportError> {
    let source = Source::open(request.dir, path).map_err(|error| match error {
        StoreError::Data(DataError::File { path: at, source }) if at == path => {
            ImportError::Unreadable { path: at, source }
        }
        other => other.into(),
    })?;
    let directories = Directories::of(&source, request.home)?;
    request.run(|store| {
        let mut pipeline = Pipeline::new(store, request.rules(Decides::Session));
        let sessions = source.sessions()?;
        let (mut done, total) = (0, source.rows.total());
        for table in Table::ALL {
            pipeline.report().of(name(table));
            let (kind, mut after, mut seen) = (name(table), i64::MIN, 0);
            loop {
                let chunk = source.chunk(table, after, &sessions)?;
                if let Some(last) = chunk.rows.last() {
                    after = last.id;
                }
                let is_last = chunk.rows.is_empty() || chunk.broken.is_some();
                for row in chunk.rows {
                    seen += 1;
                    match row.line {
                        Ok(line) => {
                            let line = placed(line, &directories);
                            pipeline.take(kind, &format!("{} {}", table.name(), row.id), line)?;
                        }
                        Err(problem) => {
                            pipeline
                                .report()
                                .damaged(kind, format!("{} {}: {problem}", table.name(), row.id));
                        }
                    }
                    if let Some(prompt) = row.first_prompt {
                        pipeline.take("first prompts", table.name(), placed(prompt, &directories))?;
                    }
                    done += 1;
                    progress(Progress { done, total });
                }
                if let Some(problem) = chunk.broken {
                    let lost = of(&source, table).saturating_sub(seen).max(1);
                    pipeline.report().damaged(kind, format!("{} behind {after}: {problem}", table.name()));
                    pipeline.report().skip(kind, Skipped::Damaged, lost - 1);
                }
                if is_last {
                    break;
                }
            }
        }
        for (kind, count) in [("raw tool calls", source.tool_uses), ("queued events", source.queued)] {
            if count > 0 {
                pipeline.report().skip(kind, Skipped::NotMemory, count);
            }
        }
        Ok(pipeline.finish()?)
    })
}

fn name(table: Table) -> &'static str {
    match table {
        Table::Sessions => "sessions",
        Table::Prompts => "prompts",
        Table::Observations => "observations",
        Table::Summaries => "summaries",
    }
}

fn of(source: &Source, table: Table) -> u64 {
    match table {
        Table::Sessions => source.rows.sessions,
        Table::Prompts => source.rows.prompts,
        Table::Observations => source.rows.observations,
        Table::Summaries => source.rows.summaries,
    }
}

/// Replaces the project's name in a line by its directory, if known.
fn placed(mut line: Line, directories: &Directories) -> Line {
    let (project, session) = match &mut line {
        Line::Session(line) => (&mut line.project, Some(line.id.clone())),
        Line::Observation(line) => (&mut line.project, line.session.clone()),
        Line::Summary(line) => (&mut line.project, line.session.clone()),
        // A prompt belongs to the project of its session.
        Line::Message(_) | Line::Project(_) | Line::Fact(_) => return line,
    };
    let name = project.take().unwrap_or_else(|| UNKNOWN_PROJECT.to_owned());
    let directory = directories.find(session.as_deref().unwrap_or_default(), &name);
    *project = Some(directory.map_or(name, |directory| directory.to_string_lossy().into_owned()));
    line
}
