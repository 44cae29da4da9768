//! Observations related to another one, by its title.

use remora_core::document::{RecordId, RecordKind};
use remora_search::{Hit, Results, plain_words};
use remora_store::ObservationRow;

use crate::ProjectSelector;
use crate::search::SearchRequest;

/// Maximum number of related observations.
const MAX_RELATED: usize = 5;
/// Minimum score of a related observation.
const ALIKE: f64 = 0.35;

/// The search for related observations of the same project. The caller runs it, where the model and the vectors are,
/// and passes the results to [`related`].
pub fn search(row: &ObservationRow) -> SearchRequest {
    let mut request = SearchRequest::new(ProjectSelector::Project(row.project_id.to_string()));
    request.text = plain_words(&row.observation.title);
    request.kinds = vec![RecordKind::Observation];
    // It finds itself, too.
    request.limit = MAX_RELATED + 1;
    request
}

/// The related observations among the results of [`search`], best first.
pub fn related<'a>(row: &ObservationRow, found: &'a Results) -> Vec<&'a Hit> {
    let own = RecordId { kind: RecordKind::Observation, number: row.id.0 };
    let others = found.hits.iter().filter(|hit| hit.id != own && hit.score >= ALIKE);
    others.take(MAX_RELATED).collect()
}
