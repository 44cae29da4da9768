use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{World, assert_harmless, run_hook};

const RECORDED: &str = include_str!("../../../remora-hosts/tests/fixtures/claude-code-2.1.325.jsonl");

#[test]
fn every_recorded_message_is_stored_silently() {
    let world = World::new();
    for line in RECORDED.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        world.hook(&line["stdin"]);
    }
    let counts = world.json(&["status"])["counts"].clone();
    assert_eq!((counts["sessions"].as_i64(), counts["pending"].as_i64()), (Some(6), Some(22)));
    // Replaying the same messages adds nothing.
    for line in RECORDED.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        world.hook(&line["stdin"]);
    }
    assert_eq!(world.json(&["status"])["counts"], counts);
}

#[test]
fn only_the_user_can_read_what_is_written() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    world.hook(&world.prompt("p1", "<private>x</private>"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.data()), 0o700);
    for entry in fs::read_dir(world.data()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn the_event_on_the_command_line_wins() {
    let world = World::new();
    let message = world.message("PreToolUse", &json!({"last_assistant_message": "done", "prompt_id": "p"}));
    let mut command = world.command(&["hook", "claude-code", "--event", "Stop"]);
    assert_harmless(&run_hook(&mut command, message.to_string().as_bytes()));
    let queue = world.json(&["queue"]);
    assert_eq!(queue["events"][0]["kind"], "turn_ended");
}

#[test]
fn a_disabled_hook_does_nothing_at_all() {
    let world = World::new();
    let mut command = world.hook_command();
    command.env("REMORA_DISABLED", "1");
    assert_harmless(&run_hook(&mut command, world.tool("t1").to_string().as_bytes()));
    assert!(!world.data().exists());
}

#[test]
fn a_host_that_leaves_the_pipe_open_does_not_block_the_hook() {
    let world = World::new();
    let mut child = world.hook_command().stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, world.tool("t1").to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn a_message_that_never_ends_is_abandoned() {
    let world = World::new();
    let mut child = world.hook_command().stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, br#"{"session_id":"s","prompt":"and so on"#).unwrap();
    let started = Instant::now();
    assert!(child.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(10));
    drop(stdin);
    let log = fs::read_to_string(world.data().join("remora.log")).unwrap();
    assert!(log.contains("did not finish its message"), "{log}");
}

#[test]
fn skipped_tools_and_settings_are_respected() {
    let world = World::new();
    let grep = |id: &str| {
        world.message(
            "PostToolUse",
            &json!({"tool_name": "Grep", "tool_use_id": id,
        "tool_input": {"pattern": "x"}, "tool_response": {"filenames": []}}),
        )
    };
    world.hook(&grep("g1"));
    let failed = world.message(
        "PostToolUseFailure",
        &json!({"tool_name": "Grep", "tool_use_id": "g2",
        "tool_input": {"pattern": "("}, "error": "bad pattern"}),
    );
    world.hook(&failed);
    assert_eq!(world.count("pending"), 1);

    fs::write(world.data().join("config.toml"), "[capture]\nskip_tools = [\"Bash\"]\n").unwrap();
    world.hook(&world.tool("t1"));
    world.hook(&grep("g3"));
    assert_eq!(world.count("pending"), 2);
    let mut command = world.hook_command();
    command.env("REMORA_CAPTURE_EXCLUDE_PROJECTS", world.project());
    assert_harmless(&run_hook(&mut command, grep("g4").to_string().as_bytes()));
    assert_eq!(world.count("pending"), 2);
}

#[test]
fn a_hundred_megabytes_of_output_become_one_small_event() {
    let world = World::new();
    let mut child = world.hook_command().stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut write = |bytes: &[u8]| std::io::Write::write_all(&mut stdin, bytes).unwrap();
    write(br#"{"session_id":"s","cwd":"/","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"cat"},"tool_response":{"stdout":"HEAD "#);
    let block = vec![b'x'; 64 << 10];
    for _ in 0..1600 {
        write(&block);
    }
    write(br#" TAIL"}}"#);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let event = world.json(&["show", "e1"]);
    let stdout = event["payload"]["call"]["output"].as_str().unwrap();
    assert!(stdout.starts_with("HEAD ") && stdout.ends_with(" TAIL") && stdout.contains("bytes cut"));
    assert!(event.to_string().len() < 64 << 10);
}

#[test]
fn text_of_any_script_behind_a_bracket_is_kept() {
    let world = World::new();
    let prompts = [
        "把 <Button>提交订单</Button> 改成蓝色",
        "если a<б, то <b>ошибка</b>",
        "pourquoi x <é ne passe pas ?",
    ];
    for (number, prompt) in prompts.iter().enumerate() {
        world.hook(&world.prompt(&format!("p{number}"), prompt));
    }
    let kept = world.json(&["show", "session-one"]);
    let kept: Vec<&str> =
        kept["turns"].as_array().unwrap().iter().map(|turn| turn["text"].as_str().unwrap()).collect();
    assert_eq!(kept, prompts);
    assert!(!world.data().join("remora.log").exists());
}

#[test]
fn a_pipe_in_place_of_a_git_file_does_not_block_the_hook() {
    use rustix::fs::{CWD, FileType, Mode};
    let pipe = |path: &std::path::Path| {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    let world = World::new();
    let git = world.project().join(".git");
    pipe(&git);
    world.hook(&world.prompt("p1", "why does the parser loop"));
    fs::remove_file(&git).unwrap();
    fs::create_dir(&git).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    pipe(&git.join("commondir"));
    pipe(&git.join("config"));
    world.hook(&world.prompt("p2", "and the printer"));
    pipe(&world.data().join("config.toml"));
    world.hook(&world.prompt("p3", "and the reader"));
    fs::remove_file(world.data().join("config.toml")).unwrap();
    assert_eq!(world.count("prompts"), 2, "unreadable settings may exclude this project");
    assert!(!world.data().join("spool.jsonl").exists());
}

#[test]
fn a_broken_config_keeps_its_exclusions() {
    let world = World::new();
    let broken = |text: &str| {
        fs::create_dir_all(world.data()).unwrap();
        fs::write(world.data().join("config.toml"), text).unwrap();
        world.hook(&world.tool("t1"));
    };
    let project = world.project();
    let excluding = format!("[capture]\nexclude_projects = [{project:?}]\n");
    broken(&excluding);
    broken(&format!("{excluding}\n[daemon]\nport = \n"));
    broken(&format!("{excluding}\n[daemon]\nport = \"many\"\n"));
    broken("[capture]\nexclude_projects = [\"~/clients/{a\"]\n");
    broken("[capture]\nexclude_projects = 7\n");
    // The list is in another place, or has another name.
    let list = format!("exclude_projects = [{project:?}]\n");
    for misplaced in ["", "[[capture]]\n", "[captrue]\n", "[Capture]\n", "[daemon]\n", "[capture.more]\n"] {
        broken(&format!("{misplaced}{list}"));
    }
    // A file on a disk that is missing.
    fs::remove_file(world.data().join("config.toml")).unwrap();
    std::os::unix::fs::symlink("/nonexistent/config.toml", world.data().join("config.toml")).unwrap();
    world.hook(&world.tool("t1"));
    fs::remove_file(world.data().join("config.toml")).unwrap();
    broken(&format!("[capture]\nExcluded_Projects = [{project:?}]\n"));
    assert!(!world.data().join("remora.db").exists());
    let output = world.remora(&["doctor"]);
    let doctor = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(doctor.contains("nothing is captured"), "{doctor}");
    assert!(doctor.contains("off until the list of excluded projects can be read"), "{doctor}");
    // A broken file without exclusions does not stop capture.
    broken("[daemon]\nport = \n");
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn a_variable_that_is_not_text_excludes_everything() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let mut command = world.hook_command();
    command.env("REMORA_CAPTURE_EXCLUDE_PROJECTS", std::ffi::OsStr::from_bytes(b"/clients/\xff"));
    run_hook(&mut command, world.tool("t1").to_string().as_bytes());
    assert!(!world.data().join("remora.db").exists());
}

#[test]
fn an_excluded_link_excludes_its_target() {
    let world = World::new();
    let link = world.path("clients");
    std::os::unix::fs::symlink(world.project(), &link).unwrap();
    assert!(
        world.remora(&["config", "set", "capture.exclude_projects", link.to_str().unwrap()]).status.success()
    );
    world.hook(&world.tool("t1"));
    assert!(!world.data().join("remora.db").exists());
}
