//! Settings: defaults, overridden by `config.toml`, overridden by the environment.
//!
//! Every setting `section.key` can also be given as `REMORA_SECTION_KEY`. A value that cannot be used leaves
//! the one below it in force and is reported, because a hook must work with whatever it finds.

use std::time::Duration;

use toml::Value;

/// All settings, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    pub capture: Capture,
    pub daemon: Daemon,
    pub observer: Observer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// Whether a hook starts the daemon when none runs.
    pub autostart: bool,
    pub idle_exit: IdleExit,
}

/// When a daemon to which nothing happens ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleExit {
    After(Duration),
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observer {
    /// How much silence ends a turn that nothing else ended.
    pub turn_silence: Duration,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { autostart: true, idle_exit: IdleExit::After(Duration::from_mins(30)) }
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self { turn_silence: Duration::from_mins(5) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Tools whose successful calls are not worth keeping; a trailing `*` stands for any ending.
    pub skip_tools: Vec<String>,
    /// Globs of directories of which nothing is captured; `~` is the home directory.
    pub exclude_projects: Vec<String>,
    pub sync: Sync,
}

/// How hard a hook tries to outlast a power cut. Both survive the death of every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    Normal,
    Full,
}

impl Default for Capture {
    fn default() -> Self {
        let skip = [
            "Glob",
            "Grep",
            "ListMcpResourcesTool",
            "TodoRead",
            "TodoWrite",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskUpdate",
            "EnterPlanMode",
            "ExitPlanMode",
            "exit_plan_mode",
            "update_plan",
            "write_todos",
            "mcp__remora__*",
            "mcp__plugin_remora_*",
        ];
        Self { skip_tools: skip.map(str::to_owned).into(), exclude_projects: Vec::new(), sync: Sync::Normal }
    }
}

/// A value that was given and could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Problem {
    /// `config.toml`, `capture.sync in config.toml` or an environment variable.
    pub place: String,
    pub reason: String,
}

struct Setting {
    name: &'static str,
    apply: fn(&mut Settings, &Value) -> Result<(), String>,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "capture.skip_tools",
        apply: |settings, value| strings(value).map(|list| settings.capture.skip_tools = list),
    },
    Setting {
        name: "capture.exclude_projects",
        apply: |settings, value| {
            let globs = strings(value)?;
            crate::capture::check_globs(&globs)?;
            settings.capture.exclude_projects = globs;
            Ok(())
        },
    },
    Setting {
        name: "capture.sync",
        apply: |settings, value| {
            settings.capture.sync = match value.as_str() {
                Some("normal") => Sync::Normal,
                Some("full") => Sync::Full,
                _ => return Err(r#"expected "normal" or "full""#.to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "daemon.autostart",
        apply: |settings, value| {
            settings.daemon.autostart = value.as_bool().ok_or("expected true or false")?;
            Ok(())
        },
    },
    Setting {
        name: "daemon.idle_exit",
        apply: |settings, value| {
            settings.daemon.idle_exit = match value.as_str() {
                Some("never") => IdleExit::Never,
                _ => IdleExit::After(duration(value)?),
            };
            Ok(())
        },
    },
    Setting {
        name: "observer.turn_silence",
        apply: |settings, value| duration(value).map(|silence| settings.observer.turn_silence = silence),
    },
];

impl Settings {
    /// Resolves what `file` (the text of `config.toml`) and `environment` say.
    pub fn resolve(
        file: Option<&str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Settings, Vec<Problem>) {
        let mut settings = Settings::default();
        let mut problems = Vec::new();
        let table = match file.unwrap_or_default().parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                problems.push(Problem { place: "config.toml".into(), reason: error.message().to_owned() });
                toml::Table::new()
            }
        };
        problems.extend(unknown_keys(&table));
        for setting in SETTINGS {
            if let Some(value) = in_file(&table, setting.name)
                && let Err(reason) = (setting.apply)(&mut settings, value)
            {
                problems.push(Problem { place: format!("{} in config.toml", setting.name), reason });
            }
            let variable = environment_name(setting.name);
            if let Some(text) = environment(&variable)
                && let Err(reason) = (setting.apply)(&mut settings, &from_environment(&text))
            {
                problems.push(Problem { place: variable, reason });
            }
        }
        (settings, problems)
    }
}

/// Every setting there is.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

/// `capture.skip_tools` is `REMORA_CAPTURE_SKIP_TOOLS` in the environment.
pub fn environment_name(setting: &str) -> String {
    format!("REMORA_{}", setting.replace('.', "_").to_ascii_uppercase())
}

fn in_file<'a>(table: &'a toml::Table, name: &str) -> Option<&'a Value> {
    let (section, key) = name.split_once('.')?;
    table.get(section)?.get(key)
}

fn unknown_keys(table: &toml::Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (section, content) in table {
        let keys = content.as_table().into_iter().flat_map(toml::Table::keys);
        for key in keys {
            let name = format!("{section}.{key}");
            if !SETTINGS.iter().any(|setting| setting.name == name) {
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

/// TOML where it is TOML (`true`, `5`, `["a"]`), otherwise the text itself.
fn from_environment(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<toml::Table>().ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// `90s`, `5m` or `2h`.
fn duration(value: &Value) -> Result<Duration, String> {
    let wrong = || r#"expected a time such as "90s", "5m" or "2h""#.to_owned();
    let text = value.as_str().ok_or_else(wrong)?;
    let number = |unit: char| text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let seconds =
        number('s').or_else(|| number('m')?.checked_mul(60)).or_else(|| number('h')?.checked_mul(3600));
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// A list, or one text with commas.
fn strings(value: &Value) -> Result<Vec<String>, String> {
    let wrong = || "expected a list of texts".to_owned();
    match value {
        Value::String(text) => {
            Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
        }
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(settings.daemon, Daemon { autostart: false, idle_exit: IdleExit::Never });
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
}
