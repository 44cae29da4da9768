//! Finds what a request to forget is about: records, queued events, traces and log entries.

use std::collections::BTreeSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{ProjectId, SessionId};
use remora_core::text::one_line;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde_json::Value;

use super::tombstones::{self, Hash};
use super::{ForgetPlan, KINDS, Reason, table};
use crate::StoreError;
use crate::records::event::SUBJECT;

/// The conditions of a request to forget. All of those that are set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Criteria {
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    /// A text that must occur, ignoring case and line breaks.
    pub topic: Option<String>,
    /// A path, or the end of one.
    pub file: Option<String>,
    pub from: Option<Time>,
    pub until: Option<Time>,
}

impl Criteria {
    /// Whether everything of the session, the project or the time span goes.
    fn is_whole(&self) -> bool {
        self.topic.is_none() && self.file.is_none()
    }

    fn values(&self) -> [Option<i64>; 4] {
        let Self { project, session, from, until, .. } = self;
        [project.map(|id| id.0), session.map(|id| id.0), from.map(|time| time.0), until.map(|time| time.0)]
    }
}

/// The rows to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Those that are not deleted.
    Live,
    /// Also those marked as deleted: from a backup, both are removed.
    All,
}

impl Rows {
    fn condition(self) -> &'static str {
        match self {
            Self::Live => "AND r.deleted_at IS NULL",
            Self::All => "",
        }
    }
}

/// A text to search for: in lower case, with every run of white space as one space.
pub(super) struct Topic(String);

impl Topic {
    pub(super) fn new(text: &str) -> Self {
        Self(plain(text))
    }

    fn is_in(&self, text: &str) -> bool {
        if plain(text).contains(&self.0) {
            return true;
        }
        // Lists and payloads are JSON, in which quotes and line breaks are escaped.
        matches!(text.as_bytes().first(), Some(b'{' | b'['))
            && serde_json::from_str(text).is_ok_and(|value| self.is_in_value(&value))
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => plain(text).contains(&self.0),
            Value::Array(list) => list.iter().any(|value| self.is_in_value(value)),
            Value::Object(object) => object.values().any(|value| self.is_in_value(value)),
            _ => false,
        }
    }
}

