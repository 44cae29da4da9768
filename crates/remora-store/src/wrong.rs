//! What was called wrong in a project. Every way of injecting asks here.
//!
//! Verdicts are stored with observations. A turn or a summary has no row for them; the few that were called wrong are a
//! list in `meta`, so that hooks parse no further table.

use std::collections::BTreeSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::feedback::Verdict;
use remora_core::ids::{ObservationId, ProjectId};
use remora_core::prose::plan_heading;
use remora_core::time::Time;
use remora_core::wrong::CalledWrong;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::context_files::changed_in_place;
use crate::handles::Records;
use crate::{SavedBy, Store, StoreError, feedback, laid_down, retention, rows};

/// The key in `meta` of the turns and summaries that were called wrong, as JSON: `["t2", "s7"]`.
const WRONG_RECORDS: &str = "called_wrong";

/// Whether anything was called wrong. Both lookups are in indexes with few rows.
const ANYTHING_WRONG: &str = concat!(
    "EXISTS (SELECT 1 FROM observation_feedback INDEXED BY observation_feedback_wrong WHERE wrong > useful)",
    " OR EXISTS (SELECT 1 FROM meta WHERE key = 'called_wrong')"
);

/// The parts of an observation that state something.
const SAID: &str = "o.title, o.narrative, o.facts";

impl Records<'_> {
    /// The statements that were called wrong in a project. Usually there are none, which takes only a few index
    /// lookups.
    pub fn called_wrong(self, project: ProjectId) -> Result<CalledWrong, StoreError> {
        let sql = format!(
            "SELECT {ANYTHING_WRONG},
             EXISTS (SELECT 1 FROM observations INDEXED BY observations_superseded WHERE superseded_by IS NOT NULL)"
        );
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (is_wrong, is_superseded): (bool, bool) = self.0.db.prepare_cached(&sql)?.query_row([], read)?;
        if is_wrong {
            return called_wrong(&self.0.db, project, &BTreeSet::new());
        }
        let mut nothing = CalledWrong::default();
        nothing.nothing_corrected = !is_superseded;
        Ok(nothing)
    }

    /// Whether a record says what was called wrong, by a verdict or in a later turn of its session.
    ///
    /// A turn or a summary repeats it as a whole, because its other sentences are about the same subject, even if it says it
    /// in other words than the wrong observation. A summary written after a correction is right again.
    pub fn repeats_wrong(self, record: RecordId, wrong: &CalledWrong) -> Result<bool, StoreError> {
        match record.kind {
            RecordKind::Observation => {
                let sql = "SELECT o.title, o.pinned_at IS NOT NULL OR ifnull(f.useful, 0) > 0 FROM observations AS o
                     LEFT JOIN observation_feedback AS f ON f.observation_id = o.id WHERE o.id = ?1";
                let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?));
                if wrong.is_empty() {
                    return Ok(false);
                }
                let found = self.0.db.prepare_cached(sql)?.query_row([record.number], read).optional()?;
                Ok(found.is_some_and(|(title, is_upheld)| !is_upheld && wrong.is_said_by(&title)))
            }
            RecordKind::Turn | RecordKind::Summary => Ok(!wrong.nothing_corrected
                && (self.0.belongs_to_wrong(record)?
                    || (!wrong.is_empty() && wrong.is_said_in(&text_of(&self.0.db, record)?)))),
            RecordKind::Fact => {
                let sql = "SELECT value FROM facts WHERE id = ?1 AND source <> 'user'";
                if wrong.is_empty() {
                    return Ok(false);
                }
                let value: Option<String> =
                    self.0.db.prepare_cached(sql)?.query_row([record.number], |row| row.get(0)).optional()?;
                Ok(value.is_some_and(|value| wrong.is_said_in(&value)))
            }
            RecordKind::Note | RecordKind::Event => Ok(false),
        }
    }
}

