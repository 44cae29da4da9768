//! Turns a host's message into a record that may be stored. Hooks, HTTP and the demo share this path.

mod gate;

use std::borrow::Cow;
use std::path::Path;

pub use remora_core::capture::{LeftOut, Reading};
use remora_core::event::FileAhead;
use remora_core::host::Host;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::{DataDir, EventRecord, StoreError};

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

/// What is to be done with a host's message.
#[derive(Debug, PartialEq)]
pub enum Decision {
    Store(Box<EventRecord>),
    /// Nothing to store; knowledge about the file may be injected.
    Inject(Box<FileAhead>),
    LeftOut(LeftOut),
    /// Nothing can be stored: required members are missing.
    Malformed(Cow<'static, str>),
}

/// Decides what of a message may be stored, and redacts it. `home` replaces `~` in settings.
pub fn decide(
    dir: &DataDir,
    settings: &Settings,
    home: Option<&Path>,
    reading: Reading,
    at: Time,
) -> Result<Decision, StoreError> {
    Ok(match reading {
        Reading::Event(event) => gate::admit(dir, settings, home, *event, at)?,
        Reading::FileAhead(ahead) => match gate::bars(dir, settings, home, &ahead)? {
            None => Decision::Inject(ahead),
            Some(reason) => Decision::LeftOut(reason),
        },
        Reading::Synthetic { session, origin } => {
            gate::note_synthetic(dir, &session, &origin)?;
            Decision::LeftOut(LeftOut::Synthetic)
        }
        Reading::Nothing => Decision::LeftOut(LeftOut::NotAnEvent),
        Reading::Malformed(reason) => Decision::Malformed(reason),
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
