//! Decides which search results for a prompt are injected, and explains the others.

use remora_core::context::{PinnedNote, RecalledPassage};
use remora_core::document::{RecordId, RecordKind};
use remora_core::fact::FactKey;
use remora_core::ids::{FactId, NoteId};
use remora_core::settings::Memory;
use remora_core::vault;
use remora_core::wrong::CalledWrong;
use remora_search::{Hit, Terms};
use remora_store::injections::{InjectedBefore, Item};
use remora_store::search::DocumentKeys;
use remora_store::{Ledger, MainFile, Store, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::passages::{self, Evidence, Passage};
use super::prompt::PromptRequest;

/// Length of a note's excerpt around the match, in characters.
const NOTE_TEXT: usize = 500;
/// The part of a note that the start of a session injects.
const BEGINNING: &str = "section_1";

/// What happens to a search result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Injected,
    /// A session already has its own records in its context.
    OwnSession,
    /// An event that was not observed yet.
    Waiting,
    Superseded,
    /// A user marked it wrong, or the record it was made from, or what it says.
    Wrong,
    NotesOff,
    /// The beginning of a note that is injected into every session.
    InjectedAsNote,
    /// Its text was injected into this session before.
    AlreadyInjected,
    /// A better candidate has the same content.
    Duplicate,
    /// No sentence of it answers, or better ones fill the limit.
    NoPassage,
    /// The prompt contains nothing specific, or no record scores high enough.
    Gated,
    OverBudget,
    /// It was removed during the search.
    Gone,
}

impl Outcome {
    /// A short reason for users.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Injected => "injected",
            Self::OwnSession => "learned by this session",
            Self::Waiting => "not observed yet",
            Self::Superseded => "superseded",
            Self::Wrong => "marked wrong",
            Self::NotesOff => "notes are off",
            Self::InjectedAsNote => "injected as a note",
            Self::AlreadyInjected => "injected before",
            Self::Duplicate => "says the same as one above",
            Self::NoPassage => "no sentence answers",
            Self::Gated => "too far from the prompt",
            Self::OverBudget => "no room left",
            Self::Gone => "removed meanwhile",
        }
    }
}

/// A search result for a prompt, and what happens to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    pub outcome: Outcome,
    #[serde(flatten)]
    pub hit: Hit,
}

