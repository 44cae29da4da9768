//! Resolves the project of a call.

use std::sync::Arc;

use remora_app::{Whose, is_relative_path};

use crate::Memory;
use crate::failure::{Failure, PROJECTS};

/// A call in progress: memory, and the project of the calling host.
#[derive(Debug)]
pub(crate) struct Asker<M> {
    pub(crate) memory: Arc<M>,
    /// Default project for calls that name none; over HTTP only if the address names it.
    pub(crate) home: Option<Whose>,
}

/// Selects the memory of all projects.
const ALL: &str = "all";

impl<M: Memory> Asker<M> {
    /// The named project, or the host's own. There is no other default, so that a missing argument never exposes the
    /// memory of all projects.
    pub(crate) fn whose(&self, named: Option<&str>) -> Result<Whose, Failure> {
        match named.map(str::trim).filter(|name| !name.is_empty() && *name != ".") {
            Some(name) if name.eq_ignore_ascii_case(ALL) => Ok(Whose::All),
            Some(name) => self.named(name),
            None => self.home.clone().ok_or_else(|| Failure::new("`project` is missing", PROJECTS)),
        }
    }

    /// Resolves a relative directory against the host's own.
    fn named(&self, name: &str) -> Result<Whose, Failure> {
        match &self.home {
            Some(Whose::Directory(home)) if is_relative_path(name) => {
                Ok(Whose::Project(home.join(name).to_string_lossy().into_owned()))
            }
            _ if is_relative_path(name) => {
                Err(Failure::new(format!("no project is known as `{name}`"), PROJECTS))
            }
            _ => Ok(Whose::Project(name.to_owned())),
        }
    }
}
