//! Obsidian's Local REST API, read only: one request lists all notes, one more reads each.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use remora_core::privacy::MAX_READ;
use remora_core::settings::Secret;
use remora_core::time::Time;
use remora_net::root_cause;
use remora_store::DataDir;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use rustls::crypto::CryptoProvider;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::certificate::{self, Pinned};
use crate::error::SourceError;
use crate::folder::Listing;
use crate::round::NoteFile;

/// Timeouts. Obsidian is on this machine: if it does not answer soon, it is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(5);
/// Timeout for the list. Obsidian evaluates a query for every note, which takes longer.
const LIST: Duration = Duration::from_secs(20);
const MAX_LIST_LEN: usize = 16 << 20;

/// The certificate that a server offers at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub fingerprint: String,
}

impl Offered {
    /// Fetches the certificate, without sending the key.
    pub fn at(address: &str) -> Result<Self, SourceError> {
        let line = Line::open(address, None)?;
        line.greet()?;
        let offered = line.pinned.offered();
        offered.map(|fingerprint| Self { fingerprint }).ok_or_else(|| line.strange("no certificate"))
    }
}

/// A connection to the API, held to the trusted certificate.
pub(crate) struct Api {
    line: Line,
    key: HeaderValue,
}

impl Api {
    pub(crate) fn connect(address: &str, key: &Secret, dir: &DataDir) -> Result<Self, SourceError> {
        if !key.is_set() {
            return Err(SourceError::NoKey);
        }
        let mut header =
            HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| SourceError::WrongKey)?;
        header.set_sensitive(true);
        if address.starts_with("https://") && trusted(dir, address)?.is_none() {
            // First contact: this certificate is pinned. The key is sent only over a connection that is held to it.
            let Offered { fingerprint } = Offered::at(address)?;
            certificate::trust(dir, address, &fingerprint)
                .map_err(|error| SourceError::Certificate(error.to_string()))?;
        }
        Ok(Self { line: Line::open(address, trusted(dir, address)?)?, key: header })
    }

    /// Lists every note with its modification time and size in one request: a query that returns both as text.
    pub(crate) fn list(&self) -> Result<Listing, SourceError> {
        #[derive(Deserialize)]
        struct Listed {
            filename: String,
            result: String,
        }
        let question = json!({"cat": [{"var": "stat.mtime"}, "-", {"var": "stat.size"}]});
        let request = self
            .line
            .client
            .post(self.line.url(&["search", ""])?)
            .header(CONTENT_TYPE, "application/vnd.olrapi.jsonlogic+json")
            .timeout(LIST)
            .body(question.to_string());
        let (status, bytes) = self.ask(request, MAX_LIST_LEN)?;
        if !status.is_success() {
            return Err(self.line.strange(&format!("HTTP {} to a search", status.as_u16())));
        }
        let listed: Vec<Listed> =
            serde_json::from_slice(&bytes).map_err(|error| self.line.strange(&error.to_string()))?;
        let found = listed.into_iter().filter(|note| is_shown(&note.filename));
        let found = found.map(|Listed { filename, result }| {
            let changed = result.split(['-', '.']).next().and_then(|time| time.parse().ok());
            NoteFile { path: filename, stamp: result, changed_at: Time(changed.unwrap_or_default()) }
        });
        Ok(Listing::of(found.collect()))
    }

    /// Reads a note. The inner error concerns this note only.
    pub(crate) fn read(&self, path: &str) -> Result<Result<String, String>, SourceError> {
        let mut segments = vec!["vault"];
        segments.extend(path.split('/'));
        let request = self.line.client.get(self.line.url(&segments)?).header(ACCEPT, "text/markdown");
        let (status, bytes) = self.ask(request, MAX_READ)?;
        Ok(if status.is_success() {
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            Err(format!("HTTP {}", status.as_u16()))
        })
    }

    fn ask(&self, request: RequestBuilder, most: usize) -> Result<(StatusCode, Vec<u8>), SourceError> {
        let (status, bytes) = self.line.ask(request.header(AUTHORIZATION, self.key.clone()), most)?;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(SourceError::WrongKey),
            status => Ok((status, bytes)),
        }
    }
}

/// Same rules as for a folder: hidden files are not notes, and a path stays in the vault.
fn is_shown(path: &str) -> bool {
    let is_markdown = remora_core::vault::without_extension(path) != path;
    is_markdown && path.split('/').all(|name| !name.starts_with('.') && !name.is_empty())
}

/// A client for one address. It accepts one certificate, or any.
struct Line {
    address: Url,
    client: Client,
    pinned: Arc<Pinned>,
    /// `None` only while being dropped.
    runtime: Option<Runtime>,
}

/// A `Line` may be dropped in async code, which must not block until a connection closes.
impl Drop for Line {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Line {
    fn open(address: &str, wanted: Option<String>) -> Result<Self, SourceError> {
        let wrong = |reason: &str| SourceError::Address(format!("{address} ({reason})"));
        let url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pinned = Arc::new(Pinned::new(wanted, Arc::clone(&provider)));
        let client = client(provider, &pinned).map_err(|reason| wrong(&reason))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { address: url, client, pinned, runtime: Some(runtime) })
    }

    fn url(&self, segments: &[&str]) -> Result<Url, SourceError> {
        let mut url = self.address.clone();
        match url.path_segments_mut() {
            Ok(mut path) => path.pop_if_empty().extend(segments),
            Err(()) => return Err(SourceError::Address(self.address.to_string())),
        };
        Ok(url)
    }

    /// Fetches the greeting, which needs no key.
    fn greet(&self) -> Result<(), SourceError> {
        self.ask(self.client.get(self.address.clone()), MAX_LIST_LEN).map(|_| ())
    }

    fn ask(&self, request: RequestBuilder, most: usize) -> Result<(StatusCode, Vec<u8>), SourceError> {
        self.run(async {
            let response = request.send().await?;
            let status = response.status();
            Ok((status, beginning(response, most).await?))
        })
    }

    fn run<T>(&self, work: impl Future<Output = Result<T, reqwest::Error>>) -> Result<T, SourceError> {
        let address = self.name();
        let closed = || SourceError::Down { address: address.clone(), reason: "it was closed".to_owned() };
        let runtime = self.runtime.as_ref().ok_or_else(closed)?;
        runtime.block_on(work).map_err(|error| {
            let address = self.name();
            match self.pinned.offered() {
                Some(offered) if error.is_connect() && !self.pinned.takes(&offered) => {
                    SourceError::OtherCertificate { address, offered }
                }
                _ if error.is_timeout() => {
                    SourceError::Down { address, reason: "no answer in time".to_owned() }
                }
                _ => SourceError::Down { address, reason: root_cause(&error.without_url()) },
            }
        })
    }

    fn name(&self) -> String {
        self.address.as_str().trim_end_matches('/').to_owned()
    }

    fn strange(&self, reason: &str) -> SourceError {
        SourceError::Strange { address: self.name(), reason: reason.to_owned() }
    }
}

fn trusted(dir: &DataDir, address: &str) -> Result<Option<String>, SourceError> {
    certificate::trusted(dir, address).map_err(|error| SourceError::Certificate(error.to_string()))
}

fn client(provider: Arc<CryptoProvider>, pinned: &Arc<Pinned>) -> Result<Client, String> {
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(pinned) as _)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("remora/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| root_cause(&error))
}

/// Reads at most `most` bytes of an answer.
async fn beginning(mut response: Response, most: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let left = most - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(left)]);
        if bytes.len() == most {
            break;
        }
    }
    Ok(bytes)
}
