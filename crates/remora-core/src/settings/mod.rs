//! Settings: defaults, overridden by `config.toml`, overridden by the environment.
//!
//! Every setting `section.key` can also be given as `REMORA_SECTION_KEY`. If nothing else sets an API key, the
//! variable that the provider's own tools use is read. An unusable value is reported and the next lower source
//! applies, because a hook must work with any configuration.

mod given;
mod secret;
mod sections;
mod setting;
mod table;
mod value;

use std::fmt;

pub use toml::Value;

pub use self::secret::Secret;
pub use self::sections::{Embedder, IdleExit, NotesSource, OverBudget, Provider, Service, Sync};
pub use self::setting::Setting;
// `Settings`, the structs of its sections, and for this module `SETTINGS`.
pub use self::table::*;

use self::given::RawValue;

/// A given value that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Problem {
    /// `config.toml`, `capture.sync in config.toml` or an environment variable.
    pub place: String,
    pub reason: String,
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Default,
    File,
    /// The environment variable with this name.
    Variable(&'static str),
}

/// `default`, `config.toml` or `$REMORA_CAPTURE_SYNC`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str("config.toml"),
            Self::Variable(name) => write!(f, "${name}"),
        }
    }
}

/// A setting with its value and source, for display.
#[derive(Debug, Clone)]
pub struct Listed {
    pub setting: &'static Setting,
    /// For a secret, only `set` or `not set`.
    pub value: Value,
    pub default: Value,
    pub source: Source,
}

impl Settings {
    /// Resolves `file` (the text of `config.toml`) and `environment`.
    pub fn resolve(
        file: Option<&str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Settings, Vec<Problem>) {
        // Hooks call this on every tool call, so the sources, which only people read, are not collected here.
        resolve(file, environment, |_, _| {})
    }

    /// The settings if `config.toml` exists but cannot be read, so that its exclusions are unknown.
    pub fn resolve_unreadable(
        reason: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Settings, Vec<Problem>) {
        let is_given = find(EXCLUSIONS).is_some_and(|setting| environment(setting.variable).is_some());
        let (mut settings, mut problems) = Self::resolve(None, environment);
        problems.insert(0, Problem { place: "config.toml".into(), reason: reason.to_owned() });
        if !is_given {
            problems.push(exclusions_unknown(&mut settings));
        }
        (settings, problems)
    }

    /// Like [`Settings::resolve`], with every value and its source.
    pub fn list(
        file: Option<&str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Settings, Vec<Listed>, Vec<Problem>) {
        let mut sources = vec![Source::Default; SETTINGS.len()];
        let (settings, problems) = resolve(file, environment, |index, source| sources[index] = source);
        let default = Settings::default();
        let listed = SETTINGS.iter().zip(sources).map(|(setting, source)| Listed {
            setting,
            value: setting.show(&settings),
            default: setting.show(&default),
            source,
        });
        let listed = listed.collect();
        (settings, listed, problems)
    }
}

/// Resolves the settings and calls `note` for every value that is not the default; the last call for a setting wins.
fn resolve(
    file: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
    mut note: impl FnMut(usize, Source),
) -> (Settings, Vec<Problem>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let text = file.unwrap_or_default();
    let table = text.parse::<toml::Table>().unwrap_or_else(|error| {
        problems.push(Problem { place: "config.toml".into(), reason: syntax_error(text, &error) });
        toml::Table::new()
    });
    problems.extend(unknown_keys(&table));
    for (index, setting) in SETTINGS.iter().enumerate() {
        // The first usable variable counts. They belong to other programs, so an unusable value is not reported.
        for name in setting.usual_variables {
            if let Some(text) = environment(name)
                && !text.trim().is_empty()
                && (setting.apply)(&mut settings, &RawValue::Text(&text)).is_ok()
            {
                note(index, Source::Variable(name));
                break;
            }
        }
        let mut apply = |given: &RawValue<'_>, source: Source| match (setting.apply)(&mut settings, given) {
            Ok(()) => note(index, source),
            Err(reason) => {
                let place = match source {
                    Source::Variable(name) => name.to_owned(),
                    _ => format!("{} in config.toml", setting.name),
                };
                problems.push(Problem { place, reason });
            }
        };
        if let Some(value) = table.get(setting.section()).and_then(|section| section.get(setting.key())) {
            apply(&RawValue::Value(value), Source::File);
        }
        if let Some(text) = environment(setting.variable).filter(|_| !setting.limits_agents()) {
            apply(&RawValue::Text(&text), Source::Variable(setting.variable));
        }
    }
    if excludes_unreadably(text, &table, &problems, &environment) {
        problems.push(exclusions_unknown(&mut settings));
    }
    (settings, problems)
}

