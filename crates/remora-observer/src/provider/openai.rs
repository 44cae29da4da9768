//! The chat completions API of OpenAI, OpenRouter, Ollama, LM Studio, vLLM and many others.

use remora_net::Http;
use serde_json::{Value, json};

use super::raw_reply::RawReply;
use super::{ProviderError, Reply, Request, Usage};

pub(super) const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
pub(super) const DEFAULT_MODEL: &str = "gpt-5.4-nano";
pub(super) const OPENROUTER_DEFAULT_BASE_URL: &str = "https://openrouter.ai/api/v1";
pub(super) const OPENROUTER_DEFAULT_MODEL: &str = "anthropic/claude-haiku-5.5";

pub(super) async fn ask(http: &Http, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
    // Users write `http://localhost:11434` for Ollama; all of these servers have the API below `/v1`.
    let path: &[&str] =
        if http.base_path().is_empty() { &["v1", "chat", "completions"] } else { &["chat", "completions"] };
    let headers = [("authorization", http.key_header("Bearer ")?)];
    let json = http.post(http.url(path), headers, &body(http.host(), model, request)).await?;
    answer(&json).into_reply(http, model, request)
}

fn body(host: &str, model: &str, request: &Request<'_>) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": request.system },
            { "role": "user", "content": request.prompt },
        ],
    });
    // OpenAI's newer models reject the old name, and other servers do not know the new one.
    let is_openai = host == "openai.com" || host.ends_with(".openai.com");
    let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = request.max_output_tokens.into();
    // A small thinking model would spend its output on thoughts. Larger ones may reject this parameter.
    if host.ends_with("openrouter.ai") && model.contains("haiku") {
        body["reasoning"] = json!({ "enabled": false });
    }
    body
}

fn answer(json: &Value) -> RawReply {
    let choice = &json["choices"][0];
    let message = &choice["message"];
    let finish = choice["finish_reason"].as_str().unwrap_or_default();
    let refusal = message["refusal"].as_str().filter(|refusal| !refusal.is_empty());
    RawReply {
        text: text(&message["content"]),
        model: json["model"].as_str().filter(|model| !model.is_empty()).map(str::to_owned),
        usage: usage(&json["usage"]),
        finish: refusal.unwrap_or(finish).to_owned(),
        is_refusal: refusal.is_some() || finish == "content_filter",
    }
}

/// A text, or a list of parts, some of which are texts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    Some(Usage {
        input: usage["prompt_tokens"].as_u64()?,
        output: usage["completion_tokens"].as_u64().unwrap_or_default(),
        cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or_default(),
        // OpenRouter reports what it charged; the others do not.
        cost_usd: usage["cost"].as_f64(),
        estimated: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_depends_on_the_server() {
        let request = Request { system: "s", prompt: "p", max_output_tokens: 7 };
        let openai = body("api.openai.com", DEFAULT_MODEL, &request);
        assert_eq!((&openai["max_completion_tokens"], &openai["max_tokens"]), (&json!(7), &Value::Null));
        let ollama = body("localhost", "qwen3:4b", &request);
        assert_eq!((&ollama["max_completion_tokens"], &ollama["max_tokens"]), (&Value::Null, &json!(7)));
        let openrouter = body("openrouter.ai", OPENROUTER_DEFAULT_MODEL, &request);
        assert_eq!(openrouter["reasoning"], json!({ "enabled": false }));
        assert_eq!(body("openrouter.ai", "some/other", &request)["reasoning"], Value::Null);
    }
}
