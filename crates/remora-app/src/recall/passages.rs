//! Passages: the sentences of a record that answer a prompt. They are what is injected, never a whole record.
//!
//! A passage is chosen by three things: the words of the prompt it has, how well its record fits, and whether it names
//! a cause, a decision or a trap. Two gates keep strangers out. The prompt must ask about something of its own, and the
//! best record must fit well; see [`Gate`].

use std::collections::HashSet;

use remora_core::context::tokens;
use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{ObservationId, PromptId, SummaryId};
use remora_core::prose::{Role, fingerprint, sentences};
use remora_search::{Hit, Terms};
use remora_store::{Store, StoreError};

/// Records that are searched for passages, the best ones.
const RECORDS: usize = 8;
/// Limit for what is injected with one prompt, beside the number of passages in the settings.
const MOST_TOKENS: u64 = 260;
/// What a line costs beside its passages: id, host and date.
const TOKENS_A_RECORD: u64 = 14;
/// Longer sentences are cut, in characters: a table row or a log line, not prose.
const LONGEST: usize = 400;
/// Shorter ones seldom say anything alone.
const SHORT: usize = 30;

/// What counts, against a passage that has every word of the prompt (1.0).
const RECORD_WEIGHT: f64 = 0.6;
/// Words of the prompt in the record's title count for its passages, too, but less than in the passage itself.
const TITLE_WEIGHT: f64 = 0.4;
const ROLE_BONUS: f64 = 0.15;
const SHORT_PENALTY: f64 = 0.15;
/// Each place further down in the ranking takes this much.
const RANK_PENALTY: f64 = 0.02;
/// A passage that counts less is left out.
const LEAST: f64 = 0.3;
/// A word that is rarer than all of these counts no more than them: one odd name must not outweigh the rest.
const LARGEST_WEIGHT: f64 = 6.0;
/// Two passages that share this much of their word pairs say the same.
const SAME: f64 = 0.75;

/// Where the gates stand. Chosen by the curve of answered against falsely injected; `docs/recall.md` has it.
const RARE: f64 = 0.45;
const NEAR: f32 = 0.62;
const SAYS_ENOUGH: f64 = 4.5;

/// A sentence of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    pub(super) record: RecordId,
    /// The place of its record among the hits.
    pub(super) place: usize,
    /// Its place in the record.
    position: usize,
    pub(super) text: String,
    pub(super) score: f64,
    /// Terms of the prompt it has, with its title.
    terms: Vec<usize>,
    pairs: HashSet<u64>,
}

/// The passages of one record, in its own order: cause and consequence stay together.
pub(super) fn of_place(chosen: &[Passage], place: usize) -> Vec<&Passage> {
    let mut own: Vec<&Passage> = chosen.iter().filter(|passage| passage.place == place).collect();
    own.sort_by_key(|passage| passage.position);
    own
}

impl Passage {
    /// Names what it says, for the ledger of what was injected.
    pub(super) fn hash(&self) -> u64 {
        fingerprint(&self.text)
    }
}

/// Passages that answer, and why others do not, by the place of their record among the hits.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Best first.
    pub(super) passages: Vec<Passage>,
    pub(super) injected_before: HashSet<usize>,
    pub(super) duplicates: HashSet<usize>,
}

/// The best passages of these hits, at most `most`, none twice and none that was `injected` before.
pub(super) fn choose<'a>(
    store: &Store,
    hits: impl Iterator<Item = (usize, &'a Hit)>,
    terms: &Terms,
    most: usize,
    injected: &HashSet<u64>,
) -> Result<Choice, StoreError> {
    let mut pool = Vec::new();
    for (rank, (place, hit)) in hits.take(RECORDS).enumerate() {
        pool.extend(of_record(store, hit, place, rank, terms)?);
    }
    pool.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut choice = Choice::default();
    let mut used = 0;
    for passage in pool.into_iter().take_while(|passage| passage.score >= LEAST) {
        if injected.contains(&passage.hash()) {
            choice.injected_before.insert(passage.place);
            continue;
        }
        let chosen = &mut choice.passages;
        if chosen.iter().any(|other| says_the_same(other, &passage)) {
            choice.duplicates.insert(passage.place);
            continue;
        }
        let is_new = !chosen.iter().any(|other| other.record == passage.record);
        let cost = tokens(&passage.text) + if is_new { TOKENS_A_RECORD } else { 1 };
        if chosen.len() < most && used + cost <= MOST_TOKENS {
            used += cost;
            chosen.push(passage);
        }
    }
    Ok(choice)
}

