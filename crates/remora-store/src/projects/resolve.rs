//! Decides which project a place belongs to, inside the caller's transaction.

use std::path::Path;

use remora_core::ids::{ProjectId, SessionId};
use remora_core::time::Time;
use remora_data::new_uuid;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use remora_data::{Identity, Place, can_be_project};

/// Finds or creates the project of `place`. Projects are never re-keyed.
pub(crate) fn resolve(db: &Connection, place: &Place, now: Time) -> rusqlite::Result<ProjectId> {
    let found = find(db, place)?;
    for alias in [&found.outdated, &found.moved].into_iter().flatten() {
        retire(db, alias, now)?;
    }
    let project = match found.project {
        Some(project) => project,
        None => create(db, place, now)?,
    };
    if !found.is_known_here {
        add_alias(db, project, place, now)?;
    }
    Ok(project)
}

/// The project of `place`, if it is known. Changes nothing.
pub(crate) fn project_of(db: &Connection, place: &Place) -> rusqlite::Result<Option<ProjectId>> {
    Ok(find(db, place)?.project)
}

/// The project that a directory shares, only because it has the same origin or is below the project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    pub project: String,
    pub root: String,
    /// When it joined.
    pub at: Time,
}

/// Directories (`own`) that joined a project which another existing directory had before.
const JOINED: &str = "SELECT p.name, p.root, own.seen_at FROM project_aliases AS own
    JOIN project_aliases AS other ON other.project_id = own.project_id AND other.id < own.id
        AND other.origin = own.origin AND other.gone_at IS NULL
    JOIN projects AS p ON p.id = own.project_id WHERE own.gone_at IS NULL";

fn read_joined(row: &rusqlite::Row<'_>) -> rusqlite::Result<Joined> {
    Ok(Joined { project: row.get(0)?, root: row.get(1)?, at: Time(row.get(2)?) })
}

/// The project that this directory joined, if any.
pub(crate) fn joined(db: &Connection, place: &Place) -> rusqlite::Result<Option<Joined>> {
    let by_origin = format!("{JOINED} AND own.path = ?1 LIMIT 1");
    let joined = db.query_row(&by_origin, [&place.path], read_joined).optional()?;
    // In a repository, `path` is its git directory.
    if joined.is_some() || place.path != place.root {
        return Ok(joined);
    }
    let sql = "SELECT p.name, p.root, own.seen_at FROM project_aliases AS own JOIN projects AS p ON p.id = own.project_id
        WHERE own.path = ?1 AND own.origin IS NULL AND own.gone_at IS NULL AND p.root || '/' = substr(?1, 1, length(p.root) + 1)";
    db.query_row(sql, [&place.path], read_joined).optional()
}

/// The project that a directory joined when this session began in it, if any. By then a hook has resolved the
/// directory.
pub(crate) fn joined_with(db: &Connection, session: SessionId) -> rusqlite::Result<Option<Joined>> {
    // Most sessions begin in a known directory, and every start asks.
    let is_new = "SELECT 1 FROM sessions AS s CROSS JOIN project_aliases AS own
                  ON own.project_id = s.project_id AND own.seen_at = s.started_at
                  WHERE s.id = ?1 AND own.origin IS NOT NULL";
    if !db.prepare_cached(is_new)?.exists([session.0])? {
        return Ok(None);
    }
    let began = "(SELECT project_id, started_at FROM sessions WHERE id = ?1)";
    let sql = format!("{JOINED} AND (own.project_id, own.seen_at) = {began} LIMIT 1");
    db.prepare_cached(&sql)?.query_row([session.0], read_joined).optional()
}

/// Gives a directory that joined a project its own project.
pub(crate) fn split(db: &Connection, place: &Place, now: Time) -> rusqlite::Result<Option<ProjectId>> {
    if joined(db, place)?.is_none() {
        return Ok(None);
    }
    let project = create(db, place, now)?;
    db.execute(
        "UPDATE project_aliases SET project_id = ?2 WHERE path = ?1 AND gone_at IS NULL",
        params![place.path, project.0],
    )?;
    Ok(Some(project))
}

#[derive(Default)]
struct Resolved {
    project: Option<ProjectId>,
    /// The directory is recorded as this project's.
    is_known_here: bool,
    /// Another repository was here before.
    outdated: Option<Alias>,
    /// The directory had this path before it was moved here.
    moved: Option<Alias>,
}

/// Looks for, in this order: a known directory, a known directory that was moved here, a directory that became a
/// repository, a clone of a known origin, and a known directory above.
fn find(db: &Connection, place: &Place) -> rusqlite::Result<Resolved> {
    let mut found = Resolved::default();
    if let Some(alias) = living_alias(db, &place.path)? {
        if !is_another_directory(&alias, place) {
            return Ok(Resolved { project: Some(alias.project), is_known_here: true, ..found });
        }
        found.outdated = Some(alias);
    }
    found.moved = moved_here(db, place)?;
    found.project = match &found.moved {
        Some(alias) => Some(alias.project),
        None => match known_as_plain_directory(db, place)? {
            Some(project) => Some(project),
            None => match with_same_origin(db, place)? {
                Some(project) => Some(project),
                None => known_parent(db, place)?,
            },
        },
    };
    Ok(found)
}

struct Alias {
    id: i64,
    project: ProjectId,
    path: String,
    identity: Option<Identity>,
    origin: Option<String>,
}

