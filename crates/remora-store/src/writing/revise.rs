//! Revises the stored memory of a turn: replaces the previous version by a new one.

use remora_core::document::{RecordId, RecordKind};
use remora_core::memory::{Observation, Summary};
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};

use super::{ECHO, Origin, content_hash, insert_observation, insert_parts, insert_summary};
use crate::StoreError;
use crate::context_files::changed_in_place;
use crate::search::documents;

type RowUuid = [u8; 16];

/// An observation of the previous version that may be revised.
struct Revisable {
    number: i64,
    uuid: RowUuid,
    content_hash: String,
    /// The user pinned it or marked it useful.
    valued: bool,
    revised: bool,
}

/// Replaces the observations `known` by `new`. The first keeps the first id, so that citations stay valid; further
/// ones get new ids; the rest of the previous version is superseded, unless the user values it.
///
/// Returns the records, or `None` if the user has rejected all of the previous version, by deleting it or marking it
/// wrong, or has edited it: another version of the same turn must not bring it back.
pub(super) fn observations(
    db: &Connection,
    origin: &Origin<'_>,
    known: &[i64],
    new: &[Observation],
    at: Time,
) -> Result<Option<Vec<RecordId>>, StoreError> {
    let mut standing = standing(db, known)?;
    if standing.is_empty() && !known.is_empty() {
        return Ok(None);
    }
    let mut numbers = known.to_vec();
    let ids = serde_json::to_string(&standing.iter().map(|row| row.number).collect::<Vec<_>>())?;
    // Content that is in both versions keeps its id.
    let mut places: Vec<Option<usize>> = Vec::new();
    for observation in new {
        let hash = content_hash(origin.session_uuid, &observation.title, &observation.narrative);
        let same = standing.iter().position(|row| row.content_hash == hash && !row.revised);
        if let Some(place) = same {
            standing[place].revised = true;
        }
        places.push(same);
    }
    if places.first() == Some(&None) {
        places[0] = standing.iter().position(|row| !row.revised);
    }
    let mut successor = None;
    for (observation, place) in new.iter().zip(places) {
        let Some(place) = place else {
            numbers.extend(insert_observation(db, origin, observation, at)?.map(|id| id.0));
            continue;
        };
        let row = &mut standing[place];
        let twin = twin(db, origin, &ids, observation, at)?;
        // If another record has the same content, this one will be superseded.
        row.revised = twin.is_none();
        if row.revised {
            update(db, origin, row.number, observation, at)?;
        }
        let uuid = twin.unwrap_or(row.uuid);
        successor.get_or_insert(uuid);
    }
    if let Some(successor) = successor {
        for row in standing.iter().filter(|row| !row.revised && !row.valued) {
            db.prepare_cached("UPDATE observations SET superseded_by = ?2, updated_at = ?3 WHERE id = ?1")?
                .execute(params![row.number, successor, at.0])?;
        }
        changed_in_place(db)?;
    }
    let observation = |number| RecordId { kind: RecordKind::Observation, number };
    Ok(Some(numbers.into_iter().map(observation).collect()))
}

/// Replaces the summary `known`, which keeps its id. A deleted summary stays deleted.
pub(super) fn summary(
    db: &Connection,
    origin: &Origin<'_>,
    known: Option<i64>,
    new: &Summary,
    at: Time,
) -> Result<i64, StoreError> {
    let Some(number) = known else { return insert_summary(db, origin, new, at) };
    let revised = db
        .prepare_cached(
            "UPDATE session_summaries SET request = ?2, investigated = ?3, learned = ?4, completed = ?5, next_steps = ?6,
                 notes = ?7, files_read = ?8, files_edited = ?9, provider = ?10, model = ?11, updated_at = ?12
             WHERE id = ?1 AND deleted_at IS NULL",
        )?
        .execute(params![
            number,
            new.request,
            new.investigated,
            new.learned,
            new.completed,
            new.next_steps,
            new.notes,
            serde_json::to_string(&new.files_read)?,
            serde_json::to_string(&new.files_edited)?,
            origin.provider,
            origin.model,
            at.0,
        ])?;
    if revised > 0 {
        changed_in_place(db)?;
        documents::write(db, RecordId { kind: RecordKind::Summary, number })?;
    }
    Ok(number)
}

/// The observations that are neither deleted, superseded, marked wrong nor edited, in order.
fn standing(db: &Connection, known: &[i64]) -> Result<Vec<Revisable>, StoreError> {
    let rows = db
        .prepare_cached(
            "SELECT o.id, o.uuid, o.content_hash, o.pinned_at IS NOT NULL OR ifnull(f.useful, 0) > 0
             FROM observations AS o LEFT JOIN observation_feedback AS f ON f.observation_id = o.id
             WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.deleted_at IS NULL AND o.superseded_by IS NULL
             AND ifnull(f.wrong, 0) <= ifnull(f.useful, 0)
             AND CAST(o.id AS TEXT) NOT IN (SELECT record FROM revisions) ORDER BY o.id",
        )?
        .query_map([serde_json::to_string(known)?], |row| {
            Ok(Revisable {
                number: row.get(0)?,
                uuid: row.get(1)?,
                content_hash: row.get(2)?,
                valued: row.get(3)?,
                revised: false,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

/// An observation outside of the previous version with the same content, by the rules of `insert_observation`.
fn twin(
    db: &Connection,
    origin: &Origin<'_>,
    version_before: &str,
    observation: &Observation,
    at: Time,
) -> Result<Option<RowUuid>, StoreError> {
    let hash = content_hash(origin.session_uuid, &observation.title, &observation.narrative);
    let found = db
        .prepare_cached(
            "SELECT uuid FROM observations WHERE session_id = ?1 AND content_hash = ?2 AND deleted_at IS NULL
             AND id NOT IN (SELECT value FROM json_each(?3))
             UNION ALL
             SELECT uuid FROM observations WHERE project_id = ?4 AND created_at >= ?5 AND title = ?6 AND narrative = ?7
             AND deleted_at IS NULL AND id NOT IN (SELECT value FROM json_each(?3)) LIMIT 1",
        )?
        .query_row(
            params![
                origin.session.0,
                hash,
                version_before,
                origin.project,
                at.before(ECHO).0,
                observation.title,
                observation.narrative,
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(found)
}

fn update(
    db: &Connection,
    origin: &Origin<'_>,
    number: i64,
    observation: &Observation,
    at: Time,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE observations SET type = ?2, title = ?3, subtitle = ?4, narrative = ?5, facts = ?6, discovery_tokens = ?7,
             tool_name = ?8, content_hash = ?9, source_event_ids = ?10, provider = ?11, model = ?12, updated_at = ?13
         WHERE id = ?1",
    )?
    .execute(params![
        number,
        observation.kind.name(),
        observation.title,
        observation.subtitle,
        observation.narrative,
        serde_json::to_string(&observation.facts)?,
        i64::try_from(observation.discovery_tokens).unwrap_or(i64::MAX),
        observation.tool_name,
        content_hash(origin.session_uuid, &observation.title, &observation.narrative),
        origin.sources,
        origin.provider,
        origin.model,
        at.0,
    ])?;
    for parts in ["observation_files", "observation_concepts"] {
        db.prepare_cached(&format!("DELETE FROM {parts} WHERE observation_id = ?1"))?.execute([number])?;
    }
    insert_parts(db, number, observation)?;
    documents::write(db, RecordId { kind: RecordKind::Observation, number })?;
    Ok(())
}
