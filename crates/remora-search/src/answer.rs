//! Turns ranked documents into a page of hits: every record once, with the reasons for its place.

use std::collections::HashSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::DocumentId;
use remora_core::text::one_line;
use remora_store::search::{Among, DocumentRow, Outline, ShownBy};
use remora_store::{Store, StoreError};
use rustc_hash::FxHashMap;

use crate::closeness::Closeness;
use crate::collapse::{self, Folded};
use crate::facets::facets;
use crate::fusion::Candidate;
use crate::hit::{Facets, Hit, Plan, Results, Snippet, Why};
use crate::language::Language;
use crate::lexical::{self, Weighed};
use crate::query::{Mode, SearchQuery, Snippets, Sort};
use crate::score::{Words, calibrated};
use crate::snippet::{matched, snippet};
use crate::syntax::Question;
use crate::terms::Terms;
use crate::waiting;

/// The search result before it is rendered as hits.
pub(crate) struct Answer<'a> {
    pub(crate) question: &'a Question,
    pub(crate) weighed: &'a [Weighed],
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) outlines: FxHashMap<DocumentId, Outline>,
    pub(crate) closeness: Closeness,
    /// Whether cosines of documents in other languages are meaningless.
    pub(crate) only_english: bool,
    pub(crate) plan: Plan,
    pub(crate) more: bool,
}

/// A record with its best document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) outline: Outline,
    pub(crate) candidate: Candidate,
    pub(crate) recency: f64,
}

/// Upper limit for the records that are counted if the query has no text.
const MAX_BY_DATE: usize = 1_000;
/// Only this many of the best hits are sorted by date. Many more share some word with the query, and the newest of
/// those are noise.
const BEST_BY_DATE: usize = 100;
/// Maximum bonus for a new record, halved every `RECENT_DAYS`. Small, so that it breaks ties and decides nothing
/// else.
const RECENCY: f64 = 0.03;
const RECENT_DAYS: f64 = 30.0;
/// Factor for superseded records. They rank lower but can still be found.
const SUPERSEDED: f64 = 0.8;
const MILLISECONDS_A_DAY: f64 = 86_400_000.0;
/// Extra rows fetched for a page, because some of them turn out to be duplicates.
const SPARE_ROWS: usize = 10;

/// Answers a query that names nothing wanted: the newest records that pass the filters and do not match `unwanted`.
pub(crate) fn by_date(
    store: &Store,
    query: &SearchQuery,
    unwanted: Option<&str>,
) -> Result<Results, StoreError> {
    let mut documents = store.index().newest(
        &query.filters,
        MAX_BY_DATE.max(query.offset + query.limit),
        ShownBy::LeadDocument,
    )?;
    let every = documents.len();
    if let Some(unwanted) = unwanted {
        documents = lexical::without_records(store, unwanted, &query.filters, documents)?;
    }
    let mut ranking = ranked_by_date(store, &documents)?;
    let folded = if query.one_a_turn { collapse::one_a_turn(&mut ranking) } else { Folded::default() };
    let found: Vec<Outline> = ranking.iter().map(|ranked| ranked.outline).collect();
    let page: Vec<DocumentId> =
        found.iter().skip(query.offset).take(query.limit).map(|outline| outline.id).collect();
    let mut hits = Vec::with_capacity(page.len());
    for row in store.index().documents(&page)? {
        let mut hit = hit(&row, 0.0, Why::default());
        hit.snippet = snippet(&row.body, &[], &[]);
        hit.duplicates.extend(folded.get(&hit.id).into_iter().flatten());
        hits.push(hit);
    }
    let plan = Plan {
        mode: Mode::Text,
        strict: true,
        syntax: unwanted.is_some(),
        words: Vec::new(),
        lexical_weight: 0.0,
        no_vectors: None,
    };
    let facets = facets(store, &found, &[], query.now)?;
    let terms = Terms::default();
    Ok(Results { hits, total: found.len(), more: every >= MAX_BY_DATE, facets, plan, terms })
}