fn of_record(
    store: &Store,
    hit: &Hit,
    place: usize,
    rank: usize,
    terms: &Terms,
) -> Result<Vec<Passage>, StoreError> {
    let capped = |places: &[usize]| -> f64 {
        places.iter().map(|place| terms.weight([*place]).min(LARGEST_WEIGHT)).sum()
    };
    let all = (0..).take_while(|term| terms.rarity(*term) > 0.0).map(|term| terms.weight([term]));
    let total = all.map(|weight| weight.min(LARGEST_WEIGHT)).sum::<f64>().max(f64::EPSILON);
    let in_title = terms.within(&hit.title);
    #[expect(clippy::cast_precision_loss, reason = "a handful of records")]
    let base = RECORD_WEIGHT * hit.score - RANK_PENALTY * rank as f64;
    let mut passages = Vec::new();
    for (position, (text, role)) in texts(store, hit)?.into_iter().enumerate() {
        let own = terms.within(&text);
        let only_in_title: Vec<usize> = in_title.iter().filter(|term| !own.contains(term)).copied().collect();
        let mut score = base + (capped(&own) + TITLE_WEIGHT * capped(&only_in_title)) / total;
        if role.is_knowledge() {
            score += ROLE_BONUS;
        }
        if text.len() < SHORT {
            score -= SHORT_PENALTY;
        }
        let pairs = pairs(&text);
        // The title of an observation is injected with its passages, so its words are evidence like theirs.
        let mut evidence = own;
        if hit.kind == RecordKind::Observation {
            evidence.extend(only_in_title);
        }
        passages.push(Passage { record: hit.id, place, position, text, score, terms: evidence, pairs });
    }
    Ok(passages)
}

/// The sentences of a record. What was asked is left out: an agent has its own prompt.
fn texts(store: &Store, hit: &Hit) -> Result<Vec<(String, Role)>, StoreError> {
    let RecordId { kind, number } = hit.id;
    let parts: Vec<String> = match kind {
        RecordKind::Observation => {
            let Some(row) = store.observation(ObservationId(number))? else { return Ok(Vec::new()) };
            let observation = row.observation;
            observation.facts.into_iter().chain([observation.narrative]).collect()
        }
        RecordKind::Summary => {
            let Some(row) = store.summary(SummaryId(number))? else { return Ok(Vec::new()) };
            let summary = row.summary;
            vec![summary.learned, summary.completed, summary.next_steps]
        }
        RecordKind::Turn => {
            let row = store.prompt(PromptId(number))?;
            row.and_then(|row| row.closing_message).into_iter().collect()
        }
        // A fact is one sentence.
        RecordKind::Fact => return Ok(vec![(hit.snippet.text.clone(), Role::Decision)]),
        RecordKind::Note | RecordKind::Event => Vec::new(),
    };
    let all = parts.iter().flat_map(|part| sentences(part));
    let mut texts: Vec<(String, Role)> = Vec::new();
    for sentence in all.filter(|sentence| !sentence.role.is_idle()) {
        let text = remora_core::text::one_line(&sentence.text, LONGEST);
        if !texts.iter().any(|(known, _)| *known == text) {
            texts.push((text, sentence.role));
        }
    }
    Ok(texts)
}

fn pairs(text: &str) -> HashSet<u64> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.windows(2).map(|pair| fingerprint(&pair.join(" "))).collect()
}

fn says_the_same(one: &Passage, other: &Passage) -> bool {
    one.hash() == other.hash() || overlap(&one.pairs, &other.pairs) > SAME
}

/// The share of word pairs that two texts have in common, of the shorter one's.
#[expect(clippy::cast_precision_loss, reason = "words of a sentence")]
fn overlap(one: &HashSet<u64>, other: &HashSet<u64>) -> f64 {
    let smaller = one.len().min(other.len()).max(1);
    one.intersection(other).count() as f64 / smaller as f64
}

/// Whether a passage says what a title says.
pub(super) fn repeats(passage: &Passage, title: &str) -> bool {
    overlap(&passage.pairs, &pairs(title)) > SAME
}

/// Whether a prompt gets anything at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gate {
    /// How well the best record must fit, from 0 to 1: the user's setting.
    pub(super) least_score: f64,
}

impl Gate {
    /// The best record fits, and the prompt asks about something of its own: a word that is rare here and that the
    /// passages have, something very near in meaning, or several words that say much together.
    pub(super) fn opens(self, hits: &[&Hit], chosen: &[Passage], terms: &Terms) -> bool {
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f64::max);
        if chosen.is_empty() || best < self.least_score {
            return false;
        }
        let covered: HashSet<usize> =
            chosen.iter().flat_map(|passage| passage.terms.iter().copied()).collect();
        let has_rare = covered.iter().any(|term| terms.rarity(*term) >= RARE);
        let is_near = hits.iter().filter_map(|hit| hit.why.cosine).any(|cosine| cosine >= NEAR);
        let says_much =
            chosen.iter().any(|passage| terms.weight(passage.terms.iter().copied()) >= SAYS_ENOUGH);
        has_rare || is_near || says_much
    }
}
