//! Panics: the location goes to the log. The message does not, because it may quote the user.

use std::panic;

use remora_store::{DataDir, problems};

/// Logs every panic from now on, without printing it. `show` gets the location, for a user at a terminal.
pub(crate) fn log_panics(dir: Option<DataDir>, show: fn(&str)) {
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        problems::report_bug(dir.as_ref(), &place);
        show(&place);
    }));
}
