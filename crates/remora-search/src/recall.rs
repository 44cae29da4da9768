//! What is worth telling an agent with a prompt: little, only what fits, and nothing it knows already. Notes that are
//! always told come with it where the session does not have them, or not as they are now.

use std::time::Instant;

use remora_core::context::{self, Context, LONGEST_TEXT, Noted, Recalled};
use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{NoteId, ObservationId, ProjectId, PromptId, SessionId, SummaryId};
use remora_core::text::one_line;
use remora_core::time::Time;
use remora_core::vault;
use remora_store::retrievals::{Item, Moment, Retrieval, Told};
use remora_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::embed::Embed;
use crate::hit::Hit;
use crate::query::{Mode, SearchQuery};
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

/// A session that has not begun: it knows nothing, and nothing is known of it. Ids count from 1.
pub const NEW_SESSION: SessionId = SessionId(0);

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

/// What becomes of a memory that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Told,
    /// It does not fit well enough.
    BelowThreshold,
    /// What a session did itself, it knows.
    OwnSession,
    /// What waits is no memory yet.
    Waiting,
    Superseded,
    /// Somebody called it wrong, or what it was made of.
    Wrong,
    NotesOff,
    AlreadyTold,
    /// The beginning of a note that is always told: it was, or is about to be.
    ToldAsNote,
    /// A turn or a summary whose observation the session was told.
    ToldOtherwise,
    /// A turn or a summary beside what is told of the same session, or the other way round.
    SaysTheSame,
    /// As many are told as the settings allow.
    Enough,
    OverBudget,
    /// It was removed while it was looked for.
    Gone,
}

/// A memory that was found for a prompt, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    pub verdict: Verdict,
    #[serde(flatten)]
    pub hit: Hit,
}

/// Why something is told with a prompt, and something else is not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Why nothing was looked for, where that is so.
    pub skipped: Option<String>,
    /// How it was looked for.
    pub mode: Option<Mode>,
    /// Why not by meaning.
    pub no_vectors: Option<String>,
    pub least_score: f64,
    pub most: usize,
    pub ms: u64,
    /// The best first.
    pub candidates: Vec<Candidate>,
}

/// What to tell, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub telling: Option<Telling>,
    pub explanation: Explanation,
}

impl Searcher {
    /// What to tell with a prompt, if anything. Without an embedder it goes by words alone.
    pub fn recall(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted,
    ) -> Result<Option<Telling>, StoreError> {
        Ok(self.explain(store, embedder, prompted)?.telling)
    }

    /// The same, with everything that was considered.
    pub fn explain(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        prompted: &Prompted,
    ) -> Result<Explained, StoreError> {
        let started = Instant::now();
        let notes = if prompted.notes { store.untold_notes(prompted.session)? } else { Vec::new() };
        let mut explanation = Explanation {
            skipped: skipped(prompted),
            mode: None,
            no_vectors: None,
            least_score: prompted.least_score,
            most: prompted.most,
            ms: 0,
            candidates: Vec::new(),
        };
        if explanation.skipped.is_none() {
            let found = self.search(store, embedder, &question(prompted))?;
            (explanation.mode, explanation.no_vectors) = (Some(found.plan.mode), found.plan.no_vectors);
            explanation.candidates =
                Judge::new(store, prompted, &notes)?.judge(found.hits, |id| store.retells_wrong(id))?;
        }
        let told = tell_all(store, prompted, &mut explanation.candidates, &notes)?;
        explanation.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let telling = told.map(|told| Telling {
            retrieval: Retrieval {
                session: prompted.session,
                agent: String::new(),
                moment: Moment::Prompt,
                prompt: one_line(&prompted.text, PREVIEW),
                tokens: context::tokens(&told.text),
                ms: explanation.ms,
                degraded: explanation.no_vectors.clone(),
                items: items(&told, &explanation.candidates, &notes),
                at: prompted.now,
            },
            text: told.text,
        });
        Ok(Explained { telling, explanation })
    }
}

fn skipped(prompted: &Prompted) -> Option<String> {
    if prompted.most == 0 {
        return Some("memory.auto_retrieve_enabled is false".to_owned());
    }
    is_trivial(&prompted.text)
        .then(|| "the prompt is a command, or too short to look for anything".to_owned())
}

fn question(prompted: &Prompted) -> SearchQuery {
    let mut query = SearchQuery::new(ProjectScope::One(prompted.project), &prompted.text);
    query.limit = prompted.most * CANDIDATES;
    query.now = prompted.now;
    query.is_prompt = true;
    query
}

/// Decides what is worth telling: the one place that does.
struct Judge<'a> {
    prompted: &'a Prompted,
    /// Notes that are about to be told.
    notes: &'a [Noted],
    told: Told,
}

impl<'a> Judge<'a> {
    fn new(store: &Store, prompted: &'a Prompted, notes: &'a [Noted]) -> Result<Self, StoreError> {
        Ok(Self { prompted, notes, told: store.told(prompted.session)? })
    }

    /// Hits come best first, and what is told of one may leave nothing to tell of the next.
    fn judge(
        &self,
        hits: Vec<Hit>,
        retells_wrong: impl Fn(RecordId) -> Result<bool, StoreError>,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut judged: Vec<Candidate> = Vec::with_capacity(hits.len());
        for hit in hits {
            let told = || judged.iter().filter(|other| other.verdict == Verdict::Told);
            let verdict = if let Some(verdict) = self.of_itself(&hit) {
                verdict
            } else if told().any(|other| says_the_same(&other.hit, &hit)) {
                Verdict::SaysTheSame
            } else if told().count() >= self.prompted.most {
                Verdict::Enough
            } else if retells_wrong(hit.id)? {
                // What is wrong must not come back in the words of its turn.
                Verdict::Wrong
            } else {
                Verdict::Told
            };
            judged.push(Candidate { verdict, hit });
        }
        Ok(judged)
    }

