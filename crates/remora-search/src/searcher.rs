//! Plans a search: which arms run, and how their results are combined.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remora_core::ids::DocumentId;
use remora_store::search::{Among, Filters, Outline, ShownBy};
use remora_store::{Store, StoreError};
use rustc_hash::FxHashMap;

use crate::answer::{self, Answer};
use crate::closeness::Closeness;
use crate::embed::{Embed, EmbedError, Embeddings, Purpose};
use crate::fusion::{Candidate, fuse};
use crate::hit::{Plan, PlannedWord, Results};
use crate::language::Language;
use crate::lexical::{self, CommonWords, Lexical, Pairs, Within};
use crate::operators::Operators;
use crate::query::{Mode, SearchQuery};
use crate::resident::{Background, Near, Resident};
use crate::syntax::Question;

/// Minimum number of candidates from each arm.
const POOL: usize = 200;
const MAX_POOL: usize = 2_000;
/// This many of the nearest documents stay candidates even if they do not stand out.
const MIN_NEAREST: usize = 20;
/// How many of the nearest are checked against narrow filters. If too few pass, the filters are evaluated first
/// instead.
const FIRST_LOOK: usize = 500;
/// If no record has a word of the query, the nearest must be at least this close: a cosine of 0.3 for the built-in model.
/// Of 48 random strings 40 are below, of 40 questions in other words one.
const NEAR_WITHOUT_WORDS: f64 = 0.25;
/// Reason for searching a prompt by words alone although there is an embedder.
const FOREIGN: &str = "the built-in model knows English only";

/// Runs searches. Keeps the vectors it needs in memory.
#[derive(Debug, Default)]
pub struct Searcher {
    cache: Mutex<SearchCache>,
}

/// State that makes the next query faster.
#[derive(Debug, Default)]
struct SearchCache {
    resident: Resident,
    common: CommonWords,
}

