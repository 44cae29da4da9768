//! Corrects times in the future: the clock was ahead when an event was captured, and was set back since.
//!
//! Such a session would stay the latest for years, its turn would never become silent, and its memory would be the
//! newest. So times after now are set to now. Equal times are ordered by arrival.

use std::time::Duration;

use remora_core::time::Time;
use rusqlite::params;

use crate::handles::Sessions;
use crate::{StoreError, log};

/// Tolerated difference. Clocks of one machine and its containers differ by less.
const TOLERANCE: Duration = Duration::from_mins(5);

/// The columns with the times of a session.
const TABLES: [(&str, &[&str]); 7] = [
    ("user_prompts", &["created_at", "updated_at"]),
    ("event_traces", &["created_at"]),
    ("pending_messages", &["created_at"]),
    ("observations", &["created_at", "updated_at"]),
    ("session_summaries", &["created_at", "updated_at"]),
    ("facts", &["valid_from", "created_at", "updated_at"]),
    ("documents", &["created_at"]),
];

impl Sessions<'_> {
    /// Sets times of sessions and their records after `now` to `now`. Returns the number of sessions changed.
    pub fn clamp_future_times(self, now: Time) -> Result<usize, StoreError> {
        let latest = now.after(TOLERANCE);
        // Uses the index, one lookup for each project, because there is rarely anything to do.
        let sql = "SELECT 1 FROM projects AS p WHERE
                   (SELECT max(last_activity_at) FROM sessions WHERE project_id = p.id) > ?1 LIMIT 1";
        if !self.0.db.prepare_cached(sql)?.exists([latest.0])? {
            return Ok(0);
        }
        let transaction = self.0.begin()?;
        let sessions: Vec<i64> = transaction
            .prepare(
                "UPDATE sessions SET started_at = min(started_at, ?1), last_activity_at = ?1,
                     completed_at = min(completed_at, ?1), emptied_at = min(emptied_at, ?1)
                 WHERE last_activity_at > ?2 RETURNING id",
            )?
            .query_map([now.0, latest.0], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for session in &sessions {
            for (table, columns) in TABLES {
                let set: Vec<String> =
                    columns.iter().map(|column| format!("{column} = min({column}, ?1)")).collect();
                let last = columns.last().copied().unwrap_or("created_at");
                let sql =
                    format!("UPDATE {table} SET {} WHERE session_id = ?2 AND {last} > ?3", set.join(", "));
                transaction.prepare_cached(&sql)?.execute(params![now.0, session, latest.0])?;
            }
        }
        transaction.commit()?;
        let count = sessions.len();
        log::warn(
            self.0.dir(),
            "store",
            &format!("the times of {count} sessions were ahead of the clock; set to now"),
        );
        Ok(sessions.len())
    }
}