/// The outlines of these documents, in the same order.
fn ranked_by_date(store: &Store, documents: &[DocumentId]) -> Result<Vec<Ranked>, StoreError> {
    let outlines: FxHashMap<DocumentId, Outline> =
        store.index().outlines(documents)?.into_iter().map(|outline| (outline.id, outline)).collect();
    let known = documents.iter().filter_map(|id| outlines.get(id));
    let ranked =
        |outline: &Outline| Ranked { outline: *outline, candidate: Candidate::new(outline.id), recency: 0.0 };
    Ok(known.map(ranked).collect())
}

/// Answers a query with text: the best records first, or the newest first if requested.
pub(crate) fn ranked(store: &Store, query: &SearchQuery, answer: Answer<'_>) -> Result<Results, StoreError> {
    let Answer { question, weighed, mut candidates, outlines, closeness, only_english, plan, more } = answer;
    // Some vector is always the nearest, however far away it is. Those that are far and share no word are dropped.
    let is_near = |cosine: f32| cosine >= closeness.faint;
    candidates.retain(|candidate| candidate.lexical.is_some() || candidate.cosine.is_some_and(is_near));
    let mut ranking = one_a_record(query, candidates, &outlines);
    collapse::turns_below_observations(&mut ranking);
    let wanted = query.offset + query.limit;
    let may_add = !query.narrows && plan.mode == Mode::Hybrid && !plan.syntax;
    if may_add && ranking.len() < wanted && query.filters.is_narrow() {
        top_up(store, query, &mut ranking, wanted)?;
    }
    let every = ranking.clone();
    let folded = if query.one_a_turn { collapse::one_a_turn(&mut ranking) } else { Folded::default() };
    if query.narrows && query.filters.is_narrow() {
        let documents: Vec<DocumentId> = ranking.iter().map(|ranked| ranked.outline.id).collect();
        let pass: HashSet<DocumentId> =
            store.index().passing(Among::These(&documents), &query.filters)?.unwrap_or_default();
        ranking.retain(|ranked| pass.contains(&ranked.outline.id));
    }
    let mut found: Vec<Outline> = ranking.iter().map(|ranked| ranked.outline).collect();
    if query.sort == Sort::Date {
        ranking.truncate(BEST_BY_DATE.max(wanted));
        ranking.sort_by_key(|ranked| std::cmp::Reverse(ranked.outline.created_at));
    }
    ranking.truncate(wanted + SPARE_ROWS);
    let scoring = Scoring { question, weighed, closeness, only_english };
    let mut hits =
        unfolded(&ranking, &every, &folded, |ranking, folded| hits(store, scoring, ranking, folded))?;
    if !query.is_prompt && plan.mode != Mode::Semantic {
        let waiting = waiting::hits(store, query, question, weighed, plan.lexical_weight)?;
        waiting::insert(&mut hits, waiting, query.sort);
    }
    let mut gone = collapse::superseded(&mut hits);
    gone.extend(collapse::duplicates(&mut hits));
    if !query.is_prompt && query.sort == Sort::Relevance {
        cap_scores(&mut hits);
    }
    found.retain(|outline| !gone.contains(&outline.record));
    let waiting: Vec<&Hit> = hits.iter().filter(|shown| shown.why.waiting).map(|shown| &shown.hit).collect();
    let total = found.len() + waiting.len();
    // Recall needs the hits only, so facets are not computed for it.
    let facets =
        if query.is_prompt { Facets::default() } else { facets(store, &found, &waiting, query.now)? };
    let page = hits.into_iter().skip(query.offset).take(query.limit);
    let hits = page.map(|shown| shown.with_snippet(query, weighed, &question.pieces)).collect();
    let terms = Terms { weighed: weighed.to_vec(), pieces: question.pieces.clone() };
    Ok(Results { hits, total, more, facets, plan, terms })
}

