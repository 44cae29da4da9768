//! Serves the protocol over HTTP: one request, one response, no session. The caller has already authenticated the
//! request.

use std::convert::Infallible;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use remora_app::{Ancestors, ProjectSelector, is_relative_path};
use rmcp::model::{Extensions, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::{Memory, Server, lines};

/// Size limit of a body, in bytes.
pub const MAX_BODY_LEN: usize = lines::MAX_LEN;

/// The answer to a body that is no message, as over standard input; `None` for a message. The library would answer in
/// plain text.
pub fn refusal(body: &[u8]) -> Option<Vec<u8>> {
    lines::refusal(body)
}

/// The answer to a body above the limit.
pub fn too_long() -> Vec<u8> {
    lines::line_of(&ServerJsonRpcMessage::error(lines::too_long(), None)).unwrap_or_default()
}

/// Answers requests to one address. It has no sessions, so nothing is lost when the process ends.
#[expect(missing_debug_implementations, reason = "the library's service has none")]
pub struct Endpoint<M> {
    service: StreamableHttpService<Server<M>, NeverSessionManager>,
}

impl<M: Memory> Endpoint<M> {
    pub fn new(memory: Arc<M>) -> Self {
        let make = move || Ok(Server::new(Arc::clone(&memory), None, Ancestors::default()));
        let config =
            StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
        Self { service: StreamableHttpService::new(make, Arc::default(), config) }
    }

    pub async fn handle<B>(
        &self,
        request: Request<B>,
    ) -> Response<impl Body<Data = Bytes, Error = Infallible> + Send + 'static>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        self.service.handle(request).await
    }
}

/// The project in the address of a request: `/mcp?project=NAME`. Requests over standard input have no address.
pub(crate) fn home(extensions: &Extensions) -> Option<ProjectSelector> {
    let query = extensions.get::<Parts>()?.uri.query()?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("project="))?;
    let name = decoded(value);
    // A relative path would be resolved against the daemon's directory, which is unrelated to the host's.
    (!name.is_empty() && !is_relative_path(&name)).then(|| {
        if Path::new(&name).is_absolute() {
            ProjectSelector::Directory(name.into())
        } else {
            ProjectSelector::Project(name)
        }
    })
}

/// Decodes a value of a query string.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(if *first == b'+' { b' ' } else { *first }),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_decoded() {
        assert_eq!(decoded("%2Fhome%2Fdev%2Fmy+shop%20%C3%A9"), "/home/dev/my shop é");
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%2"), "%zz%2");
    }
}
