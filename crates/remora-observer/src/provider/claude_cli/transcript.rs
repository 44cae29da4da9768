//! The output of Claude Code: lines of JSON, the last of which is the result.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};

use remora_net::{CallError, Refusal, short_reason, until};
use serde_json::Value;

use crate::provider::{ProviderError, Reply, Request, Usage, anthropic};

type FromReason = fn(String) -> CallError;

/// Claude Code reports errors as sentences, not all of which include a request status.
const PHRASES: &[(&str, FromReason)] = &[
    ("/login", |reason| CallError::Auth { reason }),
    ("not logged in", |reason| CallError::Auth { reason }),
    ("invalid api key", |reason| CallError::Auth { reason }),
    ("oauth token", |reason| CallError::Auth { reason }),
    ("authenticat", |reason| CallError::Auth { reason }),
    ("credit balance", |reason| CallError::Auth { reason }),
    ("usage limit", |reason| CallError::RateLimited { retry_after: None, reason }),
    ("rate limit", |reason| CallError::RateLimited { retry_after: None, reason }),
    ("limit reached", |reason| CallError::RateLimited { retry_after: None, reason }),
    ("hit your", |reason| CallError::RateLimited { retry_after: None, reason }),
    ("overloaded", |reason| CallError::Overloaded { retry_after: None, reason }),
    ("prompt is too long", |reason| CallError::Rejected { reason }),
    ("selected model", |reason| CallError::Misconfigured { reason }),
    ("unknown option", |reason| CallError::Misconfigured {
        reason: format!("{reason} (update Claude Code)"),
    }),
    ("timed out", |reason| CallError::TimedOut { reason }),
    ("connection error", |reason| CallError::Unreachable { sent: true, reason }),
    ("unable to connect", |reason| CallError::Unreachable { sent: false, reason }),
    ("fetch failed", |reason| CallError::Unreachable { sent: true, reason }),
];

#[derive(Default)]
pub(super) struct Transcript {
    pub(super) output: ParsedOutput,
    /// The beginning of standard error.
    pub(super) errors: Vec<u8>,
    pub(super) is_over_long: bool,
    /// `None` if it had to be killed.
    pub(super) status: Option<ExitStatus>,
}

#[derive(Default)]
pub(super) struct ParsedOutput {
    pub(super) result: Option<Value>,
    session_id: Option<String>,
    model: Option<String>,
    /// The model's messages, in case the result does not repeat them.
    said: String,
    /// Output that is not a message.
    noise: String,
    resets_at: Option<SystemTime>,
}

impl ParsedOutput {
    /// Reads one line. Unknown messages are ignored.
    pub(super) fn line(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.noise.push_str(&String::from_utf8_lossy(&line[..line.len().min(1000)]));
            return;
        };
        match message["type"].as_str() {
            Some("system") if message["subtype"] == "init" => {
                self.session_id = message["session_id"].as_str().map(str::to_owned);
                self.model = message["model"].as_str().map(str::to_owned);
            }
            Some("assistant") => {
                let blocks = message["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                let texts = blocks.iter().filter(|block| block["type"] == "text");
                self.said.extend(texts.filter_map(|block| block["text"].as_str()));
            }
            Some("rate_limit_event") if message["rate_limit_info"]["status"] == "rejected" => {
                let seconds = message["rate_limit_info"]["resetsAt"].as_u64();
                self.resets_at = seconds.map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at));
            }
            Some("result") => self.result = Some(message),
            _ => {}
        }
    }
}

impl Transcript {
    pub(super) fn into_reply(mut self, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
        let Some(result) = self.output.result.take() else { return Err(self.ended_early().into()) };
        let text = result["result"].as_str().unwrap_or(&self.output.said);
        if result["is_error"] == true && result["subtype"] == "success" {
            return Err(self.refused(&result, text).into());
        }
        let usage = Usage {
            cost_usd: result["total_cost_usd"].as_f64(),
            ..anthropic::usage(&result["usage"]).unwrap_or_else(|| Usage::estimate(request, text))
        };
        // A model that tries to use a tool is stopped there; the text before it counts.
        let subtype = result["subtype"].as_str().unwrap_or_default();
        let is_usable =
            matches!(subtype, "success" | "error_max_turns") && result["stop_reason"] != "refusal";
        if !is_usable || text.trim().is_empty() {
            let stop = result["stop_reason"].as_str().unwrap_or("no reason given");
            let reason = format!("no answer from `claude` ({subtype}, {stop})");
            return Err(ProviderError::bad_answer(&reason, text, usage));
        }
        let model = self.output.model.take().unwrap_or_else(|| model.to_owned());
        let session_id = self.output.session_id.take();
        Ok(Reply { text: text.to_owned(), model, usage, session_id })
    }

    fn refused(&self, result: &Value, text: &str) -> CallError {
        let retry_after = self.output.resets_at.map(until);
        let status = result["api_error_status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let error = match status {
            Some(status) => Refusal { status, message: text.to_owned(), retry_after }.into_error(),
            None => by_words(text).unwrap_or_else(|| CallError::bad_answer(text, "")),
        };
        match error {
            CallError::RateLimited { reason, .. } => CallError::RateLimited { retry_after, reason },
            error => error,
        }
    }

    fn ended_early(self) -> CallError {
        let errors = String::from_utf8_lossy(&self.errors).into_owned();
        let noise = self.output.noise;
        if self.is_over_long {
            return CallError::bad_answer("over-long answer", &noise);
        }
        if let Some(error) = by_words(&errors).or_else(|| by_words(&noise)) {
            return error;
        }
        let signal = self.status.and_then(|status| status.signal());
        let code = self.status.and_then(|status| status.code());
        match (signal, code) {
            (Some(signal), _) => {
                let reason = format!("`claude` was ended by signal {signal}");
                CallError::Unreachable { sent: true, reason }
            }
            (None, Some(code @ 1..)) => {
                let words = if errors.trim().is_empty() { noise } else { errors };
                CallError::misconfigured(format!("`claude` ended with exit code {code}: {words}"))
            }
            _ => CallError::bad_answer("`claude` gave no result", &noise),
        }
    }
}

fn by_words(text: &str) -> Option<CallError> {
    let lower = text.to_lowercase();
    let (_, error) = PHRASES.iter().find(|(words, _)| lower.contains(words))?;
    Some(error(short_reason(text)))
}