impl Store {
    /// Calls a turn or a summary wrong, or with `undo` takes it back. Returns whether it exists.
    pub(crate) fn judge_turn_or_summary(
        &self,
        record: RecordId,
        undo: bool,
        by: SavedBy,
        at: Time,
    ) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        let Some(project) = project_of(&transaction, record)? else { return Ok(false) };
        let mut all = wrong_records(&transaction)?;
        all.retain(|other| *other != record);
        if !undo {
            all.push(record);
        }
        if all.is_empty() {
            transaction.execute("DELETE FROM meta WHERE key = ?1", [WRONG_RECORDS])?;
        } else {
            let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
            transaction.execute(sql, params![WRONG_RECORDS, serde_json::to_vec(&all)?])?;
        }
        if !undo {
            let mut wrong = CalledWrong::default();
            add_record(&transaction, record, &mut wrong)?;
            revoke_all(&transaction, project, None, &wrong, by, at)?;
        }
        laid_down::judged(&transaction, record, by)?;
        changed_in_place(&transaction)?;
        let undone = if undo { ", taken back" } else { "" };
        retention::audit(
            &transaction,
            "feedback",
            &format!("{record} {}{undone}", Verdict::Wrong.name()),
            at,
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// The statements that a person called wrong in a project. A program's verdict does not hide a person's words.
    pub(crate) fn called_wrong_by_person(&self, project: ProjectId) -> Result<CalledWrong, StoreError> {
        called_wrong(&self.db, project, &laid_down::judged_by_programs(&self.db)?)
    }

    /// Whether a turn or a summary was called wrong itself, or belongs to an observation that is wrong.
    fn belongs_to_wrong(&self, record: RecordId) -> Result<bool, StoreError> {
        let (table, same_turn) = if record.kind == RecordKind::Turn {
            ("user_prompts", "o.session_id = r.session_id AND o.prompt_number = r.prompt_number")
        } else {
            ("session_summaries", "o.session_id = r.session_id")
        };
        // Starts with wrong and superseded observations, because they are few. An observation superseded by one of
        // its own turn was only refined, not corrected.
        let sql = format!(
            "SELECT 1 FROM observation_feedback AS f INDEXED BY observation_feedback_wrong
                 CROSS JOIN observations AS o ON o.id = f.observation_id
                 CROSS JOIN {table} AS r ON r.id = ?1 AND {same_turn}
             WHERE f.wrong > f.useful
             UNION ALL
             SELECT 1 FROM {table} AS r CROSS JOIN observations AS o INDEXED BY observations_superseded
                 ON o.session_id = r.session_id AND o.prompt_number = r.prompt_number
             WHERE r.id = ?1 AND o.superseded_by IS NOT NULL AND NOT EXISTS (
                 SELECT 1 FROM observations AS next WHERE next.uuid = o.superseded_by AND next.session_id = o.session_id
                 AND next.prompt_number = o.prompt_number)
             UNION ALL
             SELECT 1 FROM meta, json_each(CAST(meta.value AS TEXT)) AS wrong
             WHERE meta.key = '{WRONG_RECORDS}' AND wrong.value = ?2"
        );
        Ok(self.db.prepare_cached(&sql)?.exists(params![record.number, record.to_string()])?)
    }
}

/// Removes pins and `useful` verdicts from observations that say what was just called wrong, because the last verdict
/// counts. A program's verdict removes only those of programs.
pub(crate) fn revoke(
    db: &Connection,
    judged: ObservationId,
    by: SavedBy,
    at: Time,
) -> Result<(), StoreError> {
    let mut wrong = CalledWrong::default();
    let sql = format!("SELECT {SAID}, o.project_id FROM observations AS o WHERE o.id = ?1");
    let project = db.query_row(&sql, [judged.0], |row| {
        add(row, &mut wrong)?;
        Ok(ProjectId(row.get(3)?))
    })?;
    revoke_all(db, project, Some(judged), &wrong, by, at)
}

fn revoke_all(
    db: &Connection,
    project: ProjectId,
    judged: Option<ObservationId>,
    wrong: &CalledWrong,
    by: SavedBy,
    at: Time,
) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT {SAID}, o.id FROM observations AS o LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
         WHERE o.project_id = ?1 AND o.id <> ?2 AND (o.pinned_at IS NOT NULL OR f.useful > 0) AND o.deleted_at IS NULL"
    );
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([project.0, judged.map_or(0, |judged| judged.0)])?;
    let by_programs = laid_down::judged_by_programs(db)?;
    let mut revoked = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(3)?;
        let is_ours = by == SavedBy::Person
            || by_programs.contains(&RecordId { kind: RecordKind::Observation, number });
        if is_ours && says(row, wrong)? {
            revoked.push(ObservationId(number));
        }
    }
    for observation in revoked {
        feedback::pin(db, observation, None, at)?;
        feedback::count(db, observation, "useful = 0", at)?;
    }
    Ok(())
}

/// A person who saves a text that was called wrong takes the verdict back for this text.
pub(crate) fn uphold(
    db: &Connection,
    project: ProjectId,
    saved: ObservationId,
    at: Time,
) -> Result<(), StoreError> {
    let wrong = called_wrong(db, project, &BTreeSet::new())?;
    let sql = format!("SELECT {SAID} FROM observations AS o WHERE o.id = ?1");
    if !wrong.is_empty() && db.query_row(&sql, [saved.0], |row| says(row, &wrong))? {
        feedback::count(db, saved, "useful = useful + 1, wrong = 0, last_used_at = ?2", at)?;
        let record = RecordId { kind: RecordKind::Observation, number: saved.0 };
        laid_down::judged(db, record, SavedBy::Person)?;
    }
    Ok(())
}

