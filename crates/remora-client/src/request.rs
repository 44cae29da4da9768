//! One request to the running daemon over HTTP, on a plain socket. A hook sends one request; an HTTP library would
//! cost more than that.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::token::Token;

/// Connection timeout. The daemon is on this machine, so a slower one is hanging.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(250);
const MAX_ANSWER: usize = 64 << 20;

/// Sends a POST request and returns the answer. `None` if no complete answer with status 200 arrives within `timeout`.
pub(crate) fn post<A: DeserializeOwned>(
    port: u16,
    token: &Token,
    path: &str,
    question: &impl Serialize,
    timeout: Duration,
) -> Option<A> {
    let question = serde_json::to_string(question).ok()?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
        token.as_str(),
        question.len()
    );
    let answer = exchange(port, request.as_bytes(), timeout).ok()?;
    body(&answer).and_then(|body| serde_json::from_slice(body).ok())
}

fn exchange(port: u16, request: &[u8], timeout: Duration) -> std::io::Result<Vec<u8>> {
    let deadline = Instant::now() + timeout;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT.min(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || answer.len() > MAX_ANSWER {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(answer),
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The body of a complete answer with status 200.
fn body(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let body = &answer[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())?;
    (status == "200" && body.len() == length).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_counts() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(whole), Some(&b"{}"[..]));
        assert_eq!(body(&whole[..whole.len() - 1]), None);
        assert_eq!(body(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"), None);
        assert_eq!(body(b"nonsense"), None);
    }
}
