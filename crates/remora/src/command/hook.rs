//! `remora hook HOST`: stores a host's message as a durable row.
//!
//! Failures never reach the host: the exit code is 0, stderr is empty, and stdout is empty or holds an answer
//! that the host understands. Problems go to the log and to `remora doctor`.

use std::ffi::OsString;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use remora_app::capture::{self, Decision, Door, Reading};
use remora_app::recall::prompt::Submitted;
use remora_app::recall::start::{Reader, Starting};
use remora_app::recall::{self, Injection};
use remora_app::{Local, Runtime as _};
use remora_client::{Daemon, Poked, poke};
use remora_core::event::Body;
use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::settings::{Settings, Sync};
use remora_core::time::HOOK_LIMIT;
use remora_hosts::response::{self, Moment};
use remora_store::problems::LOST;
use remora_store::{DataDir, EmptyWal, EventRecord, HostProcess, Store, StoreError, log, problems, spool};
use remora_sys::memory;
use remora_sys::process::end_if_mapped_file_shrinks;

use crate::{app, bugs, env, runtime, stdin};

/// The arguments after `hook`.
pub(crate) struct Arguments {
    host: String,
    event: Option<String>,
    /// Overrides `REMORA_DATA_DIR`.
    data_dir: Option<PathBuf>,
}

/// The arguments, if this is a hook call. `remora hook --help` is not.
pub(crate) fn arguments() -> Option<Arguments> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    parse(words)
}

fn parse(mut words: impl Iterator<Item = OsString>) -> Option<Arguments> {
    let mut arguments = Arguments { host: String::new(), event: None, data_dir: None };
    let text = |word: OsString| word.to_string_lossy().into_owned();
    while let Some(word) = words.next().map(text) {
        match word.as_str() {
            "-h" | "--help" => return None,
            "--event" => arguments.event = words.next().map(text),
            "--data-dir" => arguments.data_dir = words.next().map(PathBuf::from),
            _ => match word.strip_prefix("--event=") {
                Some(event) => arguments.event = Some(event.to_owned()),
                None if arguments.host.is_empty() => arguments.host = word,
                None => {}
            },
        }
    }
    Some(arguments)
}

pub(crate) fn run(arguments: &Arguments) {
    if env::disabled() {
        return;
    }
    memory::share_one_heap();
    memory::keep_until_the_end();
    end_if_mapped_file_shrinks();
    log::set_origin("hook");
    let dir = arguments.data_dir.clone().or_else(env::data_dir).map(env::data_at);
    bugs::log_panics(dir.clone(), |_| ());
    let outcome = panic::catch_unwind(|| match &dir {
        Some(dir) => capture(dir, arguments),
        None => Err("there is no home directory and REMORA_DATA_DIR is not set".to_owned()),
    });
    let reason = match outcome {
        Ok(Ok(())) => return,
        Ok(Err(reason)) => reason,
        Err(_) => format!("reading it hit a bug; {LOST}"),
    };
    problems::report(dir.as_ref(), &format!("{}: {reason}", arguments.host));
}

