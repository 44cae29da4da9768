//! Resolves the project of a call.

use std::sync::Arc;

use remora_app::{Ancestors, AppError, ProjectSelector, Reach, Runtime, is_relative_path};

use crate::Memory;
use crate::failure::{Failure, PROJECTS};

/// A call in progress: memory, and the project of the calling host.
#[derive(Debug)]
pub(crate) struct Asker<M> {
    pub(crate) memory: Arc<M>,
    /// Default project for calls that name none; over HTTP only if the address names it.
    pub(crate) home: Option<ProjectSelector>,
    /// The processes above this one; none over HTTP.
    pub(crate) ancestors: Ancestors,
}

/// Selects the memory of all projects.
const ALL: &str = "all";

impl<M: Memory> Asker<M> {
    /// The named project, or the host's own, if it is within reach. There is no other default, so that a missing argument
    /// never exposes the memory of all projects.
    pub(crate) async fn scope_of(&self, named: Option<&str>) -> Result<ProjectSelector, Failure> {
        let named = named.map(str::trim).filter(|name| !name.is_empty() && *name != ".");
        let (selector, is_named) = (self.meant(named)?, named.is_some());
        let reach = self.reach().await?;
        let read = move |rt: &dyn Runtime| {
            let store = rt.store();
            if is_named { reach.scope_of(store, selector) } else { reach.own(store, selector) }
        };
        Ok(self.memory.read(read).await?)
    }

    /// What the host may reach.
    pub(crate) async fn reach(&self) -> Result<Reach, AppError> {
        let (home, ancestors) = (self.home.clone(), self.ancestors.clone());
        self.memory.read(move |rt| Reach::of_server(rt, home.as_ref(), &ancestors)).await
    }

    /// Fails for an id beyond reach.
    pub(crate) async fn check_reach(&self, id: String) -> Result<(), AppError> {
        let reach = self.reach().await?;
        self.memory.read(move |rt| reach.record(rt.store(), &id)).await
    }

    fn meant(&self, named: Option<&str>) -> Result<ProjectSelector, Failure> {
        match named {
            Some(name) if name.eq_ignore_ascii_case(ALL) => Ok(ProjectSelector::All),
            Some(name) => self.named(name),
            None => self.home.clone().ok_or_else(|| Failure::new("`project` is missing", PROJECTS)),
        }
    }

    /// Resolves a relative directory against the host's own.
    fn named(&self, name: &str) -> Result<ProjectSelector, Failure> {
        match &self.home {
            Some(ProjectSelector::Directory(home)) if is_relative_path(name) => {
                Ok(ProjectSelector::Project(home.join(name).to_string_lossy().into_owned()))
            }
            _ if is_relative_path(name) => {
                Err(Failure::new(format!("no project is known as `{name}`"), PROJECTS))
            }
            _ => Ok(ProjectSelector::Project(name.to_owned())),
        }
    }
}
