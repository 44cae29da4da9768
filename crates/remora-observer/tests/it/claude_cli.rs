//! Tests of the provider that runs Claude Code, with scripts in its place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use remora_net::CallError;
use remora_observer::provider::{Config, Provider, ProviderError, ProviderKind, Reply, Request, Usage};
use serde_json::{Value, json};
use tempfile::TempDir;

const QUESTION: Request<'static> =
    Request { system: "You watch.\n", prompt: "/help @/etc/passwd \"quoted\"\n", max_output_tokens: 1234 };

const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"5e55","model":"claude-fake-1","tools":[]}"#;

/// A `claude` that is a shell script, and a directory for its output.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    fn new(script: &str) -> Self {
        let world = Self { dir: TempDir::new().unwrap() };
        let script = format!("#!/bin/sh\nout='{}'\n{script}\n", world.dir.path().display());
        // Written by another process: a file that is open for writing, here or in a child started in the meantime,
        // cannot be executed.
        let write = Command::new("/bin/sh")
            .args(["-c", r#"printf '%s' "$2" > "$1" && chmod 700 "$1""#, "sh"])
            .args([world.path("claude").as_os_str(), script.as_ref()])
            .status();
        assert!(write.unwrap().success());
        world
    }

    /// A script that prints these lines once it has read the request.
    pub(crate) fn saying(lines: &[Value]) -> Self {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let world = Self::new("read -r question; cat \"$out/lines\"; cat > \"$out/rest\"");
        fs::write(world.path("lines"), lines.join("\n") + "\n").unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn config(&self) -> Config {
        Config {
            claude_program: self.path("claude"),
            timeout: Duration::from_secs(30),
            ..Config::new(ProviderKind::ClaudeCli, self.path("data"))
        }
    }

    async fn ask(&self) -> Result<Reply, ProviderError> {
        Provider::new(self.config()).unwrap().ask(&QUESTION).await
    }
}

pub(crate) fn result(fields: &Value) -> Value {
    let mut message = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "<observation/>",
        "stop_reason": "end_turn", "total_cost_usd": 0.0025, "api_error_status": null,
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 85,
                   "output_tokens": 7 },
    });
    for (name, value) in fields.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

pub(crate) fn init() -> Value {
    serde_json::from_str(INIT).unwrap()
}

fn said(text: &str) -> Value {
    json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } })
}

#[tokio::test]
async fn claude_answers_with_text_session_and_cost() {
    let world = World::saying(&[
        init(),
        json!({ "type": "new_in_2027" }),
        said("thinking aloud"),
        result(&json!({})),
    ]);
    let reply = world.ask().await.unwrap();
    assert_eq!(reply.text, "<observation/>");
    assert_eq!((reply.model.as_str(), reply.session_id.as_deref()), ("claude-fake-1", Some("5e55")));
    let usage = Usage { input: 100, output: 7, cached: 85, cost_usd: Some(0.0025), estimated: false };
    assert_eq!(reply.usage, usage);
    assert_eq!(world.text("rest"), "", "its input ended after one question");
}

#[tokio::test]
async fn claude_gets_the_question_on_its_input_and_everything_off() {
    let world = World::new(&format!(
        "pwd > \"$out/cwd\"; stat -c %a . > \"$out/mode\" 2>/dev/null || stat -f %Lp . > \"$out/mode\"
         for argument; do echo \"$argument\"; done > \"$out/arguments\"
         for last; do :; done; cat \"$last\" > \"$out/system\"
         read -r question; printf '%s' \"$question\" > \"$out/question\"
         printf '%s\\n' '{}'",
        result(&json!({}))
    ));
    world.ask().await.unwrap();
    assert_eq!(world.text("system"), QUESTION.system);
    assert_eq!(world.text("mode").trim(), "700");
    assert!(world.text("cwd").trim().ends_with("data/claude-cli"));
    assert_eq!(fs::read_dir(world.path("data/claude-cli")).unwrap().count(), 0, "nothing is left behind");
    let question: Value = serde_json::from_str(&world.text("question")).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"system-\d+-\d+\.md", "system-N.md");
    settings.bind(|| {
        insta::assert_snapshot!("claude_arguments", world.text("arguments"));
        insta::assert_snapshot!("claude_question", format!("{question:#}"));
    });
}

