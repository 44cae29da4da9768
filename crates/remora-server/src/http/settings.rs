//! Settings, as `remora config` shows and changes them. Keys can be set and are never shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use remora_app::AppError;
use remora_app::settings::{change as write, find, list as list_settings, parse as parse_text};
use remora_core::settings::{self, Listed, Setting, Settings};
use remora_store::config_file::ConfigError;
use remora_store::{DataDir, DataError, SavedBy, StoreError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Http;
use super::asked::{Body, JsonBody};
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default()
        .get("/api/settings", show)
        .post("/api/settings", change)
        .get("/api/memory/settings", show_memory)
        .put("/api/memory/settings", change_memory)
        .patch("/api/memory/settings", change_memory)
}

/// The section of `/api/memory/settings`.
const MEMORY: &str = "memory";

#[derive(Serialize, JsonSchema)]
struct ShownSettings {
    settings: Vec<SettingShown>,
}

#[derive(Serialize, JsonSchema)]
struct SettingShown {
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

/// New values by name of the setting.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Changes(BTreeMap<String, Value>);

impl JsonSchema for Changes {
    fn schema_name() -> Cow<'static, str> {
        "Changes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let settings = settings::all().iter().filter(|setting| !setting.names_a_program());
        object_of(settings.map(|setting| (setting.name, taken(setting))))
    }
}

impl Body for Changes {
    const HINT: &'static str = r#"send {"section.key": value}"#;
}

async fn change(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(Changes(wanted)): JsonBody<Changes>,
) -> Result<Json<ShownSettings>, ApiError> {
    let listed = apply(&http, &wanted, visitor.speaks_as()).await?;
    let listed = listed.into_iter().filter(|entry| wanted.contains_key(entry.setting.name));
    Ok(Json(ShownSettings { settings: listed.map(shown).collect() }))
}

/// The settings of one section: values by key.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Section(Map<String, Value>);

impl JsonSchema for Section {
    fn schema_name() -> Cow<'static, str> {
        "Section".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object_of(of_memory().map(|setting| (setting.key(), given(setting))))
    }
}

async fn show_memory(State(http): State<Arc<Http>>) -> Result<Json<Section>, ApiError> {
    Ok(Json(section(list(&http.shared.dir))))
}

/// New values by key within the section.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct SectionChanges(BTreeMap<String, Value>);

impl JsonSchema for SectionChanges {
    fn schema_name() -> Cow<'static, str> {
        "SectionChanges".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object_of(of_memory().map(|setting| (setting.key(), taken(setting))))
    }
}

impl Body for SectionChanges {
    const HINT: &'static str = r#"send {"key": value}, as `GET /api/memory/settings` answers"#;
}

async fn change_memory(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(SectionChanges(wanted)): JsonBody<SectionChanges>,
) -> Result<Json<Section>, ApiError> {
    let named = |(key, value): (String, Value)| {
        let key = key.strip_prefix("memory.").unwrap_or(&key).to_owned();
        (format!("{MEMORY}.{key}"), value)
    };
    let wanted = wanted.into_iter().map(named).collect();
    Ok(Json(section(apply(&http, &wanted, visitor.speaks_as()).await?)))
}

fn of_memory() -> impl Iterator<Item = &'static Setting> {
    settings::all().iter().filter(|setting| setting.section() == MEMORY)
}

/// Stands for a secret: only whether it is set.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    set: bool,
}

