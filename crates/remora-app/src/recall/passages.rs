//! Passages: the sentences of a record that answer a prompt. Only passages are injected, never a whole record.
//!
//! The score of a passage depends on the prompt's words in it, on the score of its record, and on whether it states a
//! cause, a decision or a pitfall. Two gates prevent irrelevant injections. The prompt must contain something specific,
//! and the best record must match well; see [`Evidence`].

use std::collections::HashSet;

use remora_core::context::tokens;
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::ObservationId;
use remora_core::prose::{
    Form, Role, Sentence, fingerprint, pair_hashes, plan_heading, sentences, split_words,
};
use remora_core::wrong::CalledWrong;
use remora_search::{Hit, Terms};
use remora_store::{Selection, Store, StoreError};

use super::prompt::MAX_TOKENS;

/// The best records are searched for passages, up to this number.
const RECORDS: usize = 8;
/// Tokens of a line without its passages and title: id, host and date.
const TOKENS_A_RECORD: u64 = 14;
/// Limit for a sentence, in characters. A longer one would not fit into [`MAX_TOKENS`] beside its record's line. It is
/// cut: it is a log line, not prose.
const MAX_LENGTH: usize = 1_200;
/// Limit for a list with the sentence that introduces it, in characters. The items after it are passages of their own.
const MAX_LIST: usize = 600;
/// Shorter sentences get a penalty, in bytes: they rarely say anything on their own.
const SHORT: usize = 30;

/// Weight of the record's score. All weights are relative to a passage that contains every word of the prompt (1.0).
const RECORD_WEIGHT: f64 = 0.6;
/// Weight of prompt words that are only in the record's title.
const TITLE_WEIGHT: f64 = 0.4;
/// Weight of prompt words that are only in the prompt that the record answered: a repeated question wants the same
/// answer.
const ASKED_WEIGHT: f64 = 0.25;
const ROLE_BONUS: f64 = 0.15;
const SHORT_PENALTY: f64 = 0.15;
/// Penalty for each place further down in the ranking.
const RANK_PENALTY: f64 = 0.02;
/// Penalty for each further passage of the same record, so that other records get a chance.
const SAME_RECORD_PENALTY: f64 = 0.08;
/// Passages with a lower score are left out.
const MIN_WORTH: f64 = 0.3;
/// Upper limit for the weight of a word, so that one rare name does not outweigh all others.
const MAX_WEIGHT: f64 = 6.0;
/// Two passages that share more than this part of their word pairs count as duplicates.
const SAME: f64 = 0.75;

/// Thresholds of the first gate, chosen from the curve of answered prompts against false injections; see
/// `docs/recall.md`.
const RARE: f64 = 1.0;
const NEAR: f64 = 0.5;
/// Similarity in meaning also needs this much of a rare word in common, or else the higher similarity `VERY_NEAR`.
const NEAR_RARE: f64 = 0.5;
const VERY_NEAR: f64 = 0.65;
/// A passage with this share of the prompt's words covers it. Its record then needs only this share of the score
/// threshold.
const COVERED: f64 = 0.9;
const COVERED_SCORE: f64 = 0.7;

/// A sentence of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    pub(super) record: RecordId,
    /// Index of its record among the hits.
    pub(super) place: usize,
    /// Index in the record.
    position: usize,
    pub(super) text: String,
    pub(super) score: f64,
    role: Role,
    /// Tokens of its record's line without passages, including the title.
    tokens_of_line: u64,
    is_title: bool,
    /// Terms of the prompt in the passage or its title.
    terms: Vec<usize>,
    /// Identifies the text in the ledger of injected passages.
    hash: u64,
    /// See [`pairs`].
    pairs: Vec<u64>,
    /// The last of them before sorting: a text that lacks it lacks the end of this one.
    end: Option<u64>,
    /// Tokens that it adds to its record's line. A title adds none, because the line includes it.
    tokens: u64,
}

