//! Anthropic's Messages API.

use remora_net::{HeaderValue, Http};
use serde_json::{Value, json};

use super::raw_reply::RawReply;
use super::{ProviderError, Reply, Request, Usage, count};

pub(super) const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";
pub(super) const DEFAULT_MODEL: &str = "claude-haiku-5-5";
const API_VERSION: &str = "2023-06-01";

pub(super) async fn ask(http: &Http, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
    let has_version = http.base_path().ends_with("v1");
    let url = http.url(if has_version { &["messages"] } else { &["v1", "messages"] });
    let headers = [
        ("x-api-key", http.key_header("")?),
        ("anthropic-version", Some(HeaderValue::from_static(API_VERSION))),
    ];
    let json = http.post(url, headers, &body(model, request)).await?;
    answer(&json).into_reply(http, model, request)
}

fn body(model: &str, request: &Request<'_>) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_output_tokens,
        // The system prompt is the same in every request, so with the cache its full price is paid once in five
        // minutes.
        "system": [{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }],
        "messages": [{ "role": "user", "content": request.prompt }],
    });
    // A thinking model would spend its output on thoughts. Larger models may reject this parameter.
    if model.contains("haiku") {
        body["thinking"] = json!({ "type": "disabled" });
    }
    body
}

fn answer(json: &Value) -> RawReply {
    let blocks = json["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts =
        blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    let finish = json["stop_reason"].as_str().unwrap_or_default();
    RawReply {
        text: texts.collect(),
        model: json["model"].as_str().map(str::to_owned),
        usage: usage(&json["usage"]),
        finish: finish.to_owned(),
        is_refusal: finish == "refusal",
    }
}

/// Also used for reports of Claude Code. Tokens read from and written to the cache are counted separately.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let cached = count(usage, "cache_read_input_tokens");
    let input = usage["input_tokens"].as_u64()? + cached + count(usage, "cache_creation_input_tokens");
    Some(Usage { input, output: count(usage, "output_tokens"), cached, ..Usage::default() })
}
