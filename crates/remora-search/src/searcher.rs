//! From a question to an answer: which arms are asked, and what may come of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use remora_core::ids::DocumentId;
use remora_store::search::{Filters, Outline};
use remora_store::{Store, StoreError};

use crate::answer::{self, Answer};
use crate::closeness::Closeness;
use crate::embed::{Embed, Embeddings, Purpose};
use crate::fusion::{Candidate, fuse};
use crate::hit::{Plan, PlannedWord, Results};
use crate::lexical::{self, Lexical};
use crate::query::{Mode, SearchQuery};
use crate::resident::{Background, Near, Resident};
use crate::syntax::Question;

/// How many documents each arm brings at least.
const POOL: usize = 200;
const LARGEST_POOL: usize = 2_000;
/// So many of the nearest are looked at even when they are no nearer than usual.
const LEAST_NEAREST: usize = 20;
/// How many of the nearest are asked whether filters let them pass before it is turned around.
const FIRST_LOOK: usize = 500;

/// Searches, and keeps the vectors it needs for it in memory.
#[derive(Debug, Default)]
pub struct Searcher {
    resident: Mutex<Resident>,
}

impl Searcher {
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a question. Without an embedder it searches by words alone and says so.
    pub fn search(
        &self,
        store: &Store,
        embedder: Option<&mut dyn Embed>,
        query: &SearchQuery,
    ) -> Result<Results, StoreError> {
        let read = if query.is_prompt { Question::prose } else { Question::read };
        let question = read(&query.text);
        if question.is_empty() {
            return answer::by_date(store, query);
        }
        let pool = ((query.offset + query.limit) * 4).clamp(POOL, LARGEST_POOL);
        let wants_meaning = query.mode != Mode::Text;
        let wants_words = query.mode != Mode::Semantic;
        let mut asked = None;
        // Words are looked up while the question is embedded.
        let (words, few) = std::thread::scope(|scope| {
            let embedding = embedder
                .filter(|_| wants_meaning)
                .map(|embedder| scope.spawn(|| embedder.embed(&[&query.text], Purpose::Question)));
            let words = by_words(store, &question, query, pool);
            asked = embedding.and_then(|embedding| embedding.join().ok());
            words
        })?;
        let (embedded, mut no_vectors) = match asked {
            Some(Ok(embedded)) => (Some(embedded), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, wants_meaning.then(|| "there is no embedder".to_owned())),
        };
        let closeness = embedded.as_ref().map_or(Closeness::BUILTIN, |embedded| embedded.closeness);
        let mut meaning = Meaning::default();
        if let Some(embedded) = &embedded {
            meaning = self.meaning(store, &query.filters, (&words, few.as_ref()), embedded, pool)?;
            if meaning.background.is_none() {
                no_vectors = Some("nothing is embedded yet".to_owned());
            }
        }
        // Where there is no meaning to go by, words are better than nothing.
        let words = if wants_words || meaning.background.is_some() {
            words
        } else {
            lexical::find(store, &question, &query.filters, few.as_ref(), pool)?
        };
        let mut candidates = gather(&words, &meaning);
        let documents: Vec<DocumentId> = candidates.iter().map(|candidate| candidate.document).collect();
        let outlines: HashMap<DocumentId, Outline> =
            store.outlines(&documents)?.into_iter().map(|outline| (outline.id, outline)).collect();
        for candidate in &mut candidates {
            let outline = outlines.get(&candidate.document);
            candidate.used = outline.map_or(0.0, |outline| outline.feedback.worth(query.now) - 1.0);
        }
        let lexical_weight = fuse(&mut candidates, meaning.background, closeness);
        let plan = Plan {
            mode: match (meaning.background.is_some(), wants_words) {
                (true, true) => Mode::Hybrid,
                (true, false) => Mode::Semantic,
                (false, _) => Mode::Text,
            },
            strict: false,
            syntax: words.strict,
            words: words
                .weighed
                .iter()
                .map(|weighed| PlannedWord { word: weighed.term.word.clone(), weight: weighed.idf })
                .collect(),
            lexical_weight,
            no_vectors,
        };
        let more = words.found.len() >= pool || meaning.nearest.len() >= pool;
        answer::ranked(
            store,
            query,
            Answer {
                question: &question,
                weighed: &words.weighed,
                candidates,
                outlines,
                closeness,
                plan,
                more,
            },
        )
    }