/// The passages of one record in their original order, so that cause and effect stay together.
pub(super) fn of_place(chosen: &[Passage], place: usize) -> Vec<&Passage> {
    let mut own: Vec<&Passage> = chosen.iter().filter(|passage| passage.place == place).collect();
    own.sort_by_key(|passage| passage.position);
    own
}

impl Passage {
    /// Identifies the text in the ledger of injected passages.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }
}

/// The chosen passages, and why others were not chosen, by the index of their record among the hits.
#[derive(Debug, Default)]
pub(super) struct PassageChoice {
    /// Best first.
    pub(super) passages: Vec<Passage>,
    pub(super) injected_before: HashSet<usize>,
    pub(super) duplicates: HashSet<usize>,
}

/// Chooses the best passages of these hits, at most `most`, without duplicates, without those in `injected`, and
/// without what was called wrong.
pub(super) fn choose<'a>(
    store: &Store,
    hits: impl Iterator<Item = (usize, &'a Hit)>,
    terms: &Terms,
    most: usize,
    (injected, wrong): (&HashSet<u64>, &CalledWrong),
) -> Result<PassageChoice, StoreError> {
    let mut pool = Vec::new();
    for (rank, (place, hit)) in hits.take(RECORDS).enumerate() {
        let texts = texts(store, hit)?;
        let is_upheld = texts.is_upheld;
        let passages = of_record(texts, hit, place, rank, terms).into_iter();
        pool.extend(passages.filter(|passage| is_upheld || !wrong.is_said_by(&passage.text)));
    }
    let mut choice = PassageChoice::default();
    while let Some(next) = choice.best(&pool) {
        let passage = pool.remove(next);
        // A cause without its change is half an answer, and vice versa.
        if choice.take(&passage, most, injected)
            && let Some(partner) = passage.partner(&pool)
        {
            choice.take(partner, most, injected);
        }
    }
    Ok(choice)
}

impl PassageChoice {
    /// The passage that adds most to the chosen ones, if it scores high enough.
    fn best(&self, pool: &[Passage]) -> Option<usize> {
        let worth = |passage: &Passage| {
            let chosen = self.passages.iter().filter(|other| other.record == passage.record).count();
            #[expect(clippy::cast_precision_loss, reason = "a handful of passages")]
            let repeated = chosen as f64;
            passage.score - SAME_RECORD_PENALTY * repeated
        };
        // The first of equal scores wins; `max_by` alone would return the last.
        let by_worth = pool.iter().map(worth).enumerate().rev();
        let best = by_worth.filter(|(_, worth)| *worth >= MIN_WORTH).max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map(|(place, _)| place)
    }

    /// Adds a passage if it is new and there is room. Returns whether it was added.
    fn take(&mut self, passage: &Passage, most: usize, injected: &HashSet<u64>) -> bool {
        if injected.contains(&passage.hash) {
            self.injected_before.insert(passage.place);
            return false;
        }
        let Some(at) = self.passages.iter().position(|other| says_the_same(other, passage)) else {
            let fits = self.passages.len() < most && self.has_room_for(passage);
            if fits {
                self.passages.push(passage.clone());
            }
            return fits;
        };
        let same = self.passages.remove(at);
        let is_better = passage.replaces(&same) && self.has_room_for(passage);
        let (kept, dropped) = if is_better { (passage.clone(), same) } else { (same, passage.clone()) };
        self.duplicates.insert(dropped.place);
        self.passages.insert(at, kept);
        is_better
    }

    fn has_room_for(&self, passage: &Passage) -> bool {
        let has_line = self.passages.iter().any(|other| other.record == passage.record);
        let line = if has_line { 0 } else { passage.tokens_of_line };
        self.tokens() + passage.tokens + line <= MAX_TOKENS
    }

    fn tokens(&self) -> u64 {
        let texts = self.passages.iter().map(|passage| passage.tokens).sum::<u64>();
        let mut records = HashSet::new();
        let lines = self.passages.iter().filter(|passage| records.insert(passage.record));
        texts + lines.map(|passage| passage.tokens_of_line).sum::<u64>()
    }
}

