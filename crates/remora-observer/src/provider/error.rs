//! What can go wrong with a question, sorted by what the caller can do about it.

use std::time::Duration;

use super::Usage;

/// Longest explanation that is kept of what a provider says.
const REASON_CHARS: usize = 200;
/// Longest piece of an unusable answer that is kept, to see what it was.
const BEGINNING_CHARS: usize = 400;

/// Every `reason` is one short line for a person, without the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProviderError {
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
    BadOutput { reason: String, beginning: String, usage: Usage },
}

impl ProviderError {
    pub(super) fn misconfigured(reason: impl AsRef<str>) -> Self {
        Self::Misconfigured { reason: one_line(reason.as_ref()) }
    }

    pub(super) fn bad_output(reason: &str, beginning: &str, usage: Usage) -> Self {
        let beginning = beginning.chars().take(BEGINNING_CHARS).collect();
        Self::BadOutput { reason: one_line(reason), beginning, usage }
    }

    /// What is known to have been used. Nothing is known of a question that was sent and not answered:
    /// see [`ProviderError::may_be_billed`].
    pub fn usage(&self) -> Usage {
        match self {
            Self::BadOutput { usage, .. } => *usage,
            _ => Usage::default(),
        }
    }

    /// Whether the question may cost something of which nobody told us how much. An answer that cannot be
    /// read was perhaps a long one.
    pub fn may_be_billed(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Unreachable { sent: true, .. } => true,
            Self::BadOutput { usage, .. } => *usage == Usage::default(),
            _ => false,
        }
    }

    /// Whether the provider answered this very request, so that it counts as an attempt.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Rejected { .. } | Self::BadOutput { .. })
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The beginning of a text, on one line, with nothing a terminal would act upon.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * REASON_CHARS {
            break;
        }
    }
    match line.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