/// Lowers each score to that of the hit above it. The order weighs more than a score can say (ranks in both arms,
/// recency, use), and no hit should look better than those above it.
fn cap_scores(hits: &mut [DocumentHit]) {
    let mut cap = 1.0_f64;
    for shown in hits {
        cap = cap.min(shown.hit.score);
        shown.hit.score = cap;
    }
}

/// The hits of a page. Folded records are scored together with the records they are folded into, because they lend
/// them their score.
fn unfolded(
    page: &[Ranked],
    every: &[Ranked],
    folded: &Folded,
    hits: impl FnOnce(&[Ranked], &HashSet<RecordId>) -> Result<Vec<DocumentHit>, StoreError>,
) -> Result<Vec<DocumentHit>, StoreError> {
    let within: HashSet<RecordId> =
        page.iter().filter_map(|ranked| folded.get(&ranked.outline.record)).flatten().copied().collect();
    let mut all = page.to_vec();
    all.extend(every.iter().filter(|ranked| within.contains(&ranked.outline.record)).copied());
    let mut shown = hits(&all, &within)?;
    for shown in &mut shown {
        shown.hit.duplicates.extend(folded.get(&shown.hit.id).into_iter().flatten());
    }
    Ok(shown)
}

/// Every record with its best document, best first.
fn one_a_record(
    query: &SearchQuery,
    candidates: Vec<Candidate>,
    outlines: &FxHashMap<DocumentId, Outline>,
) -> Vec<Ranked> {
    let mut best: FxHashMap<RecordId, Ranked> = FxHashMap::default();
    for mut candidate in candidates {
        let Some(outline) = outlines.get(&candidate.document) else { continue };
        let recency = RECENCY * (-age_in_days(query, outline) / RECENT_DAYS).exp2();
        candidate.score *=
            (1.0 + recency) * (1.0 + candidate.used) * if outline.superseded { SUPERSEDED } else { 1.0 };
        let ranked = Ranked { outline: *outline, candidate, recency };
        best.entry(outline.record)
            .and_modify(|known| {
                if ranked.candidate.score > known.candidate.score {
                    *known = ranked;
                }
            })
            .or_insert(ranked);
    }
    let mut ranking: Vec<Ranked> = best.into_values().collect();
    ranking.sort_by(|a, b| {
        b.candidate.score.total_cmp(&a.candidate.score).then(b.outline.id.cmp(&a.outline.id))
    });
    ranking
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of some years")]
fn age_in_days(query: &SearchQuery, outline: &Outline) -> f64 {
    (query.now.0.saturating_sub(outline.created_at.0).max(0) as f64) / MILLISECONDS_A_DAY
}

/// Adds the newest records that pass the filters and were not found, because a filter alone is a valid request for
/// them.
fn top_up(
    store: &Store,
    query: &SearchQuery,
    ranking: &mut Vec<Ranked>,
    wanted: usize,
) -> Result<(), StoreError> {
    let newest = store.index().newest(&query.filters, wanted + ranking.len(), ShownBy::LeadDocument)?;
    for outline in store.index().outlines(&newest)? {
        let is_known = ranking.iter().any(|ranked| ranked.outline.record == outline.record);
        if !is_known && ranking.len() < wanted {
            let candidate = Candidate::new(outline.id);
            ranking.push(Ranked { outline, candidate, recency: 0.0 });
        }
    }
    Ok(())
}

/// A hit, with the text that duplicates are detected by.
#[derive(Debug)]
pub(crate) struct DocumentHit {
    /// Without its snippet: most hits do not get onto the page.
    pub(crate) hit: Hit,
    pub(crate) text: String,
    /// Where the body begins in the text.
    pub(crate) body: usize,
}

impl DocumentHit {
    fn with_snippet(mut self, query: &SearchQuery, weighed: &[Weighed], pieces: &[String]) -> Hit {
        let is_injected = matches!(self.hit.kind, RecordKind::Fact | RecordKind::Note);
        if query.snippets == Snippets::All || is_injected {
            self.hit.snippet = snippet(&self.text[self.body..], weighed, pieces);
        }
        self.hit
    }
}

impl std::ops::Deref for DocumentHit {
    type Target = Hit;

    fn deref(&self) -> &Hit {
        &self.hit
    }
}

/// The inputs for scoring hits.
#[derive(Clone, Copy)]
struct Scoring<'a> {
    question: &'a Question,
    weighed: &'a [Weighed],
    closeness: Closeness,
    only_english: bool,
}

