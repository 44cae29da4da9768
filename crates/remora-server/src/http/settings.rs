//! Settings as `remora config` shows and changes them; keys can be given and are never shown.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use remora_core::settings::{self, Listed, Setting, Settings};
use remora_store::config_file::{self, ConfigError};
use remora_store::{DataDir, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use super::Http;
use super::error::ApiError;
use super::routes::Routes;

const LARGEST_CHANGE: usize = 64 << 10;

pub(super) fn router() -> Routes {
    Routes::default().get("/api/settings", show).post("/api/settings", change)
}

#[derive(Serialize)]
struct Answer {
    settings: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    value: Value,
    source: String,
    default: Value,
    meaning: &'static str,
    secret: bool,
}

async fn show(State(http): State<Arc<Http>>) -> Result<Json<Answer>, ApiError> {
    Ok(Json(Answer { settings: list(&http.shared.dir)?.into_iter().map(shown).collect() }))
}

/// All of them are right, or none is changed. `null` brings the default back.
async fn change(State(http): State<Arc<Http>>, request: Request) -> Result<Json<Answer>, ApiError> {
    let body = to_bytes(request.into_body(), LARGEST_CHANGE).await.map_err(|_| ApiError::TooLarge)?;
    let wanted: BTreeMap<String, Value> = serde_json::from_slice(&body)
        .map_err(|_| ApiError::invalid("the body is not an object", r#"send {"section.key": value}"#))?;
    let mut changes = Vec::new();
    for (name, value) in &wanted {
        let setting = find(name)?;
        changes.push((setting, parse(setting, value)?));
    }
    let dir = http.shared.dir.clone();
    // Another process may be changing the file, and that is waited for.
    let written = tokio::task::spawn_blocking(move || write(&dir, &changes));
    written.await.map_err(|error| ApiError::Internal(error.to_string()))??;
    http.shared.refresh_settings();
    let mut listed = list(&http.shared.dir)?;
    listed.retain(|entry| wanted.contains_key(entry.setting.name));
    Ok(Json(Answer { settings: listed.into_iter().map(shown).collect() }))
}

fn write(dir: &DataDir, changes: &[(&'static Setting, Option<settings::Value>)]) -> Result<(), ConfigError> {
    for (setting, value) in changes {
        match value {
            Some(value) => config_file::set(dir, setting, value)?,
            None => config_file::unset(dir, setting).map(|_| ())?,
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<&'static Setting, ApiError> {
    settings::find(name).ok_or_else(|| {
        let hint = match settings::nearest(name) {
            Some(setting) => format!("did you mean `{}`?", setting.name),
            None => "see what there is: `GET /api/settings`".to_owned(),
        };
        ApiError::invalid(format!("there is no setting `{name}`"), hint)
    })
}

/// `None` for the default.
fn parse(setting: &'static Setting, value: &Value) -> Result<Option<settings::Value>, ApiError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        // Lists of texts, numbers and truth values are written alike in JSON and TOML.
        other => other.to_string(),
    };
    setting.parse(&text).map(Some).map_err(|reason| {
        ApiError::invalid(
            format!("{}: {reason}; nothing was changed", setting.name),
            format!("{} is {}", setting.name, setting.meaning),
        )
    })
}

fn list(dir: &DataDir) -> Result<Vec<Listed>, ApiError> {
    let text = match fs::read_to_string(dir.config()) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(ApiError::Internal(format!("config.toml: {error}"))),
    };
    Ok(Settings::list(text.as_deref(), |name| std::env::var(name).ok()).1)
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
