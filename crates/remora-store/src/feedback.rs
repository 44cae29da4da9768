//! How observations were used: counters of injections, fetches, citations and verdicts.

use remora_core::document::{RecordId, RecordKind};
use remora_core::event::Body;
use remora_core::feedback::{self, Feedback, Verdict};
use remora_core::ids::ObservationId;
use remora_core::time::Time;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::context_files::changed_in_place;
use crate::handles::Records;
use crate::injections::{Moment, Retrieval};
use crate::{Batch, SavedBy, Store, StoreError, laid_down, log, retention, wrong};

/// Columns for [`read`], of `observation_feedback AS f`, which may have no row.
macro_rules! feedback_columns {
    () => {
        "f.injected, f.fetched, f.cited, f.useful, f.wrong, f.last_used_at"
    };
}
pub(crate) use feedback_columns;

pub(crate) const COLUMNS: &str = feedback_columns!();

pub(crate) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Feedback> {
    if row.get_ref(first)? == ValueRef::Null {
        return Ok(Feedback::default());
    }
    let count = |column| {
        let count: i64 = row.get(first + column)?;
        Ok::<_, rusqlite::Error>(u32::try_from(count).unwrap_or(u32::MAX))
    };
    Ok(Feedback {
        injected: count(0)?,
        fetched: count(1)?,
        cited: count(2)?,
        useful: count(3)?,
        wrong: count(4)?,
        last_used_at: row.get::<_, Option<i64>>(first + 5)?.map(Time),
    })
}

/// The observations of an injection whose later use is counted.
///
/// The start of a session injects observations because they are recent, whatever the task will be. Not using them says
/// nothing about them, so only injections that were chosen for a prompt or a file count.
pub(crate) fn on_trial(retrieval: &Retrieval) -> Vec<i64> {
    if retrieval.moment == Moment::Start {
        return Vec::new();
    }
    let records = retrieval.items.iter().filter_map(|item| item.id.parse::<RecordId>().ok());
    records.filter(|record| record.kind == RecordKind::Observation).map(|record| record.number).collect()
}

pub(crate) fn count_injected(db: &Connection, observations: &[i64]) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO observation_feedback (observation_id, injected)
         SELECT o.id, 1 FROM json_each(?1) AS injected JOIN observations AS o ON o.id = injected.value WHERE true
         ON CONFLICT (observation_id) DO UPDATE SET injected = injected + 1",
    )?
    .execute([serde_json::to_string(observations)?])?;
    Ok(())
}

/// Counts the observations that the closing messages of a batch cite and that were injected into their session
/// before. Each counts once a turn, even if several messages end it.
pub(crate) fn count_cited(db: &Connection, batch: &Batch, project: i64) -> Result<(), StoreError> {
    for event in &batch.events {
        let Body::TurnEnded { message, .. } = &event.body else { continue };
        let mut named = feedback::cited(message);
        if named.is_empty() {
            continue;
        }
        // The messages of a turn are stored in sequence; citations before this one were counted already.
        let sql = "SELECT closing_message FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2";
        let closing: Option<Option<String>> =
            db.query_row(sql, [batch.session.0, batch.prompt_number], |row| row.get(0)).optional()?;
        if let Some((before, _)) = closing.flatten().as_ref().and_then(|all| all.split_once(message.as_str()))
        {
            let counted = feedback::cited(before);
            named.retain(|id| !counted.contains(id));
        }
        db.prepare_cached(
            "INSERT INTO observation_feedback (observation_id, cited, last_used_at)
             SELECT o.id, 1, ?3 FROM json_each(?1) AS named JOIN observations AS o ON o.id = named.value
             WHERE o.project_id = ?4 AND EXISTS (
                 SELECT 1 FROM memory_retrievals AS r, json_each(r.items) AS injected
                 WHERE r.session_id = ?2 AND r.created_at <= ?3 AND injected.value ->> 'id' = CAST(o.id AS TEXT))
             ON CONFLICT (observation_id) DO UPDATE SET cited = cited + 1,
                 last_used_at = max(ifnull(last_used_at, 0), excluded.last_used_at)",
        )?
        .execute(params![serde_json::to_string(&named)?, batch.session.0, event.at.0, project])?;
    }
    Ok(())
}

/// An observation after a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    pub pinned_at: Option<Time>,
    pub feedback: Feedback,
}

impl Records<'_> {
    /// Counts observations that were requested by id. A failure is only logged, so that they are still shown.
    pub fn count_fetched(self, observations: &[ObservationId], at: Time) {
        if let Err(error) = self.0.try_count_fetched(observations, at) {
            log::warn(self.0.dir(), "feedback", &format!("what was looked up was not counted: {error}"));
        }
    }

    /// Stores a verdict on a record, or undoes one with `undo`. An observation takes every verdict. A turn or a summary can
    /// only be wrong; what no observation says of it is then not injected. `None` if the record does not exist, or does
    /// not take this verdict.
    pub fn judge(
        self,
        record: impl Into<RecordId>,
        verdict: Verdict,
        undo: bool,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<Judged>, StoreError> {
        let record = record.into();
        match record.kind {
            RecordKind::Observation => {
                self.0.judge_observation(ObservationId(record.number), verdict, undo, by, at)
            }
            RecordKind::Turn | RecordKind::Summary if verdict == Verdict::Wrong => {
                let exists = self.0.judge_turn_or_summary(record, undo, by, at)?;
                let feedback = Feedback { wrong: u32::from(!undo), ..Feedback::default() };
                Ok(exists.then_some(Judged { pinned_at: None, feedback }))
            }
            _ => Ok(None),
        }
    }
}

