//! Compares this build with another one: `scripts/bench --against PATH/TO/remora`.
//!
//! Each program fills its own memory through its own hooks, session by session. Then both run in turn, so that whatever
//! else the machine does affects both. A figure is the median of a round; printed are the lowest, the middle and the
//! highest round. The ratio is the median of the ratios of neighbouring runs, because a machine may be slower in one
//! round than in the next. No daemon runs: every process does its work itself. Both programs are copied first: how a file
//! came into the page cache changes the start of its process by up to 0.4 ms, and a linker's file differs from a copy.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use remora_bench::process::{programs, run_with_input};
use remora_bench::{Result, load, ms};
use serde_json::{Value, json};

const SESSIONS: usize = 50;
const TURNS: usize = 20;
const ROUNDS: usize = 10;
const RUNS: usize = 40;

const WORDS: [&str; 40] = [
    "parser",
    "cache",
    "tariff",
    "token",
    "index",
    "queue",
    "daemon",
    "budget",
    "retry",
    "socket",
    "header",
    "migration",
    "schema",
    "vector",
    "prompt",
    "session",
    "hook",
    "filter",
    "ranking",
    "fusion",
    "spool",
    "ledger",
    "archive",
    "invoice",
    "zone",
    "parcel",
    "island",
    "carrier",
    "rounding",
    "midnight",
    "lock",
    "deadline",
    "buffer",
    "stream",
    "cursor",
    "bucket",
    "shard",
    "replica",
    "journal",
    "snapshot",
];

/// What is measured.
const CASES: [&str; 4] = ["PostToolUse", "SessionStart", "UserPromptSubmit", "search"];

