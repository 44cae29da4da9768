//! Measures what `remora mcp` costs a host: the time to its first answer relative to an empty process, its memory,
//! and the tokens an agent reads if it goes from the index to single records, relative to reading everything.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use remora_bench::process::{megabytes, programs, run_with_input};
use remora_bench::{Result, load, ms, percentiles};
use remora_core::context::tokens;
use serde_json::{Value, json};

const RUNS: usize = 100;
const OBSERVATIONS: u64 = 100_000;

fn main() -> Result<()> {
    say(&format!("\nMCP over standard input and output, without a daemon (load {})", load()))?;
    let temp = tempfile::tempdir()?;
    let data = temp.path().join("data");
    fill(&data, OBSERVATIONS)?;
    first_answer(&data)?;
    memory(&data)?;
    let demo = temp.path().join("demo");
    let kept = Command::new(programs()?.join("remora")).arg("demo").arg("--keep").arg(&demo).output()?;
    if !kept.status.success() {
        return Err(format!("demo: {}", String::from_utf8_lossy(&kept.stderr)).into());
    }
    layers("the demo's memory", &demo, &QUESTIONS)?;
    let small = temp.path().join("small");
    fill(&small, 500)?;
    layers("a project with 500 observations", &small, &["why does it fail time data"])
}

/// Fills the store in another process: a child's peak memory starts with the memory of its parent.
fn fill(data: &Path, observations: u64) -> Result<()> {
    let filled = Command::new(programs()?.join("fill")).arg(data).arg(observations.to_string()).status()?;
    if filled.success() { Ok(()) } else { Err(format!("fill: {filled}").into()) }
}

/// Time from the start of the process to the answer to `initialize`.
fn first_answer(data: &Path) -> Result<()> {
    let empty = programs()?.join("empty");
    let (mut idle, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        idle.push(run_with_input(&mut Command::new(&empty), b"")?.wall);
        let started = Instant::now();
        let mut host = Host::start(data, Path::new("/"))?;
        host.initialize()?;
        answered.push(started.elapsed());
        host.end()?;
    }
    let ratio = median(&answered).as_secs_f64() / median(&idle).as_secs_f64();
    say(&format!(
        "  initialize, {OBSERVATIONS} observations: {}; {ratio:.1} times an empty process ({})",
        percentiles(answered),
        ms(median(&idle))
    ))
}

fn memory(data: &Path) -> Result<()> {
    let mut host = Host::start(data, Path::new("/"))?;
    host.initialize()?;
    host.ask("tools/list", &json!({}))?;
    say(&format!("  memory before the first call: {:.1} MB", host.megabytes()?))?;
    host.call("get_observations", &json!({ "ids": ["1"] }))?;
    say(&format!("  memory after a record was read: {:.1} MB", host.megabytes()?))?;
    host.call("search", &json!({ "query": "time data", "project": "all" }))?;
    say(&format!("  memory after a search by words: {:.1} MB", host.megabytes()?))?;
    host.end()
}

/// Questions an agent may ask about the demo's projects.
const QUESTIONS: [&str; 4] = [
    "why were prices of the islands stale",
    "why magic links and not passwords",
    "the worker exits with 137 at night",
    "how do we drop a column",
];

/// Compares an agent that searches and reads the best two records with one that reads everything. The most expensive
/// question counts.
fn layers(name: &str, data: &Path, questions: &[&str]) -> Result<()> {
    let mut host = Host::start(data, Path::new("/"))?;
    host.initialize()?;
    let mut all = 0;
    for id in 1..10_000 {
        let read = host.call("get_observations", &json!({ "ids": [id] }))?;
        if read["isError"] == true {
            break;
        }
        all += cost(&read);
    }
    let mut layered = (0, 0);
    for question in questions {
        let found = host.call("search", &json!({ "query": question, "project": "all" }))?;
        let hits = found["structuredContent"]["hits"].as_array().cloned().unwrap_or_default();
        let ids: Vec<&Value> = hits.iter().take(2).map(|hit| &hit["id"]).collect();
        let read = host.call("get_observations", &json!({ "ids": ids }))?;
        layered = layered.max((cost(&found) + cost(&read), hits.len()));
    }
    let (layered, hits) = layered;
    say(&format!(
        "  tokens on {name}: {all} for all observations, {layered} for an index of {hits} and two of them ({} %)",
        100 * layered / all.max(1)
    ))?;
    host.end()
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Tokens of an answer. Hosts show the model the text or the data, so the larger one counts.
fn cost(result: &Value) -> u64 {
    let text = tokens(result["content"][0]["text"].as_str().unwrap_or_default());
    text.max(tokens(&result["structuredContent"].to_string()))
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// An MCP host with its server process.
struct Host {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: i64,
}

impl Host {
    fn start(data: &Path, directory: &Path) -> Result<Self> {
        let mut child = Command::new(programs()?.join("remora"))
            .arg("mcp")
            .env("REMORA_DATA_DIR", data)
            .env("REMORA_DAEMON_AUTOSTART", "false")
            .env_remove("CLAUDE_PROJECT_DIR")
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, output, last: 0 })
    }

    fn initialize(&mut self) -> Result<Value> {
        let own = json!({ "name": "bench", "version": "1" });
        self.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": own }),
        )
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        self.input.write_all(format!("{request}\n").as_bytes())?;
        self.input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        if answer["result"].is_null() { Err(line.into()) } else { Ok(answer["result"].clone()) }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    fn megabytes(&self) -> Result<f64> {
        megabytes(i32::try_from(self.child.id())?, "VmRSS")
    }

    fn end(self) -> Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        let status = child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("exit {status}").into()) }
    }
}
