//! Writes the daemon's events of `tracing` to the log.
//!
//! Errors, warnings and infos are rare, and written before the call returns: whoever sees a failed request finds its
//! reason in the log. Debug lines may be many, so a thread writes them in batches; if it cannot keep up, lines are
//! dropped. Events of libraries are ignored, because they may quote a request.

use std::fmt::{self, Write as _};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use remora_store::log::{self, DebugLine};
use remora_store::{DataDir, problems};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// Limit for debug lines that wait for their thread.
const MAX_WAITING: usize = 1024;
/// Limit for the lines of one write.
const MAX_BATCH: usize = 32;
/// The longest wait of an ending daemon for the last debug lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Targets of our own crates begin with this.
const OWN: &str = "remora_";

enum DebugJob {
    Line(DebugLine),
    /// Answers when all lines before it are written.
    Flush(Sender<()>),
}

/// Writes the remaining debug lines when it is dropped.
#[derive(Debug)]
#[must_use = "the last debug lines are lost without it"]
pub struct Tracing {
    debug: SyncSender<DebugJob>,
}

impl Drop for Tracing {
    fn drop(&mut self) {
        let (written, waiting) = mpsc::channel();
        if self.debug.send(DebugJob::Flush(written)).is_ok() {
            // A disk that hangs must not keep the daemon from ending.
            let _ = waiting.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Writes events of this process to the log of this data directory from now on. For the daemon alone: a hook has no
/// time for it.
pub fn start(dir: &DataDir) -> std::io::Result<Tracing> {
    let (debug, work) = mpsc::sync_channel(MAX_WAITING);
    let at = dir.clone();
    thread::Builder::new().name("log".to_owned()).spawn(move || write_debug_lines(&at, &work))?;
    let log = Log { dir: dir.clone(), debug: debug.clone() };
    // Fails only if this process has one already, which writes to the same log.
    let _ = tracing::subscriber::set_global_default(log);
    Ok(Tracing { debug })
}

fn write_debug_lines(dir: &DataDir, work: &Receiver<DebugJob>) {
    while let Ok(first) = work.recv() {
        let (mut lines, mut flushed) = (Vec::new(), Vec::new());
        for job in std::iter::once(first).chain(work.try_iter()) {
            match job {
                DebugJob::Line(line) => lines.push(line),
                DebugJob::Flush(written) => flushed.push(written),
            }
            if lines.len() == MAX_BATCH {
                break;
            }
        }
        // Nobody misses a debug line if the disk is full or the data directory is gone.
        let _ = log::debug(dir, &lines);
        for written in flushed {
            let _ = written.send(());
        }
    }
}

struct Log {
    dir: DataDir,
    debug: SyncSender<DebugJob>,
}

impl Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::DEBUG && metadata.target().starts_with(OWN)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Message::default();
        event.record(&mut text);
        let text = text.text();
        let from = origin(event.metadata().target());
        match *event.metadata().level() {
            // Reported once in a while, however often it is tried.
            Level::ERROR => problems::report(Some(&self.dir), &text),
            Level::WARN => log::warn(&self.dir, from, &text),
            Level::INFO => log::info(&self.dir, from, &text),
            _ => {
                let line = DebugLine { at: self.dir.now(), from, text };
                let _ = self.debug.try_send(DebugJob::Line(line));
            }
        }
    }

    // There are no spans, because the daemon's tasks are few and name themselves.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The part of the daemon that a line comes from, by the module it is written in.
fn origin(target: &'static str) -> &'static str {
    let name = target.strip_prefix(OWN).and_then(|path| path.split("::").next()).unwrap_or(target);
    if name == "server" { log::DAEMON } else { name }
}

/// The sentence of an event, with its fields behind it.
#[derive(Default)]
struct Message {
    sentence: String,
    fields: String,
}

impl Message {
    fn text(self) -> String {
        if self.fields.is_empty() { self.sentence } else { format!("{}:{}", self.sentence, self.fields) }
    }
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.sentence, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(path: &std::path::Path) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }

    #[test]
    fn every_level_has_its_file_and_events_of_libraries_have_none() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        dir.create().unwrap();
        let (debug, work) = mpsc::sync_channel(MAX_WAITING);
        let log = Log { dir: dir.clone(), debug: debug.clone() };
        tracing::subscriber::with_default(log, || {
            tracing::warn!("the disk is slow");
            tracing::info!(target: "remora_observer", "odd answer");
            tracing::debug!(target: "remora_net", took_ms = 3, "a request was answered");
            tracing::debug!("token {}", concat!("gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"));
            tracing::trace!("too much");
            tracing::error!(target: "rmcp::service", "a library quotes");
            tracing::debug!(target: "hyper::proto", "a library quotes");
        });
        drop(debug);
        write_debug_lines(&dir, &work);
        assert_eq!(lines(&dir.log()), ["warn daemon: the disk is slow", "info observer: odd answer"]);
        let written = lines(&dir.debug_log());
        assert_eq!(written.len(), 2, "{written:?}");
        assert_eq!(written[0], "debug net: a request was answered: took_ms=3");
        assert!(
            written[1].starts_with("debug daemon: token") && !written[1].contains("16C7e42F"),
            "{written:?}"
        );
    }

    #[test]
    fn the_last_debug_lines_are_written_before_the_end() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        let (debug, work) = mpsc::sync_channel(MAX_WAITING);
        let writing = {
            let dir = dir.clone();
            thread::spawn(move || write_debug_lines(&dir, &work))
        };
        let tracing = Tracing { debug: debug.clone() };
        for number in 0..MAX_BATCH * 3 {
            let line = DebugLine { at: dir.now(), from: log::DAEMON, text: number.to_string() };
            debug.try_send(DebugJob::Line(line)).unwrap();
        }
        drop((tracing, debug));
        assert_eq!(lines(&dir.debug_log()).len(), MAX_BATCH * 3);
        writing.join().unwrap();
    }
}