/// The hits, without those that are `folded` into others.
fn hits(
    store: &Store,
    scoring: Scoring<'_>,
    ranking: &[Ranked],
    folded: &HashSet<RecordId>,
) -> Result<Vec<DocumentHit>, StoreError> {
    let Scoring { question, weighed, closeness, .. } = scoring;
    let documents: Vec<DocumentId> = ranking.iter().map(|ranked| ranked.outline.id).collect();
    let rows = store.index().documents(&documents)?;
    let by_id: FxHashMap<DocumentId, &Ranked> =
        ranking.iter().map(|ranked| (ranked.outline.id, ranked)).collect();
    let mut shown = Vec::with_capacity(rows.len());
    let mut turns = FxHashMap::default();
    for row in &rows {
        let Some(ranked) = by_id.get(&row.id) else { continue };
        let own = matched(&[&row.title, &row.body], weighed, &question.pieces);
        let words = Words::of(&own, weighed);
        let candidate = &ranked.candidate;
        let near = candidate.cosine.map(|cosine| closeness.meaning(cosine));
        // Without any closeness the language does not matter, so it is not detected.
        let is_foreign = scoring.only_english
            && near.is_some_and(|near| near > 0.0)
            && Language::of(&row.body) != Language::English;
        let meaning = near.filter(|_| !is_foreign);
        let score = calibrated(meaning, words);
        if row.record.kind == RecordKind::Turn {
            turns.insert(row.record, score);
        }
        if folded.contains(&row.record) {
            continue;
        }
        let why = Why {
            lexical_rank: candidate.lexical_rank,
            lexical_score: candidate.lexical,
            semantic_rank: candidate.semantic_rank,
            cosine: candidate.cosine,
            meaning,
            coverage: words.coverage,
            matched: own.iter().map(|term| term.term.word.clone()).collect(),
            recency: ranked.recency,
            used: candidate.used,
            rank_score: candidate.score,
            waiting: false,
        };
        let text = format!("{} {}", row.title, row.body);
        shown.push(DocumentHit { hit: hit(row, score, why), text, body: row.title.len() + 1 });
    }
    speak_for_turns(ranking, &turns, &mut shown);
    Ok(shown)
}

/// Raises the score of a turn's best observation to that of the turn. It stands before the turn and fits as well: its
/// words are the observer's, while the turn has the user's own.
fn speak_for_turns(ranking: &[Ranked], turns: &FxHashMap<RecordId, f64>, shown: &mut [DocumentHit]) {
    for turn in ranking.iter().filter(|ranked| ranked.outline.record.kind == RecordKind::Turn) {
        let of_turn = ranking.iter().find(|ranked| is_of_turn(&ranked.outline, &turn.outline));
        let score = turns.get(&turn.outline.record);
        if let (Some(of_turn), Some(score)) = (of_turn, score)
            && let Some(speaker) = shown.iter_mut().find(|shown| shown.id == of_turn.outline.record)
        {
            speaker.hit.score = speaker.hit.score.max(*score);
        }
    }
}