const EXCLUSIONS: &str = "capture.exclude_projects";

/// Whether the user excluded projects in a way that cannot be read.
fn excludes_unreadably(
    text: &str,
    table: &toml::Table,
    problems: &[Problem],
    environment: impl Fn(&str) -> Option<String>,
) -> bool {
    let Some(setting) = find(EXCLUSIONS) else { return false };
    if environment(setting.variable).is_some() {
        return problems.iter().any(|problem| problem.place == setting.variable);
    }
    let is_lost = problems.iter().any(|problem| {
        (problem.place == "config.toml" && text.contains(setting.key()))
            || problem.place.starts_with(EXCLUSIONS)
    });
    is_lost || has_stray_exclusions(table, "")
}

/// Whether a key that is probably meant as the list of exclusions has another name, or is in another section.
fn has_stray_exclusions(table: &toml::Table, path: &str) -> bool {
    table.iter().any(|(key, value)| {
        let path = format!("{path}{key}");
        (path != EXCLUSIONS && key.to_lowercase().contains("exclude"))
            || match value {
                toml::Value::Table(table) => has_stray_exclusions(table, &format!("{path}.")),
                toml::Value::Array(all) => all
                    .iter()
                    .filter_map(toml::Value::as_table)
                    .any(|table| has_stray_exclusions(table, &format!("{path}[]."))),
                _ => false,
            }
    })
}

/// Stops capture until the list of excluded projects can be read again.
fn exclusions_unknown(settings: &mut Settings) -> Problem {
    settings.capture.exclusions_unknown = true;
    Problem { place: EXCLUSIONS.into(), reason: "cannot be read, so nothing is captured until it can".into() }
}

/// All settings.
pub fn all() -> &'static [Setting] {
    SETTINGS
}

/// The names of all settings.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting that the user probably meant: by its key alone, by its variable, or with a typo.
pub fn nearest(name: &str) -> Option<&'static Setting> {
    let name = name.to_ascii_lowercase();
    let same = |setting: &&Setting| {
        setting.key() == name
            || setting.variable.eq_ignore_ascii_case(&name)
            || setting.name.replace(['.', '_'], "-") == name.replace(['.', '_'], "-")
    };
    SETTINGS.iter().find(same).or_else(|| {
        let near = SETTINGS.iter().map(|setting| (distance(setting, &name), setting));
        near.filter(|(distance, _)| *distance <= (name.len() / 3).min(4))
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, setting)| setting)
    })
}

/// How many letters differ between a name and a setting, with or without its section.
fn distance(setting: &Setting, name: &str) -> usize {
    let key = strsim::damerau_levenshtein(setting.key(), name);
    key.min(strsim::damerau_levenshtein(setting.name, name))
}

/// The line number and the error, without the line itself, which may contain a key.
fn syntax_error(text: &str, error: &toml::de::Error) -> String {
    match error.span() {
        Some(span) => {
            let before = text.get(..span.start).unwrap_or(text);
            format!("line {}: {}", before.matches('\n').count() + 1, error.message())
        }
        None => error.message().to_owned(),
    }
}