/// Decides what is injected with a prompt. No other code decides this.
pub(super) struct Judge<'a> {
    request: &'a PromptRequest,
    memory: &'a Memory,
    /// Notes that will be injected.
    notes: &'a [PinnedNote],
    /// Notes that were injected; empty if notes are off.
    before: InjectedBefore,
    ledger: Ledger,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        store: &Store,
        request: &'a PromptRequest,
        memory: &'a Memory,
        notes: &'a [PinnedNote],
    ) -> Result<Self, StoreError> {
        let ledger = store.injections().ledger(request.session, "")?;
        let before = match memory.notes_source() {
            Some(_) => store.injections().before(request.session)?,
            None => InjectedBefore::default(),
        };
        Ok(Self { request, memory, notes, before, ledger })
    }

    /// Marks each hit as eligible, or with the reason why not.
    pub(super) fn judge(
        &self,
        hits: Vec<Hit>,
        repeats_wrong: impl Fn(RecordId) -> Result<bool, StoreError>,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut judged: Vec<Candidate> = Vec::with_capacity(hits.len());
        for hit in hits {
            let outcome = match self.of_itself(&hit) {
                Some(outcome) => outcome,
                // What was called wrong must not return in the text of another record.
                None if repeats_wrong(hit.id)? => Outcome::Wrong,
                None => Outcome::Injected,
            };
            judged.push(Candidate { outcome, hit });
        }
        Ok(judged)
    }

    /// Chooses passages of the eligible candidates, and marks the others with a reason.
    pub(super) fn choose(
        &self,
        store: &Store,
        candidates: &mut [Candidate],
        terms: &Terms,
        wrong: &CalledWrong,
    ) -> Result<(Vec<Passage>, Evidence), StoreError> {
        let eligible = || {
            let of_memory = |candidate: &Candidate| candidate.hit.kind != RecordKind::Note;
            let may =
                move |candidate: &Candidate| candidate.outcome == Outcome::Injected && of_memory(candidate);
            candidates.iter().enumerate().filter(move |(_, c)| may(c)).map(|(place, c)| (place, &c.hit))
        };
        let most = usize::from(self.memory.auto_retrieve_max_results);
        let choice = passages::choose(store, eligible(), terms, most, (&self.ledger.passages, wrong))?;
        let hits: Vec<&Hit> = eligible().map(|(_, hit)| hit).collect();
        let evidence = Evidence::of(&hits, &choice.passages, terms);
        let is_open = evidence.gate(self.memory.auto_retrieve_min_score).is_open();
        let chosen = if is_open { choice.passages } else { Vec::new() };
        for (place, candidate) in candidates.iter_mut().enumerate() {
            let is_note = candidate.hit.kind == RecordKind::Note;
            if candidate.outcome != Outcome::Injected || chosen.iter().any(|passage| passage.place == place) {
                continue;
            }
            if is_note && candidate.hit.score >= self.memory.auto_retrieve_min_score {
                continue;
            }
            candidate.outcome = if choice.injected_before.contains(&place) {
                Outcome::AlreadyInjected
            } else if !is_open {
                Outcome::Gated
            } else if choice.duplicates.contains(&place) {
                Outcome::Duplicate
            } else {
                Outcome::NoPassage
            };
        }
        Ok((chosen, evidence))
    }

    /// Why a hit cannot be injected, regardless of other candidates.
    fn of_itself(&self, hit: &Hit) -> Option<Outcome> {
        let reasons: [(Outcome, &dyn Fn() -> bool); 7] = [
            (Outcome::OwnSession, &|| self.is_in_context(hit)),
            (Outcome::Waiting, &|| hit.kind == RecordKind::Event || hit.why.waiting),
            (Outcome::Superseded, &|| hit.superseded),
            (Outcome::Wrong, &|| hit.feedback.is_wrong()),
            (Outcome::NotesOff, &|| hit.kind == RecordKind::Note && self.memory.notes_source().is_none()),
            (Outcome::InjectedAsNote, &|| self.opening_injected(hit)),
            (Outcome::AlreadyInjected, &|| {
                hit.kind == RecordKind::Note && self.before.records.contains(&hit.id)
            }),
        ];
        reasons.into_iter().find(|(_, holds)| holds()).map(|(outcome, _)| outcome)
    }

    /// A session has its own records in its context, until its host empties it.
    fn is_in_context(&self, hit: &Hit) -> bool {
        let is_own = hit.session_id == Some(self.request.session);
        is_own && self.ledger.emptied_at.is_none_or(|emptied_at| hit.created_at >= emptied_at)
    }

    /// Whether the beginning of this note was injected, or will be.
    fn opening_injected(&self, hit: &Hit) -> bool {
        hit.kind == RecordKind::Note
            && hit.part == BEGINNING
            && (self.notes.iter().any(|note| note.id == hit.id.number)
                || self.before.notes.iter().any(|(note, _)| *note == hit.id.number))
    }
}

/// The log entry of an injected record.
pub(super) fn item(hit: &Hit, passages: Vec<u64>) -> Item {
    let why = format!("{} {}", hit.part, hit.why.matched.join(" "));
    Item {
        id: hit.id.to_string(),
        score: Some(hit.score),
        why: why.trim().to_owned(),
        version: String::new(),
        passages,
    }
}

/// A record with its injected passages; `None` if it was removed meanwhile.
pub(super) fn text_of(
    store: &Store,
    hit: &Hit,
    passages: &[&Passage],
) -> Result<Option<RecalledPassage>, StoreError> {
    if hit.kind == RecordKind::Note {
        return note_text(store, hit);
    }
    let host = match (hit.session_id, hit.kind) {
        (Some(session), _) => {
            store.sessions().origin(session)?.ok_or(StoreError::UnknownSession(session))?.host
        }
        (None, RecordKind::Fact) => match store.facts().get(FactId(hit.id.number))? {
            Some(row) => format!("{} by {}", row.fact.kind.name(), row.fact.source),
            None => return Ok(None),
        },
        (None, _) => String::new(),
    };
    let text = passages.iter().map(|passage| ended(&passage.text)).collect::<Vec<_>>().join(" ");
    // The title of a turn or a summary is its prompt, which is not an answer.
    let is_repeated = passages.iter().any(|passage| passages::repeats(passage, &hit.title));
    let title = match hit.kind {
        RecordKind::Observation if !is_repeated => hit.title.clone(),
        RecordKind::Fact if !FactKey::from(hit.title.as_str()).is_in(&text) => hit.title.clone(),
        _ => String::new(),
    };
    let longest = usize::MAX;
    let since = match (hit.kind, hit.project_id) {
        (RecordKind::Observation, Some(project)) => {
            let main_file = MainFile { observation: hit.id.number, path: None };
            store.files().since(project, [main_file])?.remove(&hit.id.number)
        }
        _ => None,
    };
    Ok(Some(RecalledPassage {
        id: hit.id.to_string(),
        title,
        text,
        longest,
        at: hit.created_at,
        host,
        since,
    }))
}