impl Passage {
    /// Whether to inject it in place of another passage, because it says all of that one and goes on where that one
    /// breaks off, as a title does before "because"; or because it is as long, and in the observation.
    fn replaces(&self, same: &Self) -> bool {
        let is_in_observation = |passage: &Self| passage.record.kind == RecordKind::Observation;
        let goes_on = !same.has_end_of(self);
        share(&same.pairs, &self.pairs) > SAME
            && self.has_end_of(same)
            && (goes_on || (is_in_observation(self) && !is_in_observation(same)))
    }

    fn has_end_of(&self, other: &Self) -> bool {
        other.end.is_none_or(|end| self.pairs.binary_search(&end).is_ok())
    }

    /// The change that follows a cause, or the cause before a change. Without either, the other neighbour.
    fn partner<'a>(&self, pool: &'a [Self]) -> Option<&'a Self> {
        let partners = pool.iter().filter(|other| other.completes(self));
        match self.role {
            Role::Cause => partners.max_by_key(|other| other.position),
            _ => partners.min_by_key(|other| other.position),
        }
    }

    /// Whether it is next to another passage of its record and exactly one of the two is a cause.
    fn completes(&self, other: &Self) -> bool {
        self.record == other.record
            && self.position.abs_diff(other.position) == 1
            && (self.role == Role::Cause) != (other.role == Role::Cause)
            && ![self.role, other.role].contains(&Role::Next)
    }
}

fn of_record(
    PassageTexts { asked, said, .. }: PassageTexts,
    hit: &Hit,
    place: usize,
    rank: usize,
    terms: &Terms,
) -> Vec<Passage> {
    let capped =
        |places: &[usize]| -> f64 { places.iter().map(|place| terms.weight([*place]).min(MAX_WEIGHT)).sum() };
    let total = capped(&terms.all().collect::<Vec<_>>()).max(f64::EPSILON);
    let in_title = terms.within(&hit.title);
    #[expect(clippy::cast_precision_loss, reason = "a handful of records")]
    let base = RECORD_WEIGHT * hit.score - RANK_PENALTY * rank as f64;
    // The title of a turn or a summary is its prompt, which is not injected.
    let has_title = matches!(hit.kind, RecordKind::Observation | RecordKind::Fact);
    let tokens_of_line = TOKENS_A_RECORD + if has_title { tokens(&hit.title) } else { 0 };
    let in_question = terms.within(&asked);
    let mut passages = Vec::new();
    for (position, (text, role)) in said.into_iter().enumerate() {
        let own = terms.within(&text);
        let only_in_title: Vec<usize> = in_title.iter().filter(|term| !own.contains(term)).copied().collect();
        let only_asked: Vec<usize> = in_question
            .iter()
            .filter(|term| !own.contains(term) && !only_in_title.contains(term))
            .copied()
            .collect();
        let beside = TITLE_WEIGHT * capped(&only_in_title) + ASKED_WEIGHT * capped(&only_asked);
        let mut score = base + (capped(&own) + beside) / total;
        if role.is_knowledge() {
            score += ROLE_BONUS;
        }
        if text.len() < SHORT {
            score -= SHORT_PENALTY;
        }
        let is_title = has_title && text == hit.title;
        // The title of an observation is injected with its passages, so its words count as evidence, too.
        let mut evidence = own;
        if hit.kind == RecordKind::Observation {
            evidence.extend(only_in_title);
        }
        evidence.extend(only_asked);
        passages.push(Passage {
            record: hit.id,
            place,
            position,
            is_title,
            hash: fingerprint(&text),
            pairs: pairs(&text),
            end: end(&text),
            tokens: if is_title { 0 } else { tokens(&text) + 1 },
            text,
            score,
            role,
            tokens_of_line,
            terms: evidence,
        });
    }
    passages
}

/// The text of a record, and the prompt it answers.
#[derive(Debug, Default)]
struct PassageTexts {
    /// The prompt it answers. It is never injected, because it is not an answer.
    asked: String,
    said: Vec<(String, Role)>,
    /// Whether it is injected even if it says what was called wrong.
    is_upheld: bool,
}

