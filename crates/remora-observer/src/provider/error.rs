//! Why a model gave no reply.

use remora_net::CallError;

use super::Usage;

/// A failed request, with the usage it still caused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ProviderError {
    pub cause: CallError,
    /// The known usage. Unknown for a request that was sent but not answered: see [`ProviderError::may_be_billed`].
    pub usage: Usage,
}

impl ProviderError {
    pub(super) fn bad_answer(reason: &str, beginning: &str, usage: Usage) -> Self {
        Self { cause: CallError::bad_answer(reason, beginning), usage }
    }

    /// Whether the request may have an unknown cost. An unreadable answer may have been long.
    pub fn may_be_billed(&self) -> bool {
        match self.cause {
            CallError::TimedOut { .. } | CallError::Unreachable { sent: true, .. } => true,
            CallError::BadAnswer { .. } => self.usage == Usage::default(),
            _ => false,
        }
    }
}

impl From<CallError> for ProviderError {
    fn from(cause: CallError) -> Self {
        Self { cause, usage: Usage::default() }
    }
}
