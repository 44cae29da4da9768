//! Who makes a request, and which projects they may reach. Every door asks here.
//!
//! A host's session is a process below one that runs a host: an agent's command or tool server. It speaks as a program, and
//! reaches only the memory of its own project, unless the user allows more with `mcp.projects`. A person speaks at a terminal
//! that no host runs, or on a page that they signed in to. Other programs of the user are neither a person nor limited.

use std::sync::Arc;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{FactId, ProjectId, SessionId};
use remora_core::settings::Settings;
use remora_store::{FoundProject, HostProcess, SavedBy, SessionQuery, SessionRow, Store};
use remora_sys::process::Identity;

use crate::records::record_id;
use crate::{AppError, ProjectSelector, Runtime, project_or_global};

/// The value of `mcp.projects` that means every project.
const ALL: &str = "all";

/// The next step after [`AppError::OutOfReach`].
pub const REACH_HINT: &str = "an agent reaches only the memory of its own project; to allow it every project, or some by name, \
                              the user runs `remora config set mcp.projects all` in a terminal of their own";

/// The processes above a process, the nearest first. One of them may run a host.
#[derive(Debug, Clone, Default)]
pub struct Ancestors(Arc<[HostProcess]>);

impl Ancestors {
    pub fn of_this_process() -> Self {
        Self(Identity::ancestors().iter().filter_map(HostProcess::of).collect())
    }
}

/// Who runs a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub by: SavedBy,
    /// Whether a host's process runs it.
    is_agent: bool,
    pub reach: Reach,
}

impl Caller {
    /// The caller of a command of this process. `is_typed` says whether it has a terminal, and no agent's environment.
    pub fn of_command(rt: &dyn Runtime, is_typed: bool) -> Result<Self, AppError> {
        let store = rt.store();
        let Some(own) = store.sessions().projects_of_host(&Ancestors::of_this_process().0)? else {
            return Ok(Self::without_memory(is_typed));
        };
        let reach = Reach::with_allowed(store, own, rt.settings())?;
        Ok(Self { by: SavedBy::Program, is_agent: true, reach })
    }

    /// The caller of a command, if no host has a session yet.
    pub fn without_memory(is_typed: bool) -> Self {
        let by = if is_typed { SavedBy::Person } else { SavedBy::Program };
        Self { by, is_agent: false, reach: Reach::Everything }
    }

    /// Fails unless a person runs it.
    pub fn need_person(&self, what: String, command: String) -> Result<(), AppError> {
        match self.by {
            SavedBy::Person => Ok(()),
            SavedBy::Program => Err(AppError::NeedsPerson { what, command }),
        }
    }

    /// Fails for an agent. Other programs of the user may do what a person may.
    pub fn refuse_agent(&self, what: &str, command: &str) -> Result<(), AppError> {
        let needs_person = || AppError::NeedsPerson { what: what.to_owned(), command: command.to_owned() };
        if self.is_agent { Err(needs_person()) } else { Ok(()) }
    }
}

/// The projects whose memory a caller may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    Everything,
    /// The caller's own project first, or [`ProjectId::NONE`] if that has no memory.
    Only(Vec<ProjectId>),
}

impl Reach {
    /// The reach of an agent's tool server. Its project is that of the session of the host that runs it or, if no host is
    /// known, `home`: the directory it was started for, or the project in its address.
    pub fn of_server(
        rt: &dyn Runtime,
        home: Option<&ProjectSelector>,
        ancestors: &Ancestors,
    ) -> Result<Self, AppError> {
        let store = rt.store();
        let own = match (store.sessions().projects_of_host(&ancestors.0)?, home) {
            (Some(own), _) => own,
            (None, None | Some(ProjectSelector::All)) => vec![ProjectId::NONE],
            (None, Some(home)) => match project_or_global(store, home) {
                Ok(project) => vec![project],
                Err(AppError::UnknownProject(_) | AppError::AmbiguousProject { .. }) => vec![ProjectId::NONE],
                Err(error) => return Err(error),
            },
        };
        Self::with_allowed(store, own, rt.settings())
    }

    /// These projects, and those that the user allows.
    fn with_allowed(store: &Store, mut own: Vec<ProjectId>, settings: &Settings) -> Result<Self, AppError> {
        for name in &settings.mcp.projects {
            if name == ALL {
                return Ok(Self::Everything);
            }
            if let FoundProject::One(project) = store.projects().find(name)? {
                own.push(project.id);
            }
        }
        Ok(Self::Only(own))
    }

    pub fn is_limited(&self) -> bool {
        *self != Self::Everything
    }

