//! Search by words: the rarest terms of the query, and strings inside words.

use std::collections::{HashMap, HashSet};

use remora_core::document::RecordId;
use remora_core::ids::DocumentId;
use remora_store::search::{DocumentsWith, Filters, Match, Weights};
use remora_store::{Store, StoreError};

use crate::language::has_joint;
use crate::operators::{Operators, quoted};
use crate::syntax::{Form, Question, Term};

/// Column weights: a document's own text counts more than its context. Up to `short` bytes, texts are not penalized
/// for their length.
const WEIGHTS: Weights =
    Weights { title: 2.0, body: 2.0, prompt: 0.5, before: 1.0, after: 0.5, short: 400.0 };
/// Upper limit for search terms. The rarest are kept: common terms add little and cost most of the time.
const MAX_TERMS: usize = 8;
/// A word in more documents than this is common, and is searched only if the query has no other.
const COMMON: usize = 3_000;
/// Upper limit for the documents that all terms match together, because each of them has to be scored.
const MAX_MATCHES: usize = 2_000;
/// If a query has common words only, they are searched among this many of the newest documents.
const RECENT_DOCUMENTS: usize = 20_000;
/// Upper limit for the documents that one string inside words may match.
const MAX_PER_PIECE: usize = 100;
const MAX_UNWANTED: usize = 5_000;
const FEW: usize = 400;

/// A term with its rarity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) term: Term,
    pub(crate) idf: f64,
    /// From 0 to 1; 1 for a word that no document has. Similar in small and large memories.
    pub(crate) rarity: f64,
    frequency: usize,
}

impl Weighed {
    /// How much the term counts: rarer terms count more.
    pub(crate) fn weight(&self) -> f64 {
        self.idf * self.term.share()
    }
}

/// The result of the search by words.
#[derive(Debug, Default)]
pub(crate) struct Lexical {
    /// Best first.
    pub(crate) found: Vec<Match>,
    pub(crate) weighed: Vec<Weighed>,
    /// Whether operators were applied. Then only documents that match them are returned.
    pub(crate) strict: bool,
}

/// A cache of common words. They take longest to count, and rarely stop being common.
#[derive(Debug, Default)]
pub(crate) struct CommonWords {
    words: HashSet<String>,
    /// The number of documents when the cache was filled.
    documents: usize,
}

impl CommonWords {
    /// Clears the cache if the number of documents has changed by more than a tenth.
    fn clear_if_outdated(&mut self, documents: usize) {
        if documents.abs_diff(self.documents) > self.documents / 10 {
            self.words.clear();
            self.documents = documents;
        }
    }

    fn frequency(&mut self, store: &Store, term: &Term) -> Result<usize, StoreError> {
        let word = &term.word;
        if self.words.contains(word) {
            return Ok(COMMON + 1);
        }
        let frequency = match term.form {
            Form::Call => store
                .index()
                .count(DocumentsWith::Trigrams { expression: &quoted(word), most: COMMON + 1 })?,
            // Only its own text counts, not the context stored with the document.
            _ => store.index().count(DocumentsWith::Words {
                expression: &format!("{{title body}} : ({})", expression(term)),
                most: COMMON + 1,
            })?,
        };
        if frequency > COMMON {
            self.words.insert(word.to_owned());
        }
        Ok(frequency)
    }
}

/// Determines the rarity of every term. `pairs` has the frequencies for scripts without spaces.
pub(crate) fn weigh(
    store: &Store,
    question: &Question,
    common: &mut CommonWords,
    pairs: &Pairs,
) -> Result<Vec<Weighed>, StoreError> {
    let documents = store.index().count(DocumentsWith::Anything)?;
    common.clear_if_outdated(documents);
    let mut weighed = Vec::with_capacity(question.terms.len());
    for term in &question.terms {
        let frequency = match pairs.frequency(&term.word) {
            // Not a word: its characters belong to two different words.
            Some(0) if has_joint(&term.word) => continue,
            Some(frequency) => frequency,
            None => common.frequency(store, term)?,
        };
        let idf = idf(documents, frequency);
        weighed.push(Weighed { term: term.clone(), idf, rarity: rarity(documents, frequency), frequency });
    }
    Ok(weighed)
}

/// The FTS5 expression for a term: its word, or anything that begins with its root.
fn expression(term: &Term) -> String {
    let mut any = quoted(&term.word);
    if let Form::Word { root: Some(root), .. } = &term.form {
        for beginning in root.beginnings() {
            any.push_str(" OR ");
            any.push_str(&quoted(&beginning));
            any.push('*');
        }
    }
    any
}

/// The documents that contain pairs of a prompt in a script without spaces. The index has no words for such scripts,
/// so the newest documents are scanned, once for all pairs.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pairs: Vec<(String, usize)>,
    documents: Vec<WithPairs>,
}

#[derive(Debug)]
struct WithPairs {
    document: DocumentId,
    /// One bit for each pair that it contains.
    has: u64,
    bytes: usize,
}

