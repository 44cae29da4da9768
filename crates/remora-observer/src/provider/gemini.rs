//! Google's Gemini API.

use remora_net::Http;
use serde_json::{Value, json};

use super::raw_reply::RawReply;
use super::{ProviderError, Reply, Request, Usage, count};

pub(super) const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com";
pub(super) const DEFAULT_MODEL: &str = "gemini-3.5-flash-lite";

/// Finish reasons of a candidate that a filter stopped.
const FILTERED: &[&str] = &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"];

pub(super) async fn ask(http: &Http, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
    let call = format!("{}:generateContent", model.trim_start_matches("models/"));
    let has_version = http.base_path().rsplit('/').next().is_some_and(|last| last.starts_with("v1"));
    let path = ["v1beta", "models", &call];
    let url = http.url(if has_version { &path[1..] } else { &path });
    // The API also accepts the key in the URL, but there every proxy would log it.
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

/// Prompt tokens include those from the cache; thoughts are billed as output but counted separately.
fn usage(usage: &Value) -> Option<Usage> {
    let input = usage["promptTokenCount"].as_u64()?;
    let output = count(usage, "candidatesTokenCount") + count(usage, "thoughtsTokenCount");
    Some(Usage { input, output, cached: count(usage, "cachedContentTokenCount"), ..Usage::default() })
}
