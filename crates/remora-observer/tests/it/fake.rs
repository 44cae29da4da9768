//! A fake model provider on loopback: it answers in each API's format, or misbehaves as scripted.
//!
//! [`Fake::start`] takes a script of [`Behaviour`]s, one per request; the last one is repeated. Every request is
//! recorded. Nothing here knows the code under test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Gemini,
    /// Also OpenRouter, Ollama and similar services.
    Openai,
}

impl Api {
    pub(crate) const ALL: [Self; 3] = [Self::Anthropic, Self::Gemini, Self::Openai];

    /// A complete answer: 120 input tokens, 80 of them from the cache, and 30 output tokens.
    pub(crate) fn answer(self, text: &str) -> Value {
        self.finished(text, ["end_turn", "STOP", "stop"])
    }

    /// An answer cut off at the token limit.
    pub(crate) fn cut_off(self, text: &str) -> Value {
        self.finished(text, ["max_tokens", "MAX_TOKENS", "length"])
    }

    /// An answer stopped by a filter.
    pub(crate) fn filtered(self) -> Value {
        self.finished("", ["refusal", "SAFETY", "content_filter"])
    }

    fn finished(self, text: &str, [anthropic, gemini, openai]: [&str; 3]) -> Value {
        match self {
            Self::Anthropic => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "fake-anthropic-1",
                "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": text }],
                "stop_reason": anthropic,
                "usage": { "input_tokens": 30, "cache_creation_input_tokens": 10,
                           "cache_read_input_tokens": 80, "output_tokens": 30 },
            }),
            Self::Gemini => json!({
                "candidates": [{ "finishReason": gemini, "content": { "role": "model", "parts": [
                    { "text": "hm", "thought": true }, { "text": text } ] } }],
                "usageMetadata": { "promptTokenCount": 120, "cachedContentTokenCount": 80,
                                   "candidatesTokenCount": 20, "thoughtsTokenCount": 10 },
                "modelVersion": "fake-gemini-1",
            }),
            Self::Openai => json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "fake-openai-1",
                "choices": [{ "index": 0, "finish_reason": openai,
                              "message": { "role": "assistant", "content": text } }],
                "usage": { "prompt_tokens": 120, "completion_tokens": 30,
                           "prompt_tokens_details": { "cached_tokens": 80 } },
            }),
        }
    }

    pub(crate) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => {
                json!({ "type": "error", "error": { "type": "some_error", "message": message } })
            }
            Self::Gemini => {
                json!({ "error": { "code": status, "message": message, "status": "SOME_ERROR" } })
            }
            Self::Openai => {
                json!({ "error": { "message": message, "type": "some_error", "code": "some_code" } })
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// A proper response: status, further headers, body.
    Respond(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Reads the request and sends nothing.
    Hang,
    /// Sends a byte now and then, forever.
    Drip,
    /// Breaks the connection before the first byte of the response.
    Reset,
    /// Breaks the connection in the middle of the body.
    ResetAfterHeaders,
    /// Announces more than it sends, and closes.
    Short(Vec<u8>),
    /// Sends something that is not HTTP.
    Raw(Vec<u8>),
    /// Sends a body without an end.
    Endless,
    /// Chooses the behaviour from the request.
    #[allow(dead_code, reason = "not every test binary that shares this file needs it")]
    Answer(fn(&Recorded) -> Behaviour),
}

impl Behaviour {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Respond(status, Vec::new(), body.to_string().into_bytes())
    }

    /// Any body, with status 200.
    pub(crate) fn body(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Respond(200, Vec::new(), bytes.into())
    }

    pub(crate) fn with_header(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Respond(status, mut headers, body) => {
                headers.push((name, value.into()));
                Self::Respond(status, headers, body)
            }
            other => other,
        }
    }
}

/// A recorded request; header names are in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

#[derive(Default)]
struct State {
    script: Vec<Behaviour>,
    requests: Vec<Recorded>,
    /// What hanging requests do once released.
    released: Option<Behaviour>,
}

pub(crate) struct Fake {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub(crate) fn start(script: impl Into<Vec<Behaviour>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { script: script.into(), ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that disconnects early is not an error.
                thread::spawn(move || serve(stream, &shared).ok());
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes the behaviour from now on.
    pub(crate) fn set(&self, script: impl Into<Vec<Behaviour>>) {
        self.state.lock().unwrap().script = script.into();
    }

    /// Releases hanging requests.
    #[allow(dead_code, reason = "not every test binary that shares this file needs it")]
    pub(crate) fn release(&self, behaviour: &Behaviour) {
        self.state.lock().unwrap().released = Some(behaviour.clone());
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.state.lock().unwrap().requests.clone()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    // A buffer of one byte, because unread bytes have to stay in the socket.
    let mut reader = BufReader::with_capacity(1, stream.try_clone()?);
    let (mut request, length) = read_head(&mut reader)?;
    let behaviour = next_behaviour(state);
    // Closing a socket with unread bytes resets the connection.
    let reads_all = !matches!(behaviour, Behaviour::Reset | Behaviour::ResetAfterHeaders);
    let mut body = vec![0; if reads_all { length } else { length.saturating_sub(1) }];
    reader.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    state.lock().unwrap().requests.push(request.clone());
    match behaviour {
        Behaviour::Answer(answer) => behave(stream, answer(&request), state),
        behaviour => behave(stream, behaviour, state),
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> std::io::Result<(Recorded, usize)> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    Ok((Recorded { method, path, headers, body: String::new() }, length))
}

fn next_behaviour(state: &Mutex<State>) -> Behaviour {
    let mut state = state.lock().unwrap();
    if state.script.len() > 1 { state.script.remove(0) } else { state.script[0].clone() }
}

fn behave(mut stream: TcpStream, behaviour: Behaviour, state: &Mutex<State>) -> std::io::Result<()> {
    match behaviour {
        Behaviour::Respond(status, headers, body) => {
            write!(stream, "HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len())?;
            for (name, value) in headers {
                write!(stream, "{name}: {value}\r\n")?;
            }
            stream.write_all(b"connection: close\r\n\r\n")?;
            stream.write_all(&body)
        }
        Behaviour::Hang => {
            // Until the client gives up, or the test releases it.
            stream.set_read_timeout(Some(Duration::from_millis(10)))?;
            loop {
                let released = state.lock().unwrap().released.clone();
                if let Some(behaviour) = released {
                    return behave(stream, behaviour, state);
                }
                match stream.read(&mut [0; 64]) {
                    Ok(0) => return Ok(()),
                    Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                        return Err(error);
                    }
                    _ => {}
                }
            }
        }
        Behaviour::Drip => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            loop {
                stream.write_all(b"1\r\n \r\n")?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        // `Answer` was resolved after the request was read.
        Behaviour::Reset | Behaviour::Answer(_) => Ok(()),
        Behaviour::ResetAfterHeaders => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"content\":")
        }
        Behaviour::Short(body) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 100);
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
        Behaviour::Raw(bytes) => stream.write_all(&bytes),
        Behaviour::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x10000], b"\r\n"].concat();
            loop {
                stream.write_all(&chunk)?;
            }
        }
    }
}
