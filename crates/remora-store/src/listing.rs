//! Sessions in pages, latest first, and projects by name.

use remora_core::event::SessionRef;
use remora_core::host::Host;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params_from_iter};

use crate::handles::{Projects, Sessions};
use crate::records::page::{Page, Selection};
use crate::records::save;
use crate::rows::{SESSION, SessionRow, read_session};
use crate::{ProjectRow, Store, StoreError, locate};

/// The projects that a name may refer to.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundProject {
    One(Box<ProjectRow>),
    Several(Vec<ProjectRow>),
    None,
}

impl Sessions<'_> {
    pub fn page(self, selection: &Selection) -> Result<Page<SessionRow>, StoreError> {
        let columns = Columns { id: "s.id", project: "s.project_id", session: "s.id" };
        self.0.page(SESSION, columns, "s.last_activity_at DESC, s.id DESC", selection, read_session)
    }

    /// Sessions of agents, captured or imported, of one agent program or channel or of all: without those that hold saved
    /// texts.
    pub fn of_agents(
        self,
        selection: &Selection,
        host: Option<Host>,
    ) -> Result<Page<SessionRow>, StoreError> {
        let columns = Columns { id: "s.id", project: "s.project_id", session: "s.id" };
        let held = save::SESSION;
        let of_host = if host.is_some() { "AND s.host = ?" } else { "" };
        let select = format!(
            "{SESSION} AND (s.prompt_counter > 0 OR s.content_session_id NOT GLOB '{held}*') {of_host}"
        );
        let values = host.map(|host| Value::from(host.name().to_owned())).into_iter().collect();
        let order = "s.last_activity_at DESC, s.id DESC";
        self.0.page_with(&select, values, columns, order, selection, read_session)
    }

    /// The root of a session's project, if the session is known.
    pub fn directory(self, session: &SessionRef) -> Result<Option<String>, StoreError> {
        let sql = "SELECT p.root FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
                   WHERE s.host = ?1 AND s.content_session_id = ?2";
        let mut statement = self.0.db.prepare_cached(sql)?;
        Ok(statement.query_row([session.host.name(), &session.id], |row| row.get(0)).optional()?)
    }
}

impl Projects<'_> {
    /// Finds a project by its id, by its name if that is unique, or by a directory.
    pub fn find(self, wanted: &str) -> Result<FoundProject, StoreError> {
        let projects = self.0.projects().list()?;
        let mut named: Vec<ProjectRow> =
            projects.into_iter().filter(|p| p.name == wanted || p.id.to_string() == wanted).collect();
        if named.len() > 1 {
            return Ok(FoundProject::Several(named));
        }
        let found = match named.pop() {
            Some(project) => Some(project),
            None => self.0.projects().at(&locate(wanted.as_ref()))?,
        };
        Ok(found.map_or(FoundProject::None, |project| FoundProject::One(Box::new(project))))
    }
}

impl Store {
    /// The size of the database, including its log.
    pub fn bytes(&self) -> u64 {
        let size = |ending: &str| {
            let path = self.dir().database().with_extension(ending);
            std::fs::metadata(path).map_or(0, |file| file.len())
        };
        size("db") + size("db-wal") + size("db-shm")
    }

    fn page<T>(
        &self,
        select: &str,
        columns: Columns,
        order: &str,
        selection: &Selection,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Page<T>, StoreError> {
        self.page_with(select, Vec::new(), columns, order, selection, read)
    }

    /// Like [`Store::page`], with the values of the conditions in `select`.
    fn page_with<T>(
        &self,
        select: &str,
        mut values: Vec<Value>,
        columns: Columns,
        order: &str,
        selection: &Selection,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Page<T>, StoreError> {
        let (filter, of_filter) = columns.filter(selection);
        values.extend(of_filter);
        let from = from_clause(select);
        let total = self
            .db
            .prepare_cached(&format!("SELECT count({}) FROM {from} {filter}", columns.id))?
            .query_row(params_from_iter(&values), |row| row.get(0))?;
        values.push(selection.limit_value().into());
        values.push(i64::from(selection.offset).into());
        let sql = format!("{select} {filter} ORDER BY {order} LIMIT ? OFFSET ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        let items = statement.query_map(params_from_iter(&values), read)?.collect::<Result<_, _>>()?;
        Ok(Page { items, total })
    }
}

/// The part after the statement's own `FROM`, which is the last one outside of parentheses.
fn from_clause(select: &str) -> &str {
    let mut depth = 0;
    let mut from = select;
    for (at, c) in select.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            'F' if depth == 0 => from = select[at..].strip_prefix("FROM ").unwrap_or(from),
            _ => {}
        }
    }
    from
}

/// The columns that a kind of row is filtered by.
#[derive(Clone, Copy)]
struct Columns {
    id: &'static str,
    project: &'static str,
    session: &'static str,
}

impl Columns {
    /// Further conditions, with their values in order.
    fn filter(self, selection: &Selection) -> (String, Vec<Value>) {
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        if let Some(project) = selection.project {
            conditions.push(format!(" AND {} = ?", self.project));
            values.push(Value::from(project.0));
        }
        if let Some(session) = selection.session {
            conditions.push(format!(" AND {} = ?", self.session));
            values.push(Value::from(session.0));
        }
        (conditions.concat(), values)
    }
}