fn capture(dir: &DataDir, arguments: &Arguments) -> Result<(), String> {
    let host: Host = arguments.host.parse().map_err(|_| format!("unknown host `{}`", arguments.host))?;
    let document = stdin::read(std::io::stdin()).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let deadline = Arc::new(Deadline::default());
    let watcher = watch(dir.clone(), Arc::clone(&deadline));
    if let Some(answer) = response::acknowledgement(host) {
        print(answer);
    }
    let reading = read(dir, host, arguments.event.as_deref(), document);
    // Most tool calls end here, before the settings are read.
    if reading == Reading::Nothing {
        return Ok(());
    }
    let (settings, problems) = app::settings(dir);
    for problem in problems {
        problems::report(Some(dir), &format!("settings: {problem}"));
    }
    let decision = capture::decide(dir, &settings, env::home().as_deref(), reading, dir.now());
    match decision.map_err(|error| error.to_string())? {
        Decision::Store(mut record) => {
            if is_asking(&record) {
                record.host_process = HostProcess::of_this_hook();
            }
            // Once the event is stored, the process may take only the time that the user allows for an answer.
            if matches!(record.captured.event().body, Body::PromptSubmitted { .. }) {
                deadline.answer_within(&settings, watcher.as_ref());
            }
            let mut delivered = deliver(dir, &settings, &record, &deadline);
            let answered = match &mut delivered {
                Ok(rt) => answer(rt, &record, began),
                // The memory can still be read, even if nothing can be stored.
                Err(_) if is_asking(&record) => match Store::open_read_only_for_hook(dir) {
                    Ok(Some(store)) => {
                        answer(&mut ManuallyDrop::new(local(store, &settings)), &record, began)
                    }
                    Ok(None) | Err(_) => None,
                },
                Err(_) => None,
            };
            if let Some(answer) = answered {
                print(&answer);
            }
            // Last, so that the daemon answers before it starts to work. If no time is left, the next hook
            // wakes it. Also after writing to the spool: after an update, the daemon is the one that migrates
            // the database.
            let poked = poke(dir, settings.daemon.autostart);
            let rt = delivered?;
            // A listening daemon does this itself, when idle.
            if poked != Ok(Poked::Heard) {
                tidy(&rt);
            }
            poked.map(drop)
        }
        Decision::Inject(ahead) if settings.memory.file_context_enabled => {
            // There is no event that could be lost.
            deadline.stored.store(true, Ordering::Release);
            let Some(room) = ahead.session.host.room() else { return Ok(()) };
            deadline.answer_within(&settings, watcher.as_ref());
            let command = env::command();
            let more = settings.context.more(ahead.session.host, &command);
            let injection = guarded(dir, || recall::file::before(dir, &ahead, room, more));
            if let Some(answer) = rendered(ahead.session.host, Moment::Tool, injection) {
                print(&answer);
            }
            Ok(())
        }
        Decision::Inject(_) | Decision::LeftOut(_) => Ok(()),
        Decision::Malformed(reason) => Err(reason.into_owned()),
    }
}

/// A message for users whose host still has the hooks of an older version.
const STALE: &str =
    "Remora was installed here by an older version; bring it up to date: `remora doctor --fix`";

/// State of the event, for the thread that ends the process.
#[derive(Default)]
struct Deadline {
    record: OnceLock<(EventRecord, Sync)>,
    stored: AtomicBool,
    /// End of the time for recall with a prompt or a file.
    answer_by: OnceLock<Instant>,
}

impl Deadline {
    /// Starts the time for recall.
    fn answer_within(&self, settings: &Settings, watcher: Option<&Thread>) {
        let time = Duration::from_millis(settings.memory.auto_retrieve_ms.into());
        // Cannot fail: a hook has one answer.
        let _ = self.answer_by.set(Instant::now() + time);
        if let Some(watcher) = watcher {
            watcher.unpark();
        }
    }

