//! Counts of the search results by kind, type, project, file and so on. All hits are counted, and nothing else, so that the
//! counts by kind add up to the number of hits.

use std::collections::{BTreeMap, HashSet};

use remora_core::document::RecordKind;
use remora_core::time::Time;
use remora_store::search::{NamesOf, Outline};
use remora_store::{Store, StoreError};

use crate::dates::{Edge, parse_date};
use crate::hit::{Facets, Hit};

/// Spans of the date facet, as a search takes them for its first date.
pub const SPANS: [&str; 3] = ["7 days ago", "30 days ago", "365 days ago"];
/// Limit for the names of one facet. Results may be about hundreds of files; the most frequent are listed.
const MAX_NAMES: usize = 20;

/// Counts the records that were found, and those that wait to become memory.
pub(crate) fn facets(
    store: &Store,
    found: &[Outline],
    waiting: &[&Hit],
    now: Time,
) -> Result<Facets, StoreError> {
    let mut facets = Facets::default();
    for outline in found {
        count(&mut facets.kinds, outline.record.kind.name());
        if let Some(kind) = outline.kind {
            count(&mut facets.types, kind.name());
        }
    }
    let numbers = |kind: RecordKind| -> Vec<i64> {
        found.iter().map(|outline| outline.record).filter(|id| id.kind == kind).map(|id| id.number).collect()
    };
    let (observations, summaries) = (numbers(RecordKind::Observation), numbers(RecordKind::Summary));
    for (_, concept) in store.index().names(NamesOf::Concepts, &observations)? {
        count(&mut facets.concepts, &concept);
    }
    // A file that was read and changed counts once.
    for files in [
        store.index().names(NamesOf::Files, &observations)?,
        store.index().names(NamesOf::SummaryFiles, &summaries)?,
    ] {
        for (_, file) in files.into_iter().collect::<HashSet<_>>() {
            count(&mut facets.files, &file);
        }
    }
    for hit in waiting {
        count(&mut facets.kinds, hit.kind.name());
    }
    let projects =
        found.iter().map(|outline| outline.project).chain(waiting.iter().map(|hit| hit.project_id));
    facets.projects = by_name(projects.flatten().map(|project| project.0), |ids| {
        store.index().names(NamesOf::Projects, ids)
    })?;
    let sessions =
        found.iter().map(|outline| outline.session).chain(waiting.iter().map(|hit| hit.session_id));
    facets.hosts =
        by_name(sessions.flatten().map(|session| session.0), |ids| store.index().names(NamesOf::Hosts, ids))?;
    let times =
        || found.iter().map(|outline| outline.created_at).chain(waiting.iter().map(|hit| hit.created_at));
    for span in SPANS {
        let Some(from) = parse_date(span, Edge::Start, now) else { continue };
        facets.dates.insert(span.to_owned(), times().filter(|time| *time >= from).count());
    }
    for names in [&mut facets.concepts, &mut facets.files] {
        keep_most_frequent(names);
    }
    Ok(facets)
}

/// How often each name occurs. Many records have few projects and sessions, so each of those is looked up once.
fn by_name(
    all: impl Iterator<Item = i64>,
    names: impl FnOnce(&[i64]) -> Result<Vec<(i64, String)>, StoreError>,
) -> Result<BTreeMap<String, usize>, StoreError> {
    let mut numbers: BTreeMap<i64, usize> = BTreeMap::new();
    for id in all {
        *numbers.entry(id).or_default() += 1;
    }
    let ids: Vec<i64> = numbers.keys().copied().collect();
    let mut counts = BTreeMap::new();
    for (id, name) in names(&ids)? {
        *counts.entry(name).or_default() += numbers.get(&id).copied().unwrap_or_default();
    }
    Ok(counts)
}

fn keep_most_frequent(counts: &mut BTreeMap<String, usize>) {
    if counts.len() <= MAX_NAMES {
        return;
    }
    let mut all: Vec<(String, usize)> = std::mem::take(counts).into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(MAX_NAMES);
    counts.extend(all);
}

fn count(counts: &mut BTreeMap<String, usize>, name: &str) {
    match counts.get_mut(name) {
        Some(number) => *number += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}
