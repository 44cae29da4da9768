//! What is worth telling an agent with a prompt: little, only what fits, and nothing it knows already.

use remora_core::document::{ProjectScope, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
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

/// A prompt, and whose memory it is asked of.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompted<'a> {
    pub text: &'a str,
    pub project: ProjectId,
    pub session: SessionId,
    pub most: usize,
    /// From 0 to 1.
    pub least_score: f64,
    pub now: Time,
}

/// What to tell, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remembered {
    pub hits: Vec<Hit>,
    /// What could not be asked.
    pub degraded: Option<String>,
}

impl Searcher {
    /// Finds what is worth telling with a prompt. Without an embedder it goes by words alone.
    pub fn recall(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted<'_>,
    ) -> Result<Remembered, StoreError> {
        if is_trivial(prompted.text) {
            return Ok(Remembered::default());
        }
        let mut query = SearchQuery::new(ProjectScope::One(prompted.project), prompted.text);
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
