//! What is worth telling an agent with a prompt: little, only what fits, and nothing it knows already.

use std::time::Instant;

use remora_core::context::{self, Recalled};
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_store::retrievals::{Item, Moment, Retrieval};
use remora_store::{Store, StoreError};

use crate::embed::Embed;
use crate::hit::Hit;
use crate::query::SearchQuery;
use crate::searcher::Searcher;

/// How many candidates are looked at for each that may be told.
const CANDIDATES: usize = 8;
/// A prompt with less to go by than this is a nod, not a question.
const FEWEST_WORDS: usize = 3;
const SHORTEST: usize = 12;

/// What memories may take with a prompt, in tokens.
const MOST_TOKENS: u64 = 800;
/// How much of a prompt is written down beside what was told with it.
pub const PREVIEW: usize = 120;

/// A prompt, and whose memory it is asked of.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompted {
    /// As it was captured: redacted.
    pub text: String,
    pub project: ProjectId,
    pub session: SessionId,
    pub most: usize,
    /// From 0 to 1.
    pub least_score: f64,
    /// What the host takes, in tokens.
    pub room: u64,
    pub now: Time,
}

/// What to tell, and what to write down about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    pub text: String,
    pub retrieval: Retrieval,
}

/// What is worth telling, best first.
#[derive(Debug, Clone, Default, PartialEq)]
struct Remembered {
    hits: Vec<Hit>,
    /// What could not be asked.
    degraded: Option<String>,
}

impl Searcher {
    /// What to tell with a prompt, if anything. Without an embedder it goes by words alone.
    pub fn recall(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted,
    ) -> Result<Option<Telling>, StoreError> {
        let started = Instant::now();
        if is_trivial(&prompted.text) {
            return Ok(None);
        }
        let remembered = self.remember(store, embedder, prompted)?;
        let mut memories = Vec::new();
        let mut items = Vec::new();
        for hit in &remembered.hits {
            if let Some(memory) = tell(store, hit)? {
                memories.push(memory);
                let why = format!("{} {}", hit.part, hit.why.matched.join(" "));
                items.push(Item {
                    id: hit.id.to_string(),
                    score: Some(hit.score),
                    why: why.trim().to_owned(),
                });
            }
        }
        let Some(told) = context::recalled(&memories, MOST_TOKENS.min(prompted.room), prompted.now) else {
            return Ok(None);
        };
        let shown =
            |number: &i64| usize::try_from(*number).ok().and_then(|number| items.get(number).cloned());
        let retrieval = Retrieval {
            session: prompted.session,
            moment: Moment::Prompt,
            prompt: one_line(&prompted.text, PREVIEW),
            tokens: context::tokens(&told.text),
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            degraded: remembered.degraded,
            items: told.shown.iter().filter_map(shown).collect(),
            at: prompted.now,
        };
        Ok(Some(Telling { text: told.text, retrieval }))
    }

    fn remember(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted,
    ) -> Result<Remembered, StoreError> {
        let mut query = SearchQuery::new(ProjectScope::One(prompted.project), &prompted.text);
        query.limit = prompted.most * CANDIDATES;
        query.now = prompted.now;
        let found = self.search(store, embedder, &query)?;
        let told = store.told(prompted.session)?;
        let is_news = |hit: &Hit| {
            // What this session did itself, it knows; what waits is no memory yet.
            hit.session_id != Some(prompted.session)
                && hit.kind != RecordKind::Event
                && !hit.why.waiting
                && hit.superseded_by.is_none()
                && !told.records.contains(&hit.id)
                && !(retells(hit) && hit.session_id.is_some_and(|session| told.sessions.contains(&session)))
        };
        let fits = |hit: &Hit| hit.score >= prompted.least_score;
        let mut hits: Vec<Hit> = Vec::new();
        for hit in found.hits.into_iter().filter(|hit| fits(hit) && is_news(hit)) {
            if hits.len() < prompted.most && !hits.iter().any(|told| says_the_same(told, &hit)) {
                hits.push(hit);
            }
        }
        Ok(Remembered { hits, degraded: found.plan.no_vectors })
    }
}

/// A hit with enough of its text to be of use.
fn tell(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
    let RecordId { kind, number } = hit.id;
    let text = match kind {
        RecordKind::Observation => {
            store.observation(ObservationId(number))?.map(|row| row.observation.narrative)
        }
        RecordKind::Summary => store
            .summary(SummaryId(number))?
            .map(|row| [row.summary.completed, row.summary.learned].join(" ").trim().to_owned()),
        RecordKind::Turn => store.prompt(PromptId(number))?.and_then(|row| row.closing_message),
        RecordKind::Fact | RecordKind::Event => Some(hit.snippet.text.clone()),
    };
    let host = match hit.session_id {
        Some(session) => store.session_host(session)?,
        None => String::new(),
    };
    let id = hit.id.to_string();
    Ok(text.map(|text| Recalled { id, title: hit.title.clone(), text, at: hit.created_at, host }))
}

/// A turn and a summary tell again what became an observation.
fn retells(hit: &Hit) -> bool {
    matches!(hit.kind, RecordKind::Turn | RecordKind::Summary)
}

fn says_the_same(told: &Hit, other: &Hit) -> bool {
    told.session_id.is_some() && told.session_id == other.session_id && (retells(told) || retells(other))
}

/// `yes`, `go on`, `/compact`: nothing to look for.
pub fn is_trivial(prompt: &str) -> bool {
    let text = prompt.trim();
    text.starts_with('/')
        || text.chars().count() < SHORTEST
        || (text.is_ascii() && text.split_whitespace().count() < FEWEST_WORDS)
}

#[cfg(test)]
mod tests {
    use super::is_trivial;

    #[test]
    fn a_nod_is_no_question() {
        for nod in ["", "yes", "ok do it", "continue please", "/compact now and then go on", "  \n "] {
            assert!(is_trivial(nod), "{nod}");
        }
        for question in
            ["why does the parser loop", "翻訳キャッシュが古い値を返すのはなぜですか", "fix the flaky test"]
        {
            assert!(!is_trivial(question), "{question}");
        }
    }
}
