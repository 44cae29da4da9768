//! Converts a provider's error response to a [`CallError`], from status, headers and body.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::error::{CallError, short_reason};

/// Upper limit for a delay requested by a provider.
const MAX_DELAY: Duration = Duration::from_hours(1);

#[derive(Clone, Copy)]
enum Cause {
    Account,
    Settings,
    Request,
}

/// Phrases that are more specific than the status, which is 400 or 403 for all of these.
const PHRASES: &[(&str, Cause)] = &[
    ("api key not valid", Cause::Account),
    ("api key expired", Cause::Account),
    ("credit balance", Cause::Account),
    ("not a valid model", Cause::Settings),
    ("location is not supported", Cause::Settings),
    ("moderation", Cause::Request),
    ("flagged", Cause::Request),
];

/// A provider's error response, before it is classified.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub message: String,
    pub retry_after: Option<Duration>,
}

impl Refusal {
    pub fn read(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let retry_after = delay(headers).or_else(|| delay_in_body(&json));
        Self { status, message: message(&json, body), retry_after }
    }

    /// Reads `{"error": {"code": 429, …}}`, which may also come with status 200.
    pub fn in_answer(json: &Value) -> Option<Self> {
        let error = json.get("error").filter(|error| !error.is_null())?;
        let code = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let status = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        let retry_after = delay_in_body(json);
        Some(Self { status: status.unwrap_or(500), message: message(json, b""), retry_after })
    }

    /// Classifies it by what the caller can do about it.
    pub fn into_error(self) -> CallError {
        let Self { status, message, retry_after } = self;
        let mut reason = format!("HTTP {status}");
        if !message.is_empty() {
            reason = short_reason(&format!("{reason}: {message}"));
        }
        let words = message.to_lowercase();
        let cause = PHRASES.iter().find(|(phrase, _)| words.contains(phrase)).map(|(_, cause)| *cause);
        match (status, cause.filter(|_| (400..500).contains(&status))) {
            (_, Some(Cause::Account)) | (401..=403, None) => CallError::Auth { reason },
            (_, Some(Cause::Settings)) | (404 | 405 | 407 | 410, None) => CallError::Misconfigured { reason },
            (429, None) => CallError::RateLimited { retry_after, reason },
            (408 | 425 | 500.., None) => CallError::Overloaded { retry_after, reason },
            _ => CallError::Rejected { reason },
        }
    }
}

/// The provider's own message, from any of the usual places; empty for a web page.
fn message(json: &Value, body: &[u8]) -> String {
    // Gemini wraps errors in a list for streaming requests, and some gateways always do.
    let json = json.get(0).unwrap_or(json);
    let places = ["/error/message", "/error", "/message", "/detail", "/errors/0/message"];
    if let Some(text) = places.iter().find_map(|place| json.pointer(place)?.as_str()) {
        return text.to_owned();
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(1000)]);
    let is_prose = json.is_null() && !text.trim_start().starts_with('<');
    if is_prose { text.into_owned() } else { String::new() }
}

fn delay(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return bounded(milliseconds / 1000.0);
    }
    let text = header("retry-after")?;
    match text.parse::<f64>() {
        Ok(seconds) => bounded(seconds),
        Err(_) => Some(until(jiff::fmt::rfc2822::parse(text).ok()?.timestamp().into())),
    }
}

/// The delay in the body, as Gemini sends it: `{"@type": "….RetryInfo", "retryDelay": "34.07s"}`.
fn delay_in_body(json: &Value) -> Option<Duration> {
    let details = json.get(0).unwrap_or(json).pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    bounded(delay.strip_suffix('s')?.parse().ok()?)
}

fn bounded(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.min(MAX_DELAY.as_secs_f64())).ok()
}

/// The time until `moment`; zero if it has passed.
pub fn until(moment: SystemTime) -> Duration {
    moment.duration_since(SystemTime::now()).unwrap_or_default().min(MAX_DELAY)
}
