//! Conversion of given values to the right type, or to a message about what was expected.

use std::borrow::Cow;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use toml::Value;

use super::value::Word;
use super::{IdleExit, Secret};
use crate::host::Host;

/// A value as it was given: typed in `config.toml`, plain text in the environment and on the command line.
#[derive(Debug)]
pub(super) enum RawValue<'a> {
    Value(&'a Value),
    Text(&'a str),
}

impl RawValue<'_> {
    /// The text without the quotes that a user may have typed because the file would need them.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Value(value) => value.as_str().map(Cow::Borrowed),
            Self::Text(text) => {
                let text = text.trim();
                if text.starts_with(['"', '\''])
                    && let Some(Value::String(unquoted)) = toml_value(text)
                {
                    return Some(Cow::Owned(unquoted));
                }
                Some(Cow::Borrowed(text))
            }
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, String> {
        let read = match self {
            Self::Value(value) => value.as_bool(),
            Self::Text(text) => text.trim().parse().ok(),
        };
        read.ok_or_else(|| "expected true or false".to_owned())
    }

    pub(super) fn whole<T>(&self, least: T, most: T) -> Result<T, String>
    where
        T: TryFrom<i64> + PartialOrd + Display + Copy,
    {
        let read = match self {
            Self::Value(value) => value.as_integer(),
            Self::Text(text) => text.trim().replace('_', "").parse().ok(),
        };
        read.and_then(|number| T::try_from(number).ok())
            .filter(|number| *number >= least && *number <= most)
            .ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }

    pub(super) fn dollars(&self) -> Result<f64, String> {
        let read = match self {
            Self::Value(Value::Integer(whole)) => i32::try_from(*whole).ok().map(f64::from),
            Self::Value(value) => value.as_float(),
            Self::Text(text) => text.trim().replace('_', "").parse().ok(),
        };
        read.filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
            .ok_or_else(|| "expected an amount in US dollars such as 2.50, not below 0".to_owned())
    }

    /// A share from 0 to 1.
    pub(super) fn share(&self) -> Result<f64, String> {
        let share = self.dollars().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
    }

    /// A duration such as `90s`, `5m` or `2h`.
    pub(super) fn duration(&self) -> Result<Duration, String> {
        let duration = self.text().and_then(|text| parse_duration(&text));
        duration.ok_or_else(|| r#"expected a time such as "90s", "5m" or "2h""#.to_owned())
    }

    /// A duration that is not zero.
    pub(super) fn timeout(&self) -> Result<Duration, String> {
        let timeout = self.duration()?;
        if timeout.is_zero() { Err(r#"expected a time of at least "1s""#.to_owned()) } else { Ok(timeout) }
    }

    /// A duration or `never`.
    pub(super) fn idle_exit(&self) -> Result<IdleExit, String> {
        match self.text().as_deref() {
            Some("never") => Ok(IdleExit::Never),
            _ => self.duration().map(IdleExit::After),
        }
    }

    /// A list, or one text separated by commas.
    pub(super) fn strings(&self) -> Result<Vec<String>, String> {
        const EXPECTED: &str = "expected a list of texts";
        if let Self::Text(text) = self
            && text.trim_start().starts_with('[')
        {
            return RawValue::Value(&toml_value(text).ok_or(EXPECTED)?).strings();
        }
        if let Self::Value(Value::Array(items)) = self {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            return texts.ok_or_else(|| EXPECTED.to_owned());
        }
        let text = self.text().ok_or(EXPECTED)?;
        Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    /// A list of globs, which must be valid.
    pub(super) fn globs(&self) -> Result<Vec<String>, String> {
        let globs = self.strings()?;
        crate::capture::check_globs(&globs)?;
        Ok(globs)
    }

    /// A list of hosts by their names.
    pub(super) fn hosts(&self) -> Result<Vec<Host>, String> {
        self.strings()?.iter().map(|name| parse_host(name)).collect()
    }

    /// One of the words of `T`.
    pub(super) fn one_of<T: Word>(&self) -> Result<T, String> {
        let text = self.text();
        let found = T::WORDS.iter().find(|(word, _)| text.as_deref() == Some(*word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("expected {} or {last}", rest.join(", ")),
                _ => format!("expected {}", words.concat()),
            }
        })
    }

    /// A text of one line that is not empty.
    pub(super) fn words(&self) -> Result<String, String> {
        self.line()
            .and_then(|line| if line.is_empty() { Err("expected a text".to_owned()) } else { Ok(line) })
    }

    /// A text of one line that may be empty.
    pub(super) fn line(&self) -> Result<String, String> {
        let text = self.text().filter(|text| text.len() <= 200 && !text.chars().any(char::is_control));
        text.map(Cow::into_owned).ok_or_else(|| "expected a text of one line".to_owned())
    }

    /// The name of an observer's mode.
    pub(super) fn mode(&self) -> Result<String, String> {
        let mode = self.words().unwrap_or_default();
        let is_name = mode.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if is_name && !mode.is_empty() {
            return Ok(mode);
        }
        Err(r#"expected a mode's name such as "code""#.to_owned())
    }

    /// A key that can be sent in a header. The error never quotes it.
    pub(super) fn key(&self) -> Result<Secret, String> {
        const EXPECTED: &str = "expected a key: one word without spaces";
        let text = self.text().ok_or(EXPECTED)?;
        let text = text.trim();
        let sendable = text.len() <= 1000 && text.bytes().all(|byte| byte.is_ascii_graphic());
        if sendable { Ok(Secret::new(text)) } else { Err(EXPECTED.to_owned()) }
    }

    /// The address of a service. User name and password are rejected, because everyone who lists the settings would
    /// see them.
    pub(super) fn address(&self) -> Result<String, String> {
        const EXPECTED: &str =
            r##"expected an address such as "http://localhost:11434/v1", without user name, "?" or "#""##;
        let text = self.line().map_err(|_| EXPECTED)?;
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let good = text.is_empty()
            || rest.is_some_and(|rest| {
                !rest.is_empty() && !rest.contains(['@', '?', '#']) && !rest.contains(char::is_whitespace)
            });
        if good { Ok(text) } else { Err(EXPECTED.to_owned()) }
    }

    /// The absolute path of a folder.
    pub(super) fn folder(&self) -> Result<String, String> {
        const EXPECTED: &str = r#"expected a folder by its whole path, such as "~/Notes""#;
        let text = self.text().ok_or(EXPECTED)?;
        let is_whole = text.starts_with('/') || *text == *"~" || text.starts_with("~/");
        let good = text.is_empty() || is_whole && text.len() <= 4096 && !text.chars().any(char::is_control);
        if good { Ok(text.into_owned()) } else { Err(EXPECTED.to_owned()) }
    }

    /// A tag, with or without `#`.
    pub(super) fn tag(&self) -> Result<String, String> {
        let tag = self.line().ok().map(|tag| tag.trim_start_matches('#').to_owned());
        tag.filter(|tag| tag.chars().all(crate::vault::is_in_tag))
            .ok_or_else(|| r#"expected a tag such as "remora", one word"#.to_owned())
    }

    /// An address that a key may be sent to: encrypted, or on this machine.
    pub(super) fn private_address(&self) -> Result<String, String> {
        let address = self.address()?;
        let host = address.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or(rest));
        match host {
            Some(host) if !is_this_machine(host) => {
                Err("expected an address with https://; without it a key goes to this machine only"
                    .to_owned())
            }
            _ => Ok(address),
        }
    }
}

/// A number with a unit: `90s`, `5m` or `2h`.
fn parse_duration(text: &str) -> Option<Duration> {
    let number = text.strip_suffix(['s', 'm', 'h'])?.parse::<u64>().ok()?;
    let seconds = match text.as_bytes().last()? {
        b'm' => number.checked_mul(60)?,
        b'h' => number.checked_mul(3600)?,
        _ => number,
    };
    Some(Duration::from_secs(seconds))
}

fn parse_host(name: &str) -> Result<Host, String> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = Host::ALL.iter().map(Host::name).collect();
        format!("`{name}` is not a host; use {}", names.join(", "))
    })
}

/// Whether the host of an address, with its port, is this machine.
fn is_this_machine(host: &str) -> bool {
    let address = host
        .parse::<SocketAddr>()
        .map(|address| address.ip())
        .or_else(|_| host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>());
    let name = host.split(':').next().unwrap_or(host);
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn toml_value(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<toml::Table>().ok()?.remove("value")
}