impl Searcher {
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a query. Without an embedder it searches by words alone and reports that.
    pub fn search(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        query: &SearchQuery,
    ) -> Result<Results, StoreError> {
        let read = if query.is_prompt { Question::prose } else { Question::read };
        let question = read(&query.text);
        if question.is_empty() {
            let unwanted = question.operators.as_ref().and_then(Operators::unwanted);
            return answer::by_date(store, query, unwanted.as_deref());
        }
        let knows = |language| embedder.as_ref().is_none_or(|embedder| embedder.knows(language));
        let only_english = !knows(Language::Other);
        let knows_language = knows(question.language);
        // Such cosines would let unrelated memories through recall's threshold. A search uses them where words say
        // nothing.
        let is_foreign = query.is_prompt && !knows_language;
        let embedder = embedder.filter(|_| !is_foreign);
        let has_known_word = question
            .terms
            .iter()
            .any(|term| embedder.as_ref().is_none_or(|embedder| embedder.knows_word(&term.word)));
        // The arms then search without the filters, which choose among the results afterwards.
        let unfiltered = query.narrows.then(|| Filters::new(query.filters.scope));
        let filters = unfiltered.as_ref().unwrap_or(&query.filters);
        let pool = ((query.offset + query.limit) * 3).clamp(POOL, MAX_POOL);
        let wants_meaning = query.mode != Mode::Text;
        let wants_words = query.mode != Mode::Semantic;
        let mut cache = self.cache();
        let SearchCache { resident, common } = &mut *cache;
        if wants_meaning {
            resident.refresh(store, filters.scope)?;
        }
        let few = store.index().passing(Among::All, filters)?;
        let within = Within { filters, few: few.as_ref(), most: pool };
        // The search by words runs while the query is embedded and compared with the vectors in memory.
        let (words, asked) = std::thread::scope(|scope| {
            let asking = embedder.filter(|_| wants_meaning).map(|embedder| {
                scope.spawn(|| {
                    let embedded = embedder.embed(&[&query.text], Purpose::Question)?;
                    let nearest = nearest_here(resident, &question, &embedded, within);
                    Ok::<_, EmbedError>((embedded, nearest))
                })
            });
            let words = by_words(store, &question, query.mode, within, common)?;
            Ok::<_, StoreError>((words, asking.and_then(|asking| asking.join().ok())))
        })?;
        let (asked, mut no_vectors) = match asked {
            Some(Ok(asked)) => (Some(asked), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None if is_foreign => (None, Some(FOREIGN.to_owned())),
            None => (None, wants_meaning.then(|| "there is no embedder".to_owned())),
        };
        let closeness = asked.as_ref().map_or(Closeness::BUILTIN, |(embedded, _)| embedded.closeness);
        let mut meaning = Meaning::default();
        if let Some((embedded, nearest)) = asked
            && let Some(vector) = embedded.vectors.first()
        {
            if !resident.holds(&embedded.model, vector.len()) {
                resident.load(store, filters.scope, &embedded.model, vector.len())?;
            }
            let search = VectorSearch { resident, vector, within };
            meaning = by_meaning(store, &search, &words, nearest)?;
            if meaning.background.is_none() {
                no_vectors = Some("nothing is embedded yet".to_owned());
            }
        }
        // If search by meaning is not possible, words are better than nothing.
        let words = if wants_words || meaning.background.is_some() {
            words
        } else {
            lexical::find(store, &question, within, common)?
        };
        let mut more = words.found.len() >= pool || meaning.nearest.len() >= pool;
        let mut candidates = gather(&words, &meaning);
        let is_near = |candidate: &Candidate| {
            candidate.cosine.is_some_and(|cosine| closeness.meaning(cosine) >= NEAR_WITHOUT_WORDS)
        };
        // A search by meaning alone was asked for the nearest, near or not.
        let is_found = has_known_word && (!wants_words || candidates.iter().any(is_near));
        if words.found.is_empty() && !is_found {
            candidates.clear();
            more = false;
        }
        let documents: Vec<DocumentId> = candidates.iter().map(|candidate| candidate.document).collect();
        let outlines: FxHashMap<DocumentId, Outline> =
            store.index().outlines(&documents)?.into_iter().map(|outline| (outline.id, outline)).collect();
        for candidate in &mut candidates {
            let outline = outlines.get(&candidate.document);
            candidate.used = outline.map_or(0.0, |outline| outline.feedback.worth(query.now) - 1.0);
        }
        let lexical_weight = fuse(&mut candidates, meaning.background, closeness, knows_language);
        let plan = plan(&words, meaning.background.is_some(), wants_words, lexical_weight, no_vectors);
        answer::ranked(
            store,
            query,
            Answer {
                question: &question,
                weighed: &words.weighed,
                candidates,
                outlines,
                closeness,
                only_english,
                plan,
                more,
            },
        )
    }

    /// Drops vectors that were not used for `idle`. The daemon calls it periodically.
    pub fn unload_idle(&self, idle: Duration) {
        self.cache().resident.unload_idle(idle);
    }

    /// Memory used by the vectors, in bytes.
    pub fn resident_bytes(&self) -> usize {
        self.cache().resident.bytes()
    }

    fn cache(&self) -> MutexGuard<'_, SearchCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Meaning {
    nearest: Vec<Near>,
    /// Documents found by words that are not among the nearest.
    also: Vec<Near>,
    background: Option<Background>,
}

/// The search by words. For semantic mode, only the weights of the terms.
fn by_words(
    store: &Store,
    question: &Question,
    mode: Mode,
    within: Within<'_>,
    common: &mut CommonWords,
) -> Result<Lexical, StoreError> {
    if mode == Mode::Semantic {
        let pairs = Pairs::read(store, question, within.filters)?;
        return Ok(Lexical {
            weighed: lexical::weigh(store, question, common, &pairs)?,
            ..Lexical::default()
        });
    }
    lexical::find(store, question, within, common)
}

/// The nearest documents among the loaded vectors, computed while the search by words runs. `None` if operators make
/// them unnecessary or no suitable vectors are loaded.
fn nearest_here(
    resident: &Resident,
    question: &Question,
    embedded: &Embeddings,
    within: Within<'_>,
) -> Option<Vec<Near>> {
    let is_explicit = question.operators.as_ref().is_some_and(|operators| operators.is_explicit);
    let vector = embedded.vectors.first()?;
    if is_explicit || !resident.holds(&embedded.model, vector.len()) {
        return None;
    }
    Some(VectorSearch { resident, vector, within }.nearest())
}

/// The nearest documents, and the cosines of those that words found.
fn by_meaning(
    store: &Store,
    search: &VectorSearch<'_>,
    words: &Lexical,
    nearest: Option<Vec<Near>>,
) -> Result<Meaning, StoreError> {
    let VectorSearch { resident, vector, within: Within { filters, .. } } = *search;
    let Some(background) = resident.background(filters.scope, vector) else {
        return Ok(Meaning::default());
    };
    // Operators decide which documents match; meaning only orders them.
    let nearest = if words.strict {
        Vec::new()
    } else {
        search.passing(store, nearest.unwrap_or_else(|| search.nearest()))?
    };
    let known: HashSet<DocumentId> = nearest.iter().map(|near| near.document).collect();
    let others: Vec<DocumentId> =
        words.found.iter().map(|found| found.document).filter(|document| !known.contains(document)).collect();
    let also = resident.cosines(filters.scope, vector, &others);
    Ok(Meaning { nearest, also, background: Some(background) })
}

/// A search for the nearest documents that pass the filters.
///
/// Filters are SQL, vectors are in memory. Usually enough of the nearest documents pass. If not, the filters are so
/// narrow that it is cheaper to list all documents that pass and compare those.
struct VectorSearch<'a> {
    resident: &'a Resident,
    vector: &'a [f32],
    within: Within<'a>,
}

