//! The Claude Code plugin: together with the hooks of `remora install`, and without the program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::support::{World, assert_harmless, feed, run_hook};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin/scripts/find-remora")
}

#[test]
fn two_hooks_for_one_event_inject_once() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    world.text(&["save", "The zebra clock runs in UTC because the billing server does."]);
    let mut events = vec![
        json!({ "hook_event_name": "SessionStart", "source": "startup" }),
        json!({ "hook_event_name": "UserPromptSubmit", "prompt_id": "p9", "prompt": "Why does the zebra clock run in UTC?" }),
        json!({ "hook_event_name": "SessionStart", "source": "compact" }),
    ];
    for event in &mut events {
        event["session_id"] = json!("both");
        event["cwd"] = json!(world.project());
        let event = event.to_string();
        let answers: Vec<String> = thread::scope(|scope| {
            let run = || {
                let hook = feed(&mut world.command(&["hook", "claude-code"]), event.as_bytes());
                let output = hook.wait_with_output().unwrap();
                assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            let hooks = [scope.spawn(run), scope.spawn(run)];
            hooks.map(|hook| hook.join().unwrap()).into()
        });
        let injected = answers.iter().filter(|answer| answer.contains("remora-context")).count();
        // After compaction, a session gets only its own work, and it has none.
        let expected = usize::from(!event.contains("compact"));
        assert_eq!(injected, expected, "{event}: {answers:?}");
    }
}

#[test]
fn without_the_program_a_hook_of_the_plugin_is_silent() {
    let world = World::new();
    let home = world.path("empty");
    std::fs::create_dir_all(&home).unwrap();
    let mut hook = Command::new(script());
    hook.args(["hook", "claude-code"]).env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin");
    assert_harmless(&run_hook(&mut hook, "x".repeat(1 << 20).as_bytes()));
    // A server that cannot start prints the reason.
    let server = Command::new(script())
        .arg("mcp")
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/bin:/bin")
        .output();
    let server = server.unwrap();
    assert!(!server.status.success() && String::from_utf8_lossy(&server.stderr).contains("not installed"));
}

#[test]
fn the_plugin_finds_the_program_in_the_users_home() {
    let world = World::new();
    let folder = world.path("home/.local/bin");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_remora"), folder.join("remora")).unwrap();
    let mut found = Command::new(script());
    found.arg("--version").env_clear().env("HOME", world.path("home")).env("PATH", "/usr/bin:/bin");
    let found = found.output().unwrap();
    assert!(String::from_utf8_lossy(&found.stdout).starts_with("remora "), "{found:?}");
}
