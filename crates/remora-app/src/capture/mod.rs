//! Turns a host's report into a record that may be stored. Hooks, HTTP and the demo share this path.

mod gate;

use std::path::Path;

use remora_core::event::{Event, FileAhead, Origin, SessionRef};
use remora_core::host::Host;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::{DataDir, EventRecord, StoreError};

use gate::Admission;
pub use gate::Reason;

/// A host's report, parsed from its wire format.
#[derive(Debug)]
pub enum HookReport {
    Event(Box<Event>),
    /// An agent is about to read or change a file. Nothing is stored.
    FileAhead(Box<FileAhead>),
    /// A prompt that the host generated, not the user.
    Synthetic {
        session: SessionRef,
        origin: Origin,
    },
}

/// Where a message comes from that may name no directory.
#[derive(Debug)]
pub enum Door {
    /// A hook, started in this directory.
    Hook(Option<String>),
    /// A request. If its session is known, its project has this directory.
    Request(Option<String>),
}

/// The directory of a message: the one it names, or else that of its session or of its hook. A chat belongs to the
/// user and not to the directory its gateway runs in. `None` if only the host knows.
pub fn directory(dir: &DataDir, host: Host, named: String, door: Door) -> Option<String> {
    if !named.is_empty() {
        return Some(named);
    }
    match (host, door) {
        (_, Door::Request(Some(of_session))) => Some(of_session),
        (Host::Channel(_), _) | (Host::Generic, Door::Request(None)) => {
            Some(dir.personal().to_string_lossy().into_owned())
        }
        (_, Door::Hook(current)) => current,
        (_, Door::Request(None)) => None,
    }
}

/// Result of [`take`].
#[derive(Debug, PartialEq)]
pub enum Taken {
    Record(Box<EventRecord>),
    LeftOut(Reason),
    /// Nothing to store; knowledge about the file may be injected.
    FileAhead(Box<FileAhead>),
    Synthetic,
}

/// Decides what of a report may be stored, and redacts it. `home` replaces `~` in settings.
pub fn take(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    report: HookReport,
    at: Time,
) -> Result<Taken, StoreError> {
    Ok(match report {
        HookReport::Synthetic { session, origin } => {
            gate::note_synthetic(dir, &session, &origin)?;
            Taken::Synthetic
        }
        HookReport::FileAhead(ahead) => match gate::bars(dir, settings, home, &ahead)? {
            None => Taken::FileAhead(ahead),
            Some(reason) => Taken::LeftOut(reason),
        },
        HookReport::Event(event) => match gate::admit(dir, settings, home, *event, at)? {
            Admission::Admitted(record) => Taken::Record(record),
            Admission::LeftOut(reason) => Taken::LeftOut(reason),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_directory_belongs_to_its_session_its_hook_or_the_user() {
        let dir = DataDir::new("/data");
        let of = |host: &str, named: &str, door: Door| {
            directory(&dir, Host::named(host).unwrap(), named.to_owned(), door)
        };
        let (hook, request) = (
            || Door::Hook(Some("/here".to_owned())),
            |known: Option<&str>| Door::Request(known.map(str::to_owned)),
        );
        for host in ["claude-code", "generic", "telegram"] {
            assert_eq!(of(host, "/named", hook()).as_deref(), Some("/named"));
            assert_eq!(of(host, "/named", request(Some("/known"))).as_deref(), Some("/named"));
            assert_eq!(of(host, "", request(Some("/known"))).as_deref(), Some("/known"));
        }
        assert_eq!(of("claude-code", "", hook()).as_deref(), Some("/here"));
        assert_eq!(of("generic", "", hook()).as_deref(), Some("/here"));
        assert_eq!(of("telegram", "", hook()).as_deref(), Some("/data/personal"));
        assert_eq!(of("generic", "", request(None)).as_deref(), Some("/data/personal"));
        assert_eq!(of("telegram", "", request(None)).as_deref(), Some("/data/personal"));
        assert_eq!(of("claude-code", "", request(None)), None);
    }
}
