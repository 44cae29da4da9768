//! Selects records and reads them in pages. A statement has only the conditions that a selection sets, so that SQLite
//! finds the index for them; `?1 IS NULL OR project_id = ?1` would hide it.

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use crate::{Batch, Store, StoreError};

/// A part of a list, and the length of the whole list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Without [`Selection::counted`], the length of `items`.
    pub total: i64,
}

impl<T> Page<T> {
    pub fn into_first(self) -> Option<T> {
        self.items.into_iter().next()
    }
}

/// Which records to read, in which order, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub(crate) project: Option<ProjectId>,
    pub(crate) session: Option<SessionId>,
    ids: Option<Vec<i64>>,
    first_turn: Option<i64>,
    last_turn: Option<i64>,
    made_of: Option<MadeOf>,
    only_current: bool,
    only_tool_calls: bool,
    /// Where the page begins, exclusive.
    from: Option<Cursor>,
    order: Order,
    direction: Direction,
    pub(crate) limit: Option<u32>,
    pub(crate) offset: u32,
    is_counted: bool,
}

/// What was made of the queued events of this turn, or all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MadeOf {
    Turn(SessionId, i64),
    NotTurn(SessionId, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As in [`Selection::of_ids`].
    Given,
    /// By turn, as the session went on. Events: by time.
    Turn,
    /// By time of creation. Imported records have new ids and old times.
    Time,
    /// By id, which is the order in which they were stored.
    Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Time(Time, i64),
    Id(i64),
}

impl Selection {
    const ALL: Self = Self {
        project: None,
        session: None,
        ids: None,
        first_turn: None,
        last_turn: None,
        made_of: None,
        only_current: false,
        only_tool_calls: false,
        from: None,
        order: Order::Time,
        direction: Direction::Descending,
        limit: None,
        offset: 0,
        is_counted: false,
    };

    /// Records of one project or of all, newest first.
    pub fn of_project(project: impl Into<Option<ProjectId>>) -> Self {
        Self { project: project.into(), ..Self::ALL }
    }

    /// Records of one session, in order.
    pub fn of_session(session: SessionId) -> Self {
        Self { session: Some(session), order: Order::Turn, direction: Direction::Ascending, ..Self::ALL }
    }

    /// Records by id, in the given order. Missing ones are left out.
    pub fn of_ids(ids: impl IntoIterator<Item = impl Into<i64>>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        Self { ids: Some(ids), order: Order::Given, direction: Direction::Ascending, ..Self::ALL }
    }

    /// The observations or summaries that are stored already for the queued events of a batch's turn.
    pub fn of_batch(batch: &Batch) -> Self {
        let made_of = Some(MadeOf::Turn(batch.session, batch.prompt_number));
        Self { made_of, ..Self::of_session(batch.session) }
    }

    /// Without those of [`Selection::of_batch`], which more memory of the turn may replace.
    #[must_use]
    pub fn without_batch(self, batch: &Batch) -> Self {
        Self { made_of: Some(MadeOf::NotTurn(batch.session, batch.prompt_number)), ..self }
    }