fn plain(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a stored path and a path given by the user are the same file: one must be the end of the other.
fn is_same_file(stored: &str, named: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let named = named.trim_start_matches("./");
    !named.is_empty() && (ends(stored, named) || ends(named, stored))
}

/// Everything that matches the criteria.
pub(super) fn matching(db: &Connection, criteria: &Criteria, rows: Rows) -> Result<ForgetPlan, StoreError> {
    let mut doomed = ForgetPlan::default();
    let topic = criteria.topic.as_deref().map(Topic::new);
    let live = rows.condition();
    let reason = match (&criteria.topic, &criteria.file) {
        (Some(_), _) => Reason::Literal,
        (None, Some(_)) => Reason::File,
        (None, None) => Reason::Named,
    };
    // Columns: the id, a JSON list of files or NULL, then texts.
    let records = [
        (
            RecordKind::Observation,
            "SELECT r.id, (SELECT json_group_array(path) FROM observation_files WHERE observation_id = r.id),
                 r.title, r.subtitle, r.narrative, r.facts, r.tool_name,
                 (SELECT json_group_array(path) FROM observation_files WHERE observation_id = r.id),
                 (SELECT json_group_array(concept) FROM observation_concepts WHERE observation_id = r.id)
             FROM observations AS r WHERE (?1 IS NULL OR r.project_id = ?1) AND (?2 IS NULL OR r.session_id = ?2)
             AND (?3 IS NULL OR r.created_at >= ?3) AND (?4 IS NULL OR r.created_at <= ?4)",
        ),
        (
            RecordKind::Summary,
            "SELECT r.id, NULL, r.request, r.investigated, r.learned, r.completed, r.next_steps, r.notes, r.files_read,
                 r.files_edited
             FROM session_summaries AS r WHERE (?1 IS NULL OR r.project_id = ?1) AND (?2 IS NULL OR r.session_id = ?2)
             AND (?3 IS NULL OR r.created_at >= ?3) AND (?4 IS NULL OR r.created_at <= ?4)",
        ),
        (
            RecordKind::Turn,
            "SELECT r.id, NULL, r.text, r.closing_message
             FROM user_prompts AS r JOIN sessions AS s ON s.id = r.session_id
             WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR r.session_id = ?2)
             AND (?3 IS NULL OR r.created_at >= ?3) AND (?4 IS NULL OR r.created_at <= ?4)",
        ),
        (
            RecordKind::Fact,
            "SELECT r.id, NULL, r.key, r.value, r.source FROM facts AS r LEFT JOIN sessions AS s ON s.id = r.session_id
             WHERE (?1 IS NULL OR r.project_id = ?1 OR s.project_id = ?1) AND (?2 IS NULL OR r.session_id = ?2)
             AND (?3 IS NULL OR r.valid_from >= ?3) AND (?4 IS NULL OR r.valid_from <= ?4)",
        ),
        (
            RecordKind::Note,
            "SELECT r.id, NULL, r.title, r.path, r.tags, r.text, r.excerpt FROM notes AS r
             WHERE ?1 IS NULL AND ?2 IS NULL
             AND (?3 IS NULL OR r.changed_at >= ?3) AND (?4 IS NULL OR r.changed_at <= ?4)",
        ),
    ];
    for (kind, sql) in records {
        // Notes are the user's own files, so only a topic can match them.
        if kind == RecordKind::Note && topic.is_none() {
            continue;
        }
        scan(db, &format!("{sql} {live}"), criteria, |row, columns| {
            if is_explicit(row, columns, criteria, topic.as_ref())? {
                doomed.records.insert(RecordId { kind, number: row.get(0)? }, reason);
            }
            Ok(())
        })?;
    }
    events(db, criteria, topic.as_ref(), &mut doomed)?;
    if let Some(topic) = &topic {
        scan(db, "SELECT id, NULL, before FROM revisions", &Criteria::default(), |row, _| {
            if topic.is_in(&row.get::<_, String>(2)?) {
                doomed.revisions.insert(row.get(0)?);
            }
            Ok(())
        })?;
    }
    if criteria.is_whole() && criteria.from.is_none() && criteria.until.is_none() {
        let sql = "SELECT s.id FROM sessions AS s WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR s.id = ?2)
                   AND ?3 IS NULL AND ?4 IS NULL";
        scan(db, sql, criteria, |row, _| {
            doomed.sessions.insert(row.get(0)?);
            Ok(())
        })?;
    }
    let affected = if criteria.is_whole() { Affected::Named } else { Affected::WholeTurns };
    complete(db, &mut doomed, affected)?;
    Ok(doomed)
}

