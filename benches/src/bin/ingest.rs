//! How many events a second the daemon takes in over HTTP, each on the disk before it is acknowledged.
//!
//! Run by `scripts/bench`. In the end the daemon is killed, and what was acknowledged is counted in its database.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const EVENTS: usize = 60_000;
const SESSIONS: usize = 20;

fn main() -> Result<()> {
    let directory = std::env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for connections in [1, 16, 64, 256] {
        let temp = tempfile::tempdir()?;
        let daemon = Daemon { remora: directory.join("remora"), data: temp.path().join("data") };
        // One connection shows what a single event waits for.
        let events = if connections == 1 { EVENTS / 30 } else { EVENTS };
        writeln!(out, "{}", daemon.measure(connections, events)?)?;
    }
    Ok(())
}

struct Daemon {
    remora: PathBuf,
    data: PathBuf,
}

impl Daemon {
    fn measure(&self, connections: usize, events: usize) -> Result<String> {
        let started = self.json(&["daemon", "start"])?;
        let (Some(pid), Some(port)) = (number(&started["pid"]), number(&started["port"])) else {
            return Err(format!("no daemon with a port: {started}").into());
        };
        let idle = resident(pid)?;
        let token = std::fs::read_to_string(self.data.join("token"))?;
        let port = u16::try_from(port)?;
        let mut first = Client::connect(port, &token)?;
        for session in 0..SESSIONS {
            first
                .send("init", &json!({"contentSessionId": session.to_string(), "cwd": directory(session)}))?;
        }
        let began = Instant::now();
        let mut times = send_all(port, &token, connections, events)?;
        let took = began.elapsed();
        let (cpu, busy) = (processor_time(pid)?, resident(pid)?);
        kill(pid)?;
        let pending = self.json(&["status"])?["counts"]["pending"].as_u64().unwrap_or_default();
        let expected = times.len() + SESSIONS;
        if pending != expected as u64 {
            return Err(format!("{expected} were acknowledged, {pending} are there").into());
        }
        times.sort();
        Ok(format!(
            "ingest over {connections} connections: {:.0} events/s, p50 {}, p99 {}, {:.0} µs of CPU an event; {events} \
             acknowledged, all there after a kill; RSS {:.1} MB idle, {:.1} MB after",
            f64::from(u32::try_from(times.len())?) / took.as_secs_f64(),
            ms(times[times.len() / 2]),
            ms(times[times.len() * 99 / 100]),
            cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len())?),
            idle,
            busy,
        ))
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = Command::new(&self.remora)
            .args(arguments)
            .arg("--json")
            .env("REMORA_DATA_DIR", &self.data)
            .env("REMORA_DAEMON_PORT", "0")
            .env("REMORA_OBSERVER_TURN_SILENCE", "2h")
            .stderr(Stdio::inherit())
            .output()?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// Sends `events` over so many connections at once; how long each was waited for.
fn send_all(port: u16, token: &str, connections: usize, events: usize) -> Result<Vec<Duration>> {
    let share = |number: usize| events / connections + usize::from(number < events % connections);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|connection| {
                scope.spawn(move || -> Result<Vec<Duration>> {
                    let mut client = Client::connect(port, token)?;
                    let mut times = Vec::with_capacity(share(connection));
                    for number in 0..share(connection) {
                        let event = event(connection, number);
                        let sent = Instant::now();
                        client.send("observations", &event)?;
                        times.push(sent.elapsed());
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut all = Vec::with_capacity(events);
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Ok(all)
    })
}

struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    fn connect(port: u16, token: &str) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        let head = format!(
            "Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Sends one event and waits until it is said to be stored.
    fn send(&mut self, kind: &str, body: &Value) -> Result<()> {
        let body = body.to_string();
        let request = format!(
            "POST /api/sessions/{kind} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.clone();
        let mut length = 0;
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
        let answer = String::from_utf8_lossy(&answer);
        if status.starts_with("HTTP/1.1 200") && answer.contains("\"stored\":true") {
            Ok(())
        } else {
            Err(format!("not stored: {status}{answer}").into())
        }
    }
}

/// An ordinary tool call: a command with some thirty lines of output.
fn event(connection: usize, number: usize) -> Value {
    let mut output = String::new();
    for line in 0..30 {
        let _ = writeln!(output, "test module::case_{line} ... ok in {number} microseconds");
    }
    json!({
        "contentSessionId": (connection % SESSIONS).to_string(),
        "cwd": directory(connection % SESSIONS),
        "prompt_id": "80736470-09d2-4ae5-9ad4-8f765d959b54",
        "tool_name": "Bash",
        "tool_input": {"command": "cargo test --workspace", "description": "Run the tests"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": false},
        "tool_use_id": format!("toolu_{connection}_{number}"),
    })
}

/// Each session has a project of its own: the next session of a project would end the turn of the last.
fn directory(session: usize) -> String {
    format!("/nowhere/project-{session}")
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

fn resident(pid: i32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

/// What the process has used so far, in the hundredths of a second in which Linux tells it.
fn processor_time(pid: i32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn kill(pid: i32) -> Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or("no process")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    Ok(())
}

fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}
