//! What would be injected with a prompt by other settings, for somebody who tries them out before saving them.

use remora_core::ids::ProjectId;
use remora_core::settings::Settings;
use remora_store::Store;

use crate::{AppError, Whose, project};

/// Settings to try out, each in place of the one in force.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Trial {
    pub most: Option<u8>,
    pub least_score: Option<f64>,
}

impl Trial {
    /// The settings in force with these. Injection is on, so that somebody who has it off can see what it would do.
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

/// The project a prompt is tried in: the one that is meant or, of all, the one worked in last. `None` in an empty memory.
pub fn project_of(store: &Store, whose: &Whose) -> Result<Option<ProjectId>, AppError> {
    match whose {
        Whose::All => Ok(store.sessions(None, 1)?.first().map(|session| session.project_id)),
        one => project(store, one).map(Some),
    }
}
