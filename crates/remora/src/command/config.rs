use std::io::{self, IsTerminal, Read};

use clap::{Args, Subcommand};
use remora_app::settings::{self, find};
use remora_client::control::{self, Message};
use remora_core::settings::{Listed, Provider, Setting, Settings, Source, Value};
use serde_json::json;

use crate::app::App;
use crate::env;
use crate::error::{CliError, Result};
use crate::output::{self, Table, brief, say, talk};

/// List and change settings.
///
/// A setting has a default. `config.toml` in the data directory overrides it, and an environment variable
/// (`REMORA_OBSERVER_PROVIDER` for `observer.provider`) overrides both. A running daemon notices a change by itself.
#[derive(Args)]
#[command(after_help = "\
Examples:
  Let a model write the memory, with a key of your own. `-` reads the key from
  standard input, so that it does not stay in your shell's history:
    remora config set observer.provider anthropic
    remora config set anthropic.api_key - < key.txt
    remora config set budget.daily_usd 0.50

  Or a model on this machine:
    remora config set observer.provider openai
    remora config set openai.base_url http://localhost:11434/v1

  Use another model for search by meaning, here one that Ollama runs:
    remora config set search.embedder ollama
    remora config set search.embedder_model nomic-embed-text

  Back to the built-in observer, which is free and needs no network:
    remora config unset observer.provider")]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Option<ConfigAction>,
}

#[derive(Subcommand)]
enum ConfigAction {
    /// List every setting with its value and its source (the default).
    List,
    /// Print the value of one setting.
    Get {
        /// The setting, such as `observer.provider`.
        name: String,
    },
    /// Change a setting in config.toml; its comments and order stay.
    Set {
        /// The setting, such as `observer.provider`.
        name: String,
        /// The value; `-` reads it from standard input, which is best for keys. Lists have commas: `Glob,Grep`.
        #[arg(required_unless_present = "unset", allow_negative_numbers = true)]
        value: Option<String>,
        /// Remove the setting from config.toml, so that the default applies.
        #[arg(long, conflicts_with = "value")]
        unset: bool,
    },
    /// Remove a setting from config.toml, so that the default applies.
    Unset {
        /// The setting, such as `observer.provider`.
        name: String,
    },
    /// Open config.toml in your editor (`VISUAL` or `EDITOR`), and check it afterwards.
    Edit,
    /// Print the path of config.toml.
    Path,
}

pub(crate) fn run(app: &App, arguments: &Config) -> Result<()> {
    match arguments.action.as_ref().unwrap_or(&ConfigAction::List) {
        ConfigAction::List => list(app),
        ConfigAction::Get { name } => get(app, find(name)?),
        ConfigAction::Set { name, value, .. } => set(app, find(name)?, value.as_deref()),
        ConfigAction::Unset { name } => set(app, find(name)?, None),
        ConfigAction::Edit => edit(app),
        ConfigAction::Path => path(app),
    }
}

/// First line of a new config.toml.
const BEGINNING: &str =
    "# Settings of Remora. `remora config list` shows all of them, with their defaults.\n";

fn edit(app: &App) -> Result<()> {
    app.caller_of_any_memory()?.refuse_agent("edit all settings", "remora config edit")?;
    let path = app.dir.config();
    app.dir.create()?;
    let is_new = !path.exists();
    if is_new {
        remora_sys::file::replace(&path, BEGINNING.as_bytes())?;
    }
    super::edit::open_in_editor(&path)?;
    if is_new && std::fs::read(&path).is_ok_and(|text| text == BEGINNING.as_bytes()) {
        std::fs::remove_file(&path)?;
        talk("Nothing was changed.");
        return Ok(());
    }
    let _ = control::send(&app.dir, &Message::Poke(env!("CARGO_PKG_VERSION").to_owned()));
    let (_, problems) = crate::app::settings(&app.dir);
    if problems.is_empty() {
        say(&format!("{} is fine.", path.display()));
        return Ok(());
    }
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let message = format!(
        "{} is saved, but {} of it cannot be used: {}",
        path.display(),
        if problems.len() == 1 { "a part" } else { "parts" },
        problems.join("; ")
    );
    Err(CliError::usage(message).hint("edit it again: `remora config edit`"))
}

fn resolved(app: &App) -> (Settings, Vec<Listed>) {
    settings::list(&app.dir, env::variable)
}

fn list(app: &App) -> Result<()> {
    app.warn_of_settings();
    let (_, listed) = resolved(app);
    if app.json {
        return output::json(&listed.iter().map(as_json).collect::<Vec<_>>());
    }
    let mut table = Table::new(&["SETTING", "VALUE", "SOURCE"]);
    let mut section = "";
    for entry in &listed {
        if !section.is_empty() && section != entry.setting.section() {
            table.row(Vec::new());
        }
        section = entry.setting.section();
        let value = if entry.setting.secret { bare(&entry.value) } else { entry.value.to_string() };
        table.row(vec![entry.setting.name.to_owned(), brief(&value, 40), entry.source.to_string()]);
    }
    table.print();
    Ok(())
}

