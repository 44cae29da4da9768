use std::io::{self, Write};

use clap::{Args, ValueEnum};
use remora_store::log::{Entry, Level, Reader, in_order};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::app::App;
use crate::error::Result;
use crate::output::{CYAN, DIM, RED, YELLOW, paint, talk};

/// Show the log of hooks and daemon; `-f` follows it.
///
/// Hooks print no errors to their host and the daemon has no terminal, so both write to this log. A line is
/// `TIME LEVEL FROM: MESSAGE`, the time in UTC. With `--json` every line is an object of its own. `--level debug` adds
/// what the daemon does: claims, model calls, batches of the index, requests. No line quotes what was captured or asked.
#[derive(Args)]
pub(crate) struct Logs {
    /// Print new lines as they come, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Limit for the number of lines, newest last.
    #[arg(long = "lines", short = 'n', default_value_t = 50, value_name = "LINES")]
    lines: usize,
    /// Only lines of this level or above.
    #[arg(long, value_enum, default_value = "info")]
    level: Grave,
}

#[derive(Clone, Copy, ValueEnum)]
enum Grave {
    Error,
    Warn,
    Info,
    Debug,
}

/// Interval for checking the log when following it.
const BETWEEN_LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

pub(crate) fn run(app: &App, arguments: &Logs) -> Result<()> {
    let level = match arguments.level {
        Grave::Error => Level::Error,
        Grave::Warn => Level::Warn,
        Grave::Info => Level::Info,
        Grave::Debug => Level::Debug,
    };
    let (mut entries, reader) = Reader::open(&app.dir)?;
    let mut readers = vec![reader];
    if level == Level::Debug {
        let (lines, reader) = Reader::open_debug(&app.dir)?;
        entries = in_order([entries, lines].concat());
        readers.push(reader);
    }
    let nothing = entries.is_empty();
    entries.retain(|entry| entry.level <= level);
    let latest = &entries[entries.len().saturating_sub(arguments.lines)..];
    if latest.is_empty() {
        talk(match (nothing, arguments.follow) {
            (true, false) => "Nothing has been logged yet. Problems of hooks and daemon will be here.",
            (true, true) => "Nothing has been logged yet; waiting for the first line. Ctrl-C ends.",
            (false, _) => "The log has no such lines; `remora logs --level debug` shows all.",
        });
    }
    if print(app, latest).is_err() || !arguments.follow {
        // The reader closed the pipe, which is not an error.
        return Ok(());
    }
    while is_read_on() {
        let mut entries = Vec::new();
        for reader in &mut readers {
            entries.extend(reader.more()?);
        }
        if level == Level::Debug {
            entries = in_order(entries);
        }
        entries.retain(|entry| entry.level <= level);
        if print(app, &entries).is_err() {
            break;
        }
    }
    Ok(())
}

/// Waits before the next look at the log. Returns `false` if the reader of our output is gone.
fn is_read_on() -> bool {
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    match poll(&mut watched, Some(&BETWEEN_LOOKS)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => true,
        Ok(_) | Err(_) => false,
    }
}

fn print(app: &App, entries: &[Entry]) -> io::Result<()> {
    let mut out = anstream::stdout();
    for entry in entries {
        if app.json {
            writeln!(out, "{}", serde_json::to_string(entry)?)?;
            continue;
        }
        match &entry.at {
            Some(at) => {
                let style = match entry.level {
                    Level::Error => RED,
                    Level::Warn => YELLOW,
                    Level::Info => CYAN,
                    Level::Debug => DIM,
                };
                let level = paint(style, entry.level.as_str());
                writeln!(out, "{} {level} {}: {}", paint(DIM, at), entry.from, entry.message)?;
            }
            None => writeln!(out, "{entry}")?,
        }
    }
    out.flush()
}
