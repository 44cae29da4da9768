//! Which of the records found for a prompt are injected, and why not the others.

use remora_core::context::{LONGEST_TEXT, Noted, Recalled};
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{NoteId, ObservationId, PromptId, SummaryId};
use remora_core::settings::Memory;
use remora_core::vault;
use remora_search::Hit;
use remora_store::retrievals::{Item, Told};
use remora_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use super::prompt::PromptRequest;

/// About this much of a note is injected, around what fits, in characters.
const NOTE_TEXT: usize = 500;
/// The part of a note that its excerpt is from.
const BEGINNING: &str = "section_1";

/// What becomes of a record that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Injected,
    /// It does not fit well enough.
    BelowThreshold,
    /// A session knows what it did itself.
    OwnSession,
    /// An event that is no memory yet.
    Waiting,
    Superseded,
    /// Somebody called it wrong, or the record it was made of.
    Wrong,
    NotesOff,
    AlreadyInjected,
    /// The beginning of a note that is injected at every start.
    InjectedAsNote,
    /// A turn or a summary whose observation was injected before.
    InjectedOtherwise,
    /// Says the same as a better candidate.
    Duplicate,
    /// As many are injected as the settings allow.
    Enough,
    OverBudget,
    /// It was removed while it was searched.
    Gone,
}

/// A record that was found for a prompt, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    #[serde(rename = "outcome")]
    pub fate: Fate,
    #[serde(flatten)]
    pub hit: Hit,
}

/// Decides what is worth injecting: the one place that does.
pub(super) struct Judge<'a> {
    request: &'a PromptRequest,
    memory: &'a Memory,
    /// Notes that are about to be injected.
    notes: &'a [Noted],
    told: Told,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        store: &Store,
        request: &'a PromptRequest,
        memory: &'a Memory,
        notes: &'a [Noted],
    ) -> Result<Self, StoreError> {
        Ok(Self { request, memory, notes, told: store.told(request.session)? })
    }

    /// Hits come best first, and one that is injected may leave nothing new in the next.
    pub(super) fn judge(
        &self,
        hits: Vec<Hit>,
        retells_wrong: impl Fn(RecordId) -> Result<bool, StoreError>,
    ) -> Result<Vec<Candidate>, StoreError> {
        let most = usize::from(self.memory.auto_retrieve_max_results);
        let mut judged: Vec<Candidate> = Vec::with_capacity(hits.len());
        for hit in hits {
            let injected = || judged.iter().filter(|other| other.fate == Fate::Injected);
            let fate = if let Some(fate) = self.of_itself(&hit) {
                fate
            } else if injected().any(|other| says_the_same(&other.hit, &hit)) {
                Fate::Duplicate
            } else if injected().count() >= most {
                Fate::Enough
            } else if retells_wrong(hit.id)? {
                // A wrong observation must not come back in the words of its turn.
                Fate::Wrong
            } else {
                Fate::Injected
            };
            judged.push(Candidate { fate, hit });
        }
        Ok(judged)
    }

    /// Why a hit is not injected whatever else is.
    fn of_itself(&self, hit: &Hit) -> Option<Fate> {
        let retold = || hit.session_id.is_some_and(|session| self.told.sessions.contains(&session));
        let reasons: [(Fate, &dyn Fn() -> bool); 9] = [
            (Fate::BelowThreshold, &|| hit.score < self.memory.auto_retrieve_min_score),
            (Fate::OwnSession, &|| hit.session_id == Some(self.request.session)),
            (Fate::Waiting, &|| hit.kind == RecordKind::Event || hit.why.waiting),
            (Fate::Superseded, &|| hit.superseded_by.is_some()),
            (Fate::Wrong, &|| hit.feedback.is_wrong()),
            (Fate::NotesOff, &|| hit.kind == RecordKind::Note && self.memory.notes_source().is_none()),
            (Fate::AlreadyInjected, &|| self.told.records.contains(&hit.id)),
            (Fate::InjectedAsNote, &|| self.is_begun(hit)),
            (Fate::InjectedOtherwise, &|| retells(hit) && retold()),
        ];
        reasons.into_iter().find(|(_, holds)| holds()).map(|(fate, _)| fate)
    }

    /// Whether the beginning of this note was injected, or is about to be.
    fn is_begun(&self, hit: &Hit) -> bool {
        hit.kind == RecordKind::Note
            && hit.part == BEGINNING
            && (self.notes.iter().any(|note| note.id == hit.id.number)
                || self.told.notes.iter().any(|(note, _)| *note == hit.id.number))
    }
}