    #[must_use]
    pub fn in_session(self, session: impl Into<Option<SessionId>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// Only records of these turns.
    #[must_use]
    pub fn turns(self, numbers: impl RangeBounds<i64>) -> Self {
        let first_turn = match numbers.start_bound() {
            Bound::Included(first) => Some(*first),
            Bound::Excluded(before) => Some(before.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let last_turn = match numbers.end_bound() {
            Bound::Included(last) => Some(*last),
            Bound::Excluded(after) => Some(after.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        Self { first_turn, last_turn, ..self }
    }

    /// Only observations that nothing replaces, and summaries that are no checkpoints: the session's summary includes
    /// those.
    #[must_use]
    pub fn current(self) -> Self {
        Self { only_current: true, ..self }
    }

    /// Of the events, only the calls of tools.
    #[must_use]
    pub fn tool_calls(self) -> Self {
        Self { only_tool_calls: true, ..self }
    }

    /// Those before a position in time, latest first. Records of the same time are in the order of their ids.
    #[must_use]
    pub fn before(self, at: Time, id: i64) -> Self {
        Self {
            from: Some(Cursor::Time(at, id)),
            order: Order::Time,
            direction: Direction::Descending,
            ..self
        }
    }

    /// Those after a position in time, earliest first.
    #[must_use]
    pub fn after(self, at: Time, id: i64) -> Self {
        Self { from: Some(Cursor::Time(at, id)), order: Order::Time, direction: Direction::Ascending, ..self }
    }

    /// Those stored before the record with this id, last first.
    #[must_use]
    pub fn stored_before(self, id: i64) -> Self {
        Self { from: Some(Cursor::Id(id)), order: Order::Id, direction: Direction::Descending, ..self }
    }

    /// Those stored after the record with this id, in order.
    #[must_use]
    pub fn stored_after(self, id: i64) -> Self {
        Self { from: Some(Cursor::Id(id)), order: Order::Id, direction: Direction::Ascending, ..self }
    }

    /// The order of the session, reversed.
    #[must_use]
    pub fn last_turn_first(self) -> Self {
        Self { order: Order::Turn, direction: Direction::Descending, ..self }
    }

    #[must_use]
    pub fn limit(self, most: u32) -> Self {
        Self { limit: Some(most), ..self }
    }

    #[must_use]
    pub fn offset(self, offset: u32) -> Self {
        Self { offset, ..self }
    }

    /// Counts all records that match, however many are read.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    /// The value of `LIMIT`. SQLite takes a negative one for none.
    pub(crate) fn limit_value(&self) -> i64 {
        self.limit.map_or(-1, i64::from)
    }

    fn conditions<T>(&self, kind: &Kind<T>) -> SelectSql {
        let row = kind.alias;
        let mut all = SelectSql::default();
        match self.ids.as_deref() {
            Some([id]) => all.add(&format!("{row}.id = ?"), [*id]),
            Some(ids) => {
                let list = Value::from(serde_json::Value::from(ids).to_string());
                all.add(&format!("{row}.id IN (SELECT value FROM json_each(?))"), [list]);
            }
            None => {}
        }
        if let Some(project) = self.project {
            // The index by project has another order than the ids. The sign keeps SQLite from reading and sorting all
            // records of the project.
            let sign = if self.order == Order::Id { "+" } else { "" };
            all.add(&format!("{sign}{} = ?", kind.project), [project.0]);
        }
        if let Some(session) = self.session {
            all.add(&format!("{row}.session_id = ?"), [session.0]);
        }
        if let Some(first) = self.first_turn {
            all.add(&format!("{row}.prompt_number >= ?"), [first]);
        }
        if let Some(last) = self.last_turn {
            all.add(&format!("{row}.prompt_number <= ?"), [last]);
        }
        if let Some(MadeOf::Turn(session, turn) | MadeOf::NotTurn(session, turn)) = self.made_of {
            let not = if matches!(self.made_of, Some(MadeOf::NotTurn(..))) { "NOT " } else { "" };
            let made = format!(
                "{} {not}IN (SELECT r.value FROM pending_messages AS q, json_each(q.records) AS r
                 WHERE q.status IN ('pending', 'processing') AND q.observed = 1 AND q.session_id = ?
                 AND q.prompt_number = ?)",
                kind.typed_id
            );
            all.add(&made, [session.0, turn]);
        }
        if self.only_current && !kind.current.is_empty() {
            all.add(kind.current, [0_i64; 0]);
        }
        if self.only_tool_calls && !kind.tool_calls.is_empty() {
            all.add(kind.tool_calls, [0_i64; 0]);
        }
        all
    }

    fn add_cursor<T>(&self, kind: &Kind<T>, all: &mut SelectSql) {
        let row = kind.alias;
        let side = match self.direction {
            Direction::Ascending => ">",
            Direction::Descending => "<",
        };
        match self.from {
            // The first condition lets SQLite search the index.
            Some(Cursor::Time(at, id)) => all.add(
                &format!("{row}.created_at {side}= ? AND ({row}.created_at, {row}.id) {side} (?, ?)"),
                [at.0, at.0, id],
            ),
            Some(Cursor::Id(id)) => all.add(&format!("{row}.id {side} ?"), [id]),
            None => {}
        }
    }

    fn order_by<T>(&self, kind: &Kind<T>) -> String {
        let row = kind.alias;
        let direction = match self.direction {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        };
        match self.order {
            Order::Given => String::new(),
            Order::Turn => format!(" ORDER BY {row}.{} {direction}, {row}.id {direction}", kind.in_session),
            Order::Time => format!(" ORDER BY {row}.created_at {direction}, {row}.id {direction}"),
            Order::Id => format!(" ORDER BY {row}.id {direction}"),
        }
    }

    /// The statement for these columns, with its values.
    fn statement<T>(&self, kind: &Kind<T>, columns: &str) -> SelectSql {
        let mut all = self.conditions(kind);
        self.add_cursor(kind, &mut all);
        let order = self.order_by(kind);
        let mut sql = format!("{columns}{}{order}", all.sql);
        if self.limit.is_some() || self.offset > 0 {
            sql.push_str(" LIMIT ? OFFSET ?");
            all.values.extend([self.limit_value().into(), i64::from(self.offset).into()]);
        }
        SelectSql { sql, ..all }
    }

    /// Whether it reads the newest or oldest records of all projects.
    fn is_of_all_by_time(&self) -> bool {
        self.order == Order::Time && self.project.is_none() && self.session.is_none() && self.ids.is_none()
    }
}

/// SQL of a selection, and its values in order.
#[derive(Debug, Default)]
struct SelectSql {
    sql: String,
    values: Vec<Value>,
}

impl SelectSql {
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = impl Into<Value>>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values.into_iter().map(Into::into));
    }
}

/// How one kind of record is read.
pub(crate) struct Kind<T> {
    /// The statement for whole rows. Ends in a condition.
    pub(crate) select: &'static str,
    /// The same from `FROM` on, without tables that only columns need.
    pub(crate) from: &'static str,
    /// The name of the record's table in both.
    pub(crate) alias: &'static str,
    /// The column of the project.
    pub(crate) project: &'static str,
    /// The column that orders the records of a session.
    pub(crate) in_session: &'static str,
    /// The id as users type it, as the queue has it.
    pub(crate) typed_id: &'static str,
    /// The condition for [`Selection::current`]; empty if all are.
    pub(crate) current: &'static str,
    /// The condition for [`Selection::tool_calls`]; empty if it does not apply.
    pub(crate) tool_calls: &'static str,
    pub(crate) by_project: ByProject,
    pub(crate) read: fn(&Row<'_>) -> rusqlite::Result<T>,
    pub(crate) id: fn(&T) -> i64,
}

/// Whether an index has the records of each project in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByProject {
    All,
    OnlyCurrent,
    None,
}

impl Store {
    pub(crate) fn select<T: Clone>(
        &self,
        kind: &Kind<T>,
        selection: &Selection,
    ) -> Result<Page<T>, StoreError> {
        let has_index = match kind.by_project {
            ByProject::All => true,
            ByProject::OnlyCurrent => selection.only_current,
            ByProject::None => false,
        };
        let items = if has_index && selection.limit.is_some() && selection.is_of_all_by_time() {
            self.read_selected(kind, &Selection::of_ids(self.of_all_by_time(kind, selection)?))?
        } else {
            self.read_selected(kind, selection)?
        };
        let total = if selection.is_counted {
            let SelectSql { sql, values } = selection.conditions(kind);
            let mut statement = self.db.prepare_cached(&format!("SELECT count(*) {}{sql}", kind.from))?;
            statement.query_row(params_from_iter(&values), |row| row.get(0))?
        } else {
            i64::try_from(items.len()).unwrap_or(i64::MAX)
        };
        Ok(Page { items, total })
    }

    fn read_selected<T: Clone>(&self, kind: &Kind<T>, selection: &Selection) -> Result<Vec<T>, StoreError> {
        let SelectSql { sql, values } = selection.statement(kind, kind.select);
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), kind.read)?;
        let items: Vec<T> = rows.collect::<Result<_, _>>()?;
        match &selection.ids {
            Some(ids) if selection.order == Order::Given => {
                let found: HashMap<i64, T> = items.into_iter().map(|row| ((kind.id)(&row), row)).collect();
                Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
            }
            _ => Ok(items),
        }
    }

