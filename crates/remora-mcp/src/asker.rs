//! Whose memory a call is about.

use std::path::Path;
use std::sync::Arc;

use remora_app::Whose;

use crate::Memory;
use crate::failure::{Failure, PROJECTS};

/// A call on its way: memory, and the project of the host that sent it.
#[derive(Debug)]
pub(crate) struct Asker<M> {
    pub(crate) memory: Arc<M>,
    /// What is meant where a call names no project; unknown over HTTP, unless the address has it.
    pub(crate) home: Option<Whose>,
}

/// The word for the memory of all projects.
const ALL: &str = "all";

impl<M: Memory> Asker<M> {
    /// The project that is named, or the host's own. There is no other default: forgetting it must not show everybody's
    /// memory.
    pub(crate) fn whose(&self, named: Option<&str>) -> Result<Whose, Failure> {
        match named.map(str::trim).filter(|name| !name.is_empty() && *name != ".") {
            Some(name) if name.eq_ignore_ascii_case(ALL) => Ok(Whose::All),
            Some(name) => self.named(name),
            None => self.home.clone().ok_or_else(|| Failure::new("`project` is missing", PROJECTS)),
        }
    }

    /// A relative directory is taken from the host's own.
    fn named(&self, name: &str) -> Result<Whose, Failure> {
        let is_relative = (name.contains('/') || name == "..") && !Path::new(name).is_absolute();
        match &self.home {
            Some(Whose::Directory(home)) if is_relative => {
                Ok(Whose::Project(home.join(name).to_string_lossy().into_owned()))
            }
            _ if is_relative => Err(Failure::new(format!("no project is known as `{name}`"), PROJECTS)),
            _ => Ok(Whose::Project(name.to_owned())),
        }
    }
}
