//! A transport with one message per line. An invalid line is answered with an error and the next one is read, so that a
//! host that sends one bad line does not lose the connection.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longest line, in bytes. Saved texts are cut to a fraction of it anyway, and HTTP has the same limit.
pub(crate) const MAX_LEN: usize = 4 << 20;
/// Limit for answers that wait for a host that does not read. When it is reached, no more lines are read.
const WAITING: usize = 64;

/// Reads and writes messages as lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    skips: bool,
    ended: bool,
    /// Whether a conversation has begun. The library drops a peer whose first message is not a request, so other
    /// messages are ignored until then.
    begun: bool,
    /// The answer to an invalid line. It is stored here, because [`Transport::receive`] may be dropped while it waits.
    refusal: Option<Vec<u8>>,
    /// `None` after this end is closed.
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
}

/// The meaning of a line.
#[derive(Debug)]
enum Heard {
    Message(Box<ClientJsonRpcMessage>),
    /// Needs no answer.
    Nothing,
    Refused(Option<RequestId>, ErrorData),
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    pub(crate) fn new(input: R, output: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skips: false,
            ended: false,
            begun: false,
            refusal: None,
            output: Some(sender),
            writer: Some(tokio::spawn(write(receiver, output))),
        }
    }

    /// The next line with its line break; `None` at the end. If a call is dropped, the bytes it has read are kept.
    async fn next(&mut self) -> Option<Result<Vec<u8>, ErrorData>> {
        loop {
            if self.ended {
                return None;
            }
            // Dropping the future here loses nothing: only `consume` removes bytes.
            let Ok(read) = self.input.fill_buf().await else {
                self.ended = true;
                return None;
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            let is_last = taken == 0;
            let fits = self.line.len() + taken <= MAX_LEN;
            if fits && !self.skips {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            if !fits && !self.skips {
                self.skips = true;
                self.line = Vec::new();
            }
            self.ended = is_last;
            if !is_last && end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.skips) {
                return Some(Err(too_long()));
            }
            return Some(Ok(line));
        }
    }

    fn hear(&mut self, line: &[u8]) -> Heard {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return Heard::Nothing;
        }
        let heard = hear(line);
        let Heard::Message(message) = &heard else { return heard };
        match &**message {
            JsonRpcMessage::Request(request) => self.begun |= begins(&request.request),
            _ if !self.begun => return Heard::Nothing,
            _ => {}
        }
        heard
    }
}

/// The error that answers text which is no message; `None` for a message.
pub(crate) fn refusal(text: &[u8]) -> Option<Vec<u8>> {
    match hear(text) {
        Heard::Refused(id, error) => line_of(&ServerJsonRpcMessage::error(error, id)).ok(),
        Heard::Message(_) | Heard::Nothing => None,
    }
}

/// The error that answers a message above the size limit.
pub(crate) fn too_long() -> ErrorData {
    ErrorData::new(ErrorCode::PARSE_ERROR, format!("a message is longer than {MAX_LEN} bytes"), None)
}

fn hear(line: &[u8]) -> Heard {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Heard::Refused(None, ErrorData::new(ErrorCode::PARSE_ERROR, "this is not JSON", None));
    };
    let invalid = |id, reason: &str| Heard::Refused(id, ErrorData::invalid_request(reason.to_owned(), None));
    let Value::Object(object) = &value else {
        return invalid(None, "a message is one object; batches are not taken");
    };
    let id = object.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()));
    let is_answer = object.contains_key("result") || object.contains_key("error");
    match (object.get("method"), id) {
        // An answer to a request that we never sent.
        (None, _) if is_answer => Heard::Nothing,
        (None, id) => invalid(id.and_then(Result::ok), "`method` is missing"),
        (Some(Value::String(_)), None) => match serde_json::from_value(value) {
            Ok(message) => Heard::Message(Box::new(message)),
            Err(_) => Heard::Nothing,
        },
        (Some(_), None) => invalid(None, "`method` is not a string"),
        (Some(_), Some(Err(_))) => invalid(None, "`id` is neither a string nor an integer"),
        (Some(Value::String(_)), Some(Ok(id))) => match serde_json::from_value(value) {
            Ok(message @ JsonRpcMessage::Request(_)) => Heard::Message(Box::new(message)),
            _ => invalid(Some(id), "this is not a JSON-RPC 2.0 request"),
        },
        (Some(_), Some(Ok(id))) => invalid(Some(id), "`method` is not a string"),
    }
}

/// Whether the library accepts this request as the start of a conversation.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

async fn write(mut lines: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = lines.recv().await {
        // The host is gone and reads no answers. Returning closes the channel and ends the conversation.
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

pub(crate) fn line_of(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let line = line_of(&message)?;
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            output.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() {
                let room = self.output.as_ref()?.reserve().await.ok()?;
                if let Some(refusal) = self.refusal.take() {
                    room.send(refusal);
                }
            }
            let heard = match self.next().await? {
                Ok(line) => self.hear(&line),
                Err(too_long) => Heard::Refused(None, too_long),
            };
            match heard {
                Heard::Message(message) => return Some(*message),
                Heard::Nothing => {}
                Heard::Refused(id, error) => {
                    self.refusal = line_of(&ServerJsonRpcMessage::error(error, id)).ok();
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        if let Some(writer) = self.writer.take() {
            writer.await.map_err(io::Error::other)?;
        }
        Ok(())
    }
}