    /// The ids of such records. Their order is found project by project, because the index that has it starts with the
    /// project.
    fn of_all_by_time<T>(&self, kind: &Kind<T>, selection: &Selection) -> Result<Vec<i64>, StoreError> {
        let columns = format!("SELECT {0}.created_at, {0}.id {1}", kind.alias, kind.from);
        let wanted = selection.limit.unwrap_or(u32::MAX).saturating_add(selection.offset);
        let projects = self.rows("SELECT id FROM projects", &[], |row| row.get(0).map(ProjectId))?;
        let mut found: Vec<(i64, i64)> = Vec::new();
        for project in projects {
            let of_project =
                Selection { project: Some(project), limit: Some(wanted), offset: 0, ..selection.clone() };
            let SelectSql { sql, values } = of_project.statement(kind, &columns);
            let mut statement = self.db.prepare_cached(&sql)?;
            let rows =
                statement.query_map(params_from_iter(&values), |row| Ok((row.get(0)?, row.get(1)?)))?;
            for row in rows {
                found.push(row?);
            }
        }
        found.sort_unstable();
        if selection.direction == Direction::Descending {
            found.reverse();
        }
        let (offset, wanted) = (selection.offset as usize, wanted as usize);
        Ok(found.into_iter().map(|(_, id)| id).take(wanted).skip(offset).collect())
    }
}

