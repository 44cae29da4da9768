//! Measures the cost of a hook relative to an empty process in the same run. Times are noisy on a shared machine,
//! ratios are not.
//!
//! Run by `scripts/bench`. Every figure is a median; runs of the empty process and of the hook alternate.

#![allow(clippy::disallowed_methods, reason = "acts as another program that holds the database")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use remora_bench::process::{Cost, programs, run, run_with_input};
use remora_bench::{Result, ms};
use rusqlite::Connection;
use serde_json::{Value, json};

const RUNS: usize = 400;

fn main() -> Result<()> {
    let directory = programs()?;
    let program = |name: &str| directory.join(name);
    let bench = Bench { remora: program("remora"), empty: program("empty"), fill: program("fill") };
    let mut report = Report::default();

    let fresh = tempfile::tempdir()?;
    let data = fresh.path().join("data");
    bench.compare(&mut report, "PostToolUse, nobody else there", &data)?;

    let holder = hold(&data)?;
    bench.compare(&mut report, "PostToolUse, another process holds the database", &data)?;
    drop(holder);

    bench.daemon(&data, "start")?;
    bench.compare(&mut report, "PostToolUse, the daemon runs", &data)?;
    bench.until_observed(&mut report, &data)?;
    bench.daemon(&data, "stop")?;

    fill(&data, 1_000_000)?;
    bench.compare(&mut report, "PostToolUse, 1 million rows", &data)?;
    let holder = hold(&data)?;
    bench.compare(&mut report, "PostToolUse, 1 million rows, held", &data)?;
    drop(holder);

    let remembering = tempfile::tempdir()?;
    bench.session_start(&mut report, &remembering.path().join("data"))?;

    for observations in [0, 100_000] {
        let remembering = tempfile::tempdir()?;
        bench.before_tools(&mut report, &remembering.path().join("data"), observations)?;
    }

    let at_once = tempfile::tempdir()?;
    bench.at_once(&mut report, &at_once.path().join("data"))?;
    let large = tempfile::tempdir()?;
    bench.large_output(&mut report, &large.path().join("data"))?;
    report.print()
}

struct Bench {
    remora: PathBuf,
    empty: PathBuf,
    fill: PathBuf,
}

impl Bench {
    fn compare(&self, report: &mut Report, name: &str, data: &Path) -> Result<()> {
        let mut empty = Vec::new();
        let mut hook = Vec::new();
        for run in 0..RUNS + 20 {
            let idle = run_with_input(&mut Command::new(&self.empty), b"")?;
            let message = message(run).to_string();
            let busy = run_with_input(&mut self.hook(data), message.as_bytes())?;
            // The first runs warm the page cache.
            if run >= 20 {
                empty.push(idle);
                hook.push(busy);
            }
        }
        report.ratio(name, &empty, &hook);
        Ok(())
    }

    /// Session starts with injection.
    fn session_start(&self, report: &mut Report, data: &Path) -> Result<()> {
        run_with_input(&mut self.hook(data), message(0).to_string().as_bytes())?;
        for observations in [0, 1_000, 100_000] {
            remember(data, observations)?;
            let mut empty = Vec::new();
            let mut hook = Vec::new();
            for run in 0..120 {
                empty.push(run_with_input(&mut Command::new(&self.empty), b"")?);
                let start = json!({"session_id": format!("start-{observations}-{run}"), "cwd": "/tmp",
                    "hook_event_name": "SessionStart", "source": "startup"});
                hook.push(run_with_input(&mut self.hook(data), start.to_string().as_bytes())?);
            }
            report.ratio(&format!("SessionStart, {observations} observations"), &empty, &hook);
        }
        Ok(())
    }

    /// `PreToolUse` hooks: a read of a known file, a read of an unknown file, and a call without a file.
    fn before_tools(&self, report: &mut Report, data: &Path, observations: u64) -> Result<()> {
        // Uses another session than the observations have: a session does not get its own observations.
        for number in 0..2 {
            run_with_input(&mut self.hook(data), message(number).to_string().as_bytes())?;
        }
        if observations > 0 {
            // In another process, see `fill`.
            let status = Command::new(&self.fill).arg(data).arg(observations.to_string()).status()?;
            if !status.success() {
                return Err(format!("fill: {status}").into());
            }
        }
        let cases = [
            ("Read", "Read of a known file", "file"),
            ("Read", "Read of an unknown file", "other"),
            ("Bash", "Bash", "file"),
        ];
        for (tool, name, file) in cases {
            let (mut empty, mut hook) = (Vec::new(), Vec::new());
            for run in 0..200 {
                empty.push(run_with_input(&mut Command::new(&self.empty), b"")?);
                // A file's observations are injected once a session, so each run uses another file.
                let input = json!({"file_path": format!("/tmp/src/{file}{run}.rs"), "command": "make"});
                let before = json!({"session_id": "bench-1", "cwd": "/tmp", "hook_event_name": "PreToolUse",
                    "prompt_id": "p", "tool_name": tool, "tool_use_id": format!("t{run}"), "tool_input": input});
                hook.push(run_with_input(&mut self.hook(data), before.to_string().as_bytes())?);
            }
            report.ratio(&format!("PreToolUse {name}, {observations} observations"), &empty, &hook);
        }
        Ok(())
    }

