//! Wakes the daemon after something was stored.

use remora_store::DataDir;

use crate::control::{self, Message};
use crate::launch;

/// Result of waking the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poked {
    Heard,
    /// No daemon was running; one may be starting.
    Absent,
}

/// Wakes the daemon or, with `autostart`, starts one. What it is woken for is already stored, so a failure loses nothing.
pub fn poke(dir: &DataDir, autostart: bool) -> Result<Poked, String> {
    let message = Message::Poke(env!("CARGO_PKG_VERSION").to_owned());
    if control::send(dir, &message).is_ok() {
        return Ok(Poked::Heard);
    }
    if autostart {
        launch::start_if_due(dir).map_err(|error| format!("the daemon cannot be started: {error}"))?;
    }
    Ok(Poked::Absent)
}
