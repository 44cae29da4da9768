//! Converts filters to SQL. Every query uses this code, so that none can return excluded records.

use remora_core::document::{ProjectScope, RecordKind};
use remora_core::ids::SessionId;
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use rusqlite::types::Value;

/// Search filters. Several values of one filter are alternatives; different filters must all hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Filters {
    pub scope: ProjectScope,
    pub kinds: Vec<RecordKind>,
    pub types: Vec<ObservationType>,
    pub concepts: Vec<String>,
    /// Parts of paths that were read or modified.
    pub files: Vec<String>,
    pub files_read: Vec<String>,
    pub files_modified: Vec<String>,
    pub from: Option<Time>,
    /// Exclusive.
    pub until: Option<Time>,
    pub host: Option<String>,
    pub session: Option<SessionId>,
}

impl Filters {
    /// Allows everything in `scope`.
    pub fn new(scope: ProjectScope) -> Self {
        Self {
            scope,
            kinds: Vec::new(),
            types: Vec::new(),
            concepts: Vec::new(),
            files: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            from: None,
            until: None,
            host: None,
            session: None,
        }
    }

    /// Whether there is any filter besides the scope.
    pub fn is_narrow(&self) -> bool {
        *self != Self::new(self.scope)
    }

    /// Whether only observations can pass.
    pub(crate) fn wants_observations_only(&self) -> bool {
        !self.types.is_empty() || !self.concepts.is_empty()
    }

    pub(crate) fn wants_files(&self) -> bool {
        self.paths().iter().any(|paths| !paths.is_empty())
    }

    /// Parts of paths that were read, that were modified, and that were either.
    pub(crate) fn paths(&self) -> [&[String]; 3] {
        [&self.files_read, &self.files_modified, &self.files]
    }
}

/// Conditions on `documents AS d`, with their values.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    sql: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// All conditions except the scope.
    pub(crate) fn beside_scope(filters: &Filters) -> Self {
        let mut all = Self::default();
        all.names("d.kind", filters.kinds.iter().map(|kind| kind.name().to_owned()));
        all.names("d.type", filters.types.iter().map(|kind| kind.name().to_owned()));
        if !filters.concepts.is_empty() || filters.wants_files() {
            all.record(filters);
        }
        if let Some(from) = filters.from {
            all.one("d.created_at >= ?", from.0);
        }
        if let Some(until) = filters.until {
            all.one("d.created_at < ?", until.0);
        }
        if let Some(host) = &filters.host {
            all.one("d.session_id IN (SELECT id FROM sessions WHERE host = ?)", host.clone());
        }
        if let Some(session) = filters.session {
            all.one("d.session_id = ?", session.0);
        }
        all
    }

    pub(crate) fn new(filters: &Filters) -> Self {
        let mut all = Self::beside_scope(filters);
        if let ProjectScope::One(project) = filters.scope {
            all.one("(d.project_id = ? OR d.project_id IS NULL)", project.0);
        }
        all
    }

    pub(crate) fn one(&mut self, sql: &str, value: impl Into<Value>) {
        self.sql.push(sql.to_owned());
        self.values.push(value.into());
    }

    /// ` AND …`, or an empty string.
    pub(crate) fn sql(&self) -> String {
        let mut all = String::new();
        for condition in &self.sql {
            all.push_str(" AND ");
            all.push_str(condition);
        }
        all
    }

    fn names(&mut self, column: &str, names: impl ExactSizeIterator<Item = String>) {
        if names.len() > 0 {
            let marks = vec!["?"; names.len()].join(", ");
            self.sql.push(format!("{column} IN ({marks})"));
            self.values.extend(names.map(Value::from));
        }
    }

    /// Conditions on columns of the record, which documents do not have.
    fn record(&mut self, filters: &Filters) {
        let mut observation = Self::default();
        if !filters.concepts.is_empty() {
            observation.sql.push(format!(
                "EXISTS (SELECT 1 FROM observation_concepts WHERE observation_id = d.record_id AND concept IN ({}))",
                marks(&filters.concepts)
            ));
            observation.values.extend(filters.concepts.iter().cloned().map(Value::from));
        }
        let files = "observation_files WHERE observation_id = d.record_id";
        let read = format!("{files} AND how = 'read'");
        let modified = format!("{files} AND how = 'modified'");
        observation.files(filters, [&read, &modified, files]);
        let of_observation = format!("d.kind = 'observation'{}", observation.sql());
        self.values.append(&mut observation.values);
        if filters.wants_observations_only() {
            self.sql.push(of_observation);
            return;
        }
        let mut summary = Self::default();
        let [read, edited] = ["s.files_read", "s.files_edited"]
            .map(|list| format!("SELECT value AS path FROM json_each({list})"));
        let either = format!("({read} UNION ALL {edited}) WHERE true");
        summary.files(filters, [&format!("({read}) WHERE true"), &format!("({edited}) WHERE true"), &either]);
        let of_summary = format!(
            "d.kind = 'summary' AND EXISTS (SELECT 1 FROM session_summaries AS s WHERE s.id = d.record_id{})",
            summary.sql()
        );
        self.values.append(&mut summary.values);
        self.sql.push(format!("({of_observation} OR {of_summary})"));
    }

    /// `from` selects the paths of a record: those read, those modified, and both.
    fn files(&mut self, filters: &Filters, from: [&str; 3]) {
        for (wanted, from) in filters.paths().into_iter().zip(from) {
            if !wanted.is_empty() {
                self.sql.push(format!("EXISTS (SELECT 1 FROM {from} AND ({}))", like_any("path", wanted)));
                self.values.extend(wanted.iter().map(|path| Value::from(containing(path))));
            }
        }
    }
}

pub(crate) fn marks(values: &[String]) -> String {
    vec!["?"; values.len()].join(", ")
}

/// Expects a value of [`containing`] for each of `paths`.
pub(crate) fn like_any(column: &str, paths: &[String]) -> String {
    vec![format!(r"{column} LIKE ? ESCAPE '\'"); paths.len()].join(" OR ")
}

/// A LIKE pattern for texts that contain `text`, with special characters escaped.
pub(crate) fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