    fn daemon(&self, data: &Path, action: &str) -> Result<()> {
        let status = Command::new(&self.remora)
            .args(["daemon", action])
            .env("REMORA_DATA_DIR", data)
            .stdout(Stdio::null())
            .status()?;
        if status.success() { Ok(()) } else { Err(format!("daemon {action}: {status}").into()) }
    }

    /// Time from the start of the Stop hook until the observation is in the database.
    fn until_observed(&self, report: &mut Report, data: &Path) -> Result<()> {
        let connection = hold(data)?;
        let count = || -> Result<i64> {
            Ok(connection.query_row("SELECT count(*) FROM observations", [], |row| row.get(0))?)
        };
        let mut times = Vec::new();
        for number in 0..50 {
            for message in turn(number) {
                let before = count()?;
                let started = Instant::now();
                let is_stop = message["hook_event_name"] == "Stop";
                run_with_input(&mut self.hook(data), message.to_string().as_bytes())?;
                while is_stop && count()? == before {
                    if started.elapsed() > Duration::from_secs(10) {
                        return Err("no observation came".into());
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
                if is_stop {
                    times.push(started.elapsed());
                }
            }
        }
        report.note(&format!("Stop hook to stored observation: {}", ms(median(times.into_iter()))));
        Ok(())
    }

    fn at_once(&self, report: &mut Report, data: &Path) -> Result<()> {
        let mut costs = Vec::new();
        for round in 0..50 {
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    let mut command = self.hook(data);
                    let message = message(100_000 + round * 8 + number).to_string();
                    std::thread::spawn(move || {
                        run_with_input(&mut command, message.as_bytes()).map_err(|error| error.to_string())
                    })
                })
                .collect();
            for thread in threads {
                costs.push(thread.join().map_err(|_| "a thread panicked")??);
            }
        }
        let mut walls: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
        walls.sort();
        let stored: i64 = Connection::open(data.join("remora.db"))?.query_row(
            "SELECT count(*) FROM event_traces",
            [],
            |row| row.get(0),
        )?;
        report.note(&format!(
            "8 hooks at once, 400 in all: wall p50 {}, p99 {}; {stored} stored",
            ms(walls[walls.len() / 2]),
            ms(walls[walls.len() * 99 / 100])
        ));
        Ok(())
    }

    fn large_output(&self, report: &mut Report, data: &Path) -> Result<()> {
        let begin = r#"{"session_id":"large","cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"cat"},"tool_response":{"stdout":""#;
        // Generated while it is sent: a child's peak RSS starts with the memory its parent had at the fork.
        let line = "0123456789 the quick brown fox jumps over the lazy dog <tag> &amp; \\n";
        let block = line.repeat(1000);
        let mut costs = Vec::new();
        for _ in 0..5 {
            costs.push(run(&mut self.hook(data), |stdin| {
                stdin.write_all(begin.as_bytes())?;
                for _ in 0..(100 << 20) / block.len() {
                    stdin.write_all(block.as_bytes())?;
                }
                stdin.write_all(b"\"}}")
            })?);
        }
        let rss = costs.iter().map(|cost| cost.rss).max().unwrap_or_default();
        report.note(&format!(
            "100 MB tool output: wall {}, CPU {}, peak RSS {:.1} MB",
            ms(median(costs.iter().map(|cost| cost.wall))),
            ms(median(costs.iter().map(|cost| cost.cpu))),
            megabytes(rss)
        ));
        Ok(())
    }

    fn hook(&self, data: &Path) -> Command {
        let mut command = Command::new(&self.remora);
        command
            .args(["hook", "claude-code"])
            .env("REMORA_DATA_DIR", data)
            .env("REMORA_DAEMON_AUTOSTART", "false");
        command
    }
}

/// A typical tool call: a command with about thirty lines of output.
fn message(number: usize) -> Value {
    let mut output = String::new();
    for line in 0..30 {
        let _ = writeln!(output, "test module::case_{line} ... ok in {number} microseconds");
    }
    json!({
        "session_id": format!("bench-{}", number % 20),
        "transcript_path": "/home/dev/.claude/projects/bench.jsonl",
        "cwd": "/tmp",
        "prompt_id": "80736470-09d2-4ae5-9ad4-8f765d959b54",
        "permission_mode": "acceptEdits",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "cargo test --workspace", "description": "Run the tests"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false},
        "tool_use_id": format!("toolu_{}_{number}", std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos()),
        "duration_ms": 1200,
    })
}

