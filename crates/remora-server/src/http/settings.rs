//! Settings as `remora config` shows and changes them; keys can be given and are never shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use remora_app::settings::{change as write, find, list as list_settings, parse as parse_text};
use remora_core::settings::{self, Listed, Setting};
use remora_store::config_file::ConfigError;
use remora_store::{DataDir, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Http;
use super::asked::{Body, Sent};
use super::error::ApiError;
use super::routes::Api;

pub(super) fn router() -> Api {
    Api::default()
        .get("/api/settings", show)
        .post("/api/settings", change)
        .get("/api/memory/settings", show_memory)
        .put("/api/memory/settings", change_memory)
        .patch("/api/memory/settings", change_memory)
}

/// The section that `/api/memory/settings` is about.
const MEMORY: &str = "memory";

#[derive(Serialize, JsonSchema)]
struct ShownSettings {
    settings: Vec<Shown>,
}

#[derive(Serialize, JsonSchema)]
struct Shown {
    name: &'static str,
    value: Value,
    source: String,
    default: Value,
    meaning: &'static str,
    secret: bool,
}

async fn show(State(http): State<Arc<Http>>) -> Result<Json<ShownSettings>, ApiError> {
    Ok(Json(ShownSettings { settings: list(&http.shared.dir).into_iter().map(shown).collect() }))
}

/// New values by the names of settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Changes(BTreeMap<String, Value>);

impl Body for Changes {
    const HINT: &'static str = r#"send {"section.key": value}"#;
}

async fn change(
    State(http): State<Arc<Http>>,
    Sent(Changes(wanted)): Sent<Changes>,
) -> Result<Json<ShownSettings>, ApiError> {
    let listed = apply(&http, &wanted).await?;
    let listed = listed.into_iter().filter(|entry| wanted.contains_key(entry.setting.name));
    Ok(Json(ShownSettings { settings: listed.map(shown).collect() }))
}

/// The settings of one section, by their keys, with nothing but their values.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct Section(Map<String, Value>);

async fn show_memory(State(http): State<Arc<Http>>) -> Result<Json<Section>, ApiError> {
    Ok(Json(section(list(&http.shared.dir))))
}

/// New values by keys of the section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
struct SectionChanges(BTreeMap<String, Value>);

impl Body for SectionChanges {
    const HINT: &'static str = r#"send {"key": value}, as `GET /api/memory/settings` answers"#;
}

async fn change_memory(
    State(http): State<Arc<Http>>,
    Sent(SectionChanges(wanted)): Sent<SectionChanges>,
) -> Result<Json<Section>, ApiError> {
    let named = |(key, value): (String, Value)| {
        let key = key.strip_prefix("memory.").unwrap_or(&key).to_owned();
        (format!("{MEMORY}.{key}"), value)
    };
    let wanted = wanted.into_iter().map(named).collect();
    Ok(Json(section(apply(&http, &wanted).await?)))
}

fn section(listed: Vec<Listed>) -> Section {
    let own = listed.into_iter().filter(|entry| entry.setting.section() == MEMORY);
    Section(own.map(|entry| (entry.setting.key().to_owned(), shown(entry).value)).collect())
}

/// All of them are right, or none is changed. `null` brings the default back; a secret as it is shown changes nothing.
async fn apply(http: &Http, wanted: &BTreeMap<String, Value>) -> Result<Vec<Listed>, ApiError> {
    let mut changes = Vec::new();
    for (name, value) in wanted {
        let setting = find(name)?;
        if setting.names_a_program() {
            let hint = format!("use a terminal: `remora config set {name} PROGRAM`");
            return Err(ApiError::invalid(
                format!("{name} names a program, and is not changed over HTTP"),
                hint,
            ));
        }
        if setting.secret && value.get("set").is_some() {
            continue;
        }
        changes.push((setting, parse(setting, value)?));
    }
    let dir = http.shared.dir.clone();
    // Another process may be changing the file, and that is waited for.
    let written = tokio::task::spawn_blocking(move || write(&dir, &changes));
    written.await.map_err(|error| ApiError::Internal(error.to_string()))??;
    http.shared.refresh_settings();
    Ok(list(&http.shared.dir))
}

/// `None` for the default.
fn parse(setting: &'static Setting, value: &Value) -> Result<Option<settings::Value>, ApiError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        // Lists of texts, numbers and truth values are written alike in JSON and TOML.
        other => other.to_string(),
    };
    Ok(Some(parse_text(setting, &text)?))
}

fn list(dir: &DataDir) -> Vec<Listed> {
    list_settings(dir, |name| std::env::var(name).ok()).1
}

fn shown(entry: Listed) -> Shown {
    let Listed { setting, value, default, source } = entry;
    let as_json = |value: &settings::Value| {
        if setting.secret { json!({"set": value.as_str() == Some("set")}) } else { json!(value) }
    };
    Shown {
        name: setting.name,
        value: as_json(&value),
        source: source.to_string(),
        default: as_json(&default),
        meaning: setting.meaning,
        secret: setting.secret,
    }
}

impl From<ConfigError> for ApiError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Busy { .. } => Self::Unavailable("another process is changing config.toml"),
            ConfigError::Store(StoreError::Busy | StoreError::DiskFull) => {
                Self::Unavailable("config.toml cannot be written now")
            }
            ConfigError::Store(other) => other.into(),
            wrong => Self::invalid(wrong.to_string(), "put config.toml right: `remora config path`"),
        }
    }
}
