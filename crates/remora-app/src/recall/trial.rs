//! Previews the injection for a prompt with other settings, before they are saved.

use remora_core::ids::ProjectId;
use remora_core::settings::Settings;
use remora_store::SessionQuery;

use crate::{AppError, ProjectSelector, Runtime, project};

/// Settings to try, each instead of the current one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Trial {
    pub most: Option<u8>,
    pub least_score: Option<f64>,
}

impl Trial {
    /// The current settings with these changes. Injection is always on, so that users who have it off can preview it.
    #[must_use]
    pub fn settings(self, in_force: &Settings) -> Settings {
        let mut settings = in_force.clone();
        let memory = &mut settings.memory;
        memory.auto_retrieve_enabled = true;
        memory.auto_retrieve_max_results = self.most.unwrap_or(memory.auto_retrieve_max_results).clamp(1, 20);
        let least = self.least_score.filter(|score| score.is_finite());
        memory.auto_retrieve_min_score = least.unwrap_or(memory.auto_retrieve_min_score).clamp(0.0, 1.0);
        settings
    }
}

/// The project of the preview: the given one or, for all projects, the one used last. `None` if the memory is empty.
pub fn project_of(rt: &dyn Runtime, selector: &ProjectSelector) -> Result<Option<ProjectId>, AppError> {
    let store = rt.store();
    match selector {
        ProjectSelector::All => {
            Ok(store.sessions().list(&SessionQuery::latest(1))?.first().map(|session| session.project_id))
        }
        one => project(store, one).map(Some),
    }
}
