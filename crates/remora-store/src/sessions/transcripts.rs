//! The transcripts that hosts keep of their sessions: their paths, and the positions up to which they were read. The
//! observer reads them and keeps only what is useful. The text is stored only beside payloads that are still needed,
//! by a model or by the rest of their turn.

use std::fs;
use std::path::{Path, PathBuf};

use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::SessionId;
use remora_core::memory::Memory;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::handles::Sessions;
use crate::import::past;
use crate::{Batch, StoreError, TurnRef, private_turns, writing};

/// The transcript of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub host: Host,
    pub path: PathBuf,
    /// The position up to which it was read.
    pub offset: u64,
    /// The turn that continues at that position, until the next prompt; `None` if unknown or not captured.
    pub turn: Option<i64>,
    /// The number of the session's latest prompt.
    pub latest_turn: i64,
    /// Whether the session had a private turn.
    pub had_private: bool,
    /// The root of the session's project.
    pub root: String,
    /// The session was imported: the file has all of its turns, from its beginning.
    pub is_past: bool,
    /// Whether events of the session are claimed right now, or kept for a turn that may go on.
    pub is_in_work: bool,
}

/// A range of a transcript that was read for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTo {
    pub path: PathBuf,
    pub from: u64,
    pub to: u64,
}

/// The text of a turn from a transcript, ready to be stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptText {
    /// The agent's texts between its tool calls.
    pub said: Vec<Said>,
    /// The agent's closing message, if no hook reported it.
    pub closing: Option<String>,
    /// The host's own digest of the session, if no hook reported it.
    pub digest: Option<String>,
    /// The command during which the turn was interrupted.
    pub running: Option<String>,
}

/// A text of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    /// Its time, if the host reports it.
    pub at: Option<Time>,
}

impl Sessions<'_> {
    /// The transcript of a session, if its host named one.
    pub fn transcript(self, session: SessionId) -> Result<Option<Transcript>, StoreError> {
        let found = self.0
            .db
            .prepare_cached(
                "SELECT s.host, s.transcript_path, ifnull(s.transcript_offset, 0), s.transcript_turn, s.prompt_counter,
                     s.private_turns > 0, p.root, ifnull(s.memory_session_id, ''), s.content_session_id,
                     EXISTS (SELECT 1 FROM pending_messages WHERE session_id = s.id
                             AND (status = 'processing' OR (status = 'pending' AND observed = 2)))
                 FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
                 WHERE s.id = ?1 AND s.transcript_path IS NOT NULL",
            )?
            .query_row([session.0], |row| {
                let (host, path): (String, String) = (row.get(0)?, row.get(1)?);
                let transcript = Transcript {
                    host: Host::Generic,
                    path: PathBuf::from(path),
                    offset: row.get::<_, i64>(2)?.unsigned_abs(),
                    turn: row.get(3)?,
                    latest_turn: row.get(4)?,
                    had_private: row.get(5)?,
                    root: row.get(6)?,
                    is_past: past::last_turn(&row.get::<_, String>(7)?).is_some(),
                    is_in_work: row.get(9)?,
                };
                Ok((host, row.get(8)?, transcript))
            })
            .optional()?;
        let Some((host, id, mut transcript)) = found else { return Ok(None) };
        // Skips hosts that only a newer Remora knows.
        let Some(host) = Host::named(&host) else { return Ok(None) };
        transcript.host = host;
        // A session that was running when everything was erased has a new row.
        transcript.had_private |= private_turns::had_any(self.0.dir(), &SessionRef { host, id })?;
        Ok(Some(transcript))
    }

    /// Sessions with activity since then whose transcripts were read before and may have grown.
    pub fn growing_transcripts(self, since: Time) -> Result<Vec<SessionId>, StoreError> {
        let sql = "SELECT id FROM sessions WHERE transcript_turn IS NOT NULL AND last_activity_at >= ?1";
        self.0.rows(sql, &[&since.0], |row| row.get(0).map(SessionId))
    }

    /// Whether a hook reported a compaction in a turn, and with it the digest.
    pub fn was_compacted(self, turn: TurnRef) -> Result<bool, StoreError> {
        let sql =
            "SELECT 1 FROM event_traces WHERE session_id = ?1 AND prompt_number = ?2 AND kind = 'compacted'";
        Ok(self.0.db.prepare_cached(sql)?.exists([turn.session.0, turn.number])?)
    }
}

