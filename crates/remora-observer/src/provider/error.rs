//! Why a model gave no reply.

use remora_net::CallError;

use super::Usage;

/// A question without a reply, and what it used all the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ProviderError {
    pub cause: CallError,
    /// What is known to have been used. Nothing is known of a question that was sent and not answered: see
    /// [`ProviderError::may_be_billed`].
    pub usage: Usage,
}

impl ProviderError {
    pub(super) fn bad_answer(reason: &str, beginning: &str, usage: Usage) -> Self {
        Self { cause: CallError::bad_answer(reason, beginning), usage }
    }

    /// Whether the question may cost something of which nobody told us how much. An answer that cannot be
    /// read was perhaps a long one.
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
