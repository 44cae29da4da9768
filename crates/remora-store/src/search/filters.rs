//! Filters as SQL. Every way to find something passes through here, so that none can find what was excluded.

use remora_core::document::{ProjectScope, RecordKind};
use remora_core::ids::SessionId;
use remora_core::memory::ObservationType;
use remora_core::time::Time;
use rusqlite::types::Value;

/// Shorter strings are not in the trigram index.
const TRIGRAM: usize = 3;

/// What may be found. Several values of one filter are alternatives; different filters all have to hold.
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
    /// Everything in `scope`.
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

    /// Whether anything but the scope is excluded.
    pub fn is_narrow(&self) -> bool {
        *self != Self::new(self.scope)
    }

    /// Whether only observations can pass.
    pub(crate) fn wants_observations_only(&self) -> bool {
        !self.types.is_empty() || !self.concepts.is_empty()
    }

    pub(crate) fn wants_files(&self) -> bool {
        !self.files.is_empty() || !self.files_read.is_empty() || !self.files_modified.is_empty()
    }
}

/// What every narrative that passes contains, where filters name concepts or files: a narrative ends with both, with
/// spaces for hyphens. What contains it may still not pass.
#[derive(Debug, PartialEq)]
pub(crate) enum Contained {
    /// For the index of words.
    Words(String),
    /// For the index of trigrams, because a part of a path may begin and end within words.
    Trigrams(String),
}

impl Contained {
    /// `None` when nothing is named, or something that cannot be looked up: then it may be anywhere.
    pub(crate) fn of(filters: &Filters) -> Option<Self> {
        if !filters.concepts.is_empty() {
            let concepts: Option<Vec<String>> =
                filters.concepts.iter().map(|concept| words(concept)).collect();
            return Some(Self::Words(format!("body : ({})", concepts?.join(" OR "))));
        }
        let lists = [&filters.files, &filters.files_read, &filters.files_modified];
        let paths = lists.into_iter().find(|list| !list.is_empty())?;
        if let Some(inner) = paths.iter().map(|path| inner_words(path)).collect::<Option<Vec<_>>>() {
            return Some(Self::Words(format!("body : ({})", inner.join(" OR "))));
        }
        let paths: Option<Vec<String>> = paths.iter().map(|path| trigrams(path)).collect();
        Some(Self::Trigrams(paths?.join(" OR ")))
    }
}

fn words(name: &str) -> Option<String> {
    name.chars().any(char::is_alphanumeric).then(|| quoted(name))
}

/// Of `src/auth/mod.rs` what lies between two signs, `auth/mod`: whole words, wherever the part of a path begins and ends.
/// Words are found much faster than what every path has, like `.rs`.
fn inner_words(path: &str) -> Option<String> {
    // What belongs to a word of another script the index knows better.
    let is_sign = |character: char| !character.is_ascii_alphanumeric();
    let (start, end) = (path.find(is_sign)?, path.rfind(is_sign)?);
    words(path.get(start + 1..end).filter(|_| path.is_ascii())?)
}

fn trigrams(path: &str) -> Option<String> {
    let pieces = path.split('-').filter(|piece| piece.chars().count() >= TRIGRAM);
    let pieces: Vec<String> = pieces.map(quoted).collect();
    (!pieces.is_empty()).then(|| format!("({})", pieces.join(" AND ")))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Conditions on `documents AS d`, with their values.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    sql: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Everything but the scope.
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

    /// ` AND …`, or nothing.
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

    /// What only the record itself knows.
    fn record(&mut self, filters: &Filters) {
        let mut observation = Self::default();
        observation.any(
            &filters.concepts,
            |_| in_list("o.concepts", "lower(value) = lower(?)"),
            Clone::clone,
        );
        observation.files(filters, "o.files_read", "o.files_modified");
        let of_observation = format!(
            "d.kind = 'observation' AND EXISTS (SELECT 1 FROM observations AS o WHERE o.id = d.record_id{})",
            observation.sql()
        );
        self.values.append(&mut observation.values);
        if filters.wants_observations_only() {
            self.sql.push(of_observation);
            return;
        }
        let mut summary = Self::default();
        summary.files(filters, "s.files_read", "s.files_edited");
        let of_summary = format!(
            "d.kind = 'summary' AND EXISTS (SELECT 1 FROM session_summaries AS s WHERE s.id = d.record_id{})",
            summary.sql()
        );
        self.values.append(&mut summary.values);
        self.sql.push(format!("({of_observation} OR {of_summary})"));
    }

    fn files(&mut self, filters: &Filters, read: &str, modified: &str) {
        let like = r"value LIKE ? ESCAPE '\'";
        self.any(&filters.files_read, |_| in_list(read, like), |path| containing(path));
        self.any(&filters.files_modified, |_| in_list(modified, like), |path| containing(path));
        if !filters.files.is_empty() {
            let either = format!("({} OR {})", in_list(read, like), in_list(modified, like));
            let all = vec![either; filters.files.len()].join(" OR ");
            self.sql.push(format!("({all})"));
            for path in &filters.files {
                self.values.extend([Value::from(containing(path)), Value::from(containing(path))]);
            }
        }
    }

    fn any(
        &mut self,
        wanted: &[String],
        condition: impl Fn(&String) -> String,
        value: impl Fn(&String) -> String,
    ) {
        if !wanted.is_empty() {
            let all: Vec<String> = wanted.iter().map(condition).collect();
            self.sql.push(format!("({})", all.join(" OR ")));
            self.values.extend(wanted.iter().map(|wanted| Value::from(value(wanted))));
        }
    }
}

fn in_list(column: &str, condition: &str) -> String {
    format!("EXISTS (SELECT 1 FROM json_each({column}) WHERE {condition})")
}

/// A LIKE pattern for everything that contains `text`, whatever characters it has.
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