impl Pairs {
    pub(crate) fn read(store: &Store, question: &Question, filters: &Filters) -> Result<Self, StoreError> {
        let pairs = question.terms.iter().filter(|term| term.is_pair());
        let mut read =
            Self { pairs: pairs.map(|term| (term.word.clone(), 0)).collect(), documents: Vec::new() };
        if read.pairs.is_empty() {
            return Ok(read);
        }
        let places: HashMap<[char; 2], usize> = (0..)
            .zip(&read.pairs)
            .filter_map(|(place, (pair, _))| Some((pair.chars().collect::<Vec<_>>().try_into().ok()?, place)))
            .collect();
        // A quick test by the low byte: most characters do not end any of the pairs.
        let mut may_end = [false; 256];
        for [_, last] in places.keys() {
            may_end[last_byte(*last)] = true;
        }
        let mut documents = Vec::new();
        store.index().each_text(filters, |document, title, body| {
            let mut has = 0;
            for text in [title, body] {
                let mut previous = '\0';
                for character in text.chars() {
                    if may_end[last_byte(character)]
                        && let Some(place) = places.get(&[previous, character])
                    {
                        has |= 1_u64 << place;
                    }
                    previous = character;
                }
            }
            if has != 0 {
                documents.push(WithPairs { document, has, bytes: title.len() + body.len() });
            }
        })?;
        for (place, (_, frequency)) in (0..).zip(&mut read.pairs) {
            *frequency = documents.iter().filter(|document| document.has & (1 << place) != 0).count();
        }
        read.documents = documents;
        Ok(read)
    }

    /// The number of documents with this pair; `None` if it is not a pair of the prompt.
    fn frequency(&self, pair: &str) -> Option<usize> {
        self.pairs.iter().find(|(known, _)| known == pair).map(|(_, frequency)| *frequency)
    }

    /// Merges these documents into those found by words, on about the same scale.
    fn add(&self, weighed: &[Weighed], found: &mut Vec<Match>) {
        if self.documents.is_empty() {
            return;
        }
        let weight =
            |pair: &str| weighed.iter().find(|term| term.term.word == pair).map_or(0.0, Weighed::weight);
        let weights: Vec<f64> = self.pairs.iter().map(|(pair, _)| weight(pair)).collect();
        let places: HashMap<DocumentId, usize> =
            (0..).zip(found.iter()).map(|(place, found)| (found.document, place)).collect();
        for &WithPairs { document, has, bytes } in &self.documents {
            let own =
                (0..).zip(&weights).filter(|(place, _)| has & (1 << place) != 0).map(|(_, weight)| weight);
            #[expect(clippy::cast_precision_loss, reason = "the length of a text")]
            let length = (WEIGHTS.short / (bytes as f64).max(WEIGHTS.short)).sqrt();
            let score = WEIGHTS.body * length * own.sum::<f64>();
            if let Some(place) = places.get(&document) {
                found[*place].score += score;
            } else {
                found.push(Match { document, score });
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.document.cmp(&a.document)));
    }
}

fn last_byte(character: char) -> usize {
    u32::from(character) as usize & 0xFF
}