impl VectorSearch<'_> {
    /// The nearest documents, before filters are checked.
    fn nearest(&self) -> Vec<Near> {
        let Within { filters, few, most } = self.within;
        match few {
            Some(few) => {
                let few: Vec<DocumentId> = few.iter().copied().collect();
                self.resident.nearest_of(filters.scope, self.vector, most, &few)
            }
            None => self.resident.nearest(filters.scope, self.vector, self.first()),
        }
    }

    fn first(&self) -> usize {
        let Within { filters, most, .. } = self.within;
        if filters.is_narrow() { FIRST_LOOK.max(most) } else { most }
    }

    /// The nearest documents that pass the filters.
    fn passing(&self, store: &Store, nearest: Vec<Near>) -> Result<Vec<Near>, StoreError> {
        let Within { filters, few, most } = self.within;
        if few.is_some() || !filters.is_narrow() {
            return Ok(nearest);
        }
        let is_all = nearest.len() < self.first();
        let documents: Vec<DocumentId> = nearest.iter().map(|near| near.document).collect();
        let pass: HashSet<DocumentId> =
            store.index().passing(Among::These(&documents), filters)?.unwrap_or_default();
        let mut passed: Vec<Near> =
            nearest.into_iter().filter(|near| pass.contains(&near.document)).collect();
        if is_all || passed.len() >= most / 8 {
            passed.truncate(most);
            return Ok(passed);
        }
        let all = store.index().newest(filters, usize::MAX, ShownBy::AllDocuments)?;
        Ok(self.resident.nearest_of(filters.scope, self.vector, most, &all))
    }
}

/// How a query was searched, for users.
fn plan(
    words: &Lexical,
    by_meaning: bool,
    by_words: bool,
    lexical_weight: f64,
    no_vectors: Option<String>,
) -> Plan {
    let weighed = words.weighed.iter();
    Plan {
        mode: match (by_meaning, by_words) {
            (true, true) => Mode::Hybrid,
            (true, false) => Mode::Semantic,
            (false, _) => Mode::Text,
        },
        strict: false,
        syntax: words.strict,
        words: weighed
            .map(|weighed| PlannedWord { word: weighed.term.word.clone(), weight: weighed.weight() })
            .collect(),
        lexical_weight,
        no_vectors,
    }
}

fn gather(words: &Lexical, meaning: &Meaning) -> Vec<Candidate> {
    let mut all: FxHashMap<DocumentId, Candidate> = FxHashMap::default();
    for (rank, found) in (1..).zip(&words.found) {
        let candidate = all.entry(found.document).or_insert_with(|| Candidate::new(found.document));
        (candidate.lexical, candidate.lexical_rank) = (Some(found.score), Some(rank));
    }
    for (rank, near) in (1..).zip(&meaning.nearest) {
        let candidate = all.entry(near.document).or_insert_with(|| Candidate::new(near.document));
        (candidate.cosine, candidate.semantic_rank) = (Some(near.cosine), Some(rank));
    }
    // Some document is always the nearest. One that does not stand out and has none of the words was not found.
    let usual = meaning.background.map_or(f32::MIN, |background| background.mean + background.deviation);
    all.retain(|_, candidate| {
        let is_near = candidate.cosine.is_some_and(|cosine| cosine >= usual);
        let is_among_first = candidate.semantic_rank.is_some_and(|rank| rank <= MIN_NEAREST);
        candidate.lexical.is_some() || is_near || is_among_first
    });
    for near in &meaning.also {
        if let Some(candidate) = all.get_mut(&near.document) {
            candidate.cosine = Some(near.cosine);
        }
    }
    all.into_values().collect()
}
