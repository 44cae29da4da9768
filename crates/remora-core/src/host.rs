//! The programs Remora attaches to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent program, by the name that `remora hook HOST` takes and the database keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    ClaudeCode,
}

impl Host {
    pub const ALL: &'static [Host] = &[Host::ClaudeCode];

    pub fn name(self) -> &'static str {
        match self {
            Host::ClaudeCode => "claude-code",
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
