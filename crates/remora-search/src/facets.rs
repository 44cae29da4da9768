//! How many of the records found are of which kind. Everything that is a hit is counted, and nothing else, so that the counts
//! of a facet add up to the hits.

use std::collections::BTreeMap;

use remora_core::ids::SessionId;
use remora_core::time::Time;
use remora_store::search::Outline;
use remora_store::{Store, StoreError};

use crate::dates::{Edge, parse_date};
use crate::hit::{Facets, Hit};

/// Spans of the date facet, as a search takes them for its first date.
pub const SPANS: [&str; 3] = ["7 days ago", "30 days ago", "365 days ago"];
/// Limit for the names of one facet. Results may be about hundreds of files; the most frequent are listed.
const MOST_NAMES: usize = 20;

/// Counts the records that were found, and those that wait to become memory.
pub(crate) fn facets(
    store: &Store,
    found: &[Outline],
    waiting: &[&Hit],
    now: Time,
) -> Result<Facets, StoreError> {
    let mut facets = Facets::default();
    let documents: Vec<_> = found.iter().map(|outline| outline.id).collect();
    for record in store.counted(&documents)? {
        count(&mut facets.kinds, record.kind.name());
        if let Some(observation_type) = record.observation_type {
            count(&mut facets.types, observation_type.name());
        }
        record.project.iter().for_each(|project| count(&mut facets.projects, project));
        record.concepts.iter().for_each(|concept| count(&mut facets.concepts, concept));
        record.files.iter().for_each(|file| count(&mut facets.files, file));
    }
    for hit in waiting {
        count(&mut facets.kinds, hit.kind.name());
        hit.project.iter().for_each(|project| count(&mut facets.projects, project));
    }
    let sessions =
        found.iter().map(|outline| outline.session).chain(waiting.iter().map(|hit| hit.session_id));
    facets.hosts = hosts(store, sessions.flatten())?;
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

/// Many records come from few sessions, so each session is looked up once.
fn hosts(
    store: &Store,
    sessions: impl Iterator<Item = SessionId>,
) -> Result<BTreeMap<String, usize>, StoreError> {
    let mut counts: BTreeMap<SessionId, usize> = BTreeMap::new();
    for session in sessions {
        *counts.entry(session).or_default() += 1;
    }
    let ids: Vec<SessionId> = counts.keys().copied().collect();
    let mut hosts = BTreeMap::new();
    for (session, host) in store.hosts_of(&ids)? {
        *hosts.entry(host).or_default() += counts.get(&session).copied().unwrap_or_default();
    }
    Ok(hosts)
}

fn keep_most_frequent(counts: &mut BTreeMap<String, usize>) {
    if counts.len() <= MOST_NAMES {
        return;
    }
    let mut all: Vec<(String, usize)> = std::mem::take(counts).into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(MOST_NAMES);
    counts.extend(all);
}

fn count(counts: &mut BTreeMap<String, usize>, name: &str) {
    *counts.entry(name.to_owned()).or_default() += 1;
}
