//! Measures hooks that inject memory, at the start of a session and with a prompt, process start included: with a
//! daemon, without one, and with one that hangs.
//!
//! `recall [OBSERVATIONS…]` fills a store with this many observations (1,000 and 100,000 by default). Each prompt
//! quotes words of one observation, so that most prompts cause an injection.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use remora_bench::daemon::{Daemon, remora};
use remora_bench::memory::{Random, fill};
use remora_bench::process::{programs, run_with_input, signal};
use remora_bench::{Result, load, percentiles};
use remora_core::ids::ObservationId;
use remora_store::{DataDir, Store};
use rustix::process::Signal;
use serde_json::{Value, json};

const RUNS: usize = 200;
/// Pause between two prompts, as of a person.
const TYPING: Duration = Duration::from_millis(200);
/// Words that a question takes from its observation.
const WORDS: usize = 12;

fn main() -> Result<()> {
    let mut sizes: Vec<u64> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<std::result::Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![1_000, 100_000];
    }
    for size in sizes {
        measure(size)?;
    }
    Ok(())
}

fn measure(observations: u64) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let directory = tempfile::tempdir()?;
    let data = directory.path().join("data");
    ask(&data, &message("first", "SessionStart", &json!({ "source": "startup" })))?;
    fill(&DataDir::new(data.clone()), observations)?;
    writeln!(out, "{observations} observations; load {}", load())?;
    writeln!(out, "  SessionStart: {}", starts(&data)?)?;
    let store = Store::open(&DataDir::new(data.clone()))?;
    let mut random = Random(11);
    let mut questions = || questions(&store, &mut random, observations);
    let at_once = Duration::ZERO;
    writeln!(out, "  prompt, no daemon: {}", prompts(&data, "none", &questions()?, at_once)?)?;
    // Each of those prompts was a session of its own; the daemon now processes all of them.
    let daemon = Daemon::start(&data, &[])?;
    // The first query loads the model and the vectors.
    let words = Random(12).words(12).replace(' ', "%20");
    daemon.connect()?.get(&format!("/api/search?project=all&mode=hybrid&q={words}"))?;
    writeln!(out, "  prompt, the daemon is at work: {}", prompts(&data, "works", &questions()?, at_once)?)?;
    std::thread::sleep(Duration::from_secs(5));
    writeln!(out, "  prompt, the daemon runs: {}", prompts(&data, "runs", &questions()?, TYPING)?)?;
    signal(daemon.pid, Signal::STOP)?;
    writeln!(out, "  prompt, the daemon hangs: {}", prompts(&data, "hangs", &questions()?, at_once)?)?;
    signal(daemon.pid, Signal::CONT)?;
    Ok(())
}

fn starts(data: &Path) -> Result<String> {
    measured(data, Duration::ZERO, |run| {
        message(&format!("start-{run}"), "SessionStart", &json!({ "source": "startup" }))
    })
}

/// One question for each run, each about a random observation.
fn questions(store: &Store, random: &mut Random, observations: u64) -> Result<Vec<String>> {
    let mut questions = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let id = ObservationId(i64::try_from(random.below(observations))? + 1);
        let about = store.records().observation(id)?.ok_or("an observation is missing")?;
        let words: Vec<&str> = about.observation.narrative.split(' ').take(WORDS).collect();
        questions.push(format!("Why is it that {}?", words.join(" ")));
    }
    Ok(questions)
}

fn prompts(data: &Path, name: &str, questions: &[String], pause: Duration) -> Result<String> {
    measured(data, pause, |run| {
        let prompt = json!({ "prompt_id": format!("{name}-{run}"), "prompt": questions[run] });
        message(&format!("{name}-{run}"), "UserPromptSubmit", &prompt)
    })
}

/// Alternates hooks and empty processes: on a busy machine an empty process is slow, too.
fn measured(data: &Path, pause: Duration, mut message: impl FnMut(usize) -> Value) -> Result<String> {
    let empty = programs()?.join("empty");
    let (mut times, mut empties) = (Vec::with_capacity(RUNS), Vec::with_capacity(RUNS));
    let mut injected = 0;
    for run in 0..RUNS {
        empties.push(run_with_input(&mut Command::new(&empty), b"")?.wall);
        let (took, answer) = ask(data, &message(run))?;
        injected += usize::from(!answer.is_empty());
        times.push(took);
        std::thread::sleep(pause);
    }
    let (hooks, empties) = (percentiles(times), percentiles(empties));
    Ok(format!("{hooks} (an empty process: {empties}); something injected into {injected} of {RUNS}"))
}

fn message(session: &str, event: &str, more: &Value) -> Value {
    let mut message = json!({ "session_id": session, "cwd": "/tmp", "hook_event_name": event });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

/// Runs a hook. Returns its duration and its answer.
fn ask(data: &Path, message: &Value) -> Result<(Duration, Vec<u8>)> {
    let mut command = Command::new(remora()?);
    command
        .args(["hook", "claude-code"])
        .env("REMORA_DATA_DIR", data)
        .env("REMORA_DAEMON_AUTOSTART", "false");
    let started = Instant::now();
    let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(message.to_string().as_bytes())?;
    }
    let output = hook.wait_with_output()?;
    Ok((started.elapsed(), output.stdout))
}