fn texts(store: &Store, hit: &Hit) -> Result<PassageTexts, StoreError> {
    let RecordId { kind, number } = hit.id;
    let mut open: Vec<(String, Role)> = Vec::new();
    let mut is_upheld = false;
    let one = Selection::of_ids([number]);
    let (asked, parts): (String, Vec<String>) = match kind {
        RecordKind::Observation => {
            let Some(text) = store.records().observation_text(ObservationId(number))? else {
                return Ok(PassageTexts::default());
            };
            is_upheld = text.is_upheld;
            // A title is usually the most important sentence. A cut title is incomplete.
            let title = Some(hit.title.clone()).filter(|title| !title.ends_with('…'));
            (text.asked, title.into_iter().chain(text.facts).chain([text.narrative]).collect())
        }
        RecordKind::Summary => {
            let Some(row) = store.records().summaries(&one)?.into_first() else {
                return Ok(PassageTexts::default());
            };
            let summary = row.summary;
            // Open points may be phrased as questions.
            open = summary.next_steps.lines().map(|line| (line.to_owned(), Role::Next)).collect();
            // A summary covers several turns, and each sentence answers only one prompt.
            (String::new(), vec![summary.learned, summary.completed])
        }
        RecordKind::Turn => {
            let Some(row) = store.records().prompts(&one)?.into_first() else {
                return Ok(PassageTexts::default());
            };
            // A plan was written by the agent, although it arrived as a prompt.
            let plan = plan_heading(&row.text).map(|_| row.text.clone());
            (row.text, row.closing_message.into_iter().chain(plan).collect())
        }
        // A fact is one sentence.
        RecordKind::Fact => {
            let said = vec![(hit.snippet.text.clone(), Role::Decision)];
            // One of the user holds until the user ends it.
            return Ok(PassageTexts { said, is_upheld: true, ..PassageTexts::default() });
        }
        RecordKind::Note | RecordKind::Event => (String::new(), Vec::new()),
    };
    let all = parts.iter().flat_map(|part| introduced(&sentences(part)));
    let mut said: Vec<(String, Role)> = Vec::new();
    for (text, role) in all.chain(open) {
        let text = remora_core::text::one_line(&text, MAX_LENGTH);
        if !said.iter().any(|(known, _)| *known == text) {
            said.push((text, role));
        }
    }
    Ok(PassageTexts { asked, said, is_upheld })
}

/// The sentences that may be injected. One that ends with a colon comes with what it introduces, the next sentence or as
/// much of a list as fits, and not without it.
fn introduced(sentences: &[Sentence]) -> Vec<(String, Role)> {
    let mut said = Vec::new();
    for (place, sentence) in sentences.iter().enumerate().filter(|(_, sentence)| !sentence.role.is_idle()) {
        let mut text = sentence.text.clone();
        if text.ends_with([':', '：']) {
            let is_listed = |(number, next): &(usize, &Sentence)| *number == 0 || next.form != Form::Prose;
            for (_, item) in sentences[place + 1..].iter().enumerate().take_while(is_listed) {
                let mark =
                    if text.ends_with([':', '：', '.', '!', '?', '。', '！', '？']) { "" } else { ";" };
                let more = format!("{mark} {}", item.text);
                if text.chars().count() + more.chars().count() > MAX_LIST {
                    break;
                }
                text.push_str(&more);
            }
            if text == sentence.text {
                continue;
            }
        }
        said.push((text, sentence.role));
    }
    said
}

