//! Measures the idle cost of the daemon, its restart time after a kill, and the tokens sent to a model for each
//! observation of the recorded story.
//!
//! Run by `scripts/bench`. The model is a server on loopback that answers every request with one observation.

#![allow(clippy::cast_precision_loss, reason = "figures for display")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Tokens for each stored observation, as claude-mem reports them.
const INCUMBENT: f64 = 55_960.0;
const STORY: &str = include_str!("../../../crates/remora/src/demo/story.jsonl");

fn main() -> Result<()> {
    let directory = std::env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default();
    let temp = tempfile::tempdir()?;
    let bench = Bench { remora: directory.join("remora"), data: temp.path().join("data") };
    let mut out = std::io::stdout();
    writeln!(out, "{}", bench.idle()?)?;
    writeln!(out, "{}", bench.back_after_a_kill()?)?;
    writeln!(out, "{}", bench.tokens()?)?;
    Ok(())
}

struct Bench {
    remora: PathBuf,
    data: PathBuf,
}

impl Bench {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.remora);
        command.args(arguments).env("REMORA_DATA_DIR", &self.data).env("REMORA_DAEMON_AUTOSTART", "false");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn daemon(&self, environment: &[(&str, &str)]) -> Result<Child> {
        let child = self.command(&["daemon", "run"]).envs(environment.iter().copied()).spawn()?;
        self.wait(|| Ok(self.command(&["daemon", "status"]).status()?.success()))?;
        Ok(child)
    }

    fn wait(&self, ready: impl Fn() -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !ready()? {
            if Instant::now() > deadline {
                return Err(format!("nothing happened in {}", self.data.display()).into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn counts(&self) -> Result<Value> {
        let output = self.command(&["status", "--json"]).stdout(Stdio::piped()).output()?;
        let status: Value = serde_json::from_slice(&output.stdout)?;
        Ok(status["counts"].clone())
    }

    fn idle(&self) -> Result<String> {
        let mut daemon = self.daemon(&[])?;
        thread::sleep(Duration::from_secs(1));
        let before = ticks(daemon.id())?;
        thread::sleep(Duration::from_secs(5));
        let used = ticks(daemon.id())? - before;
        let memory = resident(daemon.id())?;
        daemon.kill()?;
        daemon.wait()?;
        Ok(format!("Idle daemon: {:.1} MB resident, {used} ticks of CPU in 5 s", memory as f64 / 1e6))
    }

    /// Time from the start of a new daemon, after the old one was killed, until it answers.
    fn back_after_a_kill(&self) -> Result<String> {
        let mut times = Vec::new();
        for _ in 0..20 {
            let mut daemon = self.daemon(&[])?;
            daemon.kill()?;
            daemon.wait()?;
            let started = Instant::now();
            let mut daemon = self.daemon(&[])?;
            times.push(started.elapsed());
            daemon.kill()?;
            daemon.wait()?;
        }
        times.sort();
        Ok(format!("Back after a kill: {:.1} ms", times[times.len() / 2].as_secs_f64() * 1e3))
    }

    fn tokens(&self) -> Result<String> {
        let (url, sent) = model()?;
        for line in STORY.lines() {
            let line: Value = serde_json::from_str(line)?;
            let mut hook = self.command(&["hook", "claude-code"]).stdin(Stdio::piped()).spawn()?;
            let message = line["stdin"].to_string();
            hook.stdin.take().ok_or("no stdin")?.write_all(message.as_bytes())?;
            hook.wait()?;
        }
        let mut daemon = self.daemon(&[
            ("REMORA_OBSERVER_PROVIDER", "openai"),
            ("REMORA_OPENAI_BASE_URL", &url),
            ("REMORA_OBSERVER_TURN_SILENCE", "1s"),
        ])?;
        self.wait(|| {
            let counts = self.counts()?;
            Ok(counts["pending"] == 0 && counts["processing"] == 0)
        })?;
        let observations = self.counts()?["observations"].as_u64().unwrap_or_default().max(1);
        daemon.kill()?;
        daemon.wait()?;
        let tokens = sent.load(Ordering::Relaxed) / 4;
        let each = tokens as f64 / observations as f64;
        Ok(format!(
            "Tokens sent for each observation of the story: {each:.0} ({observations} observations), \
             {:.1} % of claude-mem's {INCUMBENT:.0}",
            each / INCUMBENT * 100.0
        ))
    }
}

/// A model that answers every request with one observation, and counts the characters of the prompts.
fn model() -> Result<(String, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            // A lost request shows up in the final counts.
            let _ = answer(stream, number, &counter);
        }
    });
    Ok((url, sent))
}

fn answer(mut stream: TcpStream, number: usize, sent: &AtomicU64) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body)?;
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let count: usize = messages
        .iter()
        .filter_map(|message| message["content"].as_str())
        .map(|text| text.chars().count())
        .sum();
    sent.fetch_add(count as u64, Ordering::Relaxed);
    let text = format!(
        "<observation><type>discovery</type><title>Finding {number}</title><narrative>What was found in turn {number}.\
         </narrative></observation>"
    );
    let body = json!({ "model": "m", "choices": [{ "finish_reason": "stop",
        "message": { "role": "assistant", "content": text } }] })
    .to_string();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

fn ticks(pid: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap_or("0").parse()?;
    Ok(kilobytes * 1024)
}