fn main() -> Result<()> {
    let other = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: compare PATH/TO/remora")?;
    let world = tempfile::tempdir()?;
    let project = world.path().join("project");
    std::fs::create_dir_all(project.join(".git"))?;
    let copy = |program: &Path, name: &str| -> Result<PathBuf> {
        let copy = world.path().join(name);
        std::fs::copy(program, &copy)?;
        Ok(copy)
    };
    let empty = copy(&programs()?.join("empty"), "empty")?;
    let build = |name, program: &Path| -> Result<Build> {
        let program = copy(program, &format!("remora-{name}"))?;
        Ok(Build { name, program, data: world.path().join(name), project: project.clone() })
    };
    let both = [build("other", &other)?, build("this", &programs()?.join("remora"))?];
    for build in &both {
        build.fill()?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{ROUNDS} rounds of {RUNS}, {} observations each, load {}", SESSIONS * TURNS, load())?;
    let mut rounds: Vec<(usize, &str, Duration)> = Vec::new();
    let mut ratios: [Vec<f64>; CASES.len()] = Default::default();
    let mut idle = Vec::new();
    for round in 0..ROUNDS {
        for (case, name) in CASES.iter().enumerate() {
            let mut times: [Vec<Duration>; 2] = Default::default();
            for run in 0..RUNS {
                let number = round * RUNS + run;
                idle.push(run_with_input(&mut Command::new(&empty), b"")?.wall);
                for turn in 0..2 {
                    let which = (number + turn) % 2;
                    times[which].push(both[which].measure(name, number)?);
                }
            }
            let neighbours = times[0].iter().zip(&times[1]);
            ratios[case].extend(neighbours.map(|(other, this)| this.as_secs_f64() / other.as_secs_f64()));
            for (build, times) in both.iter().zip(times) {
                rounds.push((case, build.name, median(times)));
            }
        }
        for build in &both {
            build.drain()?;
        }
    }
    let empty = median(idle);
    writeln!(out, "an empty process: {}", ms(empty))?;
    for (case, name) in CASES.iter().enumerate() {
        let of = |build: &str| -> Vec<Duration> {
            let mut all: Vec<Duration> = rounds
                .iter()
                .filter(|round| round.0 == case && round.1 == build)
                .map(|round| round.2)
                .collect();
            all.sort();
            all
        };
        let (other, this) = (of("other"), of("this"));
        ratios[case].sort_by(f64::total_cmp);
        let at = |part: usize| ratios[case].get(ratios[case].len() * part / 4).copied().unwrap_or_default();
        writeln!(
            out,
            "{name}: other {}, this {}: {:.3} x (half of the pairs {:.2} to {:.2}), and {:.2} x an empty process",
            spread(&other),
            spread(&this),
            at(2),
            at(1),
            at(3),
            median(this.clone()).as_secs_f64() / empty.as_secs_f64()
        )?;
    }
    Ok(())
}

/// A program with its own memory.
struct Build {
    name: &'static str,
    program: PathBuf,
    data: PathBuf,
    project: PathBuf,
}

impl Build {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(&self.project)
            .env("HOME", &self.project)
            .env("REMORA_DATA_DIR", &self.data)
            .env("REMORA_DAEMON_AUTOSTART", "false");
        command
    }

    fn hook(&self, message: &Value) -> Result<Duration> {
        let message = message.to_string();
        Ok(run_with_input(&mut self.command(&["hook", "claude-code"]), message.as_bytes())?.wall)
    }

    fn drain(&self) -> Result<()> {
        run_with_input(&mut self.command(&["queue", "drain"]), b"").map(drop)
    }

    /// Fills the memory by whole sessions, each observed before the next begins.
    fn fill(&self) -> Result<()> {
        for session in 0..SESSIONS {
            let session_id = format!("s{session}");
            self.hook(&message(&self.project, &session_id, "SessionStart", json!({"source": "startup"})))?;
            for turn in 0..TURNS {
                let number = session * TURNS + turn;
                let [part, whole, fix, lost, late, kept] = words(number);
                let file = self.project.join(format!("src/{part}.rs"));
                let prompt = format!(
                    "Why does the {part} of the {whole} fail after {number} runs? Please fix the {fix}."
                );
                let said = format!(
                    "Fixed: the {part} failed because the {whole} dropped the {lost} before the {late} was written in run \
                     {number}. The {fix} now keeps the {kept}, and the test passes. Watch out: the {kept} must never be \
                     empty."
                );
                let turn = [
                    ("UserPromptSubmit", json!({"prompt": prompt})),
                    (
                        "PostToolUse",
                        json!({"tool_name": "Edit", "tool_use_id": format!("t{number}"),
                            "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"},
                            "tool_response": {"filePath": file, "structuredPatch": []}}),
                    ),
                    ("Stop", json!({"stop_hook_active": false, "last_assistant_message": said})),
                ];
                for (event, mut more) in turn {
                    more["prompt_id"] = format!("p{number}").into();
                    self.hook(&message(&self.project, &session_id, event, more))?;
                }
            }
            self.drain()?;
        }
        Ok(())
    }

    fn measure(&self, case: &str, number: usize) -> Result<Duration> {
        let [a, b, c, ..] = words(10_000 + number);
        let ask = format!("Why does the {a} drop the {b} before the {c}?");
        let (session, more) = match case {
            "search" => return Ok(run_with_input(&mut self.command(&["search", a, b, c]), b"")?.wall),
            "SessionStart" => (format!("new{number}"), json!({"source": "startup"})),
            "UserPromptSubmit" => {
                (format!("s{}", number % SESSIONS), json!({"prompt": ask, "prompt_id": format!("q{number}")}))
            }
            _ => (
                "worked".to_owned(),
                json!({"tool_name": "Bash", "tool_use_id": format!("x{number}"),
                    "tool_input": {"command": format!("make {number}")},
                    "tool_response": {"stdout": "done", "stderr": "", "interrupted": false}}),
            ),
        };
        self.hook(&message(&self.project, &session, case, more))
    }
}

fn message(project: &Path, session: &str, event: &str, more: Value) -> Value {
    let mut message = json!({"session_id": session, "transcript_path": "", "cwd": project,
        "permission_mode": "default", "hook_event_name": event});
    if let (Value::Object(message), Value::Object(more)) = (&mut message, more) {
        message.extend(more);
    }
    message
}

/// Six different words, the same for the same number.
fn words(number: usize) -> [&'static str; 6] {
    let mut left = WORDS.to_vec();
    let mut state = number as u64 * 2 + 1;
    std::array::from_fn(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) % left.len() as u64;
        left.swap_remove(usize::try_from(at).unwrap_or_default())
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The lowest, the middle and the highest of sorted times.
fn spread(times: &[Duration]) -> String {
    let at = |place: usize| times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    format!("{:.2}..{:.2}..{:.2} ms", at(0), at(times.len() / 2), at(times.len().saturating_sub(1)))
}
