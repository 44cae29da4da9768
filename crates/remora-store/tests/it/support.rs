use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use remora_core::event::{Body, Event, Origin, Outcome, SessionRef, ToolCall, ToolUse};
use remora_core::host::Host;
use remora_core::privacy::clean;
use remora_core::settings::Sync;
use remora_core::time::Time;
use remora_store::{Batch, DataDir, Enqueued, EventRecord, Store};

/// A data directory and a place for projects, removed when the test ends.
pub(crate) struct World {
    temp: tempfile::TempDir,
    pub(crate) dir: DataDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path().join("data"));
        Self { temp, dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn make_dir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A repository laid out as by git, created without git.
    pub(crate) fn make_repository(&self, name: &str, origin: Option<&str>) -> PathBuf {
        let root = self.make_dir(name);
        write_git_directory(&root.join(".git"), origin);
        root
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.dir).unwrap()
    }

    /// As the daemon does when it starts, and commands that write.
    pub(crate) fn open_caught_up(&self) -> Store {
        Store::open_caught_up(&self.dir).unwrap()
    }

    /// Changes rows behind the store's back.
    #[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
    pub(crate) fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.dir.database()).unwrap().execute_batch(sql).unwrap();
    }

    /// Makes the database with these statements.
    #[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
    pub(crate) fn make(&self, sql: &str) {
        let database = rusqlite::Connection::open(self.dir.database()).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        database.execute_batch(sql).unwrap();
    }

    /// Reads one value that the store does not expose.
    #[expect(clippy::disallowed_methods, reason = "the test bypasses the store")]
    pub(crate) fn text(&self, sql: &str) -> String {
        let connection = rusqlite::Connection::open(self.dir.database()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Stores a record, as a hook does.
    pub(crate) fn hook(&self, record: &EventRecord) -> Enqueued {
        Store::open_for_hook(&self.dir, Sync::Normal).unwrap().queue().enqueue(record).unwrap()
    }
}

/// Claims a turn that has ended.
pub(crate) fn claimed(store: &Store) -> Batch {
    store.queue().claim("me", 100, Duration::ZERO, Time::now(), &mut |_, _| false).unwrap().unwrap()
}

pub(crate) fn write_git_directory(path: &Path, origin: Option<&str>) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let remote = origin.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
    fs::write(path.join("config"), format!("[core]\n\tbare = false\n{remote}")).unwrap();
}

pub(crate) fn event(session: &str, cwd: &Path, origin: Origin, body: Body) -> Event {
    let session = SessionRef { host: Host::ClaudeCode, id: session.to_owned() };
    Event { session, cwd: cwd.to_string_lossy().into_owned(), origin, agent: None, body }
}

pub(crate) fn record(session: &str, body: Body) -> EventRecord {
    EventRecord::new(clean(event(session, Path::new("/nowhere/app"), Origin::default(), body)), Time::now())
}

pub(crate) fn record_with(session: &str, origin: Origin, body: Body) -> EventRecord {
    EventRecord::new(clean(event(session, Path::new("/nowhere/app"), origin, body)), Time::now())
}

pub(crate) fn prompt(text: &str) -> Body {
    Body::PromptSubmitted { text: text.to_owned() }
}

pub(crate) fn bash(command: &str) -> Body {
    let call = ToolCall::Run { command: command.to_owned(), output: "done".to_owned(), exit: Some(0) };
    Body::ToolUsed(ToolUse { tool: "Bash".to_owned(), call, outcome: Outcome::Ok, duration_ms: None })
}

pub(crate) fn stop(message: &str) -> Body {
    Body::TurnEnded { message: message.to_owned(), error: None }
}

pub(crate) fn call(id: &str) -> Origin {
    Origin { call: Some(id.to_owned()), ..Origin::default() }
}

pub(crate) fn turn(id: &str) -> Origin {
    Origin { turn: Some(id.to_owned()), ..Origin::default() }
}
