use std::time::SystemTime;

use remora_core::privacy::Captured;
use remora_core::time::Time;
use remora_sys::process::Identity;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

use crate::locate::{Place, locate};

/// An event to be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Identifies this capture: it is stored once, even if it is written several times.
    pub uuid: Uuid,
    pub at: Time,
    /// The place of the event's directory at the time. Resolved later if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The host's process, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_process: Option<HostProcess>,
    pub captured: Captured,
}

/// A process of a host. The start time distinguishes it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProcess {
    pub pid: u32,
    pub started_at: u64,
}

impl HostProcess {
    /// The host that started this process as a hook.
    pub fn of_this_hook() -> Option<Self> {
        Self::of(&Identity::of_host()?)
    }

    /// A process as the system shows it; `None` if its start time is unknown.
    pub fn of(process: &Identity) -> Option<Self> {
        Some(Self { pid: process.pid, started_at: process.started_at? })
    }

    /// Whether it has ended. `false` if unknown.
    pub fn is_gone(self) -> bool {
        !Identity { pid: self.pid, started_at: Some(self.started_at) }.is_alive()
    }
}

impl EventRecord {
    pub fn new(captured: Captured, at: Time) -> Self {
        Self { uuid: new_uuid(), at, place: None, host_process: None, captured }
    }

    /// Resolves the directory now, because it may be gone when the record is read again.
    #[must_use]
    pub fn located(mut self) -> Self {
        self.place.get_or_insert_with(|| locate(self.captured.event().cwd.as_ref()));
        self
    }
}

/// A new id for a row. Works even if the clock is before 1970, because capture must not stop.
pub fn new_uuid() -> Uuid {
    if SystemTime::now() >= SystemTime::UNIX_EPOCH {
        Uuid::now_v7()
    } else {
        Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0))
    }
}
