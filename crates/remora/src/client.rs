//! Asks the running daemon over HTTP: plain sockets and one request, because a command asks once and ends.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use remora_server::http::token;
use remora_server::presence;
use remora_store::DataDir;
use serde_json::Value;

/// It is on this machine: either it is there at once or something is wrong with it.
const CONNECT: Duration = Duration::from_millis(250);
/// From the first byte sent to the last received.
const DEADLINE: Duration = Duration::from_secs(3);
const LARGEST_ANSWER: usize = 64 << 20;

/// The answer to a GET request. `None` when no daemon runs, or when it did not answer well and in time: whoever asks
/// can do without.
pub(crate) fn get(dir: &DataDir, path: &str, parameters: &[(&str, String)]) -> Option<Value> {
    let port = presence::find(dir).ok().flatten()?.port?;
    let token = token::read(dir).ok().flatten()?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        address(path, parameters),
        token.as_str()
    );
    let answer = exchange(port, request.as_bytes(), DEADLINE).ok()?;
    body(&answer).and_then(|body| serde_json::from_slice(body).ok())
}

/// The answer to a POST request, in no more time than `patience`.
pub(crate) fn post(dir: &DataDir, path: &str, question: &Value, patience: Duration) -> Option<Value> {
    let port = presence::find(dir).ok().flatten()?.port?;
    let token = token::read(dir).ok().flatten()?;
    let question = question.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
        token.as_str(),
        question.len()
    );
    let answer = exchange(port, request.as_bytes(), patience).ok()?;
    body(&answer).and_then(|body| serde_json::from_slice(body).ok())
}

fn exchange(port: u16, request: &[u8], patience: Duration) -> std::io::Result<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, CONNECT.min(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || answer.len() > LARGEST_ANSWER {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(answer),
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
}

/// What follows the head of an answer that says 200 and came whole.
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

fn address(path: &str, parameters: &[(&str, String)]) -> String {
    let mut address = path.to_owned();
    for (number, (name, value)) in parameters.iter().enumerate() {
        address.push(if number == 0 { '?' } else { '&' });
        address.push_str(name);
        address.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                address.push(char::from(byte));
            } else {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_fits_into_an_address() {
        let parameters = [("q", "a b&c=é\n".to_owned()), ("limit", "5".to_owned())];
        assert_eq!(address("/api/search", &parameters), "/api/search?q=a%20b%26c%3D%C3%A9%0A&limit=5");
        assert_eq!(address("/api/health", &[]), "/api/health");
    }

    #[test]
    fn only_a_whole_answer_counts() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(whole), Some(&b"{}"[..]));
        assert_eq!(body(&whole[..whole.len() - 1]), None);
        assert_eq!(body(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"), None);
        assert_eq!(body(b"nonsense"), None);
    }
}
