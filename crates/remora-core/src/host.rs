//! The hosts that Remora attaches to.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An agent program, identified by the name that `remora hook HOST` accepts and the database stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    Opencode,
    Cursor,
    Windsurf,
    /// Any program that uses Remora's own format.
    Generic,
    /// A program that uses Remora's own format and gives its own name, such as a chat gateway.
    Channel(Channel),
}

/// The name of a channel: up to 32 lowercase letters, digits, dots, dashes and underscores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel {
    // The bytes after the name are 0. An array and not a `String`, so that `Host` is `Copy`.
    bytes: [u8; Channel::MAX_LEN],
}

impl Channel {
    const MAX_LEN: usize = 32;

    fn new(name: &str) -> Option<Self> {
        let is_fine = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(byte);
        let first = name.bytes().next()?;
        if name.len() > Self::MAX_LEN
            || !first.is_ascii_alphanumeric()
            || !name.as_bytes().iter().all(is_fine)
        {
            return None;
        }
        let mut bytes = [0; Self::MAX_LEN];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Some(Self { bytes })
    }

    fn name(&self) -> &str {
        let length = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(Self::MAX_LEN);
        // `new` accepts only ASCII.
        std::str::from_utf8(&self.bytes[..length]).unwrap_or_default()
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl Host {
    /// How many tokens it accepts before it cuts; `None` if it accepts no context.
    pub fn room(self) -> Option<u64> {
        match self {
            // The limit is 10,000 characters. Beyond that, the model gets a file name instead.
            Self::ClaudeCode => Some(2_400),
            // The limit is 2,500 tokens by its own count.
            Self::Codex => Some(2_200),
            // Programs that send Remora's own format may ask for less.
            Self::Gemini | Self::Qwen | Self::Copilot | Self::Opencode | Self::Generic | Self::Channel(_) => {
                Some(4_000)
            }
            Self::Cursor | Self::Windsurf => None,
        }
    }

    /// All hosts except channels.
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

    /// The host with this name: a known one, or a channel if the name is valid for one.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().or_else(|| Channel::new(name).map(Host::Channel))
    }

    pub fn name(&self) -> &str {
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
            Host::Channel(channel) => channel.name(),
        }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <Cow<'_, str>>::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::custom(UnknownHost))
    }
}

impl JsonSchema for Host {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*$", "maxLength": Channel::MAX_LEN })
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

    #[test]
    fn a_channel_is_a_short_name_that_is_kept() {
        let longest = "a".repeat(32);
        for name in ["whatsapp", "mission-control", "x1._-", &longest] {
            let host = Host::named(name).unwrap();
            assert_eq!((host.name(), host.to_string().as_str()), (name, name));
            assert_eq!(serde_json::from_value::<Host>(serde_json::to_value(host).unwrap()).unwrap(), host);
            assert!(name.parse::<Host>().is_err(), "only known hosts can be parsed");
        }
        for name in ["", "-x", "two words", "Upper", "ümlaut", &"a".repeat(33)] {
            assert_eq!(Host::named(name), None, "{name}");
        }
    }
}
