//! Every setting with its value and its source, and the agents on this machine. Changes go through
//! `/api/settings`, so they are checked by the same rules as in `remora config set`.

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use axum::response::Response;
use remora_app::install::{self, Hooks, HostReport};
use remora_app::settings::list;
use remora_core::settings::{Listed, Setting, Source, Value};

use remora_store::DataDir;
use serde::Deserialize;

use super::look::{When, line, title};
use super::{Frame, PageQuery, Seen, show};
use crate::http::error::ApiError;
use crate::http::routes::Routes;

/// Sections: id, name and description.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("observer", "Observer", "What turns captured events into observations."),
    ("budget", "Budget", "What a model may use. The built-in observer is free."),
    ("costs", "Costs", "Prices used on the Costs page."),
    ("anthropic", "Anthropic", "Access for `observer.provider` anthropic."),
    ("gemini", "Gemini", "Access for `observer.provider` gemini."),
    ("openrouter", "OpenRouter", "Access for `observer.provider` openrouter."),
    (
        "openai",
        "OpenAI",
        "Access for `observer.provider` openai, or to a server of your own that speaks like it.",
    ),
    ("claude_cli", "Claude CLI", "The program that `observer.provider` claude-cli runs."),
    ("capture", "Capture", "What is captured, and what never is."),
    ("context", "Start of a session", "What a new session gets."),
    ("mcp", "Limits of agents", "What an agent may reach with its tools and commands."),
    ("memory", "Memory", "What is injected with prompts, before files, and from your notes."),
    ("search", "Search", "How memory is found."),
    ("daemon", "Daemon", "The process in the background."),
    ("retention", "Retention", "How long logs and failed events are kept."),
    ("forget", "Forget", "How long forgetting can be undone."),
    ("backup", "Backups", "Copies of the database."),
];

pub(super) fn router() -> Routes {
    Routes::default().get("/settings", page)
}

#[derive(Debug, Deserialize)]
struct SettingsParameters {
    project: Option<i64>,
    /// Requests one setting without the page around it.
    #[serde(default)]
    part: String,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    frame: Frame,
    sections: Vec<SettingsSection>,
    agents: Vec<Agent>,
    config: String,
}

struct SettingsSection {
    id: &'static str,
    name: &'static str,
    says: Safe<String>,
    fields: Vec<Field>,
}

/// A setting as a form.
#[derive(Template)]
#[template(path = "setting.html")]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Its label on the page.
    label: String,
    meaning: Safe<String>,
    control: Control,
    default: String,
    source: String,
    is_set: bool,
    /// The environment variable that overrides the file.
    variable: Option<&'static str>,
}

enum Control {
    Switch {
        is_on: bool,
    },
    Choice {
        options: Vec<(&'static str, bool)>,
    },
    Line {
        value: String,
        is_number: bool,
    },
    Lines {
        value: String,
    },
    Secret {
        is_set: bool,
    },
    /// Names a program, so it can only be changed in a terminal.
    Program {
        value: String,
    },
}

struct Agent {
    name: String,
    state: &'static str,
    is_bad: bool,
    detail: String,
    sessions: i64,
    when: Option<When>,
}

async fn page(
    (State(http), axum::Extension(visitor)): Seen,
    PageQuery(asked): PageQuery<SettingsParameters>,
) -> Result<Response, ApiError> {
    if !asked.part.is_empty() {
        let field = fields(&http.shared.dir, |name| name == asked.part).into_iter().next();
        return show(
            &field.ok_or_else(|| ApiError::NotFound(format!("there is no setting `{}`", asked.part)))?,
        );
    }
    let frame = Frame::new(&http, &visitor, "Settings", "settings", asked.project).await?;
    let dir = http.shared.dir.clone();
    let reports = http.read(move |rt| {
        let variable = |name: &str| std::env::var(name).ok();
        let around = install::surroundings(&dir, &variable).ok();
        install::hosts(rt, around.as_ref())
    });
    let agents = reports.await?.into_iter().map(agent).collect();
    let mut all = fields(&http.shared.dir, |_| true);
    let mut sections = Vec::new();
    for (id, name, says) in SECTIONS {
        let (own, others): (Vec<Field>, Vec<Field>) = all.into_iter().partition(|field| field.is_of(id));
        all = others;
        sections.push(SettingsSection { id, name, says: title(says, 400), fields: own });
    }
    // Settings of a section without a description are shown, too.
    if !all.is_empty() {
        sections.push(SettingsSection { id: "other", name: "Other", says: title("", 0), fields: all });
    }
    let config = http.shared.dir.config().display().to_string();
    show(&SettingsPage { frame, sections, agents, config })
}

/// The selected settings, as forms.
pub(super) fn fields(dir: &DataDir, is_wanted: impl Fn(&str) -> bool) -> Vec<Field> {
    let listed = list(dir, |name| std::env::var(name).ok()).1;
    listed.iter().filter(|entry| is_wanted(entry.setting.name)).map(Field::new).collect()
}

impl Field {
    fn new(entry: &Listed) -> Self {
        let Listed { setting, value, default, source } = entry;
        Self {
            name: setting.name,
            label: label(setting),
            meaning: title(&sentence(setting.meaning), 400),
            control: control(setting, value),
            default: plain(default),
            source: source.to_string(),
            is_set: *source != Source::Default,
            variable: match source {
                Source::Variable(name) => Some(name),
                _ => None,
            },
        }
    }

