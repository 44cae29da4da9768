//! Panics: the place goes to the log, never the message, which may quote the user.

use std::panic;

use remora_store::{DataDir, problems};

/// What a line of the log about a panic begins with, behind its origin.
const MARK: &str = "bug: panic at ";

/// Logs every panic from now on, and prints nothing of it. `tell` gets the place, for a person at a terminal.
pub(crate) fn log_panics(dir: Option<DataDir>, tell: fn(&str)) {
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        problems::report(dir.as_ref(), &format!("{MARK}{place} (version {})", env!("CARGO_PKG_VERSION")));
        tell(&place);
    }));
}

/// Whether a line of the log tells of a panic in this version. Those of others may be mended.
pub(crate) fn is_of_this_version(line: &str) -> bool {
    line.contains(MARK) && line.ends_with(&format!("(version {})", env!("CARGO_PKG_VERSION")))
}