    /// What is near in meaning, and how near those are that words found.
    fn meaning(
        &self,
        store: &Store,
        filters: &Filters,
        (words, few): (&Lexical, Option<&HashSet<DocumentId>>),
        embedded: &Embeddings,
        pool: usize,
    ) -> Result<Meaning, StoreError> {
        let Some(vector) = embedded.vectors.first() else { return Ok(Meaning::default()) };
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        resident.load(store, filters.scope, &embedded.model, vector.len())?;
        let Some(background) = resident.background(filters.scope, vector) else {
            return Ok(Meaning::default());
        };
        // Operators say what may be an answer; meaning only orders it.
        let nearest =
            if words.strict { Vec::new() } else { nearest(&resident, store, filters, few, vector, pool)? };
        let known: HashSet<DocumentId> = nearest.iter().map(|near| near.document).collect();
        let others: Vec<DocumentId> = words
            .found
            .iter()
            .map(|found| found.document)
            .filter(|document| !known.contains(document))
            .collect();
        let also = resident.cosines(filters.scope, vector, &others);
        Ok(Meaning { nearest, also, background: Some(background) })
    }

    /// Gives up vectors that nobody needed for `idle`. For a daemon, now and then.
    pub fn unload_idle(&self, idle: Duration) {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner).unload_idle(idle);
    }

    /// How much memory the vectors take.
    pub fn resident_bytes(&self) -> usize {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

#[derive(Debug, Default)]
struct Meaning {
    nearest: Vec<Near>,
    /// Documents that words found and that are not among the nearest.
    also: Vec<Near>,
    background: Option<Background>,
}

/// What words find while the question is embedded, and what passes where few documents do.
fn by_words(
    store: &Store,
    question: &Question,
    query: &SearchQuery,
    pool: usize,
) -> Result<(Lexical, Option<HashSet<DocumentId>>), StoreError> {
    let few = store.few_passing(&query.filters)?;
    let words = if query.mode == Mode::Semantic {
        Lexical { weighed: lexical::weigh(store, question)?, ..Lexical::default() }
    } else {
        lexical::find(store, question, &query.filters, few.as_ref(), pool)?
    };
    Ok((words, few))
}

/// The nearest documents that pass the filters.
///
/// Filters are SQL, vectors are in memory. Mostly enough of the nearest pass; when they do not, the filters are so
/// narrow that it is better to ask for all that pass and to compare those.
fn nearest(
    resident: &Resident,
    store: &Store,
    filters: &Filters,
    few: Option<&HashSet<DocumentId>>,
    vector: &[f32],
    most: usize,
) -> Result<Vec<Near>, StoreError> {
    if let Some(few) = few {
        let few: Vec<DocumentId> = few.iter().copied().collect();
        return Ok(resident.nearest_of(filters.scope, vector, most, &few));
    }
    if !filters.is_narrow() {
        return Ok(resident.nearest(filters.scope, vector, most));
    }
    let first = resident.nearest(filters.scope, vector, FIRST_LOOK.max(most));
    let is_all = first.len() < FIRST_LOOK.max(most);
    let documents: Vec<DocumentId> = first.iter().map(|near| near.document).collect();
    let pass: HashSet<DocumentId> = store.passing(&documents, filters)?.into_iter().collect();
    let mut passed: Vec<Near> = first.into_iter().filter(|near| pass.contains(&near.document)).collect();
    if is_all || passed.len() >= most / 8 {
        passed.truncate(most);
        return Ok(passed);
    }
    Ok(resident.nearest_of(filters.scope, vector, most, &store.all_passing(filters)?))
}

fn gather(words: &Lexical, meaning: &Meaning) -> Vec<Candidate> {
    let mut all: HashMap<DocumentId, Candidate> = HashMap::new();
    for (rank, found) in (1..).zip(&words.found) {
        let candidate = all.entry(found.document).or_insert_with(|| Candidate::new(found.document));
        (candidate.lexical, candidate.lexical_rank) = (Some(found.score), Some(rank));
    }
    for (rank, near) in (1..).zip(&meaning.nearest) {
        let candidate = all.entry(near.document).or_insert_with(|| Candidate::new(near.document));
        (candidate.cosine, candidate.semantic_rank) = (Some(near.cosine), Some(rank));
    }
    // There is always something nearest; what is no nearer than usual, and has none of the words, was not found.
    let usual = meaning.background.map_or(f32::MIN, |background| background.mean + background.deviation);
    all.retain(|_, candidate| {
        let is_near = candidate.cosine.is_some_and(|cosine| cosine >= usual);
        let is_among_first = candidate.semantic_rank.is_some_and(|rank| rank <= LEAST_NEAREST);
        candidate.lexical.is_some() || is_near || is_among_first
    });
    for near in &meaning.also {
        if let Some(candidate) = all.get_mut(&near.document) {
            candidate.cosine = Some(near.cosine);
        }
    }
    all.into_values().collect()
}
