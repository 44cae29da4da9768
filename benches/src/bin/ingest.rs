//! Measures how many events a second the daemon accepts over HTTP. Each is on disk before it is acknowledged.
//!
//! Run by `scripts/bench`. At the end the daemon is killed, and the stored events are compared with the acknowledged
//! ones.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use remora_bench::daemon::{Client, Daemon, remora_json};
use remora_bench::process::{megabytes, processor_time};
use remora_bench::{Result, ms};
use serde_json::{Value, json};

const EVENTS: usize = 60_000;
const SESSIONS: usize = 20;

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for connections in [1, 16, 64, 256] {
        // With one connection, the figure is the latency of a single event.
        let events = if connections == 1 { EVENTS / 30 } else { EVENTS };
        writeln!(out, "{}", measure(connections, events)?)?;
    }
    Ok(())
}

fn measure(connections: usize, events: usize) -> Result<String> {
    let temp = tempfile::tempdir()?;
    let data = temp.path().join("data");
    let daemon = Daemon::start(&data, &[])?;
    let idle = megabytes(daemon.pid, "VmRSS")?;
    let mut first = daemon.connect()?;
    for session in 0..SESSIONS {
        let body = json!({"contentSessionId": session.to_string(), "cwd": directory(session)});
        send(&mut first, "init", &body)?;
    }
    let began = Instant::now();
    let mut times = send_all(&daemon, connections, events)?;
    let took = began.elapsed();
    let (cpu, busy) = (processor_time(daemon.pid)?, megabytes(daemon.pid, "VmRSS")?);
    daemon.kill()?;
    let pending = remora_json(&data, &["status"], &[])?["counts"]["pending"].as_u64().unwrap_or_default();
    let expected = times.len() + SESSIONS;
    if pending != expected as u64 {
        return Err(format!("{expected} were acknowledged, {pending} are there").into());
    }
    times.sort();
    Ok(format!(
        "ingest over {connections} connections: {:.0} events/s, p50 {}, p99 {}, {:.0} µs of CPU an event; {events} \
         acknowledged, all there after a kill; RSS {idle:.1} MB idle, {busy:.1} MB after",
        f64::from(u32::try_from(times.len())?) / took.as_secs_f64(),
        ms(times[times.len() / 2]),
        ms(times[times.len() * 99 / 100]),
        cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len())?),
    ))
}

/// Sends `events` over this many connections in parallel. Returns the latency of each.
fn send_all(daemon: &Daemon, connections: usize, events: usize) -> Result<Vec<Duration>> {
    let share = |number: usize| events / connections + usize::from(number < events % connections);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|connection| {
                scope.spawn(move || -> Result<Vec<Duration>> {
                    let mut client = daemon.connect()?;
                    let mut times = Vec::with_capacity(share(connection));
                    for number in 0..share(connection) {
                        let event = event(connection, number);
                        let sent = Instant::now();
                        send(&mut client, "observations", &event)?;
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

/// Sends one event and waits until it is acknowledged as stored.
fn send(client: &mut Client, kind: &str, body: &Value) -> Result<()> {
    let answer = client.post(&format!("/api/sessions/{kind}"), body)?;
    if answer["stored"] == true { Ok(()) } else { Err(format!("not stored: {answer}").into()) }
}

/// A typical tool call: a command with about thirty lines of output.
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

/// Each session has its own project: a new session in the same project would end the previous session's turn.
fn directory(session: usize) -> String {
    format!("/nowhere/project-{session}")
}
