//! Google's Gemini API.

use remora_net::Http;
use serde_json::{Value, json};

use super::raw_reply::RawReply;
use super::{ProviderError, Reply, Request, Usage};

pub(super) const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com";
pub(super) const DEFAULT_MODEL: &str = "gemini-3.5-flash-lite";

/// Why a candidate ends when a filter stopped it.
const FILTERED: &[&str] = &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"];

pub(super) async fn ask(http: &Http, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
    let call = format!("{}:generateContent", model.trim_start_matches("models/"));
    let has_version = http.base_path().rsplit('/').next().is_some_and(|last| last.starts_with("v1"));
    let path = ["v1beta", "models", &call];
    let url = http.url(if has_version { &path[1..] } else { &path });
    // The API would take the key in the URL as well, where every proxy on the way logs it.
    let headers = [("x-goog-api-key", http.key_header("")?)];
    let json = http.post(url, headers, &body(request)).await?;
    answer(&json).into_reply(http, model, request)
}

fn body(request: &Request<'_>) -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": request.system }] },
        "contents": [{ "role": "user", "parts": [{ "text": request.prompt }] }],
        "generationConfig": { "maxOutputTokens": request.max_output_tokens },
    })
}

fn answer(json: &Value) -> RawReply {
    let candidate = &json["candidates"][0];
    let parts = candidate["content"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = parts.iter().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    let blocked = json["promptFeedback"]["blockReason"].as_str();
    let finish = blocked.or(candidate["finishReason"].as_str()).unwrap_or_default();
    RawReply {
        text: texts.collect(),
        model: json["modelVersion"].as_str().map(str::to_owned),
        usage: usage(&json["usageMetadata"]),
        finish: finish.to_owned(),
        is_refusal: blocked.is_some() || FILTERED.contains(&finish),
    }
}

/// The prompt's tokens include those from the cache; thoughts are billed as output and counted apart.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let input = usage["promptTokenCount"].as_u64()?;
    let output = count("candidatesTokenCount") + count("thoughtsTokenCount");
    Some(Usage { input, output, cached: count("cachedContentTokenCount"), ..Usage::default() })
}