    /// Whether it includes the project of a record; `None` is the project of what holds everywhere.
    pub fn includes(&self, project: Option<ProjectId>) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(projects) => project.is_none_or(|project| projects.contains(&project)),
        }
    }

    /// Checks that a request names a project within reach. A directory stands for the caller's own project if its own is out
    /// of reach, so that `cd` leads nowhere else.
    pub fn scope_of(&self, store: &Store, selector: ProjectSelector) -> Result<ProjectSelector, AppError> {
        let Self::Only(projects) = self else { return Ok(selector) };
        match &selector {
            ProjectSelector::All => {
                Err(AppError::OutOfReach("all projects are more than an agent may reach".to_owned()))
            }
            ProjectSelector::Project(name) => match store.projects().find(name)? {
                FoundProject::One(project) if projects.contains(&project.id) => Ok(selector),
                _ => Err(AppError::OutOfReach(AppError::UnknownProject(name.clone()).to_string())),
            },
            ProjectSelector::Directory(_) => match projects.first() {
                Some(_) if projects.contains(&project_or_global(store, &selector)?) => Ok(selector),
                Some(own) if *own != ProjectId::NONE => Ok(ProjectSelector::Project(own.to_string())),
                _ => Ok(selector),
            },
        }
    }

    /// The project that a caller works in, which is `home` if that is within reach.
    pub fn own(&self, store: &Store, home: ProjectSelector) -> Result<ProjectSelector, AppError> {
        match (self.scope_of(store, home), self) {
            (Err(AppError::OutOfReach(_)), Self::Only(projects))
                if projects.first().is_some_and(|own| *own != ProjectId::NONE) =>
            {
                Ok(ProjectSelector::Project(projects[0].to_string()))
            }
            (selector, _) => selector,
        }
    }

    /// All projects or, for a caller with limits, its own.
    pub fn widest(&self, store: &Store, here: ProjectSelector) -> Result<ProjectSelector, AppError> {
        if self.is_limited() { self.scope_of(store, here) } else { Ok(ProjectSelector::All) }
    }

    /// Checks that an id, of a record or a session, is within reach. One of another project fails like one that does not
    /// exist.
    pub fn record(&self, store: &Store, id: &str) -> Result<(), AppError> {
        if self.has_id(store, id)? {
            return Ok(());
        }
        Err(AppError::OutOfReach(AppError::UnknownRecord(id.to_owned()).to_string()))
    }

    /// Whether an id is that of a record or a session within reach. Always true for a caller without limits.
    pub fn has_id(&self, store: &Store, id: &str) -> Result<bool, AppError> {
        if !self.is_limited() {
            return Ok(true);
        }
        Ok(match record_id(id) {
            Some(record) if self.has(store, record)? => true,
            // A host may name its sessions as we do our records.
            _ => self.find_session(store, id)?.is_some(),
        })
    }

    /// The id of the only session within reach whose id begins so. A number is that of a session.
    pub fn session(&self, store: &Store, beginning: &str) -> Result<String, AppError> {
        if !self.is_limited() {
            return Ok(beginning.to_owned());
        }
        let unknown = || AppError::OutOfReach(AppError::UnknownSession(beginning.to_owned()).to_string());
        if let Ok(number) = beginning.parse() {
            let found = store.sessions().list(&SessionQuery::one(SessionId(number)))?.pop();
            return match found.filter(|row| self.includes(Some(row.project_id))) {
                Some(_) => Ok(beginning.to_owned()),
                None => Err(unknown()),
            };
        }
        self.find_session(store, beginning)?.map(|row| row.content_session_id).ok_or_else(unknown)
    }

    fn has(&self, store: &Store, record: RecordId) -> Result<bool, AppError> {
        Ok(match record.kind {
            // Notes belong to no project.
            RecordKind::Note => true,
            RecordKind::Fact => {
                store.facts().get(FactId(record.number))?.is_some_and(|row| self.includes(row.project_id))
            }
            _ => {
                let provenance = store.records().provenance(record)?;
                provenance.is_some_and(|provenance| self.includes(provenance.project))
            }
        })
    }

    fn find_session(&self, store: &Store, beginning: &str) -> Result<Option<SessionRow>, AppError> {
        let Self::Only(projects) = self else { return crate::session(store, beginning).map(Some) };
        let query = SessionQuery { projects: Some(projects.clone()), ..SessionQuery::named(beginning) };
        let mut sessions = store.sessions().list(&query)?;
        if let Some(whole) = sessions.iter().position(|session| session.content_session_id == beginning) {
            return Ok(Some(sessions.swap_remove(whole)));
        }
        Ok(if sessions.len() == 1 { sessions.pop() } else { None })
    }
}
