//! Errors of a request, by what the caller can do about them.

use std::time::Duration;

use remora_core::text::one_line;

/// Length limit for a provider's error message, in characters.
const REASON_CHARS: usize = 200;
/// Length limit for the excerpt of an unusable answer, in characters. It is kept for diagnosis.
const BEGINNING_CHARS: usize = 400;

/// Why a request failed. Every `reason` is one short line for a person, without the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The key or login is missing, wrong or out of credit. Only the user can fix that.
    #[error("not authorised: {reason}")]
    Auth { reason: String },
    #[error("rate limited: {reason}")]
    RateLimited { retry_after: Option<Duration>, reason: String },
    /// The provider has an outage: 5xx, 529.
    #[error("overloaded: {reason}")]
    Overloaded { retry_after: Option<Duration>, reason: String },
    /// The connection failed or broke. If `sent` is true, the request may have arrived and may be billed.
    #[error("unreachable: {reason}")]
    Unreachable { sent: bool, reason: String },
    /// The request was sent, but no complete answer arrived in time.
    #[error("timed out: {reason}")]
    TimedOut { reason: String },
    /// Settings that cannot work: an unknown model, no key, a wrong base URL, no `claude` program.
    #[error("wrong settings: {reason}")]
    Misconfigured { reason: String },
    /// The provider does not accept this request, for example because it is too long.
    #[error("rejected: {reason}")]
    Rejected { reason: String },
    /// An answer arrived but is unusable.
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

    /// Whether the provider answered this request, so that it counts as an attempt.
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

/// The beginning of a text, on one line, without terminal control characters.
pub fn short_reason(text: &str) -> String {
    one_line(text, REASON_CHARS)
}
