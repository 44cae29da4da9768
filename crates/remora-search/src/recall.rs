//! What is worth telling an agent with a prompt: little, only what fits, and nothing it knows already. Notes that are
//! always told come with it where the session does not have them, or not as they are now.

use std::time::Instant;

use remora_core::context::{self, LONGEST_TEXT, Noted, Recalled};
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{NoteId, ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_core::vault;
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
/// About as much of a note is told, around what fits.
const NOTE_TEXT: usize = 500;
/// The part of a note that its excerpt is from.
const BEGINNING: &str = "section_1";
/// How much of a prompt is written down beside what was told with it.
pub const PREVIEW: usize = 120;

/// A prompt, and whose memory it is asked of.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompted {
    /// As it was captured: redacted.
    pub text: String,
    pub project: ProjectId,
    pub session: SessionId,
    /// 0: no memories.
    pub most: usize,
    /// From 0 to 1.
    pub least_score: f64,
    /// What the host takes, in tokens.
    pub room: u64,
    /// Whether notes are told.
    pub notes: bool,
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
        let notes = if prompted.notes { store.untold_notes(prompted.session)? } else { Vec::new() };
        let remembered = if prompted.most == 0 || is_trivial(&prompted.text) {
            Remembered::default()
        } else {
            self.remember(store, embedder, prompted, &notes)?
        };
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
                    version: String::new(),
                });
            }
        }
        let Some(told) = context::recalled(&memories, &notes, MOST_TOKENS, prompted.room, prompted.now)
        else {
            return Ok(None);
        };
        let shown =
            |number: &i64| usize::try_from(*number).ok().and_then(|number| items.get(number).cloned());
        let of_notes = told.notes.iter().filter_map(|number| notes.get(*number)).map(Item::of_note);
        let retrieval = Retrieval {
            session: prompted.session,
            moment: Moment::Prompt,
            prompt: one_line(&prompted.text, PREVIEW),
            tokens: context::tokens(&told.text),
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            degraded: remembered.degraded,
            items: of_notes.chain(told.shown.iter().filter_map(shown)).collect(),
            at: prompted.now,
        };
        Ok(Some(Telling { text: told.text, retrieval }))
    }

    fn remember(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted,
        notes: &[Noted],
    ) -> Result<Remembered, StoreError> {
        let mut query = SearchQuery::new(ProjectScope::One(prompted.project), &prompted.text);
        query.limit = prompted.most * CANDIDATES;
        query.now = prompted.now;
        let found = self.search(store, embedder, &query)?;
        let told = store.told(prompted.session)?;
        // The beginning of a note that is always told was told, or is about to be.
        let is_begun = |hit: &Hit| {
            hit.kind == RecordKind::Note
                && hit.part == BEGINNING
                && (notes.iter().any(|note| note.id == hit.id.number)
                    || told.notes.iter().any(|(note, _)| *note == hit.id.number))
        };
        let is_news = |hit: &Hit| {
            // What this session did itself, it knows; what waits is no memory yet.
            hit.session_id != Some(prompted.session)
                && hit.kind != RecordKind::Event
                && !hit.why.waiting
                && hit.superseded_by.is_none()
                && !hit.feedback.is_wrong()
                && (prompted.notes || hit.kind != RecordKind::Note)
                && !told.records.contains(&hit.id)
                && !is_begun(hit)
                && !(retells(hit) && hit.session_id.is_some_and(|session| told.sessions.contains(&session)))
        };
        let fits = |hit: &Hit| hit.score >= prompted.least_score;
        let mut hits: Vec<Hit> = Vec::new();
        for hit in found.hits.into_iter().filter(|hit| fits(hit) && is_news(hit)) {
            let is_wanted = hits.len() < prompted.most && !hits.iter().any(|told| says_the_same(told, &hit));
            // What is wrong must not come back in the words of its turn.
            if is_wanted && !store.retells_wrong(hit.id)? {
                hits.push(hit);
            }
        }
        Ok(Remembered { hits, degraded: found.plan.no_vectors })
    }
}

/// A hit with enough of its text to be of use.
fn tell(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
    let RecordId { kind, number } = hit.id;
    if kind == RecordKind::Note {
        return tell_note(store, hit);
    }
    let text = match kind {
        RecordKind::Observation => {
            store.observation(ObservationId(number))?.map(|row| row.observation.narrative)
        }
        RecordKind::Summary => store
            .summary(SummaryId(number))?
            .map(|row| [row.summary.completed, row.summary.learned].join(" ").trim().to_owned()),
        RecordKind::Turn => store.prompt(PromptId(number))?.and_then(|row| row.closing_message),
        RecordKind::Fact | RecordKind::Note | RecordKind::Event => Some(hit.snippet.text.clone()),
    };
    let host = match hit.session_id {
        Some(session) => store.session_host(session)?,
        None => String::new(),
    };
    let id = hit.id.to_string();
    let longest = LONGEST_TEXT;
    Ok(text.map(|text| Recalled { id, title: hit.title.clone(), text, longest, at: hit.created_at, host }))
}

/// The words of a note around what was found.
fn tell_note(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
    let Some(note) = store.note(NoteId(hit.id.number))? else { return Ok(None) };
    let Some(text) = store.part_text(hit.id, &hit.part)? else { return Ok(None) };
    // A snippet is a piece of the text in which line breaks have become spaces.
    let flat: String = text.chars().map(|c| if c.is_ascii_control() { ' ' } else { c }).collect();
    let at = flat.find(hit.snippet.text.trim_matches('…')).unwrap_or_default();
    Ok(Some(Recalled {
        id: hit.id.to_string(),
        title: hit.title.clone(),
        text: vault::excerpt_around(&flat, at, NOTE_TEXT),
        longest: NOTE_TEXT + 20,
        at: hit.created_at,
        host: format!("note {}", note.path),
    }))
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
