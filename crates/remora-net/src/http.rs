//! The only HTTP client for providers and embedders: bounded in time and size, and without retries.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use remora_core::settings::Secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;

use crate::error::{CallError, short_reason};
use crate::refusal::Refusal;

/// Size limit for an answer, in bytes.
const MAX_BODY_LEN: usize = 4 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A service at an address, with its key. Redirects are not followed, so the key is sent nowhere else.
#[derive(Debug)]
pub struct Http {
    client: OnceLock<Result<Client, String>>,
    base_url: Url,
    key: Option<Secret>,
    timeout: Duration,
    keeps_connection: bool,
}

impl Http {
    /// `timeout` covers the whole exchange, from the connection to the last byte.
    pub fn new(base_url: &str, key: Option<Secret>, timeout: Duration) -> Result<Self, CallError> {
        let wrong = |what: &str| CallError::misconfigured(format!("base URL: {what}"));
        let base_url = Url::parse(base_url).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(base_url.scheme(), "http" | "https") || !base_url.has_host() {
            return Err(wrong("expected http://… or https://…"));
        }
        if base_url.query().is_some() || base_url.fragment().is_some() {
            return Err(wrong("expected nothing after the path"));
        }
        Ok(Self { client: OnceLock::new(), base_url, key, timeout, keeps_connection: false })
    }

    /// Keeps the connection open for the next request. For frequent requests.
    #[must_use]
    pub fn keeping_its_connection(self) -> Self {
        Self { keeps_connection: true, ..self }
    }

    pub fn host(&self) -> &str {
        self.base_url.host_str().unwrap_or_default()
    }

    pub fn base_path(&self) -> &str {
        self.base_url.path().trim_matches('/')
    }

    /// The base URL with more path segments, which are escaped as needed.
    pub fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base_url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// The key as a header value that is hidden in logs.
    pub fn key_header(&self, prefix: &str) -> Result<Option<HeaderValue>, CallError> {
        let Some(key) = &self.key else { return Ok(None) };
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose().trim()))
            .map_err(|_| CallError::misconfigured("the API key has characters that no key has"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Sends one request and parses the answer as JSON.
    pub async fn post(
        &self,
        url: Url,
        headers: impl IntoIterator<Item = (&'static str, Option<HeaderValue>)>,
        body: &Value,
    ) -> Result<Value, CallError> {
        let mut all = HeaderMap::new();
        all.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            if let Some(value) = value {
                all.insert(HeaderName::from_static(name), value);
            }
        }
        let began = Instant::now();
        let post = self.client()?.post(url).headers(all).body(body.to_string());
        let response = post.send().await.map_err(|error| self.broken(error))?;
        let status = response.status();
        let headers = response.headers().clone();
        let (bytes, end) = read(response).await;
        let (code, took) = (status.as_u16(), began.elapsed().as_millis());
        tracing::debug!("{}: HTTP {code} in {took} ms, {} bytes", self.host(), bytes.len());
        if status.is_redirection() {
            let reason = format!("HTTP {}: {} points elsewhere", status.as_u16(), self.host());
            return Err(CallError::Misconfigured { reason });
        }
        if !status.is_success() {
            return Err(self.refused(Refusal::read(status.as_u16(), &headers, &bytes)));
        }
        let beginning = self.scrub(&String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]));
        match end {
            End::Whole => {}
            End::TooLong => {
                return Err(CallError::bad_answer("over-long answer", &beginning));
            }
            End::Broken(error) => return Err(self.broken(error)),
        }
        let json = serde_json::from_slice(&bytes).map_err(|error| {
            let reason =
                if bytes.is_empty() { "empty answer".to_owned() } else { format!("no JSON: {error}") };
            CallError::bad_answer(&reason, &beginning)
        })?;
        Refusal::in_answer(&json).map_or(Ok(json), |refusal| Err(self.refused(refusal)))
    }

    fn client(&self) -> Result<&Client, CallError> {
        let client = self.client.get_or_init(|| build(&self.base_url, self.timeout, self.keeps_connection));
        client.as_ref().map_err(CallError::misconfigured)
    }

    fn broken(&self, error: reqwest::Error) -> CallError {
        let host = self.host();
        if error.is_builder() {
            return CallError::misconfigured(root_cause(&error.without_url()));
        }
        if error.is_timeout() && !error.is_connect() {
            return CallError::TimedOut { reason: format!("no whole answer from {host} in time") };
        }
        let sent = !error.is_connect();
        let what = if sent { "the connection broke" } else { "could not connect" };
        let cause = root_cause(&error.without_url());
        CallError::Unreachable { sent, reason: short_reason(&format!("{host}: {what}: {cause}")) }
    }

    fn refused(&self, mut refusal: Refusal) -> CallError {
        refusal.message = self.scrub(&refusal.message);
        refusal.into_error()
    }

    /// Removes the key from a text. Must run before the text is cut, because half a key is no longer found.
    pub fn scrub(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key.expose().trim(), "***"))
    }
}

fn build(base_url: &Url, timeout: Duration, keeps_connection: bool) -> Result<Client, String> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(base_url)?)
        .user_agent(concat!("remora/", env!("CARGO_PKG_VERSION")))
        .timeout(timeout)
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        // Requests are mostly minutes apart, so a kept connection would be dead by the next one.
        .pool_max_idle_per_host(usize::from(keeps_connection));
    if is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| root_cause(&error))
}

/// TLS with ring and the system's root certificates, so that the certificate of a company's proxy is accepted. A
/// system without any can still reach a model on the same machine.
fn tls(base_url: &Url) -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    if base_url.scheme() == "https" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let ring = rustls::crypto::ring::default_provider();
    let config = rustls::ClientConfig::builder_with_provider(ring.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

enum End {
    Whole,
    TooLong,
    Broken(reqwest::Error),
}

async fn read(mut response: Response) -> (Vec<u8>, End) {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_BODY_LEN => return (bytes, End::TooLong),
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return (bytes, End::Whole),
            Err(error) => return (bytes, End::Broken(error)),
        }
    }
}

/// The innermost error, which names the actual cause.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