impl Store {
    fn judge_observation(
        &self,
        observation: ObservationId,
        verdict: Verdict,
        undo: bool,
        by: SavedBy,
        at: Time,
    ) -> Result<Option<Judged>, StoreError> {
        let transaction = self.begin()?;
        let is_there = "SELECT 1 FROM observations WHERE id = ?1 AND deleted_at IS NULL";
        if !transaction.prepare_cached(is_there)?.exists([observation.0])? {
            return Ok(None);
        }
        match (verdict, undo) {
            // Pinned and wrong exclude each other; the last verdict holds.
            (Verdict::Pin, false) => {
                pin(&transaction, observation, Some(at), at)?;
                count(&transaction, observation, "wrong = 0", at)?;
            }
            (Verdict::Unpin, true) => pin(&transaction, observation, Some(at), at)?,
            (Verdict::Unpin, false) | (Verdict::Pin, true) => pin(&transaction, observation, None, at)?,
            (Verdict::Useful, false) => {
                count(&transaction, observation, "useful = useful + 1, wrong = 0, last_used_at = ?2", at)?;
            }
            (Verdict::Wrong, false) => {
                pin(&transaction, observation, None, at)?;
                count(&transaction, observation, "wrong = wrong + 1, useful = 0", at)?;
                wrong::revoke(&transaction, observation, by, at)?;
            }
            (Verdict::Useful, true) => count(&transaction, observation, "useful = max(useful - 1, 0)", at)?,
            (Verdict::Wrong, true) => count(&transaction, observation, "wrong = max(wrong - 1, 0)", at)?,
        }
        laid_down::judged(&transaction, observation.into(), by)?;
        changed_in_place(&transaction)?;
        let undone = if undo { ", taken back" } else { "" };
        retention::audit(&transaction, "feedback", &format!("{observation} {}{undone}", verdict.name()), at)?;
        let sql = format!(
            "SELECT o.pinned_at, {COLUMNS} FROM observations AS o LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.id = ?1"
        );
        let judged = transaction.query_row(&sql, [observation.0], |row| {
            Ok(Judged { pinned_at: row.get::<_, Option<i64>>(0)?.map(Time), feedback: read(row, 1)? })
        })?;
        transaction.commit()?;
        Ok(Some(judged))
    }

    fn try_count_fetched(&self, observations: &[ObservationId], at: Time) -> Result<(), StoreError> {
        // A newer program counts by itself, and a disk that cannot be written is reported elsewhere.
        if observations.is_empty() || self.read_only().is_some() {
            return Ok(());
        }
        let ids: Vec<i64> = observations.iter().map(|id| id.0).collect();
        self.writable()?
            .prepare_cached(
                "INSERT INTO observation_feedback (observation_id, fetched, last_used_at)
                 SELECT o.id, 1, ?2 FROM json_each(?1) AS wanted JOIN observations AS o ON o.id = wanted.value
                 WHERE true
                 ON CONFLICT (observation_id) DO UPDATE SET fetched = fetched + 1,
                     last_used_at = max(ifnull(last_used_at, 0), excluded.last_used_at)",
            )?
            .execute(params![serde_json::to_string(&ids)?, at.0])?;
        Ok(())
    }
}

/// Pins or unpins. An observation that is pinned already keeps its time.
pub(crate) fn pin(
    db: &Connection,
    observation: ObservationId,
    since: Option<Time>,
    at: Time,
) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE observations SET pinned_at = ?2, updated_at = ?3 WHERE id = ?1 AND (pinned_at IS NULL) = (?2 IS NOT NULL)",
        params![observation.0, since.map(|since| since.0), at.0],
    )?;
    Ok(())
}

pub(crate) fn count(
    db: &Connection,
    observation: ObservationId,
    change: &str,
    at: Time,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO observation_feedback (observation_id) VALUES (?1) ON CONFLICT DO NOTHING",
        [observation.0],
    )?;
    // `?2 = ?2` uses the parameter in changes without a time.
    let sql = format!("UPDATE observation_feedback SET {change} WHERE observation_id = ?1 AND ?2 = ?2");
    db.execute(&sql, params![observation.0, at.0])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use remora_core::memory::ObservationType;
    use remora_core::privacy::{Draft, SavedText};

    use super::*;
    use crate::{DataDir, SaveFor, SavedBy, locate};

    #[test]
    fn feedback_is_deleted_with_its_observation_and_never_exists_without_one() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&DataDir::new(temp.path().join("data"))).unwrap();
        let draft = Draft {
            text: "Totals are cents.".to_owned(),
            title: None,
            kind: ObservationType::Decision,
            facts: Vec::new(),
            files: Vec::new(),
        };
        let place = SaveFor::Directory(locate(temp.path()));
        let id = store
            .records()
            .save(&place, &SavedText::new(&draft).unwrap(), SavedBy::Program, Time(1))
            .unwrap()
            .id();
        store.records().count_fetched(&[id, ObservationId(99)], Time(2));
        assert_eq!(
            store
                .records()
                .judge(ObservationId(99), Verdict::Useful, false, SavedBy::Person, Time(2))
                .unwrap(),
            None
        );
        let rows = |store: &Store| {
            let sql = "SELECT count(*) FROM observation_feedback";
            store.db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(
            (store.records().observation(id).unwrap().unwrap().feedback.fetched, rows(&store)),
            (1, 1)
        );
        store.db.execute("DELETE FROM observations WHERE id = ?1", [id.0]).unwrap();
        assert_eq!(rows(&store), 0);
    }
}
