//! What can go wrong with a request, sorted by what the caller can do about it.

use std::time::Duration;

use remora_core::text::one_line;

/// Longest explanation that is kept of what a provider says.
const REASON_CHARS: usize = 200;
/// Longest piece of an unusable answer that is kept, to see what it was.
const BEGINNING_CHARS: usize = 400;

/// Every `reason` is one short line for a person, without the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The key or login is missing, wrong or out of credit; only the user can change that.
    #[error("not authorised: {reason}")]
    Auth { reason: String },
    #[error("rate limited: {reason}")]
    RateLimited { retry_after: Option<Duration>, reason: String },
    /// The provider is in trouble: 5xx, 529.
    #[error("overloaded: {reason}")]
    Overloaded { retry_after: Option<Duration>, reason: String },
    /// No connection, or it broke. `sent`: the question may have arrived, and may be billed.
    #[error("unreachable: {reason}")]
    Unreachable { sent: bool, reason: String },
    /// The question was sent and no whole answer came in time.
    #[error("timed out: {reason}")]
    TimedOut { reason: String },
    /// Settings that cannot work: an unknown model, no key, a wrong base URL, no `claude` program.
    #[error("wrong settings: {reason}")]
    Misconfigured { reason: String },
    /// This very request is not acceptable, for instance too long.
    #[error("rejected: {reason}")]
    Rejected { reason: String },
    /// An answer came and is of no use.
    #[error("unusable answer: {reason}")]
    BadAnswer { reason: String, beginning: String },
}

impl CallError {
    pub fn misconfigured(reason: impl AsRef<str>) -> Self {
        Self::Misconfigured { reason: short_reason(reason.as_ref()) }
    }

    pub fn bad_answer(reason: &str, beginning: &str) -> Self {
        let beginning = beginning.chars().take(BEGINNING_CHARS).collect();
        Self::BadAnswer { reason: short_reason(reason), beginning }
    }

    /// Whether the provider answered this very request, so that it counts as an attempt.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Rejected { .. } | Self::BadAnswer { .. })
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The beginning of a text, on one line, with nothing a terminal would act upon.
pub fn short_reason(text: &str) -> String {
    one_line(text, REASON_CHARS)
}
