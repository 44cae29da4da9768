//! Runs use cases in the process that has memory open, without blocking the server.

use remora_app::{AppError, Runtime};

/// What the server needs from its process. Nothing is opened before one of these is called.
pub trait Memory: Send + Sync + 'static {
    /// Runs a use case that only reads.
    fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// Runs a use case that searches, where the model and the vectors are. `text` is what an embedder should embed for it.
    fn find<T: Send + 'static>(
        &self,
        text: Option<String>,
        ask: impl FnOnce(&dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// Runs a use case that writes.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;

    /// The same for a use case that may take seconds, because it aparts files.
    fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Runtime) -> Result<T, AppError> + Send + 'static,
    ) -> impl Future<Output = Result<T, AppError>> + Send;
}
