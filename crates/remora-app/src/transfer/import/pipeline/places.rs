//! Finds or creates the projects and sessions of lines.

use std::path::{Path, PathBuf};

use remora_core::capture::{self, Paths};
use remora_core::event::SessionRef;
use remora_core::host::Host;
use remora_core::ids::{ProjectId, SessionId};
use remora_core::portable::{Belongs, ProjectLine, SessionLine, SessionStatus};
use remora_core::privacy::Clean;
use remora_core::time::Time;
use remora_store::import::{ImportOutcome, ImportedProject, ImportedSession, derived_uuid};
use remora_store::{Place, locate};
use remora_sys::file::real_path;
use uuid::Uuid;

use super::{Decides, Known, Pipeline, Stop};
use crate::AppError;
use crate::import::report::{Recipient, Skipped};

impl Pipeline<'_> {
    pub(super) fn take_project(
        &mut self,
        kind: &'static str,
        line: ProjectLine,
        uuid: Uuid,
        at: Time,
    ) -> Result<(), Stop> {
        let name = Clean::label(&line.name).get().trim().to_owned();
        if name.is_empty() {
            return Err(Stop::Skip(Skipped::Empty));
        }
        let place = match &line.root {
            Some(root) => place_of(root, line.origin),
            None => self.place_of_name(&name),
        };
        let found = self.find_project(&name, place, uuid, at)?;
        let outcome = match &found {
            Err(_) => None,
            Ok((_, outcome)) => Some(*outcome),
        };
        self.projects.insert(uuid.to_string(), found.map(|(known, _)| known));
        match outcome {
            Some(outcome) => self.report.settle(kind, outcome),
            None => self.report.skip(kind, Skipped::ExcludedProject, 1),
        }
        Ok(())
    }

    pub(super) fn take_session(
        &mut self,
        kind: &'static str,
        belongs: &Belongs,
        line: &SessionLine,
        uuid: Uuid,
        at: Time,
    ) -> Result<(), Stop> {
        let id = Clean::label(&line.id).get().clone();
        if id.trim().is_empty() {
            return Err(Stop::Skip(Skipped::Empty));
        }
        let host = belongs.channel.unwrap_or(Host::Generic);
        let names = [uuid.to_string(), key(host, &id)];
        let project = match self.project(belongs.project.as_deref(), at) {
            Err(Stop::Skip(reason)) => {
                // Records of this session must not go to another project.
                self.sessions.extend(names.map(|name| (name, Err(reason))));
                return Err(Stop::Skip(reason));
            }
            other => other?,
        };
        let now = self.rules.now;
        let last = line.until.or(line.ended).map_or(at, |date| date.0.min(now));
        let new = ImportedSession {
            uuid,
            session: SessionRef { host, id: id.clone() },
            project: project.id,
            status: line.status,
            turns: line.turns.max(0),
            private_turns: line.private_turns.max(0),
            started_at: at,
            last_activity_at: last,
            completed_at: line.ended.map(|date| date.0.min(now)),
        };
        let (session, owner, outcome) = self.store.sessions().import(&new)?;
        self.sessions.extend(names.map(|name| (name, Ok((session, owner)))));
        // Without an end in the line, the session's records determine how long it lasted.
        if outcome == ImportOutcome::Imported && line.until.is_none() {
            self.implied.insert(session, (at, last));
        }
        self.report.settle(kind, outcome);
        Ok(())
    }

    /// A session that an earlier line described.
    pub(super) fn session_called(&self, name: &str) -> Option<SessionId> {
        self.sessions.get(name).and_then(|found| found.ok()).map(|(session, _)| session)
    }

    /// The session of a record, and its project.
    pub(super) fn session(&mut self, belongs: &Belongs, at: Time) -> Result<(SessionId, Known), Stop> {
        let host = belongs.channel.unwrap_or(Host::Generic);
        if let Some(name) = belongs.session.as_deref()
            && let Some(found) = self.sessions.get(name).copied()
        {
            let (session, owner) = found.map_err(Stop::Skip)?;
            let known = match &belongs.project {
                Some(project) => self.project(Some(project), at)?,
                None => self.owner(owner)?,
            };
            return Ok((session, known));
        }
        let given = belongs.project.as_deref();
        let known = match (self.rules.decides, &belongs.session, given) {
            // A prompt names its session but no project.
            (Decides::Session, Some(name), None) => match self.sessions.get(&key(host, name)) {
                Some(Ok((_, owner))) => self.owner(*owner)?,
                Some(Err(reason)) => return Err(Stop::Skip(*reason)),
                None => self.project(None, at)?,
            },
            _ => self.project(given, at)?,
        };
        let name = belongs.session.as_deref().map(|name| Clean::label(name).get().clone());
        let name = name.unwrap_or_else(|| format!("imported-{}", known.id));
        let (session, owner) = self.named_session(host, &name, known.id, at)?;
        if owner == known.id {
            return Ok((session, known));
        }
        if self.rules.decides == Decides::Session {
            return Ok((session, self.owner(owner)?));
        }
        let (session, _) = self.named_session(host, &format!("{name}@{}", known.id), known.id, at)?;
        Ok((session, known))
    }

    fn named_session(
        &mut self,
        host: Host,
        id: &str,
        project: ProjectId,
        at: Time,
    ) -> Result<(SessionId, ProjectId), Stop> {
        let found = if let Some(found) = self.sessions.get(&key(host, id)) {
            found.map_err(Stop::Skip)?
        } else {
            let new = ImportedSession {
                uuid: derived_uuid(&["session", host.name(), id]),
                session: SessionRef { host, id: id.to_owned() },
                project,
                status: SessionStatus::Completed,
                turns: 0,
                private_turns: 0,
                started_at: at,
                last_activity_at: at,
                completed_at: Some(at),
            };
            let (session, owner, outcome) = self.store.sessions().import(&new)?;
            self.sessions.insert(key(host, id), Ok((session, owner)));
            if outcome == ImportOutcome::Imported {
                self.implied.insert(session, (at, at));
            }
            (session, owner)
        };
        if let Some((first, last)) = self.implied.get_mut(&found.0) {
            (*first, *last) = ((*first).min(at), (*last).max(at));
        }
        Ok(found)
    }

    /// The project that a line names.
    pub(super) fn project(&mut self, name: Option<&str>, at: Time) -> Result<Known, Stop> {
        let reference = name.unwrap_or_default();
        if let Some(found) = self.projects.get(reference) {
            return found.clone().map_err(Stop::Skip);
        }
        if reference.parse::<Uuid>().is_ok() {
            return Err(Stop::Damaged(format!("no earlier line has its project, {reference}")));
        }
        let (name, place) = if reference.is_empty() {
            let place = locate(&self.rules.dir.personal());
            (place.name(), place)
        } else if Path::new(reference).is_absolute() {
            let place = place_of(reference, None);
            (place.name(), place)
        } else {
            let name = Clean::label(reference).get().clone();
            let place = self.place_of_name(&name);
            (name, place)
        };
        let uuid = derived_uuid(&["project", &place.path]);
        let found = self.find_project(&name, place, uuid, at)?.map(|(known, _)| known);
        self.projects.insert(reference.to_owned(), found.clone());
        found.map_err(Stop::Skip)
    }

    /// The project of a known session.
    fn owner(&mut self, id: ProjectId) -> Result<Known, Stop> {
        let known =
            self.projects.values().filter_map(|known| known.as_ref().ok()).find(|known| known.id == id);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let row = self.store.projects().get(id)?.ok_or_else(|| AppError::UnknownProject(id.to_string()))?;
        let place = Some(self.listed(&row.name, Path::new(&row.root), ImportOutcome::Known));
        let known = Known { id, root: row.root.into(), place };
        self.projects.insert(format!("#{id}"), Ok(known.clone()));
        Ok(known)
    }

    /// The place of a project that has only a name. A directory with that name may be another project's, so only the
    /// user can map names to directories.
    fn place_of_name(&self, name: &str) -> Place {
        match self.rules.directories.get(name) {
            Some(directory) => locate(directory),
            None if name == "personal" => locate(&self.rules.dir.personal()),
            None => locate(&self.rules.dir.imported(name)),
        }
    }

    fn find_project(
        &mut self,
        name: &str,
        place: Place,
        uuid: Uuid,
        at: Time,
    ) -> Result<Result<(Known, ImportOutcome), Skipped>, AppError> {
        let root = PathBuf::from(&place.root);
        let paths = Paths { home: self.rules.home, real: real_path };
        if capture::excluded(&root, self.rules.capture, paths).is_some() {
            return Ok(Err(Skipped::ExcludedProject));
        }
        let new = ImportedProject { uuid, name: name.to_owned(), place, at };
        let (id, outcome) = self.store.projects().import(&new)?;
        let root = match self.store.projects().get(id)? {
            Some(row) => PathBuf::from(row.root),
            None => root,
        };
        let place = Some(self.listed(name, &root, outcome));
        Ok(Ok((Known { id, root, place }, outcome)))
    }

    fn listed(&mut self, name: &str, root: &Path, outcome: ImportOutcome) -> usize {
        let root = Some(root.to_owned()).filter(|root| !self.rules.dir.is_placeholder(root));
        let projects = &mut self.report.projects;
        let is_it = |listed: &Recipient| listed.name == name && listed.root == root;
        projects.iter().position(is_it).unwrap_or_else(|| {
            let is_new = outcome == ImportOutcome::Imported;
            projects.push(Recipient { name: name.to_owned(), root, is_new, records: 0 });
            projects.len() - 1
        })
    }
}

fn key(host: Host, id: &str) -> String {
    format!("{host} {id}")
}

/// A directory that is not on this machine is identified by its path and its former origin.
fn place_of(root: &str, origin: Option<String>) -> Place {
    let place = locate(Path::new(root));
    let origin = if place.identity.is_some() { place.origin } else { origin };
    Place { origin, ..place }
}