/// What is logged of a record that is injected.
pub(super) fn item(hit: &Hit) -> Item {
    let why = format!("{} {}", hit.part, hit.why.matched.join(" "));
    Item {
        id: hit.id.to_string(),
        score: Some(hit.score),
        why: why.trim().to_owned(),
        version: String::new(),
    }
}

/// A hit with enough of its text to be of use; nothing where it was removed meanwhile.
pub(super) fn text_of(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
    let RecordId { kind, number } = hit.id;
    if kind == RecordKind::Note {
        return note_text(store, hit);
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
fn note_text(store: &Store, hit: &Hit) -> Result<Option<Recalled>, StoreError> {
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

/// A turn and a summary say again what became an observation.
fn retells(hit: &Hit) -> bool {
    matches!(hit.kind, RecordKind::Turn | RecordKind::Summary)
}

fn says_the_same(one: &Hit, other: &Hit) -> bool {
    one.session_id.is_some() && one.session_id == other.session_id && (retells(one) || retells(other))
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
            superseded_by: None,
            duplicates: Vec::new(),
        }
    }

    #[test]
    fn every_candidate_that_is_not_injected_has_a_reason() {
        let request =
            PromptRequest { text: String::new(), project: ProjectId(1), session: SessionId(9), room: 1_000 };
        let memory = Memory {
            auto_retrieve_max_results: 2,
            auto_retrieve_min_score: 0.5,
            obsidian_vault: "/notes".into(),
            ..Memory::default()
        };
        let note = Noted {
            id: 4,
            path: String::new(),
            title: String::new(),
            text: String::new(),
            version: String::new(),
        };
        let told = Told {
            records: ["6".parse().unwrap()].into(),
            sessions: [SessionId(6)].into(),
            ..Told::default()
        };
        let judge = Judge { request: &request, memory: &memory, notes: &[note], told };
        let superseded = Hit { superseded_by: Some(ObservationId(1)), ..hit("3", 3, 0.9) };
        let waiting = Hit { why: Why { waiting: true, ..Why::default() }, ..hit("t8", 8, 0.9) };
        let begun = Hit { part: BEGINNING.to_owned(), session_id: None, ..hit("n4", 0, 0.9) };
        let further = Hit { session_id: None, ..hit("n4", 0, 0.9) };
        let cases = [
            (hit("1", 1, 0.49), Fate::BelowThreshold),
            (hit("2", 9, 0.9), Fate::OwnSession),
            (superseded, Fate::Superseded),
            (waiting, Fate::Waiting),
            (hit("e5", 5, 0.9), Fate::Waiting),
            (hit("6", 6, 0.9), Fate::AlreadyInjected),
            (hit("t6", 6, 0.9), Fate::InjectedOtherwise),
            (begun, Fate::InjectedAsNote),
            (hit("s11", 11, 0.9), Fate::Wrong),
            (hit("7", 7, 0.5), Fate::Injected),
            (hit("s7", 7, 0.9), Fate::Duplicate),
            (further, Fate::Injected),
            (hit("10", 10, 0.9), Fate::Enough),
        ];
        let (hits, expected): (Vec<Hit>, Vec<Fate>) = cases.into_iter().unzip();
        let judged = judge.judge(hits, |id| Ok(id.to_string() == "s11")).unwrap();
        let fates: Vec<Fate> = judged.iter().map(|candidate| candidate.fate).collect();
        assert_eq!(fates, expected);
        let without = Memory::default();
        let judge = Judge { request: &request, memory: &without, notes: &[], told: Told::default() };
        let judged = judge.judge(vec![hit("n4", 0, 0.9)], |_| Ok(false)).unwrap();
        assert_eq!(judged[0].fate, Fate::NotesOff);
    }
}