fn scan(
    db: &Connection,
    sql: &str,
    criteria: &Criteria,
    mut each: impl FnMut(&Row<'_>, usize) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = db.prepare(sql)?;
    let columns = statement.column_count();
    let wanted = statement.parameter_count();
    let values = criteria.values();
    let values: Vec<&dyn ToSql> = values.iter().take(wanted).map(|value| value as &dyn ToSql).collect();
    let mut rows = statement.query(values.as_slice())?;
    while let Some(row) = rows.next()? {
        each(row, columns)?;
    }
    Ok(())
}

fn is_explicit(
    row: &Row<'_>,
    columns: usize,
    criteria: &Criteria,
    topic: Option<&Topic>,
) -> Result<bool, StoreError> {
    if let Some(file) = &criteria.file {
        let files: Option<String> = row.get(1)?;
        let files: Vec<String> = serde_json::from_str(&files.unwrap_or_default()).unwrap_or_default();
        if !files.iter().any(|stored| is_same_file(stored, file)) {
            return Ok(false);
        }
    }
    let Some(topic) = topic else { return Ok(true) };
    for column in 2..columns {
        if row.get::<_, Option<String>>(column)?.is_some_and(|text| topic.is_in(&text)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Queued payloads, traces and the log of injections.
fn events(
    db: &Connection,
    criteria: &Criteria,
    topic: Option<&Topic>,
    doomed: &mut ForgetPlan,
) -> Result<(), StoreError> {
    let payloads =
        "SELECT q.id, t.files, q.payload FROM pending_messages AS q JOIN event_traces AS t ON t.id = q.id
        JOIN sessions AS s ON s.id = q.session_id
        WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR q.session_id = ?2)
        AND (?3 IS NULL OR q.created_at >= ?3) AND (?4 IS NULL OR q.created_at <= ?4)";
    scan(db, payloads, criteria, |row, columns| {
        if is_explicit(row, columns, criteria, topic)? {
            doomed.payloads.insert(row.get(0)?);
        }
        Ok(())
    })?;
    if let Some(topic) = topic {
        let remarks = "SELECT q.id, NULL, q.heard, q.last_error FROM pending_messages AS q
            JOIN sessions AS s ON s.id = q.session_id
            WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR q.session_id = ?2)
            AND (?3 IS NULL OR q.created_at >= ?3) AND (?4 IS NULL OR q.created_at <= ?4)";
        scan(db, remarks, criteria, |row, columns| {
            let id: i64 = row.get(0)?;
            let alone = Criteria { file: None, ..criteria.clone() };
            if !doomed.payloads.contains(&id) && is_explicit(row, columns, &alone, Some(topic))? {
                doomed.remarks.insert(id);
            }
            Ok(())
        })?;
    }
    let traces = "SELECT t.id, t.files, t.tool, t.files, t.outcome, t.agent_id FROM event_traces AS t
        JOIN sessions AS s ON s.id = t.session_id
        WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR t.session_id = ?2)
        AND (?3 IS NULL OR t.created_at >= ?3) AND (?4 IS NULL OR t.created_at <= ?4)";
    scan(db, traces, criteria, |row, columns| {
        if is_explicit(row, columns, criteria, topic)? {
            let whole = criteria.is_whole();
            if whole { &mut doomed.traces } else { &mut doomed.blanked }.insert(row.get(0)?);
        }
        Ok(())
    })?;
    let retrievals =
        "SELECT r.id, iif(r.moment = 'file', json_array(r.prompt), NULL), r.prompt, r.items, r.degraded
        FROM memory_retrievals AS r JOIN sessions AS s ON s.id = r.session_id
        WHERE (?1 IS NULL OR s.project_id = ?1) AND (?2 IS NULL OR r.session_id = ?2)
        AND (?3 IS NULL OR r.created_at >= ?3) AND (?4 IS NULL OR r.created_at <= ?4)";
    scan(db, retrievals, criteria, |row, columns| {
        if is_explicit(row, columns, criteria, topic)? {
            doomed.retrievals.insert(row.get(0)?);
        }
        Ok(())
    })
}

/// Records that are named by id.
pub(super) fn named(db: &Connection, records: &[RecordId], reason: Reason) -> Result<ForgetPlan, StoreError> {
    let mut doomed = ForgetPlan::default();
    for record in records {
        if let Some(table) = table(record.kind) {
            let sql = format!("SELECT 1 FROM {table} WHERE id = ?1 AND deleted_at IS NULL");
            if db.prepare_cached(&sql)?.exists([record.number])? {
                doomed.records.insert(*record, reason);
            }
            continue;
        }
        let queued = "SELECT 1 FROM pending_messages WHERE id = ?1";
        if db.prepare_cached(queued)?.exists([record.number])? {
            doomed.payloads.insert(record.number);
        }
        if db.prepare_cached("SELECT 1 FROM event_traces WHERE id = ?1")?.exists([record.number])? {
            doomed.blanked.insert(record.number);
        }
    }
    complete(db, &mut doomed, Affected::Named)?;
    Ok(doomed)
}

/// Everything that matches one of these tombstones.
pub(super) fn by_tombstones(db: &Connection, hashes: &BTreeSet<Hash>) -> Result<ForgetPlan, StoreError> {
    let mut doomed = ForgetPlan::default();
    let key = tombstones::key(db)?;
    for kind in KINDS {
        let Some(table) = table(kind) else { continue };
        let mut rows = db.prepare(&format!("SELECT id, uuid FROM {table}"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let uuid: [u8; 16] = row.get(1)?;
            if hashes.contains(&tombstones::of_record(&key, kind, &uuid)) {
                doomed.records.insert(RecordId { kind, number: row.get(0)? }, Reason::Named);
            }
        }
    }
    let mut rows = db.prepare("SELECT id, content_hash FROM observations")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        if hashes.contains(&tombstones::of_content(db, &row.get::<_, String>(1)?)?) {
            let id = RecordId { kind: RecordKind::Observation, number: row.get(0)? };
            doomed.records.insert(id, Reason::Named);
        }
    }
    let mut rows = db.prepare("SELECT id, idempotency_key FROM event_traces")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        if hashes.contains(&row.get::<_, Hash>(1)?) {
            let id: i64 = row.get(0)?;
            doomed.traces.insert(id);
            if db.prepare_cached("SELECT 1 FROM pending_messages WHERE id = ?1")?.exists([id])? {
                doomed.payloads.insert(id);
            }
        }
    }
    complete(db, &mut doomed, Affected::Named)?;
    Ok(doomed)
}