    /// The time until the process ends, which is at `limit` at the latest. `None` if it is over.
    fn time_left(&self, limit: Instant) -> Option<Duration> {
        let now = Instant::now();
        // An event that is not stored yet has time until the limit.
        let answer_by = self.answer_by.get().filter(|by| now < **by || self.stored.load(Ordering::Acquire));
        let end = answer_by.map_or(limit, |by| limit.min(*by));
        Some(end.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

/// Reads a host's message, and adds the directory if it names none.
pub(crate) fn read(dir: &DataDir, host: Host, event: Option<&str>, document: Document) -> Reading {
    // Hosts start hooks where they work.
    let current = || std::env::current_dir().ok().map(|current| current.to_string_lossy().into_owned());
    remora_hosts::read(host, event, document)
        .placed(|host, named| capture::directory(dir, host, named, Door::Hook(current())).unwrap_or_default())
}

/// Stores the record in the database or, if that fails or takes too long, in the spool. If both succeed, its
/// uuid prevents a duplicate.
fn deliver(
    dir: &DataDir,
    settings: &Settings,
    record: &EventRecord,
    deadline: &Deadline,
) -> Result<ManuallyDrop<Local>, String> {
    // Cannot fail: only this function sets it.
    let _ = deadline.record.set((record.clone(), settings.capture.sync));
    let attempt = panic::catch_unwind(AssertUnwindSafe(|| store(dir, settings, record, &deadline.stored)));
    let reason = match attempt {
        Ok(Ok(store)) => return Ok(store),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "storing it hit a bug".to_owned(),
    };
    let spooled = spool(dir, &record.clone().located(), settings.capture.sync, &reason);
    deadline.stored.store(true, Ordering::Release);
    Err(spooled)
}

/// Starts a thread that ends the process at its time limit, whatever the other thread is waiting for. An event that is
/// not in the database by then goes to the spool.
fn watch(dir: DataDir, deadline: Arc<Deadline>) -> Option<Thread> {
    let limit = Instant::now() + HOOK_LIMIT;
    let watcher = thread::Builder::new().spawn(move || {
        while let Some(left) = deadline.time_left(limit) {
            thread::park_timeout(left);
        }
        if !deadline.stored.load(Ordering::Acquire) {
            let reason = match deadline.record.get() {
                // Its directory is resolved later: that may be what the other thread is waiting for.
                Some((record, sync)) => spool(&dir, record, *sync, "the database took too long"),
                None => format!("it was not read in time; {LOST}"),
            };
            problems::report(Some(&dir), &reason);
        }
        // Waits for an answer that is being written.
        let _out = std::io::stdout().lock();
        std::process::exit(0);
    });
    match watcher {
        Ok(watcher) => Some(watcher.thread().clone()),
        Err(error) => {
            problems::report(None, &format!("no thread to watch the time: {error}"));
            None
        }
    }
}

fn store(
    dir: &DataDir,
    settings: &Settings,
    record: &EventRecord,
    stored: &AtomicBool,
) -> Result<ManuallyDrop<Local>, StoreError> {
    // Never closed: the process is about to end, and the kernel closes files faster than SQLite does.
    let rt = ManuallyDrop::new(local(Store::open_for_hook(dir, settings.capture.sync)?, settings));
    rt.store().queue().enqueue(record)?;
    stored.store(true, Ordering::Release);
    Ok(rt)
}

fn local(store: Store, settings: &Settings) -> Local {
    Local::new(store, settings.clone(), &runtime::BACKGROUND)
}

fn tidy(rt: &Local) {
    if let Err(error) = rt.store().empty_wal(EmptyWal::IfLarge) {
        problems::report(Some(rt.store().dir()), &format!("the write-ahead log stays large: {error}"));
    }
}

/// Whether the host waits for an answer.
fn is_asking(record: &EventRecord) -> bool {
    matches!(record.captured.event().body, Body::SessionStarted { .. } | Body::PromptSubmitted { .. })
}

/// The answer for the host, if there is something to inject.
fn answer(rt: &mut Local, record: &EventRecord, began: Instant) -> Option<String> {
    let dir = rt.store().dir().clone();
    let event = record.captured.event();
    let session = &event.session;
    let room = session.host.room()?;
    match &event.body {
        Body::SessionStarted { source } => {
            let command = env::command();
            let reader = Reader { limit: room, more: rt.settings().context.more(session.host, &command) };
            let starting = Starting { session, directory: &event.cwd, how: *source };
            let injection = guarded(&dir, || {
                rt.store().refuse_forgotten()?;
                recall::start::begin(rt, starting, reader)
            });
            if !remora_install::is_stale(dir.path(), session.host) {
                return rendered(session.host, Moment::SessionStart, injection);
            }
            let text = injection.map(|injection| injection.text).unwrap_or_default();
            response::with_notice(session.host, Moment::SessionStart, &text, STALE)
        }
        Body::PromptSubmitted { text } => {
            let daemon = Daemon::find(&dir);
            let command = env::command();
            let submitted =
                Submitted { session, directory: &event.cwd, text, command: &command, at: record.at, began };
            let injection = guarded(&dir, || {
                rt.store().refuse_forgotten()?;
                recall::prompt::submit(rt, daemon, &submitted)
            });
            rendered(session.host, Moment::Prompt, injection)
        }
        _ => None,
    }
}

fn rendered(host: Host, moment: Moment, injection: Option<Injection>) -> Option<String> {
    injection.and_then(|injection| response::with_context(host, moment, &injection.text))
}

/// Runs recall. Errors and panics are logged and not shown to the host.
fn guarded(
    dir: &DataDir,
    recall: impl FnOnce() -> Result<Option<Injection>, StoreError>,
) -> Option<Injection> {
    match panic::catch_unwind(AssertUnwindSafe(recall)) {
        Ok(Ok(injection)) => injection,
        Ok(Err(error)) => {
            problems::report(Some(dir), &format!("nothing injected: {error}"));
            None
        }
        Err(_) => None,
    }
}

/// Writes in one piece, so that a host never sees half an answer. A closed pipe is ignored.
fn print(answer: &str) {
    let _ = std::io::stdout().lock().write_all(format!("{answer}\n").as_bytes());
}

/// Writes the record to the spool. Returns a message for the log.
fn spool(dir: &DataDir, record: &EventRecord, sync: Sync, reason: &str) -> String {
    match spool::append(dir, record, sync) {
        Ok(()) => format!("{reason}; the event waits in the spool"),
        Err(error) => format!("{reason}; the spool failed too, {LOST}: {error}"),
    }
}
