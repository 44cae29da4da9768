//! Turns a host's report into a record that may be stored. Hooks, HTTP and the demo share this path.

mod gate;

use std::path::Path;

use remora_core::event::{Event, FileAhead, Origin, SessionRef};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::{DataDir, Record, StoreError};

use gate::Admission;
pub use gate::Reason;

/// A host's report, parsed from its wire format.
#[derive(Debug)]
pub enum Report {
    Event(Box<Event>),
    /// An agent is about to read or change a file. Nothing is stored.
    FileAhead(Box<FileAhead>),
    /// A prompt that the host generated, not the user.
    Synthetic {
        session: SessionRef,
        origin: Origin,
    },
}

/// Result of [`take`].
#[derive(Debug, PartialEq)]
pub enum Taken {
    Record(Box<Record>),
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
    report: Report,
    at: Time,
) -> Result<Taken, StoreError> {
    Ok(match report {
        Report::Synthetic { session, origin } => {
            gate::note_synthetic(dir, &session, &origin)?;
            Taken::Synthetic
        }
        Report::FileAhead(ahead) => match gate::bars(dir, settings, home, &ahead)? {
            None => Taken::FileAhead(ahead),
            Some(reason) => Taken::LeftOut(reason),
        },
        Report::Event(event) => match gate::admit(dir, settings, home, *event, at)? {
            Admission::Admitted(record) => Taken::Record(record),
            Admission::LeftOut(reason) => Taken::LeftOut(reason),
        },
    })
}