    /// Why a hit is not told whatever else is.
    fn of_itself(&self, hit: &Hit) -> Option<Verdict> {
        let retold = || hit.session_id.is_some_and(|session| self.told.sessions.contains(&session));
        let reasons: [(Verdict, &dyn Fn() -> bool); 9] = [
            (Verdict::BelowThreshold, &|| hit.score < self.prompted.least_score),
            (Verdict::OwnSession, &|| hit.session_id == Some(self.prompted.session)),
            (Verdict::Waiting, &|| hit.kind == RecordKind::Event || hit.why.waiting),
            (Verdict::Superseded, &|| hit.superseded),
            (Verdict::Wrong, &|| hit.feedback.is_wrong()),
            (Verdict::NotesOff, &|| hit.kind == RecordKind::Note && !self.prompted.notes),
            (Verdict::AlreadyTold, &|| self.told.records.contains(&hit.id)),
            (Verdict::ToldAsNote, &|| self.is_begun(hit)),
            (Verdict::ToldOtherwise, &|| retells(hit) && retold()),
        ];
        reasons.into_iter().find(|(_, holds)| holds()).map(|(verdict, _)| verdict)
    }

    /// The beginning of a note that is always told was told, or is about to be.
    fn is_begun(&self, hit: &Hit) -> bool {
        hit.kind == RecordKind::Note
            && hit.part == BEGINNING
            && (self.notes.iter().any(|note| note.id == hit.id.number)
                || self.told.notes.iter().any(|(note, _)| *note == hit.id.number))
    }
}

/// The text of what is to be told. What finds no room in it is judged anew.
fn tell_all(
    store: &Store,
    prompted: &Prompted,
    candidates: &mut [Candidate],
    notes: &[Noted],
) -> Result<Option<Context>, StoreError> {
    let mut memories = Vec::new();
    let mut places = Vec::new();
    for (place, candidate) in candidates.iter_mut().enumerate() {
        if candidate.verdict != Verdict::Told {
            continue;
        }
        match tell(store, &candidate.hit)? {
            Some(memory) => {
                memories.push(memory);
                places.push(place);
            }
            None => candidate.verdict = Verdict::Gone,
        }
    }
    let told = context::recalled(&memories, notes, MOST_TOKENS, prompted.room, prompted.now);
    for (number, place) in (0..).zip(places) {
        if !told.as_ref().is_some_and(|told| told.shown.contains(&number)) {
            candidates[place].verdict = Verdict::OverBudget;
        }
    }
    Ok(told)
}

/// What is written down of what was told.
fn items(told: &Context, candidates: &[Candidate], notes: &[Noted]) -> Vec<Item> {
    let of_notes = told.notes.iter().filter_map(|number| notes.get(*number)).map(Item::of_note);
    let told = candidates.iter().filter(|candidate| candidate.verdict == Verdict::Told);
    of_notes.chain(told.map(|candidate| of_hit(&candidate.hit))).collect()
}

fn of_hit(hit: &Hit) -> Item {
    let why = format!("{} {}", hit.part, hit.why.matched.join(" "));
    Item {
        id: hit.id.to_string(),
        score: Some(hit.score),
        why: why.trim().to_owned(),
        version: String::new(),
        passages: Vec::new(),
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
    use super::*;
    use crate::hit::{Snippet, Why};

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
    fn every_memory_that_is_not_told_has_a_reason() {
        let prompted = Prompted {
            text: String::new(),
            project: ProjectId(1),
            session: SessionId(9),
            most: 2,
            least_score: 0.5,
            room: 1_000,
            notes: true,
            now: Time(0),
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
        let judge = Judge { prompted: &prompted, notes: &[note], told };
        let superseded = Hit { superseded: true, ..hit("3", 3, 0.9) };
        let waiting = Hit { why: Why { waiting: true, ..Why::default() }, ..hit("t8", 8, 0.9) };
        let begun = Hit { part: BEGINNING.to_owned(), session_id: None, ..hit("n4", 0, 0.9) };
        let further = Hit { session_id: None, ..hit("n4", 0, 0.9) };
        let cases = [
            (hit("1", 1, 0.49), Verdict::BelowThreshold),
            (hit("2", 9, 0.9), Verdict::OwnSession),
            (superseded, Verdict::Superseded),
            (waiting, Verdict::Waiting),
            (hit("e5", 5, 0.9), Verdict::Waiting),
            (hit("6", 6, 0.9), Verdict::AlreadyTold),
            (hit("t6", 6, 0.9), Verdict::ToldOtherwise),
            (begun, Verdict::ToldAsNote),
            (hit("s11", 11, 0.9), Verdict::Wrong),
            (hit("7", 7, 0.5), Verdict::Told),
            (hit("s7", 7, 0.9), Verdict::SaysTheSame),
            (further, Verdict::Told),
            (hit("10", 10, 0.9), Verdict::Enough),
        ];
        let (hits, expected): (Vec<Hit>, Vec<Verdict>) = cases.into_iter().unzip();
        let judged = judge.judge(hits, |id| Ok(id.to_string() == "s11")).unwrap();
        let verdicts: Vec<Verdict> = judged.iter().map(|candidate| candidate.verdict).collect();
        assert_eq!(verdicts, expected);
        let without = Prompted { notes: false, ..prompted.clone() };
        let judge = Judge { prompted: &without, notes: &[], told: Told::default() };
        let judged = judge.judge(vec![hit("n4", 0, 0.9)], |_| Ok(false)).unwrap();
        assert_eq!(judged[0].verdict, Verdict::NotesOff);
    }

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
