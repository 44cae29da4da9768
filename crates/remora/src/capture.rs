//! From a host's message to a record that may be stored: the way hooks and the demo share.

use remora_core::event::FileAhead;
use remora_core::host::Host;
use remora_core::intake::Document;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_hosts::Reading;
use remora_store::gate::{self, Admission, Reason};
use remora_store::{DataDir, Record};

use crate::env;

/// What a message comes to.
pub(crate) enum Taken {
    Record(Box<Record>),
    LeftOut(Reason),
    /// Nothing to store; what is known of the file may be told.
    FileAhead(Box<FileAhead>),
    /// A prompt nobody typed.
    Synthetic,
    /// Not an event Remora keeps.
    Nothing,
}

pub(crate) fn take(
    dir: &DataDir,
    settings: impl FnOnce() -> Settings,
    host: Host,
    event_name: Option<&str>,
    document: Document,
    at: Time,
) -> Result<Taken, String> {
    match remora_hosts::read(host, event_name, document) {
        Reading::Nothing => Ok(Taken::Nothing),
        Reading::Malformed(reason) => Err(reason.to_owned()),
        Reading::Synthetic { session, origin } => gate::note_synthetic(dir, &session, &origin)
            .map(|()| Taken::Synthetic)
            .map_err(|error| error.to_string()),
        Reading::FileAhead(mut ahead) => {
            ahead.cwd = directory(ahead.cwd);
            let barred = gate::bars(dir, &settings(), env::home().as_deref(), &ahead);
            match barred.map_err(|error| error.to_string())? {
                None => Ok(Taken::FileAhead(ahead)),
                Some(reason) => Ok(Taken::LeftOut(reason)),
            }
        }
        Reading::Event(mut event) => {
            event.cwd = directory(event.cwd);
            let admission = gate::admit(dir, &settings(), env::home().as_deref(), *event, at);
            match admission.map_err(|error| error.to_string())? {
                Admission::Admitted(record) => Ok(Taken::Record(record)),
                Admission::LeftOut(reason) => Ok(Taken::LeftOut(reason)),
            }
        }
    }
}

/// A host that does not say where it works starts its hooks there.
fn directory(named: String) -> String {
    if !named.is_empty() {
        return named;
    }
    std::env::current_dir().map_or(named, |current| current.to_string_lossy().into_owned())
}