#[test]
fn no_key_of_ours_reaches_claude() {
    let world = World::new(&format!(
        "env | sort > \"$out/environment\"; read -r question; printf '%s\\n' '{}'",
        result(&json!({}))
    ));
    let mut helper = ask_elsewhere(&world, |command| {
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        for name in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "AWS_SECRET_ACCESS_KEY",
            "CLAUDE_CODE_USE_BEDROCK",
            "GEMINI_API_KEY",
            "REMORA_DATA_DIR",
            "CLAUDECODE",
            "NODE_OPTIONS",
            "LD_PRELOAD_X",
        ] {
            command.env(name, "must-not-pass");
        }
        for name in [
            "HOME",
            "LC_ALL",
            "XDG_CONFIG_HOME",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "HTTPS_PROXY",
        ] {
            command.env(name, "passes");
        }
    });
    assert!(helper.wait().unwrap().success());
    // A shell sets variables of its own.
    let environment = world.text("environment");
    let kept = environment.lines().filter(|line| {
        !["PATH=", "PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|shell| line.starts_with(shell))
    });
    insta::assert_snapshot!("claude_environment", kept.collect::<Vec<_>>().join("\n"));
}

/// Sends the request from a separate process, so that the test can choose its environment and kill it.
fn ask_elsewhere(world: &World, set_up: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    set_up(&mut command);
    command
        .args(["--exact", "claude_cli::asks_from_a_process_of_its_own", "--ignored"])
        .env("REMORA_TEST_WORLD", world.dir.path())
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test]
#[ignore = "other tests run it as a process"]
async fn asks_from_a_process_of_its_own() {
    let Some(world) = std::env::var_os("REMORA_TEST_WORLD") else { return };
    let world = Path::new(&world);
    let config = Config {
        claude_program: world.join("claude"),
        ..Config::new(ProviderKind::ClaudeCli, world.join("data"))
    };
    Provider::new(config).unwrap().ask(&QUESTION).await.unwrap();
}

#[test]
fn claude_ends_when_we_are_killed() {
    // It does not read its input, and so does not notice that it is closed.
    let script = "sleep 1000 & echo $! $$ > \"$out/new\"; mv \"$out/new\" \"$out/started\"; wait";
    let world = World::new(script);
    let mut helper = ask_elsewhere(&world, |_| {});
    eventually("claude starts", || world.path("started").exists());
    helper.kill().unwrap();
    helper.wait().unwrap();
    for pid in world.text("started").split_whitespace() {
        eventually("claude and what it started have ended", || !is_running(pid));
    }
}

#[tokio::test]
async fn claude_and_what_it_started_end_when_time_is_up() {
    let world = World::new("sleep 1000 & echo $! > \"$out/grandchild\"; wait");
    let config = Config { timeout: Duration::from_millis(500), ..world.config() };
    let error = Provider::new(config).unwrap().ask(&QUESTION).await.unwrap_err();
    assert!(matches!(error.cause, CallError::TimedOut { .. }), "{error:?}");
    assert!(error.may_be_billed());
    let grandchild = world.text("grandchild");
    eventually("the grandchild has ended", || !is_running(grandchild.trim()));
}

#[tokio::test]
async fn claude_ends_when_the_request_is_dropped() {
    let world = World::new("echo $$ > \"$out/pid.new\"; mv \"$out/pid.new\" \"$out/pid\"; sleep 1000");
    let provider = Provider::new(world.config()).unwrap();
    let started = async {
        while !world.path("pid").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = provider.ask(&QUESTION) => panic!("it does not answer"),
        () = started => {}
    }
    let pid = world.text("pid");
    eventually("it has ended", || !is_running(pid.trim()));
}

fn is_running(pid: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    let state = String::from_utf8_lossy(&shown).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came about that {what}");
}

#[tokio::test]
async fn what_claude_complains_about_has_a_name() {
    let failed = |text: &str, status: Value| {
        result(&json!({ "is_error": true, "result": text, "api_error_status": status, "usage": {} }))
    };
    let mut table = String::new();
    for message in [
        failed("Not logged in · Please run /login", Value::Null),
        failed("Invalid API key · Fix external API key", Value::Null),
        failed("Failed to authenticate. API Error: 401 scripted failure", json!(401)),
        failed("API Error: Request rejected (429) · scripted failure", json!(429)),
        failed("You've hit your session limit · resets 3pm", Value::Null),
        failed("API Error: 529 Overloaded. This is a server-side issue", json!(529)),
        failed("API Error: 500 scripted failure", json!(500)),
        failed("There's an issue with the selected model (x). It may not exist", json!(404)),
        failed("Prompt is too long", Value::Null),
        failed("API Error: Connection error.", Value::Null),
        failed("Something nobody has seen before", Value::Null),
        result(&json!({ "stop_reason": "refusal", "result": "I cannot." })),
        result(&json!({ "result": "" })),
        result(&json!({ "subtype": "error_during_execution", "is_error": true, "result": null })),
    ] {
        let error = World::saying(&[init(), message.clone()]).ask().await.unwrap_err();
        writeln!(table, "{} => {error}", message["result"]).unwrap();
    }
    insta::assert_snapshot!("claude_errors", table);
}