/// Hashes of the word pairs of a text, or of character pairs in a script without spaces, sorted.
fn pairs(text: &str) -> Vec<u64> {
    let mut pairs = pair_hashes(&split_words(text));
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The last word pair of a text; of a cut text, the last one that is not cut.
fn end(text: &str) -> Option<u64> {
    let words = split_words(text);
    let whole = words.len() - usize::from(text.ends_with('…')).min(words.len());
    pair_hashes(&words[..whole]).last().copied()
}

fn says_the_same(one: &Passage, other: &Passage) -> bool {
    one.hash == other.hash || overlap(&one.pairs, &other.pairs) > SAME
}

/// The share of word pairs that two texts have in common, relative to the shorter one.
fn overlap(one: &[u64], other: &[u64]) -> f64 {
    if one.len() <= other.len() { share(one, other) } else { share(other, one) }
}

/// The share of the word pairs of `one` that are in the other text, too.
#[expect(clippy::cast_precision_loss, reason = "words of a sentence")]
fn share(one: &[u64], other: &[u64]) -> f64 {
    one.iter().filter(|pair| other.binary_search(pair).is_ok()).count() as f64 / one.len().max(1) as f64
}

/// Whether a passage repeats a title.
pub(super) fn repeats(passage: &Passage, title: &str) -> bool {
    overlap(&passage.pairs, &pairs(title)) > SAME
}

/// Evidence for injecting something with a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Score of the best record, from 0 to 1.
    pub score: f64,
    /// How many rare terms of the prompt one passage has, including its title. A term that no other record has counts
    /// as 1.
    pub rare: f64,
    /// The share of the prompt's terms in one passage, weighted by rarity; 0 for a passage with only one term.
    pub covered: f64,
    /// Similarity in meaning of the closest record, from 0 to 1.
    pub meaning: f64,
    /// All passages with their records, injected or not, best first.
    pub passages: Vec<ScoredPassage>,
}

/// A sentence that answers a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredPassage {
    pub record: RecordId,
    pub text: String,
    /// 1 if it contains every word of the prompt; the score of its record is added.
    pub score: f64,
}

impl Evidence {
    pub(super) fn of(hits: &[&Hit], chosen: &[Passage], terms: &Terms) -> Self {
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let rare = |passage: &Passage| terms.rare(passage.terms.iter().copied());
        let covered = |passage: &Passage| {
            let is_more_than_a_word = passage.terms.len() > 1;
            let share =
                terms.weight(passage.terms.iter().copied()) / terms.weight(terms.all()).max(f64::EPSILON);
            if is_more_than_a_word { share } else { 0.0 }
        };
        let answer = |passage: &Passage| ScoredPassage {
            record: passage.record,
            text: passage.text.clone(),
            score: passage.score,
        };
        Self {
            score: most(&mut hits.iter().map(|hit| hit.score)),
            rare: most(&mut chosen.iter().map(rare)),
            covered: most(&mut chosen.iter().map(covered)),
            meaning: most(&mut hits.iter().filter_map(|hit| hit.why.meaning)),
            passages: chosen.iter().map(answer).collect(),
        }
    }

    /// Decides whether passages are injected with a prompt. First, the prompt must contain something specific: rare
    /// words that occur in one passage, or a record that is close in meaning. Closeness alone is weak evidence: every
    /// text about commits is close to every question about commits. Second, the best record must reach the score in the
    /// settings. A passage with all words of the prompt may be in a record with a lower score, because a long turn
    /// covers many topics.
    pub fn gate(&self, least_score: f64) -> Gate {
        let is_covered = self.covered >= COVERED;
        let least_meaning = if self.rare >= NEAR_RARE { NEAR } else { VERY_NEAR };
        Gate {
            has_own: self.rare >= RARE || self.meaning >= least_meaning,
            fits: self.score >= least_score || (is_covered && self.score >= COVERED_SCORE * least_score),
            has_passage: !self.passages.is_empty(),
            least_rare: RARE,
            least_meaning,
            least_score: if is_covered { COVERED_SCORE * least_score } else { least_score },
        }
    }
}

/// The steps of the gate, each passed or not, with their thresholds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// Whether the prompt contains something specific.
    pub has_own: bool,
    /// Whether the best record scores high enough.
    pub fits: bool,
    /// Whether there is a passage.
    pub has_passage: bool,
    pub least_rare: f64,
    pub least_meaning: f64,
    pub least_score: f64,
}

impl Gate {
    pub fn is_open(self) -> bool {
        self.has_own && self.fits && self.has_passage
    }
}