fn get(app: &App, setting: &'static Setting) -> Result<()> {
    let name = setting.name;
    if setting.secret {
        return Err(CliError::usage(format!("{name} is write-only: a key is never shown")).hint(format!(
            "see whether it is set: `remora config list`; replace it: `remora config set {name} -`"
        )));
    }
    app.warn_of_settings();
    let (_, listed) = resolved(app);
    let entry = listed.iter().find(|entry| entry.setting.name == name);
    let entry = entry.ok_or_else(|| CliError::internal(format!("{name} has no value")))?;
    if app.json {
        return output::json(&as_json(entry));
    }
    say(&bare(&entry.value));
    Ok(())
}

fn set(app: &App, setting: &'static Setting, typed: Option<&str>) -> Result<()> {
    if setting.limits_agents() {
        let command = format!("remora config set {} {}", setting.name, typed.unwrap_or("--unset"));
        app.caller_of_any_memory()?.need_person(format!("change {}", setting.name), command)?;
    }
    match typed {
        Some(typed) => {
            let text = if typed == "-" { from_stdin(setting)? } else { typed.to_owned() };
            let value = settings::parse(setting, &text)?;
            settings::change(&app.dir, &[(setting, Some(value))])?;
        }
        None => {
            if settings::change(&app.dir, &[(setting, None)])? == [false] {
                talk(&format!("{} was not in config.toml", setting.name));
            }
        }
    }
    // A running daemon reads the file again. Without one, sending fails, which is fine.
    let _ = control::send(&app.dir, &Message::Poke(env!("CARGO_PKG_VERSION").to_owned()));
    let (settings, listed) = resolved(app);
    if let Some(entry) = listed.iter().find(|entry| entry.setting.name == setting.name) {
        answer(app, entry)?;
    }
    advise(setting, &settings, &listed, typed);
    Ok(())
}

/// Prints the effective value, which may differ from the one just set.
fn answer(app: &App, entry: &Listed) -> Result<()> {
    if app.json {
        return output::json(&as_json(entry));
    }
    let name = entry.setting.name;
    let value = entry.value.to_string();
    say(&match (entry.setting.secret, entry.source) {
        (true, _) => format!("{name} is {}", bare(&entry.value)),
        (false, Source::Default) => format!("{name} = {value} (the default)"),
        (false, _) => format!("{name} = {value}"),
    });
    Ok(())
}

fn advise(setting: &Setting, settings: &Settings, listed: &[Listed], typed: Option<&str>) {
    let name = setting.name;
    let source = listed.iter().find(|entry| entry.setting.name == name).map(|entry| entry.source);
    if let Some(Source::Variable(variable)) = source {
        talk(&format!("warning: {variable} is set in this shell and overrides config.toml"));
    }
    if setting.secret && typed.is_some_and(|typed| typed != "-" && !typed.is_empty()) {
        talk(&format!(
            "note: the key is in your shell's history now; `remora config set {name} -` reads it from standard input"
        ));
    }
    let provider = settings.observer.provider;
    if provider == Provider::ClaudeCli && name == "observer.provider" {
        talk(&format!("note: {}", remora_app::doctor::CLAUDE_LOGIN));
    }
    let misses_key = remora_app::doctor::misses_key(settings);
    if misses_key && (name == "observer.provider" || name == format!("{}.api_key", provider.as_str())) {
        let provider = provider.as_str();
        talk(&format!("note: {provider} needs a key: `remora config set {provider}.api_key -`"));
    }
    if settings.search.misses_key() && name.starts_with("search.embedder") {
        let embedder = settings.search.embedder.as_str();
        talk(&format!("note: {embedder} needs a key: `remora config set search.embedder_api_key -`"));
    }
}

/// Reads one value, typed or piped in.
fn from_stdin(setting: &Setting) -> Result<String> {
    let mut text = String::new();
    let stdin = io::stdin();
    if stdin.is_terminal() {
        talk(&format!("Type or paste {}, then press Enter:", setting.name));
        stdin.read_line(&mut text)?;
    } else {
        stdin.lock().take(64 << 10).read_to_string(&mut text)?;
    }
    let text = text.trim();
    if text.is_empty() {
        return Err(CliError::usage("nothing came on standard input; nothing was changed")
            .hint(format!("remove the setting with `remora config unset {}`", setting.name)));
    }
    Ok(text.to_owned())
}

fn path(app: &App) -> Result<()> {
    let path = app.dir.config();
    if app.json {
        return output::json(&json!({ "path": path, "exists": path.exists() }));
    }
    say(&path.display().to_string());
    Ok(())
}

fn as_json(entry: &Listed) -> serde_json::Value {
    json!({
        "name": entry.setting.name,
        "value": entry.value,
        "source": entry.source.to_string(),
        "default": entry.default,
        "meaning": entry.setting.meaning,
        "secret": entry.setting.secret,
    })
}

/// A string without quotes, anything else as in TOML.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
