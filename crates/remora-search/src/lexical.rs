//! By words: the rarest terms of the question, and strings inside words.

use std::collections::{HashMap, HashSet};

use remora_core::document::RecordId;
use remora_core::ids::DocumentId;
use remora_store::search::{Filters, Found, Weights};
use remora_store::{Store, StoreError};

use crate::operators::quoted;
use crate::syntax::{Question, Term};

/// What a document says itself before what stands beside it, and what is said in some sixty words before what is said
/// among many.
const WEIGHTS: Weights =
    Weights { title: 2.0, body: 2.0, prompt: 0.5, before: 1.0, after: 0.5, short: 400.0 };
/// So many terms are looked for, the rarest; the others say little and cost much.
const MOST_TERMS: usize = 8;
/// Above this many documents a word is common: looked for only when there is no other.
const COMMON: usize = 3_000;
/// All terms together may match as many documents, because each of them has to be scored.
const MOST_MATCHES: usize = 2_000;
/// Where nothing but common words was asked for, they are looked for among as many of the newest documents.
const NEWEST: usize = 20_000;
/// How many documents one string inside words may bring.
const MOST_PER_PIECE: usize = 100;
const MOST_UNWANTED: usize = 5_000;
const FEW: usize = 400;

/// A term with how rare it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) term: Term,
    pub(crate) idf: f64,
    /// From 0 to 1, which is a word nobody wrote yet: much the same in a small memory and in a large one.
    pub(crate) rarity: f64,
    frequency: usize,
}

/// What words found.
#[derive(Debug, Default)]
pub(crate) struct Lexical {
    /// Best first.
    pub(crate) found: Vec<Found>,
    pub(crate) weighed: Vec<Weighed>,
    /// Whether the question's operators were followed; then only what they allow may be an answer.
    pub(crate) strict: bool,
}

/// Words known to be common: to count them takes longest, and they stay so.
#[derive(Debug, Default)]
pub(crate) struct CommonWords {
    words: HashSet<String>,
    /// How many documents there were.
    documents: usize,
}

impl CommonWords {
    /// Forgets them when the memory is no longer the same by a tenth.
    fn follow(&mut self, documents: usize) {
        if documents.abs_diff(self.documents) > self.documents / 10 {
            self.words.clear();
            self.documents = documents;
        }
    }

    fn frequency(&mut self, store: &Store, word: &str) -> Result<usize, StoreError> {
        if self.words.contains(word) {
            return Ok(COMMON + 1);
        }
        let frequency = store.frequency(&quoted(word), COMMON + 1)?;
        if frequency > COMMON {
            self.words.insert(word.to_owned());
        }
        Ok(frequency)
    }
}

/// How rare every term is.
pub(crate) fn weigh(
    store: &Store,
    question: &Question,
    common: &mut CommonWords,
) -> Result<Vec<Weighed>, StoreError> {
    let documents = store.about_documents()?;
    common.follow(documents);
    let mut weighed = Vec::with_capacity(question.terms.len());
    for term in &question.terms {
        let frequency = common.frequency(store, &term.word)?;
        let idf = idf(documents, frequency);
        weighed.push(Weighed { term: term.clone(), idf, rarity: rarity(documents, frequency), frequency });
    }
    Ok(weighed)
}