/// Which events get tombstones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Affected {
    /// Those that are removed.
    Named,
    /// All events of an affected turn: payloads are deleted after observation, so it is unknown which of them had the
    /// topic.
    WholeTurns,
}

/// Adds dependent rows, and the tombstones.
fn complete(db: &Connection, doomed: &mut ForgetPlan, affected: Affected) -> Result<(), StoreError> {
    // Earlier versions go with the summary of a session.
    let versions = "SELECT other.id FROM session_summaries AS own JOIN session_summaries AS other
                    ON other.session_id = own.session_id AND other.checkpoint = 1
                    WHERE own.id = ?1 AND own.checkpoint = 0";
    for summary in numbers(doomed, RecordKind::Summary) {
        for id in ids(db, versions, &[&summary])? {
            let id = RecordId { kind: RecordKind::Summary, number: id };
            doomed.records.entry(id).or_insert(Reason::Version);
        }
    }
    // Prompt and answer of a turn may still be queued, and the log of injections has the beginning of the prompt.
    let mut turns: BTreeSet<(i64, i64)> = BTreeSet::new();
    for turn in numbers(doomed, RecordKind::Turn) {
        let sql = "SELECT session_id, prompt_number, text FROM user_prompts WHERE id = ?1";
        let row = db.query_row(sql, [turn], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        let Some((session, number, text)): Option<(i64, i64, String)> = row else { continue };
        turns.insert((session, number));
        doomed.payloads.extend(ids(
            db,
            "SELECT id FROM pending_messages WHERE session_id = ?1 AND prompt_number = ?2
             AND kind IN ('prompt_submitted', 'turn_ended')",
            &[&session, &number],
        )?);
        keys(
            db,
            "SELECT idempotency_key FROM event_traces WHERE session_id = ?1 AND prompt_number = ?2
             AND kind IN ('prompt_submitted', 'turn_ended')",
            &[&session, &number],
            &mut doomed.hashes,
        )?;
        doomed.retrievals.extend(previews(db, session, &text)?);
    }
    for observation in numbers(doomed, RecordKind::Observation) {
        let sql = "SELECT session_id, prompt_number, content_hash FROM observations WHERE id = ?1";
        let row =
            db.query_row(sql, [observation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        let Some((session, number, content)): Option<(i64, i64, String)> = row else { continue };
        turns.insert((session, number));
        doomed.hashes.insert(tombstones::of_content(db, &content)?);
    }
    // Traces keep the commands of the turn.
    for (session, number) in &turns {
        let sql = "SELECT id FROM event_traces WHERE session_id = ?1 AND prompt_number = ?2 AND instr(tool, ?3) > 0";
        doomed.blanked.extend(ids(db, sql, &[session, number, &SUBJECT])?);
    }
    for event in doomed.payloads.iter().chain(&doomed.traces).chain(&doomed.blanked).chain(&doomed.remarks) {
        let sql = "SELECT session_id, prompt_number FROM event_traces WHERE id = ?1";
        let turn = db.prepare_cached(sql)?.query_row([event], |row| Ok((row.get(0)?, row.get(1)?)));
        turns.extend(turn.optional()?);
        let sql = "SELECT idempotency_key FROM event_traces WHERE id = ?1";
        keys(db, sql, &[event], &mut doomed.hashes)?;
    }
    if affected == Affected::WholeTurns {
        for (session, number) in turns {
            let sql = "SELECT idempotency_key FROM event_traces WHERE session_id = ?1 AND prompt_number = ?2";
            keys(db, sql, &[&session, &number], &mut doomed.hashes)?;
        }
    }
    for fact in numbers(doomed, RecordKind::Fact) {
        let sql = "SELECT key, value FROM facts WHERE id = ?1";
        let said: Option<(String, String)> =
            db.query_row(sql, [fact], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if let Some((key, value)) = said {
            doomed.hashes.insert(tombstones::of_statement(db, &key.into(), &value)?);
        }
    }
    for note in numbers(doomed, RecordKind::Note) {
        let sql = "SELECT vault, path FROM notes WHERE id = ?1";
        let place: Option<(String, String)> =
            db.query_row(sql, [note], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if let Some((vault, path)) = place {
            doomed.hashes.insert(tombstones::of_note(db, &vault, &path)?);
        }
    }
    let key = tombstones::key(db)?;
    for record in doomed.records.keys() {
        let Some(table) = table(record.kind) else { continue };
        let sql = format!("SELECT uuid FROM {table} WHERE id = ?1");
        let uuid: Option<[u8; 16]> =
            db.prepare_cached(&sql)?.query_row([record.number], |row| row.get(0)).optional()?;
        doomed.hashes.extend(uuid.map(|uuid| tombstones::of_record(&key, record.kind, &uuid)));
    }
    Ok(())
}

/// Log entries of injections for this prompt. The log keeps the beginning of a prompt.
fn previews(db: &Connection, session: i64, text: &str) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT id, prompt FROM memory_retrievals WHERE session_id = ?1 AND moment = 'prompt'";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let mut found = Vec::new();
    for row in rows {
        let (id, preview) = row?;
        if one_line(text, preview.chars().count()) == preview {
            found.push(id);
        }
    }
    Ok(found)
}

fn numbers(doomed: &ForgetPlan, kind: RecordKind) -> Vec<i64> {
    doomed.records.keys().filter(|record| record.kind == kind).map(|record| record.number).collect()
}

fn ids(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<i64>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    Ok(statement.query_map(values, |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn keys(
    db: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    hashes: &mut BTreeSet<Hash>,
) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    for key in statement.query_map(values, |row| row.get(0))? {
        hashes.insert(key?);
    }
    Ok(())
}

/// Sessions whose documents include text of removed records as context.
pub(super) fn sessions(db: &Connection, doomed: &ForgetPlan) -> Result<BTreeSet<i64>, StoreError> {
    let mut sessions = BTreeSet::new();
    for record in doomed.records.keys() {
        let table = match record.kind {
            RecordKind::Observation => "observations",
            RecordKind::Turn => "user_prompts",
            _ => continue,
        };
        let sql = format!("SELECT session_id FROM {table} WHERE id = ?1");
        let session: Option<i64> =
            db.prepare_cached(&sql)?.query_row(params![record.number], |row| row.get(0)).optional()?;
        sessions.extend(session);
    }
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_found_whatever_its_case_line_breaks_and_escapes() {
        let topic = Topic::new("The \"blue\"  Harbour\nLane");
        for text in [
            "see the \"blue\" harbour lane.",
            "THE \"BLUE\"\tHARBOUR\n\nLANE",
            r#"["x", "the \"blue\" harbour\nlane"]"#,
            r#"{"kind": "tool", "output": {"text": "at the \"Blue\" Harbour Lane"}}"#,
        ] {
            assert!(topic.is_in(text), "{text}");
        }
        assert!(!topic.is_in("the blue harbour lane"));
    }

    #[test]
    fn a_file_is_matched_by_the_end_of_its_path() {
        assert!(is_same_file("src/main.rs", "main.rs"));
        assert!(is_same_file("src/main.rs", "./src/main.rs"));
        assert!(is_same_file("src/main.rs", "/home/me/project/src/main.rs"));
        assert!(!is_same_file("src/domain.rs", "main.rs"));
        assert!(!is_same_file("src/main.rs", ""));
    }
}
