//! The JSON of counts, of the queue, of forgettings and of the audit log.

use std::path::PathBuf;

use remora_core::document::RecordId;
use remora_core::time::Time;
use remora_store::claude_mem::ClaudeMemRows;
use remora_store::forget::{Erased, Forgetting, Reason};
use remora_store::{AuditRow, Backlog, Counts, QueueCounts, Spent};
use schemars::JsonSchema;
use serde::Serialize;

use super::times;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Counts")]
pub struct CountsJson {
    pub sessions: i64,
    pub prompts: i64,
    pub observations: i64,
    pub summaries: i64,
    pub facts: i64,
    /// Events that are not observed yet, including those in the spool.
    pub pending: i64,
    /// Events being processed, including those next in line for a model.
    pub processing: i64,
    /// Events whose memory is stored and for which the model is called again later.
    pub awaiting_model: i64,
    pub failed: i64,
    /// Turns that were not stored because their prompt was private.
    pub private_turns: i64,
}

impl From<Counts> for CountsJson {
    fn from(counts: Counts) -> Self {
        let Counts { sessions, prompts, observations, summaries, facts, .. } = counts;
        let Counts { pending, processing, awaiting_model, failed, private_turns, .. } = counts;
        Self {
            sessions,
            prompts,
            observations,
            summaries,
            facts,
            pending,
            processing,
            awaiting_model,
            failed,
            private_turns,
        }
    }
}

/// Counts of queued events by state, as in [`Counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "QueueCounts")]
pub struct QueueCountsJson {
    pub pending: i64,
    pub processing: i64,
    pub awaiting_model: i64,
    pub failed: i64,
}

impl From<QueueCounts> for QueueCountsJson {
    fn from(QueueCounts { pending, processing, awaiting_model, failed }: QueueCounts) -> Self {
        Self { pending, processing, awaiting_model, failed }
    }
}

/// Events that wait, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BacklogJson {
    pub events: i64,
    /// The capture time of the oldest.
    #[serde(flatten, serialize_with = "times::created")]
    pub since: Time,
    /// The last error of the latest.
    pub reason: String,
}

impl From<Backlog> for BacklogJson {
    fn from(Backlog { events, bytes: _, since, reason }: Backlog) -> Self {
        Self { events, since, reason }
    }
}

/// The sum of several calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpentJson {
    pub calls: u64,
    /// Input and output.
    pub tokens: u64,
    pub usd: f64,
}

impl From<Spent> for SpentJson {
    fn from(Spent { calls, tokens, usd }: Spent) -> Self {
        Self { calls, tokens, usd }
    }
}

/// Row counts of the tables with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClaudeMemRowsJson {
    pub sessions: u64,
    pub observations: u64,
    pub summaries: u64,
    pub prompts: u64,
}

impl From<ClaudeMemRows> for ClaudeMemRowsJson {
    fn from(ClaudeMemRows { sessions, observations, summaries, prompts }: ClaudeMemRows) -> Self {
        Self { sessions, observations, summaries, prompts }
    }
}

/// Why a record is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Reason")]
pub enum ReasonJson {
    /// It was named by id, or all of its session, project or time span is removed.
    Named,
    /// It contains the topic literally.
    Literal,
    /// It is about the file.
    File,
    /// It scores high enough for the topic.
    Similar,
    /// It is an earlier version of a removed summary.
    Version,
}

impl From<Reason> for ReasonJson {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Named => Self::Named,
            Reason::Literal => Self::Literal,
            Reason::File => Self::File,
            Reason::Similar => Self::Similar,
            Reason::Version => Self::Version,
        }
    }
}

/// A forgetting that is not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Forgetting")]
pub struct ForgettingJson {
    pub id: i64,
    pub records: Vec<RecordId>,
    pub created_at: Time,
    /// It can be undone until then.
    pub purge_at: Time,
    /// Whether its rows are deleted, so that only files are left.
    pub purged: bool,
}

impl From<Forgetting> for ForgettingJson {
    fn from(forgetting: Forgetting) -> Self {
        let Forgetting { id, records, created_at, purge_at, purged, by_program: _ } = forgetting;
        Self { id, records, created_at, purge_at, purged }
    }
}

/// The files that were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Erased")]
pub struct ErasedJson {
    /// Backups, and databases set aside, that were rewritten.
    pub rewritten: Vec<PathBuf>,
    /// Those that could not be rewritten and were deleted.
    pub removed: Vec<PathBuf>,
    /// Files of the user that still contain the topic, such as `config.toml`.
    pub left: Vec<PathBuf>,
}

impl From<Erased> for ErasedJson {
    fn from(Erased { rewritten, removed, left }: Erased) -> Self {
        Self { rewritten, removed, left }
    }
}

/// A manual change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AuditRow")]
pub struct AuditJson {
    pub action: String,
    /// Ids, counts or a project's directory, never content.
    pub detail: String,
    #[serde(flatten, serialize_with = "times::created")]
    #[schemars(with = "times::Created")]
    pub created_at: Time,
}

impl From<AuditRow> for AuditJson {
    fn from(AuditRow { action, detail, created_at }: AuditRow) -> Self {
        Self { action, detail, created_at }
    }
}
