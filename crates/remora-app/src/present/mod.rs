//! How records are shown, once for all doors: their JSON, their parts for people and models ([`RecordView`]), and the
//! remarks beside them in lists ([`Remarks`]).
//!
//! The store's rows carry no presentation. Each has one JSON form here, made by `From`, and doors serialise nothing
//! else. The names in the OpenAPI document are part of the interface and keep those of the rows.

mod injections;
mod records;
mod remarks;
mod state;
mod times;
mod view;

use serde::{Serialize, Serializer};

pub use injections::{ItemJson, MomentJson, RetrievalJson};
pub use records::{
    BeforeJson, EventJson, FactJson, JudgedJson, NoteJson, ObservationJson, ProjectJson, RecordJson,
    RevisionJson, SessionJson, SummaryJson, TurnJson, WholeSessionJson,
};
pub use remarks::{IdStyle, Remarks, superseded};
pub use state::{
    AuditJson, BacklogJson, ClaudeMemRowsJson, CountsJson, ErasedJson, ForgettingJson, QueueCountsJson,
    ReasonJson, SpentJson,
};
pub(crate) use times::{Created, created};
pub use view::{PartContent, PartName, RecordPart, RecordView};

/// Serialises a row in an answer of a use case as its JSON form `J`.
pub(crate) fn one<J, R, S>(row: &R, serializer: S) -> Result<S::Ok, S::Error>
where
    J: From<R> + Serialize,
    R: Clone,
    S: Serializer,
{
    J::from(row.clone()).serialize(serializer)
}

/// Serialises a row that may be missing; see [`one`].
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn optional<J, R, S>(row: &Option<R>, serializer: S) -> Result<S::Ok, S::Error>
where
    J: From<R> + Serialize,
    R: Clone,
    S: Serializer,
{
    row.clone().map(J::from).serialize(serializer)
}

/// Serialises a list of rows; see [`one`].
pub(crate) fn list<J, R, S>(rows: &[R], serializer: S) -> Result<S::Ok, S::Error>
where
    J: From<R> + Serialize,
    R: Clone,
    S: Serializer,
{
    serializer.collect_seq(rows.iter().cloned().map(J::from))
}
