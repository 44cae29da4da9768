//! Runs the user's own Claude Code as a child process that can do nothing but answer.
//!
//! It runs with the user's login and nothing else of theirs: no tools, hooks, servers, plugins, commands, settings or
//! memory files, only selected environment variables, and no session that would show up in `claude --resume`. An API
//! key in our environment is not passed on, so it cannot be billed by accident.

mod group;
mod system_file;
mod transcript;

use std::ffi::OsStr;
use std::future::Future;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use remora_core::environment;
use remora_net::CallError;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::{Config, ProviderError, Reply, Request};
use group::Group;
use system_file::SystemFile;
use transcript::{ParsedOutput, Transcript};

/// Claude Code's name for the smallest current model.
pub(super) const DEFAULT_MODEL: &str = "haiku";
/// Size limit for its output, in bytes.
const MAX_OUTPUT_LEN: u64 = 4 * 1024 * 1024;
const MAX_STDERR_LEN: usize = 16 * 1024;
/// How long it may take to exit after its answer.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Claude Code treats the last part of a message as typed by the user, and searches it for `/commands` and for
/// `@files`, which it reads and sends along. Our prompt is full of both, so it comes before this text.
const LAST_WORDS: &str = "Answer as you were told.";

const FLAGS: &[&str] = &[
    "--print",
    "--input-format=stream-json",
    "--output-format=stream-json",
    "--verbose",
    "--tools=",
    "--setting-sources=",
    r#"--settings={"disableAllHooks":true,"permissions":{"deny":["Read"]}}"#,
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--no-chrome",
    "--no-session-persistence",
    "--max-turns=1",
    "--effort=low",
];

/// Variables set for the child: it must not observe itself, fetch, remember or retry on its own.
const SET: &[(&str, &str)] = &[
    ("REMORA_DISABLED", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_THINKING", "1"),
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_REFUSAL_RETRY", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
];

#[derive(Debug)]
pub(super) struct ClaudeCli {
    program: PathBuf,
    directory: PathBuf,
    timeout: Duration,
}

impl ClaudeCli {
    pub(super) fn new(config: Config) -> Self {
        let directory = config.data_dir.join("claude-cli");
        Self { program: config.claude_program, directory, timeout: config.timeout }
    }

    pub(super) async fn ask(&self, model: &str, request: &Request<'_>) -> Result<Reply, ProviderError> {
        let system = SystemFile::write(&self.directory, request.system).map_err(|error| {
            CallError::misconfigured(format!("cannot write to {}: {error}", self.directory.display()))
        })?;
        let group = Group::start(&self.directory)
            .map_err(|error| CallError::misconfigured(format!("`/bin/sh` did not start: {error}")))?;
        let child = self.command(model, system.name(), request).process_group(group.id()).spawn();
        let child = child.map_err(|error| self.not_started(&error))?;
        let mut running = Running { child, _group: group };
        let mut transcript = Transcript::default();
        let talk = tokio::time::timeout(self.timeout, running.talk(request, &mut transcript));
        if talk.await.is_err() {
            let reason = "no whole answer from `claude` in time".to_owned();
            return Err(CallError::TimedOut { reason }.into());
        }
        transcript.into_reply(model, request)
    }

    fn command(&self, model: &str, system_file: &str, request: &Request<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(FLAGS)
            .args(["--model", model, "--system-prompt-file", system_file])
            .current_dir(&self.directory)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_passed(name)))
            .envs(SET.iter().copied())
            .env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", request.max_output_tokens.to_string())
            .env("API_TIMEOUT_MS", self.timeout.as_millis().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn not_started(&self, error: &std::io::Error) -> CallError {
        let program = self.program.display();
        match error.kind() {
            std::io::ErrorKind::NotFound => CallError::misconfigured(format!("`{program}` was not found")),
            _ => CallError::misconfigured(format!("`{program}` did not start: {error}")),
        }
    }
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(environment::is_harmless)
}

/// A child, and the group in which it and everything it started is killed when this value is dropped.
struct Running {
    child: Child,
    _group: Group,
}

impl Running {
    /// Sends the request, and reads until the answer is complete or the child has exited. Its standard input stays open
    /// until then.
    async fn talk(&mut self, request: &Request<'_>, transcript: &mut Transcript) {
        let pipes = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) = pipes else { return };
        let mut stdout = BufReader::new(stdout.take(MAX_OUTPUT_LEN));
        let question = json!({ "type": "user", "message": { "role": "user", "content": [
            { "type": "text", "text": request.prompt },
            { "type": "text", "text": LAST_WORDS },
        ] } });
        let question = format!("{question}\n");
        let Transcript { output, errors, .. } = transcript;
        tokio::select! {
            () = without_end(stdin.write_all(question.as_bytes())) => {}
            () = without_end(collect(&mut stderr, errors)) => {}
            () = read_output(&mut stdout, output) => {}
        }
        drop(stdin);
        transcript.is_over_long = stdout.get_ref().limit() == 0;
        let mut rest = tokio::io::sink();
        let ending = async {
            let remainder = tokio::io::copy(&mut stdout, &mut rest);
            let _ = tokio::join!(remainder, collect(&mut stderr, &mut transcript.errors));
            self.child.wait().await
        };
        transcript.status = tokio::time::timeout(EXIT_TIMEOUT, ending).await.ok().and_then(Result::ok);
    }
}

/// Runs a task and then waits forever, because another branch decides when to stop. A child that does not read its
/// input is not an error; its output may contain one.
async fn without_end<T>(task: impl Future<Output = T>) {
    task.await;
    std::future::pending::<()>().await;
}

/// Reads lines up to the result, or to the end.
async fn read_output(stdout: &mut (impl AsyncBufReadExt + Unpin), output: &mut ParsedOutput) {
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
        output.line(&line);
        if output.result.is_some() {
            return;
        }
        line.clear();
    }
}

/// Keeps the beginning and reads on, so that the child never blocks.
async fn collect(from: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let room = MAX_STDERR_LEN.saturating_sub(into.len()).min(length);
        into.extend_from_slice(&buffer[..room]);
    }
}
