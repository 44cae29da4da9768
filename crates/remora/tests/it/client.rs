//! A minimal HTTP client for the tests: plain sockets, one request per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::daemon::Background;

pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) token: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Starts the daemon on any free port.
pub(crate) fn start(background: &Background) -> Client {
    let mut command = background.command(&["daemon", "start", "--json"]);
    started(background, command.env("REMORA_DAEMON_PORT", "0"))
}

pub(crate) fn started(background: &Background, command: &mut Command) -> Client {
    let output = command.output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let port = status["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let token = std::fs::read_to_string(background.world.data().join("token")).unwrap();
    Client { port: port.unwrap_or_else(|| panic!("{status}")), token }
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &self.friendly(), b"")
    }

    pub(crate) fn list(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let head = format!(
            "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            self.friendly(),
            body.len()
        );
        self.send("POST", path, &head, body.as_bytes())
    }

    /// Sends an event that must be accepted.
    pub(crate) fn event(&self, kind: &str, body: &Value) -> Value {
        let answer = self.post(&format!("/api/sessions/{kind}"), body);
        assert_eq!(answer.status, 200, "{kind}: {answer:?}");
        answer.json()
    }

    pub(crate) fn friendly(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", self.port, self.token)
    }

    /// Sends exactly these bytes and reads the response; of a stream only the head.
    pub(crate) fn send(&self, method: &str, path: &str, head: &str, body: &[u8]) -> Answer {
        self.try_send(method, path, head, body).unwrap()
    }

    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        head: &str,
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let (mut stream, answer) = self.open(method, path, head, body)?;
        let length = header(&answer, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Ok(Answer { status, head: answer, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn open(
        &self,
        method: &str,
        path: &str,
        head: &str,
        body: &[u8],
    ) -> std::io::Result<(BufReader<TcpStream>, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(format!("{method} {path} HTTP/1.1\r\n{head}\r\n").as_bytes())?;
        stream.write_all(body)?;
        let mut stream = BufReader::new(stream);
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\n") {
            if stream.read_line(&mut answer)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok((stream, answer))
    }

    pub(crate) fn stream(&self, path: &str, more: &str) -> Stream {
        self.stream_of(path, &format!("{}{more}", self.friendly()))
    }

    /// A stream with exactly these headers.
    pub(crate) fn stream_of(&self, path: &str, head: &str) -> Stream {
        let (chunks, answer) = self.open("GET", path, head, b"").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(header(&answer, "content-type"), Some("text/event-stream"), "{answer}");
        Stream { chunks, text: String::new() }
    }
}

pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// An open event stream.
pub(crate) struct Stream {
    chunks: BufReader<TcpStream>,
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Stream {
    /// The next event; `None` when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Sent> {
        // Comments arrive forever, so a read timeout would not be enough.
        let deadline = Instant::now() + Duration::from_mins(1);
        while Instant::now() < deadline {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim().to_owned()
                };
                let (kind, id, data) = (field("event:"), field("id:"), field("data:"));
                self.text = rest.to_owned();
                // Comments only keep the connection alive.
                if !kind.is_empty() {
                    return Some(Sent { kind, id, data: serde_json::from_str(&data).unwrap() });
                }
            }
            let mut size = String::new();
            self.chunks.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.chunks.read_exact(&mut chunk).ok()?;
            self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
        panic!("nothing but comments came");
    }

    /// The next event of a kind, whatever comes before it.
    pub(crate) fn next_of(&mut self, kind: &str) -> Sent {
        loop {
            let sent = self.next().unwrap_or_else(|| panic!("the stream ended before a {kind}"));
            if sent.kind == kind {
                return sent;
            }
        }
    }
}