impl Sessions<'_> {
    /// Stores the memory of text that a host wrote after its turn was observed. `false` if another process read it
    /// before.
    pub fn remember_late(
        self,
        turn: TurnRef,
        read: &ReadTo,
        memory: &Memory,
        at: Time,
    ) -> Result<bool, StoreError> {
        let batch = Batch {
            session: turn.session,
            prompt_number: turn.number,
            owner: String::new(),
            events: Vec::new(),
            earlier: Vec::new(),
            heard: TranscriptText::default(),
            may_go_on: false,
            is_past: false,
            transcript: None,
        };
        let transaction = self.0.begin()?;
        if !advance(&transaction, &batch, read)? {
            return Ok(false);
        }
        writing::write(&transaction, &batch, memory, at)?;
        transaction.commit()?;
        Ok(true)
    }

    /// Marks the transcripts of some projects as read, because they were written while capture was paused. `skips`
    /// decides by the project's root.
    pub fn skip_transcripts(self, skips: impl Fn(&Path) -> bool) -> Result<(), StoreError> {
        let sql = "SELECT s.id, s.transcript_path, p.root FROM sessions AS s JOIN projects AS p ON p.id = s.project_id
             WHERE s.transcript_path IS NOT NULL";
        let sessions: Vec<(i64, String, String)> =
            self.0.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        // A missing file has nothing to skip.
        let length = |path: &str| fs::metadata(path).ok().and_then(|file| i64::try_from(file.len()).ok());
        let skipped: Vec<(i64, i64)> = sessions
            .iter()
            .filter(|(_, _, root)| skips(Path::new(root)))
            .filter_map(|(id, path, _)| Some((*id, length(path)?)))
            .collect();
        let transaction = self.0.begin()?;
        for (id, length) in skipped {
            transaction.execute(
                "UPDATE sessions SET transcript_offset = ?2, transcript_turn = NULL WHERE id = ?1",
                [id, length],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Stores the position up to which a transcript was read for a batch, and a closing message that only it had. If the
/// host switched to another file meanwhile, or the batch was stored before, the position stays.
pub(crate) fn record(db: &Connection, batch: &Batch, read: &ReadTo, at: Time) -> Result<(), StoreError> {
    advance(db, batch, read)?;
    if let Some(closing) = &batch.heard.closing {
        db.execute(
            "UPDATE user_prompts SET closing_message = ?3, updated_at = ?4
             WHERE session_id = ?1 AND prompt_number = ?2 AND closing_message IS NULL AND deleted_at IS NULL",
            params![batch.session.0, batch.prompt_number, closing, at.0],
        )?;
    }
    Ok(())
}

/// Advances the position. `false` if it was not where the reading began.
fn advance(db: &Connection, batch: &Batch, read: &ReadTo) -> Result<bool, StoreError> {
    let position = |position: u64| i64::try_from(position).unwrap_or(i64::MAX);
    let advanced = db.execute(
        "UPDATE sessions SET transcript_offset = ?4, transcript_turn = ?5
         WHERE id = ?1 AND transcript_path = ?2 AND ifnull(transcript_offset, 0) = ?3",
        params![
            batch.session.0,
            read.path.to_string_lossy(),
            position(read.from),
            position(read.to),
            batch.prompt_number
        ],
    )?;
    Ok(advanced > 0)
}

/// The stored transcript text of a turn whose payloads are still there.
pub(crate) fn heard(
    db: &Connection,
    session: SessionId,
    prompt_number: i64,
) -> Result<TranscriptText, StoreError> {
    let kept: Option<String> = db
        .prepare_cached(
            "SELECT heard FROM pending_messages WHERE status IN ('pending', 'processing') AND observed = 1
             AND session_id = ?1 AND prompt_number = ?2 AND heard IS NOT NULL ORDER BY id DESC LIMIT 1",
        )?
        .query_row([session.0, prompt_number], |row| row.get(0))
        .optional()?;
    Ok(kept.map(|heard| serde_json::from_str(&heard)).transpose()?.unwrap_or_default())
}

/// Stores the transcript text of a turn beside the payload of its last event. It includes the text read for earlier
/// batches.
pub(crate) fn keep_heard(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let Some(last) = batch.events.last().filter(|_| batch.heard != TranscriptText::default()) else {
        return Ok(());
    };
    db.prepare_cached(
        "UPDATE pending_messages SET heard = iif(id = ?3, ?4, NULL)
         WHERE status = 'processing' AND observed = 1 AND session_id = ?1 AND prompt_number = ?2",
    )?
    .execute(params![
        batch.session.0,
        batch.prompt_number,
        last.id.0,
        serde_json::to_string(&batch.heard)?
    ])?;
    Ok(())
}
