//! Panics: the place goes to the log, never the message, which may quote the user.

use std::panic;

use remora_store::{DataDir, problems};

/// Logs every panic from now on, and prints nothing of it. `tell` gets the place, for a person at a terminal.
pub(crate) fn log_panics(dir: Option<DataDir>, tell: fn(&str)) {
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        problems::report_bug(dir.as_ref(), &place);
        tell(&place);
    }));
}
