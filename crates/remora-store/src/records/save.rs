//! Texts that people save by hand. Like all observations they belong to a session: every project has one for them, of
//! no real host and never active, created when the first text is saved.

use remora_core::host::Host;
use remora_core::ids::{ObservationId, ProjectId, SessionId};
use remora_core::privacy::SavedText;
use remora_core::time::Time;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::context_files::changed_in_place;
use crate::handles::Records;
use crate::writing::{self, Origin};
use crate::{Place, StoreError, forget, projects, schema, wrong};
use remora_data::hex;
use remora_data::new_uuid;

/// Who saved a text. Only a person's texts are injected as rules into every session. Others are reference data,
/// because an agent may save what a web page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedBy {
    /// Typed at a terminal.
    Person,
    /// By an agent, a script, a program over the network, or an earlier version, which did not distinguish.
    Program,
}

impl SavedBy {
    /// The value of `provider` for such observations.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Person => "user",
            Self::Program => "program",
        }
    }

    pub(crate) fn from_provider(provider: &str) -> Option<Self> {
        [Self::Person, Self::Program].into_iter().find(|by| by.provider() == provider)
    }
}

/// Prefix of the session's host id; the project's uuid follows.
pub(crate) const SESSION: &str = "saved-";

/// The project that a text is saved for.
#[derive(Debug, Clone, PartialEq)]
pub enum SaveFor {
    Project(ProjectId),
    /// The project of a directory. It may be new.
    Directory(Place),
}

/// The result of saving a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    New(ObservationId),
    /// The project already has it.
    Known(ObservationId),
    /// The project already has it, and it is a person's own word from now on.
    Confirmed(ObservationId),
}

impl Saved {
    pub fn id(self) -> ObservationId {
        match self {
            Self::New(id) | Self::Known(id) | Self::Confirmed(id) => id,
        }
    }
}

impl Records<'_> {
    /// Saves a text with its documents, so that search finds it when this returns. If a person saves what a program
    /// saved before, it becomes the person's.
    pub fn save(
        self,
        target: &SaveFor,
        text: &SavedText,
        by: SavedBy,
        at: Time,
    ) -> Result<Saved, StoreError> {
        let dir = self.0.dir().clone();
        self.0.writable()?;
        let _lock = dir.lock_schema()?;
        let transaction = self.0.begin()?;
        schema::check(&transaction)?;
        let project = match target {
            SaveFor::Project(project) => *project,
            SaveFor::Directory(place) => projects::resolve(&transaction, place, at)?,
        };
        let (session, session_uuid) = session(&transaction, project, at)?;
        let origin = Origin {
            session,
            session_uuid,
            project: project.0,
            prompt_number: 0,
            sources: "[]",
            provider: by.provider(),
            model: "",
        };
        let observation = text.observation();
        // Forgotten content comes back if a person saves it again, not if an agent still has it in its context.
        let hash = writing::content_hash(session_uuid, &observation.title, &observation.narrative);
        let hash = forget::of_content(&transaction, &hash)?;
        if forget::is_forgotten(&transaction, &hash)? {
            match by {
                SavedBy::Person => forget::lift(&transaction, &dir, &hash)?,
                SavedBy::Program => return Err(StoreError::Forgotten),
            }
        }
        let saved = if let Some(id) = writing::insert_observation(&transaction, &origin, observation, at)? {
            Saved::New(id)
        } else {
            let id = known(&transaction, &origin, text)?;
            let is_confirmed = by == SavedBy::Person && confirm(&transaction, session, id, at)?;
            if is_confirmed { Saved::Confirmed(id) } else { Saved::Known(id) }
        };
        if by == SavedBy::Person {
            wrong::uphold(&transaction, project, saved.id(), at)?;
        }
        transaction.commit()?;
        Ok(saved)
    }
}

fn session(db: &Connection, project: ProjectId, at: Time) -> Result<(SessionId, Uuid), StoreError> {
    let uuid: [u8; 16] =
        db.query_row("SELECT uuid FROM projects WHERE id = ?1", [project.0], |row| row.get(0))?;
    let name = format!("{SESSION}{}", hex(&uuid));
    // The start of a session ends the turns of earlier ones. This one must not, so it is as old as its project.
    db.execute(
        "INSERT INTO sessions (uuid, host, content_session_id, project_id, status, started_at, last_activity_at,
             completed_at)
         SELECT ?1, ?2, ?3, id, 'completed', created_at, ?5, ?5 FROM projects WHERE id = ?4
         ON CONFLICT (host, content_session_id) DO UPDATE SET last_activity_at = max(last_activity_at, ?5),
             completed_at = max(last_activity_at, ?5)",
        params![new_uuid().as_bytes(), Host::Generic.name(), name, project.0, at.0],
    )?;
    let sql = "SELECT id, uuid FROM sessions WHERE host = ?1 AND content_session_id = ?2";
    let values = params![Host::Generic.name(), name];
    Ok(db.query_row(sql, values, |row| Ok((SessionId(row.get(0)?), Uuid::from_bytes(row.get(1)?))))?)
}

/// Makes a saved text the person's own. `false` if it was before.
fn confirm(db: &Connection, session: SessionId, id: ObservationId, at: Time) -> Result<bool, StoreError> {
    let changed = db.execute(
        "UPDATE observations SET provider = ?3, updated_at = ?4 WHERE id = ?1 AND session_id = ?2 AND provider <> ?3",
        params![id.0, session.0, SavedBy::Person.provider(), at.0],
    )?;
    if changed > 0 {
        changed_in_place(db)?;
    }
    Ok(changed > 0)
}

/// The observation with the same content: one saved before, or one that was just made.
fn known(db: &Connection, origin: &Origin<'_>, text: &SavedText) -> Result<ObservationId, StoreError> {
    let observation = text.observation();
    let hash = writing::content_hash(origin.session_uuid, &observation.title, &observation.narrative);
    let before =
        "SELECT id FROM observations WHERE session_id = ?1 AND content_hash = ?2 AND deleted_at IS NULL";
    let saved = db.query_row(before, params![origin.session.0, hash], |row| row.get(0)).optional()?;
    let id = match saved {
        Some(id) => id,
        None => db.query_row(
            "SELECT id FROM observations WHERE project_id = ?1 AND title = ?2 AND narrative = ?3 AND deleted_at IS NULL
             ORDER BY created_at DESC, id DESC",
            params![origin.project, observation.title, observation.narrative],
            |row| row.get(0),
        )?,
    };
    Ok(ObservationId(id))
}
