//! The way to memory, whoever holds it.

use std::sync::Arc;
use std::time::Duration;

use remora_app::AppError;
use remora_app::forget::{self, ForgetRequest, Forgotten, Plan};
use remora_app::save::{SaveRequest, SavedFor};
use remora_app::search::SearchRequest;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_search::Results;
use remora_store::Store;

/// What the server needs of the process it runs in. Nothing is opened before one of these is called.
pub trait Memory: Send + Sync + 'static {
    /// Searches where the model and the vectors are.
    fn search(&self, request: SearchRequest) -> impl Future<Output = Result<Results, AppError>> + Send;

    /// Saves, and lets follow what follows from it.
    fn save(&self, request: SaveRequest) -> impl Future<Output = Result<SavedFor, AppError>> + Send;

    /// What would be forgotten. Nothing changes.
    fn plan_forgetting(&self, request: ForgetRequest) -> impl Future<Output = Result<Plan, AppError>> + Send {
        async move {
            let similar = match forget::similar(&request) {
                Some(search) => Some(self.search(search).await?),
                None => None,
            };
            self.read(move |store| forget::plan(store, &request, similar.as_ref(), Time::now())).await
        }
    }

    /// Carries a plan out, and lets follow what follows from it.
    fn forget(&self, plan: Plan, undo: Duration) -> impl Future<Output = Result<Forgotten, AppError>> + Send;

    /// A use case that only reads.
    fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// A use case that writes, too.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// The settings in force.
    fn settings(&self) -> Arc<Settings>;
}