const ALIAS: &str = "SELECT id, project_id, path, device, inode, born_at, origin FROM project_aliases";

fn read_alias(row: &rusqlite::Row<'_>) -> rusqlite::Result<Alias> {
    let numbers: [Option<i64>; 3] = [row.get(3)?, row.get(4)?, row.get(5)?];
    let identity = match numbers {
        [Some(device), Some(inode), Some(born_at)] => Some(Identity { device, inode, born_at }),
        _ => None,
    };
    let project = ProjectId(row.get(1)?);
    Ok(Alias { id: row.get(0)?, project, path: row.get(2)?, identity, origin: row.get(6)? })
}

fn living_alias(db: &Connection, path: &str) -> rusqlite::Result<Option<Alias>> {
    db.query_row(&format!("{ALIAS} WHERE path = ?1 AND gone_at IS NULL"), [path], read_alias).optional()
}

/// Whether another repository replaced an old one. A directory restored from a backup has a new inode and the same
/// origin; one whose origin was changed has the same inode. Both stay in their project.
fn is_another_directory(alias: &Alias, place: &Place) -> bool {
    let other_inode = matches!((alias.identity, place.identity), (Some(old), Some(new)) if old != new);
    let other_origin = matches!((&alias.origin, &place.origin), (Some(old), Some(new)) if old != new);
    other_inode && other_origin
}

fn moved_here(db: &Connection, place: &Place) -> rusqlite::Result<Option<Alias>> {
    let Some(Identity { device, inode, born_at }) = place.identity else { return Ok(None) };
    let found = db
        .query_row(
            &format!(
                "{ALIAS} WHERE inode = ?1 AND device = ?2 AND born_at = ?3 ORDER BY seen_at DESC, id DESC"
            ),
            params![inode, device, born_at],
            read_alias,
        )
        .optional()?;
    Ok(found.filter(|alias| alias.path == place.path || !Path::new(&alias.path).exists()))
}

/// The project of a directory that was known before `git init`.
fn known_as_plain_directory(db: &Connection, place: &Place) -> rusqlite::Result<Option<ProjectId>> {
    if place.root == place.path {
        return Ok(None);
    }
    Ok(living_alias(db, &place.root)?.map(|alias| alias.project))
}

/// Outside git, the nearest known directory above: starting an agent in a folder of a project means that project.
/// Only directories that can be a project of one person count.
fn known_parent(db: &Connection, place: &Place) -> rusqlite::Result<Option<ProjectId>> {
    // In a repository, `path` is its git directory. A directory that does not exist has no parent to check.
    if place.root != place.path || place.identity.is_none() {
        return Ok(None);
    }
    for parent in Path::new(&place.path).ancestors().skip(1).take_while(|parent| can_be_project(parent)) {
        if let Some(alias) = living_alias(db, &parent.to_string_lossy())? {
            return Ok(Some(alias.project));
        }
    }
    Ok(None)
}

fn with_same_origin(db: &Connection, place: &Place) -> rusqlite::Result<Option<ProjectId>> {
    let Some(origin) = &place.origin else { return Ok(None) };
    db.query_row("SELECT id FROM projects WHERE origin = ?1 ORDER BY id", [origin], |row| {
        row.get(0).map(ProjectId)
    })
    .optional()
}

/// Creates a project with the uuid and name it has in another system.
pub(crate) fn adopt(
    db: &Connection,
    place: &Place,
    uuid: Uuid,
    name: &str,
    at: Time,
) -> rusqlite::Result<ProjectId> {
    let project = create_as(db, place, uuid, name, at)?;
    add_alias(db, project, place, at)?;
    Ok(project)
}

fn create(db: &Connection, place: &Place, now: Time) -> rusqlite::Result<ProjectId> {
    create_as(db, place, new_uuid(), &place.name(), now)
}

fn create_as(
    db: &Connection,
    place: &Place,
    uuid: Uuid,
    name: &str,
    at: Time,
) -> rusqlite::Result<ProjectId> {
    let key = match &place.origin {
        Some(origin) => format!("git:{origin}"),
        None => format!("dir:{}", place.path),
    };
    // Another project may have had this key before it moved.
    let taken = db.prepare("SELECT 1 FROM projects WHERE key = ?1")?.exists([&key])?;
    let key = if taken { format!("{key}#{}", uuid.simple()) } else { key };
    db.execute(
        "INSERT INTO projects (uuid, key, name, root, origin, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![uuid.as_bytes(), key, name, place.root, place.origin, at.0],
    )?;
    Ok(ProjectId(db.last_insert_rowid()))
}

pub(crate) fn add_alias(
    db: &Connection,
    project: ProjectId,
    place: &Place,
    now: Time,
) -> rusqlite::Result<()> {
    let Identity { device, inode, born_at } =
        place.identity.unwrap_or(Identity { device: 0, inode: 0, born_at: 0 });
    let known = place.identity.is_some();
    db.execute(
        "INSERT INTO project_aliases (project_id, path, device, inode, born_at, origin, seen_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            project.0,
            place.path,
            known.then_some(device),
            known.then_some(inode),
            known.then_some(born_at),
            place.origin,
            now.0
        ],
    )?;
    Ok(())
}

fn retire(db: &Connection, alias: &Alias, now: Time) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE project_aliases SET gone_at = ?2 WHERE id = ?1 AND gone_at IS NULL",
        params![alias.id, now.0],
    )?;
    Ok(())
}