/// A small memory cannot tell which words are rare: there, all are as rare as in one of [`FEW`] documents.
fn rarity(documents: usize, frequency: usize) -> f64 {
    let documents = documents.max(FEW);
    idf(documents, frequency) / idf(documents, 0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of documents")]
fn idf(documents: usize, frequency: usize) -> f64 {
    let (all, with) = (documents.max(frequency) as f64, frequency as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// The documents that fit by words.
pub(crate) fn find(
    store: &Store,
    question: &Question,
    filters: &Filters,
    few: Option<&HashSet<DocumentId>>,
    common: &mut CommonWords,
    most: usize,
) -> Result<Lexical, StoreError> {
    let weighed = weigh(store, question, common)?;
    if let Some(operators) = &question.operators {
        let mut found =
            store.matching(&operators.expression(), WEIGHTS, filters, few, DocumentId(0), most)?;
        if let Some(unwanted) = operators.unwanted() {
            remove_records(store, &unwanted, filters, &mut found)?;
        }
        if operators.is_meant || !found.is_empty() {
            return Ok(Lexical { found, weighed, strict: true });
        }
    }
    let mut found = match plain_expression(question, &weighed) {
        Some(Plain { expression, common }) => {
            let newest = store.about_documents()?.saturating_sub(NEWEST);
            let after = if common { i64::try_from(newest).unwrap_or_default() } else { 0 };
            store.matching(&expression, WEIGHTS, filters, few, DocumentId(after), most)?
        }
        None => Vec::new(),
    };
    add_pieces(store, question, filters, &mut found)?;
    found.truncate(most);
    Ok(Lexical { found, weighed, strict: false })
}

/// Removes every record of which any part matches: what somebody does not want in a narrative they do not want in the
/// facts beside it.
fn remove_records(
    store: &Store,
    unwanted: &str,
    filters: &Filters,
    found: &mut Vec<Found>,
) -> Result<(), StoreError> {
    let matching = store.matching(unwanted, WEIGHTS, filters, None, DocumentId(0), MOST_UNWANTED)?;
    let records_of = |found: &[Found]| -> Result<HashMap<DocumentId, RecordId>, StoreError> {
        let documents: Vec<DocumentId> = found.iter().map(|found| found.document).collect();
        Ok(store.outlines(&documents)?.into_iter().map(|outline| (outline.id, outline.record)).collect())
    };
    let gone: HashSet<RecordId> = records_of(&matching)?.into_values().collect();
    let of = records_of(found)?;
    found.retain(|found| of.get(&found.document).is_some_and(|record| !gone.contains(record)));
    Ok(())
}

/// Any of the rarest terms, and any name as a phrase: whoever writes `auth.rs` means the two together.
fn plain_expression(question: &Question, weighed: &[Weighed]) -> Option<Plain> {
    let mut terms: Vec<&Weighed> = weighed.iter().filter(|term| term.frequency > 0).collect();
    terms.sort_by_key(|term| term.frequency);
    let mut matches = 0;
    let affordable = terms.iter().take(MOST_TERMS).take_while(|term| {
        matches += term.frequency;
        term.frequency <= COMMON && matches <= MOST_MATCHES
    });
    let affordable = affordable.count();
    let common = affordable == 0 && !terms.is_empty();
    terms.truncate(if common { 2 } else { affordable });
    let mut any: Vec<String> = terms.iter().map(|term| quoted(&term.term.word)).collect();
    any.extend(question.names.iter().map(|name| quoted(name)));
    (!any.is_empty()).then(|| Plain { expression: any.join(" OR "), common })
}

struct Plain {
    expression: String,
    /// Whether it has nothing but common words.
    common: bool,
}

/// Adds documents that contain a string inside a word. Each such string counts as a rare word would; documents found
/// both ways come first.
fn add_pieces(
    store: &Store,
    question: &Question,
    filters: &Filters,
    found: &mut Vec<Found>,
) -> Result<(), StoreError> {
    if question.pieces.is_empty() {
        return Ok(());
    }
    let best = found.first().map_or(1.0, |best| best.score.abs().max(f64::MIN_POSITIVE));
    let mut bonus: HashMap<DocumentId, f64> = HashMap::new();
    for piece in &question.pieces {
        let documents = match piece.chars().count() {
            0 => continue,
            1 | 2 => store.containing(piece, filters, MOST_PER_PIECE)?,
            _ => store.matching_trigrams(&quoted(piece), filters, MOST_PER_PIECE)?,
        };
        // The fewer contain it, the more it says.
        #[expect(clippy::cast_precision_loss, reason = "at most a hundred")]
        let worth = best / (1.0 + documents.len() as f64).ln().max(1.0);
        for document in documents {
            *bonus.entry(document).or_default() += worth;
        }
    }
    for one in found.iter_mut() {
        one.score += bonus.remove(&one.document).unwrap_or_default();
    }
    found.extend(bonus.into_iter().map(|(document, score)| Found { document, score }));
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.document.cmp(&a.document)));
    Ok(())
}