/// A turn that yields an observation.
fn turn(number: usize) -> [Value; 3] {
    let message = |event: &str, more: &Value| {
        let mut message = json!({"session_id": "observed", "cwd": "/tmp", "hook_event_name": event,
            "prompt_id": format!("turn-{number}")});
        for (name, value) in more.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        message
    };
    [
        message("UserPromptSubmit", &json!({"prompt": format!("Please fix bug {number}")})),
        message(
            "PostToolUse",
            &json!({"tool_name": "Write", "tool_use_id": format!("write-{number}"),
                "tool_input": {"file_path": "/tmp/a.rs", "content": "x"},
                "tool_response": {"type": "create", "filePath": "/tmp/a.rs"}}),
        ),
        message(
            "Stop",
            &json!({"last_assistant_message": format!("Bug {number} is fixed. It came from a wrong index.")}),
        ),
    ]
}

/// A connection like that of a daemon: open, after a read.
fn hold(data: &Path) -> Result<Connection> {
    let connection = Connection::open(data.join("remora.db"))?;
    connection.query_row("SELECT count(*) FROM sessions", [], |_| Ok(()))?;
    Ok(connection)
}

fn fill(data: &Path, rows: u32) -> Result<()> {
    let mut connection = Connection::open(data.join("remora.db"))?;
    let transaction = connection.transaction()?;
    transaction.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO event_traces (uuid, session_id, prompt_number, kind, tool, outcome, created_at, idempotency_key)
         SELECT randomblob(16), 1 + i % 20, i / 100, 'tool_used', 'Bash', 'ok', 1700000000000 + i, randomblob(16) FROM n",
        [rows],
    )?;
    transaction.execute(
        "INSERT INTO pending_messages (id, session_id, prompt_number, kind, payload, created_at)
         SELECT id, session_id, prompt_number, kind, '{\"kind\":\"tool_used\",\"tool\":\"Bash\",\"outcome\":{\"is\":\"ok\"}}',
             created_at FROM event_traces WHERE id NOT IN (SELECT id FROM pending_messages)",
        [],
    )?;
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Inserts `count` observations of one project, five minutes apart.
fn remember(data: &Path, count: u32) -> Result<()> {
    let connection = Connection::open(data.join("remora.db"))?;
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO observations (uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative, facts,
             discovery_tokens, content_hash, source_event_ids, provider, model, created_at, updated_at)
         SELECT randomblob(16), 1, 1, i, CASE i % 7 WHEN 0 THEN 'decision' WHEN 1 THEN 'bugfix' ELSE 'change' END,
             'Finding ' || i || ' about the parser', 'It matters.', printf('%.*c', 600, 'x'), '[\"a fact\"]', 900,
             hex(randomblob(8)), '[]', 'builtin', '', unixepoch() * 1000 - (?1 - i) * 300000,
             unixepoch() * 1000 - (?1 - i) * 300000
         FROM n WHERE ?1 > 0",
        [count],
    )?;
    connection.execute(
        "INSERT OR IGNORE INTO observation_files (observation_id, how, position, path, path_reversed)
         SELECT id, 'modified', 0, 'src/file' || (id % 50) || '.rs', 'file' || (id % 50) || '.rs/src/' FROM observations
         WHERE title LIKE 'Finding %'",
        [],
    )?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

#[derive(Default)]
struct Report {
    lines: Vec<String>,
}

impl Report {
    fn ratio(&mut self, name: &str, empty: &[Cost], hook: &[Cost]) {
        let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall));
        let cpu = |costs: &[Cost]| median(costs.iter().map(|cost| cost.cpu));
        let rss = hook.iter().map(|cost| cost.rss).max().unwrap_or_default();
        self.note(&format!(
            "{name}: wall {} = {:.2} x empty ({}), CPU {} = {:.2} x empty ({}), peak RSS {:.1} MB",
            ms(wall(hook)),
            wall(hook).as_secs_f64() / wall(empty).as_secs_f64(),
            ms(wall(empty)),
            ms(cpu(hook)),
            cpu(hook).as_secs_f64() / cpu(empty).as_secs_f64(),
            ms(cpu(empty)),
            megabytes(rss)
        ));
    }

    fn note(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn print(&self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

fn median(values: impl Iterator<Item = Duration>) -> Duration {
    let mut values: Vec<Duration> = values.collect();
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Linux reports the peak in KiB; `wait4` converts it to bytes.
fn megabytes(bytes: u64) -> f64 {
    let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
    f64::from(kib) / 1024.0
}