fn unknown_keys(table: &toml::Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (section, content) in table {
        let keys = content.as_table().into_iter().flat_map(toml::Table::keys);
        for key in keys {
            let name = format!("{section}.{key}");
            if find(&name).is_none() {
                problems.push(Problem {
                    place: format!("{name} in config.toml"),
                    reason: "unknown setting".into(),
                });
            }
        }
        if !content.is_table() {
            let place = format!("{section} in config.toml");
            problems.push(Problem { place, reason: "settings stand in sections, such as [capture]".into() });
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
        let file = "[capture]\nsync = \"full\"\nskip_tools = [\"A\"]\n";
        let (settings, problems) = Settings::resolve(Some(file), |name| {
            (name == "REMORA_CAPTURE_SKIP_TOOLS").then(|| "B, C".to_owned())
        });
        assert_eq!(problems, []);
        assert_eq!(settings.capture.sync, Sync::Full);
        assert_eq!(settings.capture.skip_tools, ["B", "C"]);
        assert_eq!(settings.capture.exclude_projects, Settings::default().capture.exclude_projects);
    }

    #[test]
    fn times_are_written_as_people_say_them() {
        let file = "[daemon]\nidle_exit = \"never\"\nautostart = false\n[observer]\nturn_silence = \"90s\"\n";
        let (settings, problems) = Settings::resolve(Some(file), |_| None);
        assert_eq!(problems, []);
        assert_eq!((settings.daemon.autostart, settings.daemon.idle_exit), (false, IdleExit::Never));
        assert_eq!(settings.observer.turn_silence, Duration::from_secs(90));
        let (settings, problems) = Settings::resolve(None, |name| match name {
            "REMORA_DAEMON_IDLE_EXIT" => Some("2h".into()),
            "REMORA_OBSERVER_TURN_SILENCE" => Some("soon".into()),
            "REMORA_DAEMON_AUTOSTART" => Some("false".into()),
            _ => None,
        });
        assert_eq!(settings.daemon.idle_exit, IdleExit::After(Duration::from_hours(2)));
        assert!(!settings.daemon.autostart);
        assert_eq!(problems[0].place, "REMORA_OBSERVER_TURN_SILENCE");
    }

    #[test]
    fn a_value_that_cannot_be_used_is_reported_and_the_rest_holds() {
        let file = "colour = 1\n[capture]\nsync = \"sometimes\"\nskip_tools = [\"A\"]\nskip_tool = []\n";
        let (settings, problems) = Settings::resolve(Some(file), |_| None);
        assert_eq!(settings.capture.sync, Sync::Normal);
        assert_eq!(settings.capture.skip_tools, ["A"]);
        let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(
            places,
            ["capture.skip_tool in config.toml", "colour in config.toml", "capture.sync in config.toml"]
        );
        let (settings, problems) = Settings::resolve(Some("[capture"), |_| None);
        assert_eq!((settings, problems.len()), (Settings::default(), 1));
    }

    #[test]
    fn every_variable_follows_from_its_setting() {
        for setting in all() {
            let expected = format!("REMORA_{}", setting.name.replace('.', "_").to_ascii_uppercase());
            assert_eq!(setting.variable, expected);
            assert!(!setting.section().is_empty() && !setting.meaning.is_empty(), "{}", setting.name);
        }
    }

    /// Values can be typed as they are shown, and read back from the file as they were typed.
    #[test]
    fn every_default_is_a_value_that_can_be_given() {
        let default = Settings::default();
        for setting in all().iter().filter(|setting| !setting.secret) {
            let shown = setting.show(&default);
            let typed = match &shown {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(setting.parse(&typed), Ok(shown.clone()), "{}", setting.name);
            let file = format!("[{}]\n{} = {shown}\n", setting.section(), setting.key());
            assert_eq!(Settings::resolve(Some(&file), |_| None), (Settings::default(), vec![]), "{file}");
            let (same, problems) =
                Settings::resolve(None, |name| (name == setting.variable).then(|| typed.clone()));
            assert_eq!((same, problems), (Settings::default(), vec![]), "{}", setting.variable);
        }
    }

    #[test]
    fn the_choices_of_a_setting_are_the_words_it_takes() {
        for setting in all().iter().filter(|setting| !setting.choices.is_empty()) {
            let reason = setting.parse("no such word").unwrap_err();
            let named: Vec<&str> = reason.split('"').skip(1).step_by(2).collect();
            assert_eq!(named, setting.choices, "{}", setting.name);
        }
        let with_words = |setting: &&Setting| {
            let reason = setting.parse("no such word");
            reason.is_err_and(|reason| reason.starts_with("expected \"") && reason.contains("\" or \""))
        };
        assert!(all().iter().filter(with_words).all(|setting| !setting.choices.is_empty()));
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let file = "[gemini]\napi_key = \"from-file\"\n[daemon]\nport = 0\nautostart = \"yes\"\n";
        let (settings, listed, problems) = Settings::list(Some(file), |name| match name {
            "REMORA_CLAUDE_CLI_PROGRAM" => Some("my-claude".into()),
            "ANTHROPIC_API_KEY" | "GEMINI_API_KEY" => Some("from-usual\n".into()),
            "OPENAI_API_KEY" => Some(String::new()),
            "REMORA_DAEMON_PORT" => Some("no".into()),
            _ => None,
        });
        let source = |name: &str| {
            let entry = listed.iter().find(|entry| entry.setting.name == name).unwrap();
            (entry.source, entry.value.to_string())
        };
        assert_eq!(source("claude_cli.program").0, Source::Variable("REMORA_CLAUDE_CLI_PROGRAM"));
        assert_eq!(
            source("anthropic.api_key"),
            (Source::Variable("ANTHROPIC_API_KEY"), "\"set\"".to_owned())
        );
        assert_eq!(source("gemini.api_key").0, Source::File);
        assert_eq!(source("openai.api_key"), (Source::Default, "\"not set\"".to_owned()));
        assert_eq!(source("daemon.port"), (Source::File, "0".to_owned()));
        assert_eq!(source("daemon.autostart"), (Source::Default, "true".to_owned()));
        let places: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "daemon.autostart in config.toml: expected true or false",
                "REMORA_DAEMON_PORT: expected a whole number from 0 to 65535"
            ]
        );
        assert_eq!(settings.anthropic.api_key.expose(), "from-usual");
        assert_eq!(settings.gemini.api_key.expose(), "from-file");
        assert_eq!(settings.service(Provider::Gemini), Some(&settings.gemini));
        assert!(!format!("{settings:?}").contains("from-"), "{settings:?}");
    }

    #[test]
    fn a_value_outside_its_bounds_is_refused_with_what_was_expected() {
        let refused = |name: &str, text: &str| find(name).unwrap().parse(text).unwrap_err();
        for (name, text, expected) in [
            ("observer.parallel_sessions", "9", "from 1 to 8"),
            ("observer.parallel_sessions", "two", "from 1 to 8"),
            ("memory.auto_retrieve_ms", "60000", "from 10 to"),
            ("observer.timeout", "0s", "at least"),
            ("observer.provider", "chatgpt", r#""openrouter" or "openai""#),
            ("observer.language", "", "expected a text"),
            ("budget.daily_usd", "-1", "US dollars"),
            ("budget.daily_usd", "nan", "US dollars"),
            ("budget.daily_tokens", "-1", "from 0"),
            ("openai.base_url", "localhost:11434", "http://"),
            ("openai.base_url", "http://me:password@host", "without user name"),
            ("openai.api_key", "two words", "one word"),
            ("daemon.port", "65536", "65535"),
            ("memory.obsidian_vault", "notes/here", "whole path"),
            ("memory.obsidian_context_tag", "two words", "a tag"),
            ("memory.obsidian_api_url", "http://192.0.2.1:27123", "https://"),
            ("memory.obsidian_api_url", "http://127.0.0.1.example.org", "https://"),
            ("memory.obsidian_api_url", "https://me:key@127.0.0.1", "without user name"),
            ("memory.obsidian_api_key", "two words", "one word"),
        ] {
            let reason = refused(name, text);
            assert!(reason.contains(expected), "{name} {text}: {reason}");
        }
        assert!(!refused("openai.api_key", "two words").contains("two"));
        for here in
            ["http://127.0.0.1:27123", "http://[::1]:27123/", "http://localhost", "https://192.0.2.1:27124"]
        {
            assert!(find("memory.obsidian_api_url").unwrap().parse(here).is_ok(), "{here}");
        }
        assert_eq!(find("openai.api_key").unwrap().parse("123"), Ok(Value::String("123".into())));
        assert_eq!(find("budget.daily_tokens").unwrap().parse("1_000"), Ok(Value::Integer(1000)));
        assert_eq!(find("budget.daily_usd").unwrap().parse("2"), Ok(Value::Float(2.0)));
    }

    #[test]
    fn a_typo_finds_the_intended_setting() {
        let nearest = |name: &str| nearest(name).map(|setting| setting.name);
        assert_eq!(nearest("observer.providr"), Some("observer.provider"));
        assert_eq!(nearest("provider"), Some("observer.provider"));
        assert_eq!(nearest("REMORA_DAEMON_PORT"), Some("daemon.port"));
        assert_eq!(nearest("daemon-idle-exit"), Some("daemon.idle_exit"));
        assert_eq!(nearest("colour"), None);
        assert_eq!(nearest(""), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_reported_without_quoting_it() {
        let (_, problems) = Settings::resolve(Some("[openai]\napi_key = sk-secret\n"), |_| None);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].reason.starts_with("line 2: "), "{}", problems[0]);
        assert!(!problems[0].reason.contains("sk-secret"), "{}", problems[0]);
    }
}