/// Rarity from 0 to 1. A small memory cannot tell which words are rare, so it counts as one of [`FEW`] documents.
fn rarity(documents: usize, frequency: usize) -> f64 {
    let documents = documents.max(FEW);
    idf(documents, frequency) / idf(documents, 0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of documents")]
fn idf(documents: usize, frequency: usize) -> f64 {
    let (all, with) = (documents.max(frequency) as f64, frequency as f64);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// Where an arm searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within<'a> {
    pub(crate) filters: &'a Filters,
    /// All documents that pass the filters, if they are few.
    pub(crate) few: Option<&'a HashSet<DocumentId>>,
    pub(crate) most: usize,
}

/// Finds documents by words.
pub(crate) fn find(
    store: &Store,
    question: &Question,
    within: Within<'_>,
    common: &mut CommonWords,
) -> Result<Lexical, StoreError> {
    let Within { filters, few, most } = within;
    let pairs = Pairs::read(store, question, filters)?;
    let weighed = weigh(store, question, common, &pairs)?;
    if let Some(operators) = &question.operators {
        let found = if operators.name_parts() {
            in_parts(store, operators, within)?
        } else {
            let mut found = store.index().matching(
                &operators.expression(),
                WEIGHTS,
                filters,
                few,
                DocumentId(0),
                most,
            )?;
            if let Some(unwanted) = operators.unwanted() {
                let documents: Vec<DocumentId> = found.iter().map(|found| found.document).collect();
                let kept = without_records(store, &unwanted, filters, documents)?;
                let kept: HashSet<DocumentId> = kept.into_iter().collect();
                found.retain(|found| kept.contains(&found.document));
            }
            found
        };
        if operators.is_explicit || !found.is_empty() {
            return Ok(Lexical { found, weighed, strict: true });
        }
    }
    let mut found = match plain_expression(question, &weighed) {
        Some(Plain { expression, common }) => {
            let newest = store.index().count(DocumentsWith::Anything)?.saturating_sub(RECENT_DOCUMENTS);
            let after = if common { i64::try_from(newest).unwrap_or_default() } else { 0 };
            store.index().matching(&expression, WEIGHTS, filters, few, DocumentId(after), most)?
        }
        None => Vec::new(),
    };
    add_pieces(store, question, filters, &mut found)?;
    pairs.add(&weighed, &mut found);
    found.truncate(most);
    Ok(Lexical { found, weighed, strict: false })
}

/// The documents of records for which the operators hold, part by part.
fn in_parts(
    store: &Store,
    operators: &Operators,
    Within { filters, few, most }: Within<'_>,
) -> Result<Vec<Match>, StoreError> {
    let mut found =
        store.index().matching(&operators.candidates(), WEIGHTS, filters, few, DocumentId(0), MAX_MATCHES)?;
    let documents: Vec<DocumentId> = found.iter().map(|found| found.document).collect();
    let mut allowed = HashSet::new();
    for record in
        store.index().record_texts(&documents)?.iter().filter(|record| operators.allow_record(record))
    {
        let wanted = record.documents.iter().filter(|document| operators.want_document(&document.part));
        allowed.extend(wanted.map(|document| document.id));
    }
    found.retain(|found| allowed.contains(&found.document));
    found.truncate(most);
    Ok(found)
}

/// Removes the documents of every record that has any matching part: a word excluded from a narrative is not wanted in
/// the facts beside it either.
pub(crate) fn without_records(
    store: &Store,
    unwanted: &str,
    filters: &Filters,
    mut documents: Vec<DocumentId>,
) -> Result<Vec<DocumentId>, StoreError> {
    let matching = store.index().matching(unwanted, WEIGHTS, filters, None, DocumentId(0), MAX_UNWANTED)?;
    let matching: Vec<DocumentId> = matching.into_iter().map(|found| found.document).collect();
    let gone: HashSet<RecordId> = records_of(store, &matching)?.into_values().collect();
    let of = records_of(store, &documents)?;
    documents.retain(|document| of.get(document).is_some_and(|record| !gone.contains(record)));
    Ok(documents)
}

fn records_of(store: &Store, documents: &[DocumentId]) -> Result<HashMap<DocumentId, RecordId>, StoreError> {
    let outlines = store.index().outlines(documents)?;
    Ok(outlines.into_iter().map(|outline| (outline.id, outline.record)).collect())
}

/// Matches any of the rarest terms, and any name as a phrase: `auth.rs` means the two words together.
fn plain_expression(question: &Question, weighed: &[Weighed]) -> Option<Plain> {
    let mut terms: Vec<&Weighed> = weighed.iter().filter(|term| term.frequency > 0).collect();
    terms.retain(|term| matches!(term.term.form, Form::Word { .. }));
    terms.sort_by_key(|term| term.frequency);
    let mut matches = 0;
    let affordable = terms.iter().take(MAX_TERMS).take_while(|term| {
        matches += term.frequency;
        term.frequency <= COMMON && matches <= MAX_MATCHES
    });
    let affordable = affordable.count();
    let common = affordable == 0 && !terms.is_empty();
    terms.truncate(if common { 2 } else { affordable });
    let mut any: Vec<String> = terms.iter().map(|term| expression(&term.term)).collect();
    any.extend(question.names.iter().map(|name| quoted(name)));
    (!any.is_empty()).then(|| Plain { expression: any.join(" OR "), common })
}

struct Plain {
    expression: String,
    /// Whether it has common words only.
    common: bool,
}

/// Adds documents that contain a string inside a word. Each such string counts like a rare word; documents found both
/// ways come first.
fn add_pieces(
    store: &Store,
    question: &Question,
    filters: &Filters,
    found: &mut Vec<Match>,
) -> Result<(), StoreError> {
    let best = found.first().map_or(1.0, |best| best.score.abs().max(f64::MIN_POSITIVE));
    let mut bonus: HashMap<DocumentId, f64> = HashMap::new();
    let calls = question.terms.iter().filter(|term| term.form == Form::Call).map(|term| &term.word);
    for piece in question.pieces.iter().chain(calls) {
        let documents = match piece.chars().count() {
            0 => continue,
            _ => store.index().containing(piece, filters, MAX_PER_PIECE)?,
        };
        // The fewer documents contain it, the more it counts.
        #[expect(clippy::cast_precision_loss, reason = "at most a hundred")]
        let worth = best / (1.0 + documents.len() as f64).ln().max(1.0);
        for document in documents {
            *bonus.entry(document).or_default() += worth;
        }
    }
    for one in found.iter_mut() {
        one.score += bonus.remove(&one.document).unwrap_or_default();
    }
    found.extend(bonus.into_iter().map(|(document, score)| Match { document, score }));
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.document.cmp(&a.document)));
    Ok(())
}
