//! What a setting is, and the macro that makes the settings from their table.

use toml::Value;

use super::Settings;
use super::given::RawValue;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// `section.key`, as in `config.toml`.
    pub name: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its purpose, in one line.
    pub meaning: &'static str,
    /// Whether its value is never shown.
    pub secret: bool,
    /// The accepted words, if only some are.
    pub choices: &'static [&'static str],
    /// Variables of other programs that apply if neither the file nor our own variable sets a value.
    pub usual_variables: &'static [&'static str],
    pub(super) apply: fn(&mut Settings, &RawValue<'_>) -> Result<(), String>,
    pub(super) show: fn(&Settings) -> Value,
}

impl Setting {
    /// `observer`
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// `provider`
    pub fn key(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, key)| key)
    }

    /// Whether it names a program to run. Only a person at a terminal may change such a setting.
    pub fn names_a_program(&self) -> bool {
        self.key() == "program"
    }

    /// Whether it limits what an agent may do. Only a person may change such a setting, and the environment does not, because
    /// an agent sets that for the commands it runs.
    pub fn limits_agents(&self) -> bool {
        self.name == "mcp.projects"
    }

    /// Its value in `settings`; for a secret, only `set` or `not set`.
    pub fn show(&self, settings: &Settings) -> Value {
        (self.show)(settings)
    }

    /// The value for `config.toml` from typed text, or a message about what was expected.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let mut scratch = Settings::default();
        let given = RawValue::Text(text);
        (self.apply)(&mut scratch, &given)?;
        match ((self.show)(&scratch), given.text()) {
            // Keeps the text as typed: "90s" is not converted to an equal value, and a key is not masked.
            (Value::String(_), Some(text)) => Ok(Value::String(text.trim().to_owned())),
            (value, _) => Ok(value),
        }
    }
}

/// Turns the table of settings into `Settings`, a struct with a `Default` for each section, and `SETTINGS`.
///
/// ```text
/// section: Struct {
///     key: type = default, reader, "meaning";               // A setting.
///     key: type = default, reader(1, 8), "meaning";         // Its reader takes arguments.
///     key: type = default, reader, "meaning", or ["NAME"];  // Variables of other programs are read, too.
///     key: type = default;                                  // A field that is no setting.
/// }
/// section: Struct {
///     key: type, reader, "meaning";                         // No defaults: the struct is written elsewhere.
/// }
/// ```
///
/// The reader is a method of `RawValue` that returns the type. How a value is shown and which words it accepts follows
/// from the type: see `value.rs`.
macro_rules! settings {
    ($(
        $(#[$about:meta])*
        $section:ident: $Section:ident {$(
            $(#[$more:meta])*
            $key:ident: $type:ty $(= $default:expr)?
            $(, $read:ident $(($($argument:expr),+))?, $meaning:literal $(, or [$($usual:literal),+])?)?;
        )*}
    )*) => {
        /// All settings, resolved.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct Settings {
            $(pub $section: $Section,)*
        }

        $(settings! {
            @section
            $(#[$about])*
            $Section {$(
                $(#[doc = concat!($meaning, ".")])?
                $(#[$more])*
                $key: $type $(= $default)?;
            )*}
        })*

        pub(super) const SETTINGS: &[Setting] = &[$($($(
            Setting {
                name: concat!(stringify!($section), ".", stringify!($key)),
                variable: {
                    const NAME: &str = concat!("remora_", stringify!($section), "_", stringify!($key));
                    const UPPER: [u8; NAME.len()] = upper_case(NAME);
                    text(&UPPER)
                },
                meaning: $meaning,
                secret: <$type as Shown>::SECRET,
                choices: <$type as Shown>::CHOICES,
                usual_variables: &[$($($usual),+)?],
                apply: |settings, given| {
                    let read = given.$read($($($argument),+)?)?;
                    // In its own line, so that a reader of another type is reported where the type is written.
                    let value: $type = read;
                    settings.$section.$key = value;
                    Ok(())
                },
                show: |settings| <$type as Shown>::show(&settings.$section.$key),
            },
        )?)*)*];
    };

    // A section with defaults.
    (@section $(#[$about:meta])* $Section:ident {$(
        $(#[$more:meta])*
        $key:ident: $type:ty = $default:expr;
    )*}) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $Section {
            $($(#[$more])* pub $key: $type,)*
        }

        impl Default for $Section {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };

    // A section whose struct is written elsewhere.
    (@section $Section:ident $fields:tt) => {};
}

pub(super) use settings;

/// The bytes of `name`, whose length is `N`, in upper case.
pub(super) const fn upper_case<const N: usize>(name: &str) -> [u8; N] {
    let mut bytes = *name.as_bytes().first_chunk().expect("N is the length of the name");
    bytes.make_ascii_uppercase();
    bytes
}

/// `str::from_utf8(bytes).expect(…)`, which is not `const` yet.
pub(super) const fn text(bytes: &'static [u8]) -> &'static str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("text in upper case is still text"),
    }
}
