use remora_core::privacy::Captured;
use remora_core::time::Time;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::project::{Place, locate};

/// An event on its way into the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Names this capture for ever: however often it is written, it is stored once.
    pub uuid: Uuid,
    pub at: Time,
    /// Where the event's directory belonged at the time; looked up when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub captured: Captured,
}

impl Record {
    pub fn new(captured: Captured, at: Time) -> Self {
        Self { uuid: Uuid::now_v7(), at, place: None, captured }
    }

    /// Looks the directory up now, because it may be gone when the record is read again.
    #[must_use]
    pub fn located(mut self) -> Self {
        self.place.get_or_insert_with(|| locate(self.captured.event().cwd.as_ref()));
        self
    }
}