/// The statements that were called wrong in a project, except in the records `left_out`.
fn called_wrong(
    db: &Connection,
    project: ProjectId,
    left_out: &BTreeSet<RecordId>,
) -> Result<CalledWrong, StoreError> {
    let mut wrong = CalledWrong::default();
    let mut statement = db.prepare_cached(&format!(
        "SELECT {SAID}, o.id FROM observation_feedback AS f INDEXED BY observation_feedback_wrong
             CROSS JOIN observations AS o ON o.id = f.observation_id
         WHERE f.wrong > f.useful AND o.project_id = ?1 AND o.deleted_at IS NULL"
    ))?;
    let mut rows = statement.query([project.0])?;
    while let Some(row) = rows.next()? {
        if !left_out.contains(&RecordId { kind: RecordKind::Observation, number: row.get(3)? }) {
            add(row, &mut wrong)?;
        }
    }
    for record in wrong_records(db)? {
        if !left_out.contains(&record) && project_of(db, record)? == Some(project) {
            add_record(db, record, &mut wrong)?;
        }
    }
    Ok(wrong)
}

/// Adds what a turn or a summary says beyond the observations of its session, which have verdicts of their own.
fn add_record(db: &Connection, record: RecordId, wrong: &mut CalledWrong) -> Result<(), StoreError> {
    let table = table(record);
    let sql = format!(
        "SELECT {SAID} FROM {table} AS r JOIN observations AS o ON o.session_id = r.session_id
         WHERE r.id = ?1 AND o.deleted_at IS NULL"
    );
    let mut observed = CalledWrong::default();
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([record.number])?;
    while let Some(row) = rows.next()? {
        add(row, &mut observed)?;
    }
    wrong.add_text(&text_of(db, record)?, |statement| observed.is_said_by(statement));
    Ok(())
}

pub(crate) fn wrong_records(db: &Connection) -> Result<Vec<RecordId>, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let json: Option<Vec<u8>> =
        db.prepare_cached(sql)?.query_row([WRONG_RECORDS], |row| row.get(0)).optional()?;
    Ok(json.map(|json| serde_json::from_slice(&json)).transpose()?.unwrap_or_default())
}

fn table(record: RecordId) -> &'static str {
    if record.kind == RecordKind::Turn { "user_prompts" } else { "session_summaries" }
}

fn project_of(db: &Connection, record: RecordId) -> Result<Option<ProjectId>, StoreError> {
    let sql = format!(
        "SELECT s.project_id FROM {} AS r JOIN sessions AS s ON s.id = r.session_id
         WHERE r.id = ?1 AND r.deleted_at IS NULL",
        table(record)
    );
    let project = db.prepare_cached(&sql)?.query_row([record.number], |row| row.get(0)).optional()?;
    Ok(project.map(ProjectId))
}

/// What a turn or a summary states. A prompt states nothing, unless it is a plan, which the agent wrote.
fn text_of(db: &Connection, record: RecordId) -> Result<String, StoreError> {
    let is_turn = record.kind == RecordKind::Turn;
    let sql = if is_turn {
        "SELECT ifnull(closing_message, ''), text FROM user_prompts WHERE id = ?1"
    } else {
        "SELECT learned || char(10, 10) || completed || char(10, 10) || next_steps, ''
         FROM session_summaries WHERE id = ?1"
    };
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let found = db.prepare_cached(sql)?.query_row([record.number], read).optional()?;
    Ok(match found {
        Some((said, prompt)) if plan_heading(&prompt).is_some() => format!("{said}\n\n{prompt}"),
        Some((said, _)) => said,
        None => String::new(),
    })
}

/// Adds the statements of a row of [`SAID`].
fn add(row: &Row<'_>, wrong: &mut CalledWrong) -> rusqlite::Result<()> {
    let (title, narrative): (String, String) = (row.get(0)?, row.get(1)?);
    wrong.add_observation(&title, &narrative, &rows::list::<String>(row, 2)?);
    Ok(())
}

/// Whether a row of [`SAID`] says something that was called wrong.
fn says(row: &Row<'_>, wrong: &CalledWrong) -> rusqlite::Result<bool> {
    Ok(wrong.is_said_by(&row.get::<_, String>(0)?)
        || wrong.is_said_in(&row.get::<_, String>(1)?)
        || rows::list::<String>(row, 2)?.iter().any(|fact| wrong.is_said_by(fact)))
}
