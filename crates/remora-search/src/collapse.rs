//! Merges hits that belong together or say the same.

use std::collections::HashSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::SessionId;
use remora_core::prose::fnv1a;
use remora_store::search::Outline;
use rustc_hash::FxHashMap;

use crate::answer::{DocumentHit, Ranked, may_speak};
use crate::fusion::Candidate;
use crate::words::spans;

/// Texts that share at least this part of their words are duplicates.
const SAME: f64 = 0.9;
/// Shorter texts are never duplicates: too few words to compare.
const MIN_WORDS: usize = 5;
const MAX_BYTES: usize = 2 << 10;

/// Moves a turn below the observations made of it, which say the same in fewer words. If the turn ranked higher, they take
/// its place.
pub(crate) fn turns_below_observations(ranking: &mut Vec<Ranked>) {
    let mut made_of: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (at, Ranked { outline, .. }) in
        ranking.iter().enumerate().filter(|(_, ranked)| may_speak(&ranked.outline))
    {
        made_of.entry((outline.session, outline.prompt_number)).or_default().push(at);
    }
    let mut order: Vec<(usize, f64)> = Vec::with_capacity(ranking.len());
    let mut is_placed = vec![false; ranking.len()];
    for (at, Ranked { outline, candidate, .. }) in ranking.iter().enumerate() {
        let score = candidate.score;
        let is_turn = outline.record.kind == RecordKind::Turn;
        let first = made_of.get(&(outline.session, outline.prompt_number)).filter(|_| is_turn);
        let first = first.into_iter().flatten().copied();
        for next in first.chain([at]) {
            if !std::mem::replace(&mut is_placed[next], true) {
                order.push((next, score));
            }
        }
    }
    *ranking = order
        .into_iter()
        .map(|(at, score)| {
            let Ranked { outline, candidate, recency } = ranking[at];
            Ranked { outline, candidate: Candidate { score, ..candidate }, recency }
        })
        .collect();
}

/// The records folded into each record.
pub(crate) type Folded = FxHashMap<RecordId, Vec<RecordId>>;

/// Keeps one record of each turn: its best observation, or the best-ranked record if it has none. The turn and its
/// summary are folded into it. It takes the place of the first of them. Further observations of the turn stay.
pub(crate) fn one_a_turn(ranking: &mut Vec<Ranked>) -> Folded {
    let mut groups: FxHashMap<(SessionId, i64), Vec<usize>> = FxHashMap::default();
    for (at, found) in ranking.iter().enumerate() {
        if let Some(turn) = turn_of(&found.outline) {
            groups.entry(turn).or_default().push(at);
        }
    }
    let mut folded = Folded::default();
    let mut moves = Vec::new();
    let mut gone = HashSet::new();
    for members in groups.into_values().filter(|members| members.len() > 1) {
        let is_observation = |at: &usize| ranking[*at].outline.record.kind == RecordKind::Observation;
        let speaker = members.iter().copied().find(is_observation).unwrap_or(members[0]);
        let rest: Vec<usize> =
            members.iter().copied().filter(|at| *at != speaker && !is_observation(at)).collect();
        if rest.is_empty() {
            continue;
        }
        folded.insert(
            ranking[speaker].outline.record,
            rest.iter().map(|at| ranking[*at].outline.record).collect(),
        );
        if members[0] != speaker {
            moves.push((members[0], speaker));
        }
        gone.extend(rest.iter().map(|at| ranking[*at].outline.record));
    }
    for (first, speaker) in moves {
        // That place is free: the record there is folded.
        ranking.swap(first, speaker);
    }
    ranking.retain(|found| !gone.contains(&found.outline.record));
    folded
}

/// The turn that a record belongs to. `None` for records marked wrong.
fn turn_of(outline: &Outline) -> Option<(SessionId, i64)> {
    let is_part =
        matches!(outline.record.kind, RecordKind::Observation | RecordKind::Turn | RecordKind::Summary);
    (is_part && !outline.feedback.is_wrong()).then_some((outline.session?, outline.prompt_number?))
}

/// Folds duplicates into the best of them. Returns the hits removed.
pub(crate) fn duplicates(hits: &mut Vec<DocumentHit>) -> Vec<RecordId> {
    let mut gone = Vec::new();
    let mut kept: Vec<(DocumentHit, DocumentWords)> = Vec::with_capacity(hits.len());
    for shown in hits.drain(..) {
        let own = DocumentWords::of(&shown.text);
        let same = kept.iter_mut().find(|(other, others)| {
            other.hit.kind == shown.hit.kind
                && other.hit.project_id == shown.hit.project_id
                && others.are_same(&own)
        });
        match same {
            Some((other, _)) => {
                gone.push(shown.hit.id);
                other.hit.duplicates.push(shown.hit.id);
            }
            None => kept.push((shown, own)),
        }
    }
    hits.extend(kept.into_iter().map(|(shown, _)| shown));
    gone
}

/// Removes observations whose replacement was found, too. Returns the hits removed.
pub(crate) fn superseded(hits: &mut Vec<DocumentHit>) -> Vec<RecordId> {
    let found: Vec<i64> = hits
        .iter()
        .filter(|shown| shown.hit.kind == RecordKind::Observation)
        .map(|shown| shown.hit.id.number)
        .collect();
    let is_replaced =
        |shown: &mut DocumentHit| shown.hit.superseded_by.is_some_and(|by| found.contains(&by.0));
    hits.extract_if(.., is_replaced).map(|shown| shown.hit.id).collect()
}

/// The distinct words at the beginning of a text.
struct DocumentWords {
    /// Hashes, sorted.
    hashes: Vec<u64>,
    /// One of 128 bits for each word. If a bit is missing in another text, so is the word.
    bits: u128,
}

impl DocumentWords {
    fn of(text: &str) -> Self {
        let beginning = remora_core::text::prefix(text, MAX_BYTES);
        let spans = spans(beginning);
        let mut hashes: Vec<u64> =
            spans.map(|(start, end)| hash(&beginning.as_bytes()[start..end])).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let bits = hashes.iter().fold(0, |bits, hash| bits | 1 << (hash % 128));
        Self { hashes, bits }
    }

    #[expect(clippy::cast_precision_loss, reason = "words of a text")]
    fn are_same(&self, other: &Self) -> bool {
        let (shorter, longer) =
            if self.hashes.len() < other.hashes.len() { (self, other) } else { (other, self) };
        let (least, most) = (shorter.hashes.len(), longer.hashes.len());
        if least < MIN_WORDS || (least as f64) < SAME * most as f64 {
            return false;
        }
        let is_enough = |shared: usize| shared as f64 >= SAME * (least + most - shared) as f64;
        // Usually enough bits differ that no word needs to be compared.
        if !is_enough(least - (shorter.bits & !longer.bits).count_ones() as usize) {
            return false;
        }
        let mut may_share = least;
        for word in &shorter.hashes {
            may_share -= usize::from(longer.hashes.binary_search(word).is_err());
            if !is_enough(may_share) {
                return false;
            }
        }
        true
    }
}

fn hash(word: &[u8]) -> u64 {
    fnv1a(word.iter().map(u8::to_ascii_lowercase))
}
