//! A daemon, and a persistent connection to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::Result;
use crate::process::{programs, signal};

/// A daemon that is killed at the end of the benchmark.
#[derive(Debug)]
pub struct Daemon {
    pub pid: i32,
    pub port: u16,
    token: String,
}

impl Daemon {
    pub fn start(data: &Path, environment: &[(&str, &str)]) -> Result<Self> {
        let started = remora_json(data, &["daemon", "start"], environment)?;
        let number = |name: &str| started[name].as_i64().ok_or(format!("no daemon with a port: {started}"));
        let token = std::fs::read_to_string(data.join("token"))?;
        Ok(Self { pid: i32::try_from(number("pid")?)?, port: u16::try_from(number("port")?)?, token })
    }

    pub fn connect(&self) -> Result<Client> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let head = format!(
            "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
            self.port, self.token
        );
        Ok(Client { stream: BufReader::new(stream), head })
    }

    pub fn kill(&self) -> Result<()> {
        signal(self.pid, Signal::KILL)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.kill();
    }
}

pub fn remora() -> Result<PathBuf> {
    Ok(programs()?.join("remora"))
}

/// Runs a command with `--json` and parses its output.
pub fn remora_json(data: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Value> {
    let output = Command::new(remora()?)
        .args(arguments)
        .arg("--json")
        .env("REMORA_DATA_DIR", data)
        .env("REMORA_DAEMON_PORT", "0")
        .env("REMORA_OBSERVER_TURN_SILENCE", "2h")
        .envs(environment.iter().copied())
        .stderr(Stdio::inherit())
        .output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    pub fn get(&mut self, path: &str) -> Result<Value> {
        self.ask("GET", path, "")
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Result<Value> {
        self.ask("POST", path, &body.to_string())
    }

    /// A page, as a browser requests it.
    pub fn page(&mut self, path: &str) -> Result<String> {
        Ok(String::from_utf8(self.exchange("GET", path, "Accept: text/html\r\n", "")?)?)
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&self.exchange(method, path, "", body)?)?)
    }

    fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Result<Vec<u8>> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}{headers}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        if !status.starts_with("HTTP/1.1 200") {
            return Err(format!("{method} {path}: {status}{}", String::from_utf8_lossy(&answer)).into());
        }
        Ok(answer)
    }
}
