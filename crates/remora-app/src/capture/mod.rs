//! From what a host reported to a record that may be stored: the one way hooks, HTTP and the demo share.

mod gate;

use std::path::Path;

use remora_core::event::{Event, FileAhead, Origin, SessionRef};
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::{DataDir, Record, StoreError};

use gate::Admission;
pub use gate::Reason;

/// What a host reported, read from its wire format.
#[derive(Debug)]
pub enum Report {
    Event(Box<Event>),
    /// An agent is about to read or change a file: nothing to store.
    FileAhead(Box<FileAhead>),
    /// A prompt nobody typed.
    Synthetic {
        session: SessionRef,
        origin: Origin,
    },
}

/// What becomes of it.
#[derive(Debug, PartialEq)]
pub enum Taken {
    Record(Box<Record>),
    LeftOut(Reason),
    /// Nothing to store; what is known of the file may be injected.
    FileAhead(Box<FileAhead>),
    Synthetic,
}

/// Decides what may be stored of a report, and cleans it. `home` is what `~` stands for in settings.
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