/// An object with these members and no others.
fn object_of(members: impl Iterator<Item = (&'static str, Value)>) -> Schema {
    let members: Map<String, Value> = members.map(|(name, schema)| (name.to_owned(), schema)).collect();
    json_schema!({ "type": "object", "properties": members, "additionalProperties": false })
}

/// The JSON type of a setting, derived from its default.
fn kind(setting: &Setting) -> Value {
    match setting.show(&Settings::default()) {
        settings::Value::Boolean(_) => json!({ "type": "boolean" }),
        settings::Value::Integer(_) => json!({ "type": "integer" }),
        settings::Value::Float(_) => json!({ "type": "number" }),
        settings::Value::Array(_) => json!({ "type": "array", "items": { "type": "string" } }),
        _ if setting.choices.is_empty() => json!({ "type": "string" }),
        _ => json!({ "type": "string", "enum": setting.choices }),
    }
}

/// The schema of a setting's value in a response.
fn given(setting: &Setting) -> Value {
    let mut schema = if setting.secret { secret() } else { kind(setting) };
    schema["description"] = json!(setting.meaning);
    schema
}

fn secret() -> Value {
    json!({
        "type": "object",
        "properties": { "set": { "type": "boolean" } },
        "required": ["set"],
        "additionalProperties": false,
    })
}

/// The schema of a setting's value in a request. It may also be a string, as in `remora config set`, or
/// `null` for the default.
fn taken(setting: &Setting) -> Value {
    let mut choices = vec![kind(setting), json!({ "type": "null" })];
    if setting.secret {
        choices.push(secret());
    }
    if choices.iter().all(|choice| choice["type"] != "string") {
        choices.push(json!({ "type": "string" }));
    }
    json!({ "description": setting.meaning, "anyOf": choices })
}

fn section(listed: Vec<Listed>) -> Section {
    let own = listed.into_iter().filter(|entry| entry.setting.section() == MEMORY);
    Section(own.map(|entry| (entry.setting.key().to_owned(), shown(entry).value)).collect())
}

/// Applies all changes, or none if one is invalid. `null` restores the default; a secret as it is shown
/// changes nothing.
async fn apply(http: &Http, wanted: &BTreeMap<String, Value>, by: SavedBy) -> Result<Vec<Listed>, ApiError> {
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
        if setting.limits_agents() && by == SavedBy::Program {
            let command = format!("remora config set {name} VALUE");
            return Err(AppError::NeedsPerson { what: format!("change {name}"), command }.into());
        }
        if setting.secret && Stored::deserialize(value).is_ok() {
            continue;
        }
        changes.push((setting, parse(setting, value)?));
    }
    let dir = http.shared.dir.clone();
    // May wait for another process that is changing the file.
    let written = tokio::task::spawn_blocking(move || write(&dir, &changes));
    written.await.map_err(|error| ApiError::Internal(error.to_string()))??;
    http.shared.refresh_settings().await;
    Ok(list(&http.shared.dir))
}

/// `None` for the default.
fn parse(setting: &'static Setting, value: &Value) -> Result<Option<settings::Value>, ApiError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        // Lists of strings, numbers and booleans are written alike in JSON and TOML.
        other if is_of(other, &kind(setting)) => other.to_string(),
        _ => return Err(ApiError::invalid(format!("{} has another type", setting.name), setting.meaning)),
    };
    Ok(Some(parse_text(setting, &text)?))
}

fn is_of(value: &Value, kind: &Value) -> bool {
    match value {
        Value::Bool(_) => kind["type"] == "boolean",
        Value::Number(_) => kind["type"] == "integer" || kind["type"] == "number",
        Value::Array(items) => kind["type"] == "array" && items.iter().all(Value::is_string),
        _ => false,
    }
}

fn list(dir: &DataDir) -> Vec<Listed> {
    list_settings(dir, |name| std::env::var(name).ok()).1
}

fn shown(entry: Listed) -> SettingShown {
    let Listed { setting, value, default, source } = entry;
    let as_json = |value: &settings::Value| {
        if setting.secret { json!(Stored { set: value.as_str() == Some("set") }) } else { json!(value) }
    };
    SettingShown {
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
            ConfigError::Data(DataError::DiskFull) => Self::Unavailable("config.toml cannot be written now"),
            ConfigError::Data(other) => StoreError::from(other).into(),
            wrong => Self::invalid(wrong.to_string(), "fix config.toml: `remora config path`"),
        }
    }
}