fn ended(sentence: &str) -> String {
    let is_ended = sentence.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    if is_ended { sentence.to_owned() } else { format!("{sentence}.") }
}

/// The text of a note around the match.
fn note_text(store: &Store, hit: &Hit) -> Result<Option<RecalledPassage>, StoreError> {
    let Some(note) = store.notes().get(NoteId(hit.id.number))? else { return Ok(None) };
    let part = DocumentKeys::Part { record: hit.id, part: &hit.part };
    let Some(document) = store.index().documents(part)?.pop() else { return Ok(None) };
    // A snippet is part of the text, with line breaks replaced by spaces.
    let flat: String = document.body.chars().map(|c| if c.is_ascii_control() { ' ' } else { c }).collect();
    let at = flat.find(hit.snippet.text.trim_matches('…')).unwrap_or_default();
    Ok(Some(RecalledPassage {
        id: hit.id.to_string(),
        title: hit.title.clone(),
        text: vault::excerpt_around(&flat, at, NOTE_TEXT),
        longest: NOTE_TEXT + 20,
        at: hit.created_at,
        host: format!("note {}", note.path),
        since: None,
    }))
}

#[cfg(test)]
mod tests {
    use remora_core::ids::{ProjectId, SessionId};
    use remora_core::time::Time;
    use remora_search::{Snippet, Why};

    use super::*;

    fn hit(id: &str, session: i64, score: f64) -> Hit {
        let id: RecordId = id.parse().unwrap();
        Hit {
            feedback: remora_core::feedback::Feedback::default(),
            id,
            kind: id.kind,
            part: "narrative".to_owned(),
            title: String::new(),
            snippet: Snippet::default(),
            score,
            why: Why::default(),
            project: None,
            project_id: None,
            session_id: Some(SessionId(session)),
            observation_type: None,
            created_at: Time(0),
            superseded: false,
            superseded_by: None,
            duplicates: Vec::new(),
        }
    }

    #[test]
    fn every_candidate_that_is_not_injected_has_a_reason() {
        let request = PromptRequest::new("", ProjectId(1), SessionId(9), None);
        let memory = Memory {
            auto_retrieve_max_results: 2,
            auto_retrieve_min_score: 0.5,
            obsidian_vault: "/notes".into(),
            ..Memory::default()
        };
        let note = PinnedNote {
            id: 4,
            path: String::new(),
            title: String::new(),
            text: String::new(),
            version: String::new(),
        };
        let judge = Judge {
            request: &request,
            memory: &memory,
            notes: &[note],
            before: InjectedBefore::default(),
            ledger: Ledger::default(),
        };
        let superseded = Hit { superseded: true, ..hit("3", 3, 0.9) };
        let waiting = Hit { why: Why { waiting: true, ..Why::default() }, ..hit("t8", 8, 0.9) };
        let begun = Hit { part: BEGINNING.to_owned(), session_id: None, ..hit("n4", 0, 0.9) };
        let further = Hit { session_id: None, ..hit("n4", 0, 0.9) };
        let cases = [
            (hit("2", 9, 0.9), Outcome::OwnSession),
            (superseded, Outcome::Superseded),
            (waiting, Outcome::Waiting),
            (hit("e5", 5, 0.9), Outcome::Waiting),
            (begun, Outcome::InjectedAsNote),
            (hit("s11", 11, 0.9), Outcome::Wrong),
            (hit("7", 7, 0.5), Outcome::Injected),
            (further, Outcome::Injected),
        ];
        let (hits, expected): (Vec<Hit>, Vec<Outcome>) = cases.into_iter().unzip();
        let judged = judge.judge(hits, |id| Ok(id.to_string() == "s11")).unwrap();
        let fates: Vec<Outcome> = judged.iter().map(|candidate| candidate.outcome).collect();
        assert_eq!(fates, expected);
        let without = Memory::default();
        let judge = Judge {
            request: &request,
            memory: &without,
            notes: &[],
            before: InjectedBefore::default(),
            ledger: Ledger::default(),
        };
        let judged = judge.judge(vec![hit("n4", 0, 0.9)], |_| Ok(false)).unwrap();
        assert_eq!(judged[0].outcome, Outcome::NotesOff);
    }
}