#[cfg(test)]
mod tests {
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, SavedText};

    use super::*;
    use crate::records::{event, observation, summary, turn};
    use crate::{DataDir, SaveFor, SavedBy, locate};

    /// How SQLite finds the rows of the record's table, and whether it sorts them.
    fn plan<T>(kind: &Kind<T>, columns: &str, selection: &Selection) -> String {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        let SelectSql { sql, values } = selection.statement(kind, columns);
        let mut statement = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map(params_from_iter(&values), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        // Lists of one row, such as its files, are sorted, too.
        let is_of_table =
            |step: &&String| step.split(' ').nth(1) == Some(kind.alias) || step.ends_with("ORDER BY");
        steps
            .iter()
            .filter(is_of_table)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; ")
            .replace("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "sorted at the same time")
            .replace("USE TEMP B-TREE FOR ORDER BY", "sorted")
    }

    fn plan_of<T>(kind: &Kind<T>, selection: &Selection) -> String {
        plan(kind, kind.select, selection)
    }

    #[test]
    fn every_frequent_selection_searches_an_index() {
        let (observations, summaries) = (&observation::KIND, &summary::KIND);
        let (turns, events) = (&turn::KIND, &event::KIND);
        for ids in [vec![1_i64], vec![1, 2]] {
            let some = Selection::of_ids(ids);
            for plan in [
                plan_of(observations, &some),
                plan_of(summaries, &some),
                plan_of(turns, &some),
                plan_of(events, &some),
            ] {
                assert!(plan.ends_with("USING INTEGER PRIMARY KEY (rowid=?)"), "{plan}");
            }
        }
        let newest = Selection::of_project(ProjectId(1)).limit(20);
        let current = newest.clone().current();
        let of_session = Selection::of_session(SessionId(1));
        for (plan, expected) in [
            // A session has few records, which are sorted.
            (
                plan_of(observations, &of_session),
                "o USING INDEX observations_by_content (session_id=?); sorted",
            ),
            (
                plan_of(summaries, &of_session),
                "s USING INDEX session_summaries_by_session (session_id=?); sorted",
            ),
            (
                plan_of(events, &of_session),
                "t USING INDEX sqlite_autoindex_event_traces_1 (session_id=?); sorted",
            ),
            (plan_of(turns, &of_session), "u USING INDEX sqlite_autoindex_user_prompts_2 (session_id=?)"),
            (
                plan_of(turns, &of_session.clone().turns(1..)),
                "u USING INDEX sqlite_autoindex_user_prompts_2 (session_id=? AND prompt_number>?)",
            ),
            (
                plan_of(turns, &of_session.turns(..9).last_turn_first().limit(1)),
                "u USING INDEX sqlite_autoindex_user_prompts_2 (session_id=? AND prompt_number<?)",
            ),
            // In a project, only records of the same time are sorted.
            (
                plan_of(observations, &newest),
                "o USING INDEX observations_by_project (project_id=?); sorted at the same time",
            ),
            (
                plan_of(observations, &newest.clone().before(Time(1), 1)),
                "o USING INDEX observations_by_project (project_id=? AND created_at<?); sorted at the same time",
            ),
            (
                plan_of(observations, &newest.clone().after(Time(1), 1)),
                "o USING INDEX observations_by_project (project_id=? AND created_at>?); sorted at the same time",
            ),
            (plan_of(summaries, &current), "s USING INDEX session_summaries_by_project (project_id=?)"),
            (
                plan_of(summaries, &current.clone().before(Time(1), 1)),
                "s USING INDEX session_summaries_by_project (project_id=? AND created_at<?)",
            ),
            // Pages of what was stored go along the ids, whatever the project.
            (
                plan_of(observations, &newest.clone().stored_before(9)),
                "o USING INTEGER PRIMARY KEY (rowid<?)",
            ),
            (plan_of(observations, &newest.clone().stored_after(9)), "o USING INTEGER PRIMARY KEY (rowid>?)"),
            (plan_of(summaries, &current.stored_before(9)), "s USING INTEGER PRIMARY KEY (rowid<?)"),
            (plan_of(turns, &newest.clone().stored_before(9)), "u USING INTEGER PRIMARY KEY (rowid<?)"),
            (plan_of(events, &newest.stored_after(9).tool_calls()), "t USING INTEGER PRIMARY KEY (rowid>?)"),
        ] {
            assert_eq!(plan, format!("SEARCH {expected}"));
        }
    }

    #[test]
    fn a_page_continues_where_the_one_before_ended_in_one_project_and_in_all() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        let mut projects = Vec::new();
        // Two of the same time in each project, and the later stored of them first.
        for (number, (directory, at)) in
            [("a", 3), ("b", 3), ("a", 1), ("b", 1), ("a", 3), ("b", 3)].into_iter().enumerate()
        {
            let draft = Draft {
                text: format!("Statement {number} is about the harbour."),
                title: None,
                kind: ObservationType::Decision,
                facts: Vec::new(),
                files: Vec::new(),
            };
            let target = SaveFor::Directory(locate(&temp.path().join(directory)));
            let text = SavedText::new(&draft).unwrap();
            let saved = store.records().save(&target, &text, SavedBy::Program, Time(at)).unwrap();
            projects.push(store.records().provenance(saved.id()).unwrap().unwrap().project.unwrap());
        }
        let page = |selection: Selection| {
            let page = store.records().observations(&selection).unwrap();
            (page.items.iter().map(|row| row.id.0).collect::<Vec<_>>(), page.total)
        };
        let ids = |selection: Selection| page(selection).0;
        let all = || Selection::of_project(None);
        assert_eq!(ids(all()), [6, 5, 2, 1, 4, 3]);
        assert_eq!(page(all().limit(2).offset(1)), (vec![5, 2], 2));
        assert_eq!(page(all().limit(2).offset(1).counted()), (vec![5, 2], 6));
        assert_eq!(ids(all().before(Time(3), 2).limit(2)), [1, 4]);
        assert_eq!(ids(all().after(Time(3), 2).limit(2)), [5, 6]);
        assert_eq!(ids(all().stored_before(5).limit(2)), [4, 3]);
        assert_eq!(ids(all().stored_after(4)), [5, 6]);
        let first = || Selection::of_project(projects[0]);
        assert_eq!(ids(first()), [5, 1, 3]);
        assert_eq!(page(first().limit(1).offset(1).counted()), (vec![1], 3));
        assert_eq!(ids(first().before(Time(3), 5)), [1, 3]);
        assert_eq!(ids(first().stored_before(5)), [3, 1]);
        assert_eq!(ids(Selection::of_ids([4_i64, 9, 2, 4])), [4, 2, 4]);
        assert_eq!(ids(Selection::of_ids([0_i64; 0])), [0; 0]);
    }
}
