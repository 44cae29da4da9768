//! The types that a setting can have: how a value is shown, and the words it accepts.

use std::time::Duration;

use toml::Value;

use super::{IdleExit, Secret};
use crate::host::Host;

/// A value that can be shown as it would be written in `config.toml`.
pub(super) trait Shown {
    /// Whether the value itself is never shown.
    const SECRET: bool = false;
    /// The accepted words, if only some are.
    const CHOICES: &'static [&'static str] = &[];

    fn show(&self) -> Value;
}

/// One of a few words.
pub(super) trait Word: Copy + 'static {
    /// Each word with its value.
    const WORDS: &'static [(&'static str, Self)];
}

/// Defines an enum whose values are words: `Variant = "word"`.
macro_rules! words {
    ($(
        $(#[$about:meta])*
        pub enum $Enum:ident {$(
            $(#[$more:meta])*
            $Variant:ident = $word:literal,
        )+}
    )+) => {$(
        $(#[$about])*
        pub enum $Enum {
            $($(#[$more])* $Variant,)+
        }

        impl $Enum {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Variant),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Variant => $word,)+
                }
            }
        }

        impl Word for $Enum {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$Variant)),+];
        }

        impl Shown for $Enum {
            const CHOICES: &'static [&'static str] = &[$($word),+];

            fn show(&self) -> Value {
                self.as_str().into()
            }
        }
    )+};
}

pub(super) use words;

/// Implements `Shown`: the type, and an expression that turns a reference to it into a `Value`.
macro_rules! shown {
    ($($type:ty: |$value:ident| $shown:expr;)+) => {$(
        impl Shown for $type {
            fn show(&self) -> Value {
                let $value = self;
                $shown
            }
        }
    )+};
}

shown! {
    bool: |yes| (*yes).into();
    u8: |number| i64::from(*number).into();
    u16: |number| i64::from(*number).into();
    u32: |number| i64::from(*number).into();
    u64: |number| i64::try_from(*number).unwrap_or(i64::MAX).into();
    f64: |number| (*number).into();
    String: |text| text.as_str().into();
    Vec<String>: |texts| list(texts.iter().map(String::as_str));
    Vec<Host>: |hosts| list(hosts.iter().map(Host::name));
    Duration: |time| duration(*time);
    IdleExit: |exit| match exit {
        IdleExit::Never => "never".into(),
        IdleExit::After(limit) => duration(*limit),
    };
}

impl Shown for Secret {
    const SECRET: bool = true;

    fn show(&self) -> Value {
        if self.is_set() { "set".into() } else { "not set".into() }
    }
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Value {
    Value::Array(texts.map(Value::from).collect())
}

/// In the customary unit: `60s` and `90s`, but `5m` and `2h`.
fn duration(duration: Duration) -> Value {
    let seconds = duration.as_secs();
    Value::String(match seconds {
        3600.. if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        120.. if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    })
}
