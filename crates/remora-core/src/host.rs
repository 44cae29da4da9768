//! The programs Remora attaches to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent program, by the name that `remora hook HOST` takes and the database keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    Opencode,
    Cursor,
    Windsurf,
    /// Any program that speaks Remora's own format.
    Generic,
}

impl Host {
    pub const ALL: &'static [Host] = &[
        Host::ClaudeCode,
        Host::Codex,
        Host::Gemini,
        Host::Qwen,
        Host::Copilot,
        Host::Opencode,
        Host::Cursor,
        Host::Windsurf,
        Host::Generic,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Host::ClaudeCode => "claude-code",
            Host::Codex => "codex",
            Host::Gemini => "gemini",
            Host::Qwen => "qwen",
            Host::Copilot => "copilot",
            Host::Opencode => "opencode",
            Host::Cursor => "cursor",
            Host::Windsurf => "windsurf",
            Host::Generic => "generic",
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Host {
    type Err = UnknownHost;

    fn from_str(name: &str) -> Result<Self, UnknownHost> {
        Self::ALL.iter().copied().find(|host| host.name() == name).ok_or(UnknownHost)
    }
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("unknown host")]
pub struct UnknownHost;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_name_everywhere() {
        for host in Host::ALL {
            assert_eq!(host.name().parse::<Host>().ok(), Some(*host));
            assert_eq!(serde_json::to_value(host).unwrap(), host.name());
        }
    }
}