fn hit(row: &DocumentRow, score: f64, why: Why) -> Hit {
    let title = if row.title.is_empty() { one_line(&row.body, 80) } else { row.title.clone() };
    Hit {
        id: row.record,
        kind: row.record.kind,
        part: row.part.clone(),
        title,
        snippet: Snippet::default(),
        score,
        why,
        project: row.project_name.clone(),
        project_id: row.project,
        session_id: row.session,
        observation_type: row.kind,
        created_at: row.created_at,
        superseded: row.superseded,
        superseded_by: row.superseded_by,
        feedback: row.feedback,
        duplicates: Vec::new(),
    }
}

/// Whether a record can stand for a turn of a session.
fn is_of_turn(outline: &Outline, turn: &Outline) -> bool {
    may_speak(outline) && (outline.session, outline.prompt_number) == (turn.session, turn.prompt_number)
}

/// Whether a record can stand for its turn. An observation marked wrong cannot: it would reappear in the turn's place.
pub(crate) fn may_speak(outline: &Outline) -> bool {
    outline.record.kind == RecordKind::Observation
        && !outline.feedback.is_wrong()
        && outline.session.is_some()
}

#[cfg(test)]
mod tests {
    use remora_core::document::ProjectScope;
    use remora_core::feedback::Feedback;
    use remora_core::time::Time;

    use super::*;

    const NOW: Time = Time(1_800_000_000_000);

    struct Found {
        score: f64,
        age_in_days: i64,
        superseded: bool,
    }

    /// The order of records with these figures, as indexes into `found`. Of two equal ones, the later comes first.
    fn order(found: &[Found]) -> Vec<i64> {
        let query = SearchQuery::new(ProjectScope::All, "question", NOW);
        let mut outlines = FxHashMap::default();
        let mut candidates = Vec::new();
        for (number, found) in (0..).zip(found) {
            let outline = Outline {
                id: DocumentId(number),
                record: RecordId { kind: RecordKind::Observation, number },
                project: None,
                session: None,
                prompt_number: None,
                kind: None,
                created_at: Time(NOW.0 - 86_400_000 * found.age_in_days),
                superseded: found.superseded,
                feedback: Feedback::default(),
            };
            outlines.insert(outline.id, outline);
            candidates.push(Candidate { score: found.score, ..Candidate::new(outline.id) });
        }
        let ranking = one_a_record(&query, candidates, &outlines);
        ranking.iter().map(|ranked| ranked.outline.record.number).collect()
    }

    #[test]
    fn recency_breaks_ties_and_a_better_fit_stays_ahead() {
        let found = |score, age_in_days| Found { score, age_in_days, superseded: false };
        assert_eq!(order(&[found(0.8, 60), found(0.8, 60)]), [1, 0]);
        assert_eq!(order(&[found(0.8, 1), found(0.8, 60)]), [0, 1]);
        assert_eq!(order(&[found(0.8, 90), found(0.75, 0)]), [0, 1]);
    }

    #[test]
    fn a_new_record_makes_up_for_three_percent_and_for_half_of_that_against_a_month_old_one() {
        // Whether a new record ranks above one of this age that fits better by this factor.
        let is_ahead = |age_in_days, factor: f64| {
            let found = |score, age_in_days| Found { score, age_in_days, superseded: false };
            order(&[found(0.5, 0), found(0.5 * factor, age_in_days)]) == [0, 1]
        };
        assert_eq!((is_ahead(365, 1.025), is_ahead(365, 1.035)), (true, false));
        assert_eq!((is_ahead(30, 1.013), is_ahead(30, 1.017)), (true, false));
        assert!(is_ahead(-300, 0.99), "a record from the future counts as new");
    }

    #[test]
    fn a_superseded_record_ranks_below_an_equal_one_and_above_a_worse_one() {
        let found = |score, superseded| Found { score, age_in_days: 1, superseded };
        assert_eq!(order(&[found(0.8, false), found(0.8, true)]), [0, 1]);
        assert_eq!(order(&[found(0.8, true), found(0.5, false)]), [0, 1]);
        assert_eq!(order(&[found(0.8, true), found(0.66, false)]), [1, 0], "below a slightly worse one");
    }
}
