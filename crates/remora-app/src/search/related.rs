//! Observations related to another one, by its title.

use remora_core::document::{RecordId, RecordKind};
use remora_search::{Hit, plain_words};
use remora_store::ObservationRow;

use crate::search::SearchRequest;
use crate::{AppError, ProjectSelector, Runtime};

/// Maximum number of related observations.
const MAX_RELATED: usize = 5;
/// Minimum score of a related observation.
const ALIKE: f64 = 0.35;

/// The search for related observations of the same project.
pub fn search(row: &ObservationRow) -> SearchRequest {
    let mut request = SearchRequest::new(ProjectSelector::Project(row.project_id.to_string()));
    request.text = plain_words(&row.observation.title);
    request.kinds = vec![RecordKind::Observation];
    // It finds itself, too.
    request.limit = MAX_RELATED + 1;
    request
}

/// Related observations, best first.
pub fn related(rt: &dyn Runtime, row: &ObservationRow) -> Result<Vec<Hit>, AppError> {
    let own = RecordId { kind: RecordKind::Observation, number: row.id.0 };
    let mut hits = rt.search(&search(row))?.hits;
    hits.retain(|hit| hit.id != own && hit.score >= ALIKE);
    hits.truncate(MAX_RELATED);
    Ok(hits)
}
