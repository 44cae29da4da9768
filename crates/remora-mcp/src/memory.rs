//! Access to memory, independent of the process that has it open.

use std::sync::Arc;
use std::time::Duration;

use remora_app::AppError;
use remora_app::forget::{self, ForgetRequest, Forgotten, Plan};
use remora_app::search::SearchRequest;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::Results;
use remora_store::Store;

/// What the server needs from its process. Nothing is opened before one of these is called.
pub trait Memory: Send + Sync + 'static {
    /// Searches in the process that has the model and the vectors.
    fn search(&self, request: SearchRequest) -> impl Future<Output = Result<Results, AppError>> + Send;

    /// Plans what would be forgotten. Changes nothing.
    fn plan_forgetting(&self, request: ForgetRequest) -> impl Future<Output = Result<Plan, AppError>> + Send {
        async move {
            let similar = match forget::similar(&request) {
                Some(search) => Some(self.search(search).await?),
                None => None,
            };
            self.read(move |store| forget::plan(store, &request, similar.as_ref(), Time::now())).await
        }
    }

    /// Carries out a plan, with everything that follows a change.
    fn forget(&self, plan: Plan, undo: Duration) -> impl Future<Output = Result<Forgotten, AppError>> + Send;

    /// Runs a use case that only reads.
    fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// Runs a use case that changes memory, with everything that follows it: context files, vectors.
    fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// Runs a use case that writes, but changes no memory.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// The effective settings.
    fn settings(&self) -> Arc<Settings>;
}