#[tokio::test]
async fn a_limit_that_ends_soon_is_waited_for() {
    let event = json!({ "type": "rate_limit_event",
        "rate_limit_info": { "status": "rejected", "resetsAt": 4_000_000_000_u64 } });
    let limit = result(&json!({ "is_error": true, "result": "hit your limit", "api_error_status": 429 }));
    let error = World::saying(&[event, limit]).ask().await.unwrap_err();
    assert_eq!(error.cause.retry_after(), Some(Duration::from_hours(1)), "{error:?}");
}

#[tokio::test]
async fn a_requested_tool_is_not_used_and_the_text_before_it_counts() {
    let wants = json!({ "type": "assistant", "message": { "content": [
        { "type": "text", "text": "<summary/>" },
        { "type": "tool_use", "name": "Bash", "input": { "command": "touch used" } } ] } });
    let stopped = result(
        &json!({ "subtype": "error_max_turns", "is_error": true, "result": null, "stop_reason": "tool_use" }),
    );
    let world = World::saying(&[init(), wants, stopped]);
    assert_eq!(world.ask().await.unwrap().text, "<summary/>");
}

#[tokio::test]
async fn a_claude_that_gives_no_result_is_explained() {
    let mut table = String::new();
    for script in [
        "echo \"error: unknown option '--no-chrome'\" >&2; exit 1",
        "echo 'env: node: No such file or directory' >&2; exit 127",
        "read -r question; echo 'this is no JSON'",
        "read -r question; exit 0",
        "kill -9 $$",
        "yes 012345678901234567890123456789012345678901234567890123456789 >&2 & yes x",
    ] {
        let error = World::new(script).ask().await.unwrap_err();
        writeln!(table, "{script}\n => {error}").unwrap();
    }
    insta::assert_snapshot!("claude_ended_early", table);
}

#[tokio::test]
async fn a_missing_or_invalid_claude_program_is_a_settings_error() {
    let world = World::new("");
    for program in [PathBuf::from("remora-no-such-claude"), world.path("data")] {
        fs::create_dir_all(world.path("data")).unwrap();
        let config = Config { claude_program: program, ..world.config() };
        let error = Provider::new(config).unwrap().ask(&QUESTION).await.unwrap_err();
        assert!(matches!(error.cause, CallError::Misconfigured { .. }), "{error:?}");
    }
    assert_eq!(fs::read_dir(world.path("data/claude-cli")).unwrap().count(), 0);
}

#[tokio::test]
async fn leftovers_of_a_killed_process_are_swept() {
    let world = World::saying(&[result(&json!({}))]);
    let directory = world.path("data/claude-cli");
    fs::create_dir_all(&directory).unwrap();
    let leave = |name: &str, age: Duration| {
        let file = fs::File::create(directory.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    leave("system-1-1.md", Duration::from_hours(2));
    leave("system-2-1.md", Duration::from_mins(2));
    leave("not-ours.md", Duration::from_hours(2));
    world.ask().await.unwrap();
    assert!(!directory.join("system-1-1.md").exists());
    assert!(directory.join("system-2-1.md").exists() && directory.join("not-ours.md").exists());
}

#[tokio::test]
async fn a_large_question_and_an_answer_before_it_was_read_do_not_hang() {
    let world = World::new(&format!("printf '%s\\n' '{}'; cat > /dev/null", result(&json!({}))));
    let large = "x".repeat(1_000_000);
    let request = Request { prompt: &large, ..QUESTION };
    let reply = Provider::new(world.config()).unwrap().ask(&request).await.unwrap();
    assert_eq!(reply.text, "<observation/>");
    assert_eq!(reply.model, "haiku", "where it does not say, it is the one that was asked for");
}
