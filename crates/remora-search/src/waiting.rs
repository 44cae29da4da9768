//! Finds events that are still in the queue, in the text as it was captured.

use remora_core::feedback::Feedback;
use remora_core::text::one_line;
use remora_store::{Store, StoreError};

use crate::answer::DocumentHit;
use crate::hit::{Hit, Snippet, Why};
use crate::lexical::Weighed;
use crate::query::{SearchQuery, Sort};
use crate::score::{Words, calibrated};
use crate::snippet::matched;
use crate::syntax::{Form, Question};
use crate::words::fold;

/// Minimum share of the query's words. In a long output, fewer match by chance.
const MIN_COVERAGE: f64 = 0.34;

/// Queued prompts and events that match the query, best first.
pub(crate) fn hits(
    store: &Store,
    query: &SearchQuery,
    question: &Question,
    weighed: &[Weighed],
    lexical_weight: f64,
) -> Result<Vec<DocumentHit>, StoreError> {
    let meant = question.operators.as_ref().filter(|operators| operators.is_explicit);
    let mut found = Vec::new();
    for waiting in store.index().waiting(&query.filters)? {
        // Quick test before the text is split into words: most texts have none of them.
        let folded = fold(&waiting.text);
        let may_match = weighed.iter().any(|term| match &term.term.form {
            Form::Word { root: Some(root), .. } => folded.contains(&root.text),
            Form::Word { stem, .. } => folded.contains(beginning(stem)),
            Form::Pair { .. } => waiting.text.contains(&term.term.word),
            Form::Call => folded.contains(&term.term.word),
        });
        if !may_match || meant.is_some_and(|operators| !operators.allow(&waiting.text)) {
            continue;
        }
        let matched = matched(&[&waiting.text], weighed, &question.pieces);
        let words = Words::of(&matched, weighed);
        let coverage = words.coverage;
        if coverage < MIN_COVERAGE {
            continue;
        }
        let why = Why {
            matched: matched.iter().map(|term| term.term.word.clone()).collect(),
            coverage,
            rank_score: lexical_weight * coverage,
            waiting: true,
            ..Why::default()
        };
        let hit = Hit {
            id: waiting.record,
            kind: waiting.record.kind,
            part: waiting.record.kind.name().to_owned(),
            title: one_line(&waiting.text, 80),
            snippet: Snippet::default(),
            score: calibrated(None, words),
            why,
            project: Some(waiting.project_name),
            project_id: Some(waiting.project),
            session_id: Some(waiting.session),
            observation_type: None,
            created_at: waiting.created_at,
            superseded: false,
            superseded_by: None,
            feedback: Feedback::default(),
            duplicates: Vec::new(),
        };
        found.push(DocumentHit { hit, text: waiting.text, body: 0 });
    }
    found.sort_by(|a, b| b.why.rank_score.total_cmp(&a.why.rank_score));
    Ok(found)
}

/// The common beginning of all forms of a word.
fn beginning(stem: &str) -> &str {
    let end = if stem.len() > 4 { stem.floor_char_boundary(stem.len() - 1) } else { stem.len() };
    &stem[..end]
}

/// Inserts queued hits at their place among the others.
pub(crate) fn insert(hits: &mut Vec<DocumentHit>, waiting: Vec<DocumentHit>, sort: Sort) {
    for shown in waiting {
        let place = match sort {
            Sort::Relevance => hits.partition_point(|hit| hit.why.rank_score >= shown.why.rank_score),
            Sort::Date => hits.partition_point(|hit| hit.created_at >= shown.created_at),
        };
        hits.insert(place, shown);
    }
}
