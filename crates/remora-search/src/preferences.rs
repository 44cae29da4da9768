//! Applies the user's settings to a query.

use std::time::Duration;

use remora_core::document::RecordKind;
use remora_core::settings;

use crate::SearchQuery;

impl SearchQuery {
    /// Applies the exclusions of the settings, unless the query sets its own filters.
    pub fn apply_settings(&mut self, settings: &settings::Search) {
        let filters = &mut self.filters;
        if settings.max_age_days > 0 && filters.from.is_none() && filters.until.is_none() {
            filters.from = Some(self.now.before(Duration::from_hours(24) * settings.max_age_days));
        }
        if !settings.index_turns && filters.kinds.is_empty() {
            filters.kinds = RecordKind::ALL.into_iter().filter(|kind| *kind != RecordKind::Turn).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use remora_core::document::ProjectScope;
    use remora_core::time::Time;

    use super::*;

    #[test]
    fn filters_of_a_query_override_settings() {
        let plain = SearchQuery::new(ProjectScope::All, "clock", Time(0));
        let mut query = plain.clone();
        query.apply_settings(&settings::Search::default());
        assert_eq!(query, plain);
        let strict = settings::Search { max_age_days: 1, index_turns: false, ..settings::Search::default() };
        query.apply_settings(&strict);
        assert_eq!(query.filters.from, Some(Time(query.now.0 - 86_400_000)));
        assert!(!query.filters.kinds.contains(&RecordKind::Turn));
        let mut asked = plain;
        asked.filters.from = Some(Time(5));
        asked.filters.kinds = vec![RecordKind::Turn];
        let before = asked.clone();
        asked.apply_settings(&strict);
        assert_eq!(asked, before);
    }
}
