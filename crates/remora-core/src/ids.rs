//! Row ids as types, so that a session cannot be taken for a project.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! row_id {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

impl ProjectId {
    /// No project, as for a directory without memory: only what holds everywhere is known there. Real ids start at 1.
    pub const NONE: Self = Self(0);
}

row_id! {
    ProjectId
    SessionId
    PromptId
    /// A stored event: its trace and, until confirmed, its payload in the queue.
    EventId
    ObservationId
    SummaryId
    FactId
    NoteId
    /// A part of a record that is indexed separately.
    DocumentId
}
