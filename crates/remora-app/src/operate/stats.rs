//! Size of the memory.

use remora_core::document::ProjectScope;
use remora_core::time::Time;
use remora_store::Counts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{AppError, Runtime};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MemoryStats {
    pub observations: i64,
    pub summaries: i64,
    pub facts: i64,
    /// Parts of records that are indexed separately.
    pub documents: usize,
    pub vectors: usize,
    /// Documents without a vector yet.
    pub missing: usize,
    /// Model that made the vectors; `None` before the first one.
    pub model: Option<String>,
    /// When vectors were last stored.
    pub last_indexed_at: Option<String>,
    pub last_indexed_at_epoch: Option<Time>,
}

pub fn memory(rt: &dyn Runtime) -> Result<MemoryStats, AppError> {
    let store = rt.store();
    let Counts { observations, summaries, facts, .. } = store.counts()?;
    let index = store.index().state(ProjectScope::All)?;
    Ok(MemoryStats {
        observations,
        summaries,
        facts,
        documents: index.documents,
        vectors: index.with_vector,
        missing: index.to_embed,
        model: index.model,
        last_indexed_at: index.last_at.map(Time::iso),
        last_indexed_at_epoch: index.last_at,
    })
}
