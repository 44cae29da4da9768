use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use remora_core::time::Time;
use remora_data::CLOCK_FILE;
use serde_json::{Value, json};

/// A new user with an empty home, an empty data directory and a project.
pub(crate) struct World {
    temp: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("home")).unwrap();
        fs::create_dir_all(temp.path().join("project")).unwrap();
        Self { temp }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("home/.remora")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The program with a minimal environment (a home, and a PATH that contains it), and no daemon that would
    /// interfere with the test.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remora"));
        command.args(arguments).env_clear().env("HOME", self.path("home")).env("TMPDIR", self.temp.path());
        let own = Path::new(env!("CARGO_BIN_EXE_remora")).parent().unwrap();
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", own.display()));
        command.env("REMORA_DAEMON_AUTOSTART", "false");
        // Written by `set_clock`.
        if self.path("clock").exists() {
            command.env(CLOCK_FILE, self.path("clock"));
        }
        // A test build on a busy machine is slower than a release build.
        if arguments.first() == Some(&"hook") {
            command.env("REMORA_MEMORY_AUTO_RETRIEVE_MS", "1000");
        }
        command.current_dir(self.project());
        command
    }

    /// Sets the clock of every program that is started from now on.
    pub(crate) fn set_clock(&self, time: Time) {
        fs::write(self.path("clock"), (time.0 - Time::now().0).to_string()).unwrap();
    }

    pub(crate) fn remora(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Stdout of a command that must succeed, with the paths of this world normalised.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.remora(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        self.neutral(&output.stdout)
    }

    pub(crate) fn neutral(&self, text: &[u8]) -> String {
        String::from_utf8_lossy(text).replace(&*self.temp.path().to_string_lossy(), "[TEMP]")
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.remora(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn count(&self, name: &str) -> i64 {
        self.json(&["status"])["counts"][name].as_i64().unwrap()
    }

    /// Runs a hook and checks what every hook guarantees to its host.
    pub(crate) fn hook(&self, message: &Value) {
        assert_harmless(&run_hook(&mut self.hook_command(), message.to_string().as_bytes()));
    }

    pub(crate) fn hook_command(&self) -> Command {
        self.command(&["hook", "claude-code"])
    }

    /// All bytes that Remora wrote, in any file.
    pub(crate) fn all_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        collect(self.temp.path(), &mut bytes);
        bytes
    }

    pub(crate) fn message(&self, event: &str, more: &Value) -> Value {
        let mut message = json!({
            "session_id": "session-one",
            "transcript_path": "/home/dev/.claude/projects/x.jsonl",
            "cwd": self.project(),
            "hook_event_name": event,
        });
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    }

    pub(crate) fn tool(&self, id: &str) -> Value {
        self.message(
            "PostToolUse",
            &json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": format!("make {id}")},
                "tool_response": {"stdout": "done", "stderr": "", "interrupted": false}}),
        )
    }

    pub(crate) fn prompt(&self, id: &str, text: &str) -> Value {
        self.message("UserPromptSubmit", &json!({"prompt_id": id, "prompt": text}))
    }
}

/// Runs a command as a person types it: at a terminal provided by `script`, and not below this process, which is the host of
/// the sessions whose hooks it runs.
pub(crate) fn typed(world: &World, arguments: &[&str]) -> String {
    let said = try_typed(world, arguments);
    said.strip_suffix("exit 0\n").unwrap_or_else(|| panic!("{arguments:?}: {said}")).to_owned()
}

/// What a typed command prints, and `exit CODE` as the last line.
pub(crate) fn try_typed(world: &World, arguments: &[&str]) -> String {
    // Starts once its parent has ended, so that it is nobody's child.
    let orphan = "(while read -r _ _ _ parent _ < /proc/self/stat; [ \"$parent\" = $$ ]; do :; done
                   exec script -qec \"$0\" /dev/null) &";
    at_terminal(world, orphan, arguments)
}

/// Lets commands and tools below this process, the host of many sessions, reach every project.
pub(crate) fn let_agents_reach_everything(world: &World) {
    typed(world, &["config", "set", "mcp.projects", "all"]);
}

/// The same for a command that an agent runs at a terminal, below its host.
pub(crate) fn typed_by_agent(world: &World, arguments: &[&str]) -> String {
    at_terminal(world, "script -qec \"$0\" /dev/null", arguments)
}

fn at_terminal(world: &World, shell: &str, arguments: &[&str]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("{} {}; echo exit $?", env!("CARGO_BIN_EXE_remora"), quoted.join(" "));
    let own = world.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", shell, &line]).env_clear().current_dir(world.project()).stdin(Stdio::null());
    for (name, value) in own.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

pub(crate) struct Ran {
    pub(crate) output: Output,
    pub(crate) took: Duration,
}

pub(crate) fn assert_harmless(ran: &Ran) {
    let Output { status, stdout, stderr } = &ran.output;
    assert_eq!(status.code(), Some(0), "{ran_output:?}", ran_output = ran.output);
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(stderr));
    assert!(stdout.is_empty() || serde_json::from_slice::<Value>(stdout).is_ok(), "{stdout:?}");
}

pub(crate) fn run_hook(command: &mut Command, input: &[u8]) -> Ran {
    let started = Instant::now();
    let output = feed(command, input).wait_with_output().unwrap();
    Ran { output, took: started.elapsed() }
}

pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Child {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Writing may fail: a hook that has read enough closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child
}

fn collect(path: &Path, bytes: &mut Vec<u8>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, bytes);
        } else {
            bytes.extend(fs::read(&path).unwrap());
            bytes.push(b'\n');
        }
    }
}

pub(crate) fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}