    fn is_of(&self, section: &str) -> bool {
        self.name.split_once('.').is_some_and(|(own, _)| own == section)
    }

    fn is_program(&self) -> bool {
        matches!(self.control, Control::Program { .. })
    }

    fn is_secret(&self) -> bool {
        matches!(self.control, Control::Secret { .. })
    }

    fn is_switch(&self) -> bool {
        matches!(self.control, Control::Switch { .. })
    }

    /// An element id for the setting, without dots.
    fn id(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }
}

/// A readable label. Settings without one here get theirs from the name.
fn label(setting: &Setting) -> String {
    let given = match setting.name {
        "memory.auto_retrieve_enabled" => "Inject with prompts",
        "memory.auto_retrieve_max_results" => "Max passages with a prompt",
        "memory.auto_retrieve_ms" => "Time for recall, in milliseconds",
        "memory.auto_retrieve_min_score" => "Min score with a prompt",
        "memory.file_context_enabled" => "Inject before a file is opened",
        "memory.obsidian_context_enabled" => "Use notes",
        "memory.obsidian_context_notes" => "Fixed notes",
        "memory.obsidian_context_tag" => "Tag",
        "memory.obsidian_vault" => "Folder",
        "memory.obsidian_api_url" => "Address of Obsidian's REST API",
        "memory.obsidian_api_key" => "Key of Obsidian's REST API",
        "context.mcp_hosts" => "Hosts with Remora's tools",
        "costs.host_input_price" => "Price of your agent's input",
        "budget.daily_usd" => "Dollars a day",
        "budget.session_usd" => "Dollars a session",
        "budget.daily_tokens" => "Tokens a day",
        "budget.session_tokens" => "Tokens a session",
        _ => "",
    };
    if !given.is_empty() {
        return given.to_owned();
    }
    let words = setting.key().replace('_', " ").replace("api key", "API key").replace("url", "URL");
    let words = words.strip_suffix(" mb").map_or(words.clone(), |words| format!("{words}, in MB"));
    sentence(&words)
}

/// Capitalises the first letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn control(setting: &Setting, value: &Value) -> Control {
    if setting.secret {
        return Control::Secret { is_set: value.as_str() == Some("set") };
    }
    if setting.names_a_program() {
        return Control::Program { value: plain(value) };
    }
    if !setting.choices.is_empty() {
        let chosen = value.as_str().unwrap_or_default();
        return Control::Choice {
            options: setting.choices.iter().map(|word| (*word, *word == chosen)).collect(),
        };
    }
    match value {
        Value::Boolean(is_on) => Control::Switch { is_on: *is_on },
        Value::Array(_) => Control::Lines { value: texts(value).join("\n") },
        other => Control::Line {
            value: plain(other),
            is_number: matches!(other, Value::Integer(_) | Value::Float(_)),
        },
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(plain).collect()
}

/// A value as a user types it: without quotes, and lists with commas.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) => texts(value).join(", "),
        // `2`, not `2.0`.
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

fn agent(report: HostReport) -> Agent {
    let (state, is_bad, detail) = match report.hooks {
        None => ("no hooks on this machine", false, String::new()),
        Some(Hooks::Installed) => ("installed", false, String::new()),
        Some(Hooks::Plugin) => ("installed as a plugin", false, String::new()),
        Some(Hooks::Missing) => ("not installed", true, "remora install".to_owned()),
        Some(Hooks::Untrusted) => {
            ("needs your confirmation", true, "confirm the hooks in the agent itself".to_owned())
        }
        Some(Hooks::Gone) => ("in a project that is not there", true, "remora doctor".to_owned()),
        Some(Hooks::Outdated { reason }) => ("outdated", true, line(&reason, 200)),
        Some(Hooks::Broken { reason }) => ("broken", true, line(&reason, 200)),
        Some(Hooks::Ignored { reason }) => ("ignored by the agent", true, line(&reason, 200)),
        Some(Hooks::Unreadable { reason }) => ("cannot be read", true, line(&reason, 200)),
    };
    Agent {
        name: line(&report.name, 60),
        state,
        is_bad,
        detail,
        sessions: report.sessions,
        when: report.last_event_at.map(When::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_of_the_settings_has_a_description() {
        for setting in remora_core::settings::all() {
            assert!(SECTIONS.iter().any(|(id, ..)| *id == setting.section()), "{}", setting.name);
        }
    }
}
