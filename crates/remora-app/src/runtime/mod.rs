//! What a use case runs against: memory, settings, the clock, and the way of its process to search and to follow a change.
//!
//! There are two: [`Local`] for a process of its own, such as a command or a hook, and the daemon's, which runs a use case
//! on one of its store threads. A use case that changes memory takes `&mut dyn Runtime`, so one that reads cannot call it.

mod local;

use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::Results;
use remora_store::{DataDir, Store, StoreError};

use crate::AppError;
use crate::recall::prompt::{Explained, PromptRequest};
use crate::search::SearchRequest;
pub use local::{Alone, Local, Outside};

pub trait Runtime {
    /// Memory, for this process or thread.
    fn store(&self) -> &Store;

    /// The effective settings.
    fn settings(&self) -> &Settings;

    /// Searches with the model and the vectors, where they are in memory or worth loading.
    fn search(&self, request: &SearchRequest) -> Result<Results, AppError>;

    /// Selects what to inject with a prompt, and explains why.
    fn explain(&self, request: &PromptRequest) -> Result<Explained, AppError>;

    /// Lets the store catch up with what other processes left to do, and prepares for [`Runtime::after_change`].
    fn before_change(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Lets everything follow that depends on memory: context files, vectors, pages, the eraser.
    fn after_change(&mut self);
}

impl dyn Runtime + '_ {
    pub fn dir(&self) -> &DataDir {
        self.store().dir()
    }

    pub fn now(&self) -> Time {
        self.dir().now()
    }

    /// Changes memory, and lets everything follow that depends on it.
    pub fn change<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&Store) -> Result<T, E>,
    ) -> Result<T, E> {
        self.before_change()?;
        let done = work(self.store())?;
        self.after_change();
        Ok(done)
    }
}
