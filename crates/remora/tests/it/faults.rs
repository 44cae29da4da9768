//! For every fault: the hook exits with 0, prints nothing and ends soon; and the event is stored, or the log
//! says why not.

use std::fs;
use std::io::{self, Write as _};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::{Ran, World, assert_harmless, contains, run_hook};

fn assert_soon(ran: &Ran) {
    assert_harmless(ran);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
}

fn send(command: &mut Command, input: &[u8]) {
    assert_soon(&run_hook(command, input));
}

impl World {
    fn log(&self) -> String {
        let place = self.data().join("remora.log");
        fs::read_to_string(place).unwrap_or_default()
    }

    /// The log that is used if the data directory is not writable.
    fn fallback_log(&self) -> String {
        let user = rustix::process::geteuid().as_raw();
        fs::read_to_string(self.path(&format!("remora-{user}/remora.log"))).unwrap_or_default()
    }
}

#[test]
fn a_missing_data_directory_is_created() {
    let world = World::new();
    let mut command = world.hook_command();
    command.env("REMORA_DATA_DIR", world.path("not/there/yet"));
    send(&mut command, world.tool("t1").to_string().as_bytes());
    // On a slow machine, creating a database exceeds the hook's time limit, and the event is in the spool.
    let mut status = world.command(&["status", "--json"]);
    let output = status.env("REMORA_DATA_DIR", world.path("not/there/yet")).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["counts"]["pending"], 1, "{status}");
}

#[test]
fn without_home_the_hook_is_silent() {
    let world = World::new();
    let mut command = world.hook_command();
    // Without `HOME`, the home comes from the system's user database. This test must not write there.
    command.env_remove("HOME").env("REMORA_DATA_DIR", world.path("data"));
    send(&mut command, world.tool("t1").to_string().as_bytes());
    assert!(world.path("data/remora.db").exists());
}

#[test]
fn a_file_in_place_of_the_data_directory_is_reported_elsewhere() {
    let world = World::new();
    fs::write(world.data(), "I am a file").unwrap();
    send(&mut world.hook_command(), world.tool("t1").to_string().as_bytes());
    assert!(world.fallback_log().contains("an event is lost"), "{}", world.fallback_log());
    assert_eq!(fs::read_to_string(world.data()).unwrap(), "I am a file");
    let doctor = world.remora(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(contains(&doctor.stdout, "an event is lost"), "{doctor:?}");
    let status = world.remora(&["status"]);
    assert_eq!(status.status.code(), Some(3));
    assert!(contains(&status.stderr, "hint:"), "{status:?}");
}

#[test]
fn a_damaged_database_sends_events_to_the_spool() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    assert_eq!(world.count("pending"), 1);
    for name in ["remora.db-wal", "remora.db-shm"] {
        let _ = fs::remove_file(world.data().join(name));
    }
    fs::write(world.data().join("remora.db"), vec![b'?'; 64 << 10]).unwrap();
    send(&mut world.hook_command(), world.tool("t2").to_string().as_bytes());
    assert!(world.log().contains("damaged"), "{}", world.log());
    let status = world.remora(&["status", "--json"]);
    assert_eq!(status.status.code(), Some(3));
    let answer: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&answer["counts"]["pending"], &answer["database"]["ok"]), (&json!(1), &json!(false)));
    assert!(contains(&status.stderr, "mv "), "{status:?}");
    // Follows the hint.
    fs::rename(world.data().join("remora.db"), world.data().join("remora.db.damaged")).unwrap();
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn a_database_locked_for_long_sends_events_to_the_spool() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    let holder = rusqlite::Connection::open(world.data().join("remora.db")).unwrap();
    holder.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    send(&mut world.hook_command(), world.tool("t2").to_string().as_bytes());
    assert!(world.log().contains("busy"), "{}", world.log());
    holder.execute_batch("ROLLBACK").unwrap();
    drop(holder);
    assert_eq!(world.count("pending"), 2);
}

#[test]
fn bad_input_is_refused_in_silence_and_logged() {
    let world = World::new();
    let tool = world.tool("t1").to_string();
    let deep = "[".repeat(10 << 20);
    let cases: &[(&[u8], &str)] = &[
        (b"", "the input is empty"),
        (b"not json at all", "unexpected byte"),
        (&tool.as_bytes()[..tool.len() / 2], "ends in the middle"),
        (deep.as_bytes(), "nested more than"),
        (b"[1, 2]", "not a JSON object"),
        (br#"{"hook_event_name":"Stop"}"#, "without session_id"),
        (b"\xff\xfe\x00", "unexpected byte"),
    ];
    for (input, reason) in cases {
        send(&mut world.hook_command(), input);
        assert!(world.log().contains(reason), "{reason}: {}", world.log());
        fs::remove_file(world.data().join("remora.log")).unwrap_or_default();
        fs::create_dir_all(world.data()).unwrap();
    }
    send(&mut world.command(&["hook", "emacs"]), b"{}");
    assert!(world.log().contains("unknown host"), "{}", world.log());
    send(&mut world.command(&["hook"]), b"{}");
}

#[test]
fn unknown_events_are_ignored_silently() {
    let world = World::new();
    let message = world.message("QuantumLeap", &json!({"payload": [1, 2, 3]})).to_string();
    send(&mut world.hook_command(), message.as_bytes());
    assert_eq!(world.log(), "");
}

#[test]
fn invalid_utf8_is_replaced_and_the_event_kept() {
    let world = World::new();
    let mut input = world.tool("t1").to_string().into_bytes();
    let at = input.windows(4).position(|window| window == b"done").unwrap();
    input[at] = 0xff;
    send(&mut world.hook_command(), &input);
    let event = world.json(&["show", "e1"]);
    assert_eq!(event["payload"]["call"]["output"], "\u{FFFD}one");
}

/// A shell that may mount file systems.
fn mounting_shell(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-e", "-c", script]);
    command
}

/// Whether this machine allows mounting a read-only file system; if not, the reason.
fn probe_mounting(world: &World) -> Result<(), String> {
    let place = world.path("probe");
    fs::create_dir_all(&place).unwrap();
    let script = r#"mount -t tmpfs -o size=1m tmpfs "$PLACE"; mount -o remount,ro "$PLACE""#;
    let output = mounting_shell(script).env("PLACE", &place).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Runs `script` with a small file system at `$SMALL`. The script ends at its first failing command. `None` if this
/// machine does not allow mounts. Tests that use it are called `a_disk_…`: nextest then shows why they were skipped.
fn on_small_disk(world: &World, size: &str, script: &str) -> Option<Ran> {
    if let Err(reason) = probe_mounting(world) {
        // Not `eprintln!`, because the harness hides its output if the test passes.
        let message = format!("skipped: cannot mount a file system here: {}\n", reason.trim());
        io::stderr().write_all(message.as_bytes()).unwrap();
        return None;
    }
    let small = world.path("small");
    fs::create_dir_all(&small).unwrap();
    let mut command = mounting_shell(&format!("mount -t tmpfs -o size={size} tmpfs \"$SMALL\"\n{script}"));
    command.env("SMALL", &small).env("REMORA", env!("CARGO_BIN_EXE_remora"));
    command.env("REMORA_DAEMON_AUTOSTART", "false").env("REMORA_MEMORY_AUTO_RETRIEVE_MS", "1000");
    command
        .env("PROJECT", world.project())
        .env("REMORA_DATA_DIR", small.join("data"))
        .env("HOME", world.path("home"));
    command.env("TMPDIR", world.path("home")).env("MESSAGE", world.tool("t1").to_string());
    let started = std::time::Instant::now();
    let output = command.output().unwrap();
    let ran = Ran { output, took: started.elapsed() };
    assert!(ran.output.status.success(), "{:?}", ran.output);
    Some(ran)
}

#[test]
fn a_disk_that_is_full_keeps_hooks_silent_and_the_next_event_is_stored() {
    let world = World::new();
    let script = r#"
        printf %s "$MESSAGE" | "$REMORA" hook claude-code
        # It ends when the disk is full.
        ! dd if=/dev/zero of="$SMALL/filler" bs=4k >/dev/null 2>&1 || exit 98
        for n in 2 3 4 5 6 7 8 9; do
            printf %s "$MESSAGE" | sed "s/t1/t$n/g" | "$REMORA" hook claude-code
        done
        rm "$SMALL/filler"
        printf %s "$MESSAGE" | sed "s/t1/after/g" | "$REMORA" hook claude-code
        ! "$REMORA" doctor >"$HOME/doctor" || exit 97
        "$REMORA" queue --json >"$SMALL/queue"
        cp "$SMALL/queue" "$HOME/queue"
    "#;
    let Some(ran) = on_small_disk(&world, "2m", script) else { return };
    assert!(ran.output.stdout.is_empty() && ran.output.stderr.is_empty(), "{:?}", ran.output);
    let queue = fs::read_to_string(world.path("home/queue")).unwrap();
    assert!(queue.contains("make t1") && queue.contains("make after"), "{queue}");
    let doctor = fs::read_to_string(world.path("home/doctor")).unwrap();
    assert!(doctor.contains("lost events"), "there was no room for a reserve: {doctor}");
}

#[test]
fn a_disk_that_is_full_loses_no_event_while_the_reserve_lasts() {
    let world = World::new();
    let script = r#"
        "$REMORA" status >/dev/null
        "$REMORA" doctor | grep -q "MiB in reserve" || exit 97
        ! dd if=/dev/zero of="$SMALL/filler" bs=4k >/dev/null 2>&1 || exit 98
        n=100
        while [ $n -lt 160 ]; do
            printf %s "$MESSAGE" | sed "s/t1/t$n/g" | "$REMORA" hook claude-code
            n=$((n + 1))
        done
        rm "$SMALL/filler"
        "$REMORA" status --json >"$HOME/freed"
        "$REMORA" doctor | grep -q "MiB in reserve" || exit 99
    "#;
    let Some(ran) = on_small_disk(&world, "24m", script) else { return };
    assert!(ran.output.stdout.is_empty() && ran.output.stderr.is_empty(), "{:?}", ran.output);
    let status = fs::read_to_string(world.path("home/freed")).unwrap();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["counts"]["pending"], 60, "{status}");
}

/// At every fill level, each event ends up in the database, the spool or the reserve.
#[test]
fn a_disk_at_any_fill_level_loses_no_event() {
    let world = World::new();
    let script = r#"
        level=0
        while [ $level -le 40 ]; do
            "$REMORA" status >/dev/null
            ! dd if=/dev/zero of="$SMALL/filler" bs=4k >/dev/null 2>&1 || exit 98
            truncate -s -$((level * 4096)) "$SMALL/filler"
            n=100
            while [ $n -lt 110 ]; do
                printf %s "$MESSAGE" | sed "s/t1/t$level-$n/g" | "$REMORA" hook claude-code
                n=$((n + 1))
            done
            rm "$SMALL/filler"
            level=$((level + 1))
        done
        "$REMORA" status --json >"$HOME/freed"
    "#;
    let Some(ran) = on_small_disk(&world, "24m", script) else { return };
    assert!(ran.output.stdout.is_empty(), "{:?}", ran.output);
    let status = fs::read_to_string(world.path("home/freed")).unwrap();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["counts"]["pending"], 410, "{status}");
    assert_eq!(status["spool"]["lost"], 0, "{status}");
}

#[test]
fn a_disk_that_is_full_keeps_a_private_turn_private() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let lines = [
        world.prompt("p1", "<private>the launch is on Friday</private>"),
        world.tool("launch-friday"),
        world.message("Stop", &json!({"last_assistant_message": "The launch is on Friday."})),
    ];
    for (known, inodes) in [("", ""), ("", "full"), ("known", "")] {
        let before = match known {
            "" => Vec::new(),
            _ => vec![world.prompt("p0", "<private>x</private>"), world.prompt("p00", "a public prompt")],
        };
        let text = |lines: &[serde_json::Value]| {
            let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
            lines.concat()
        };
        fs::write(world.path("home/before"), text(&before)).unwrap();
        fs::write(world.path("home/lines"), text(&lines)).unwrap();
        let exhaust = if inodes.is_empty() {
            ""
        } else {
            "mount -o remount,nr_inodes=$(find \"$SMALL\" | wc -l) \"$SMALL\""
        };
        let script = format!(
            r#"
            "$REMORA" status >/dev/null
            while read -r line; do printf %s "$line" | "$REMORA" hook claude-code; done <"$HOME/before"
            ! dd if=/dev/zero of="$SMALL/filler" bs=4k >/dev/null 2>&1 || exit 98
            {exhaust}
            while read -r line; do printf %s "$line" | "$REMORA" hook claude-code; done <"$HOME/lines"
            rm "$SMALL/filler"
            mount -o remount,nr_inodes=0 "$SMALL"
            "$REMORA" queue --json >"$HOME/queue"
            grep -ri friday "$SMALL/data" && exit 97
            printf %s "$AFTER" | "$REMORA" hook claude-code
            "$REMORA" queue --json >>"$HOME/queue"
        "#
        );
        std::fs::write(world.path("home/after"), world.prompt("p2", "and now in public").to_string())
            .unwrap();
        let script = format!("AFTER=$(cat \"$HOME/after\")\n{script}");
        let Some(_) = on_small_disk(&world, "24m", &script) else { return };
        let queue = fs::read_to_string(world.path("home/queue")).unwrap();
        assert!(!queue.contains("riday"), "{known} {inodes}: {queue}");
        assert!(queue.contains("and now in public"), "{known} {inodes}: {queue}");
    }
}

/// A whole session, as JSON lines for a script that sends them.
fn session_about_zebras(world: &World) -> String {
    let events = [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "Why does the zebra parser fail on tabs?"})),
        (
            "Stop",
            json!({"last_assistant_message": "The zebra parser failed on tabs because the column counter \
                assumed a width of one; it now expands tabs to eight columns."}),
        ),
    ];
    let lines = events.map(|(event, more)| world.message(event, &more).to_string());
    lines.join("\n") + "\n"
}

#[test]
fn a_disk_that_takes_nothing_still_searches_and_injects() {
    for (spoil, log) in [
        ("mount -o remount,ro \"$SMALL\"", "empty"),
        ("mount -o remount,ro \"$SMALL\"", "full"),
        ("! dd if=/dev/zero of=\"$SMALL/filler\" bs=4k >/dev/null 2>&1 || exit 98", "empty"),
    ] {
        let world = World::new();
        fs::create_dir_all(world.path("home")).unwrap();
        fs::write(world.path("home/session"), session_about_zebras(&world)).unwrap();
        // A killed process leaves the log behind, without its index.
        let leave_log = if log == "full" {
            r#"printf %s "$MESSAGE" | "$REMORA" hook claude-code; rm "$SMALL"/data/*-shm; test -s "$SMALL"/data/*-wal"#
        } else {
            ":"
        };
        let script = format!(
            r#"
            while read -r line; do printf %s "$line" | "$REMORA" hook claude-code; done <"$HOME/session"
            "$REMORA" queue drain >/dev/null
            {leave_log}
            {spoil}
            cd "$PROJECT"
            "$REMORA" search zebra >"$HOME/found" 2>"$HOME/talk"
            "$REMORA" status --json >"$HOME/status" 2>/dev/null
            ! "$REMORA" save "a note" 2>"$HOME/refused" || exit 97
            ! "$REMORA" doctor >"$HOME/doctor" || exit 96
            sed "s/session-one/session-two/g" "$HOME/session" >"$HOME/next"
            while read -r line; do printf %s "$line" | "$REMORA" hook claude-code; done <"$HOME/next"
        "#
        );
        let Some(ran) = on_small_disk(&world, "24m", &script) else { return };
        let home = |name: &str| fs::read_to_string(world.path(&format!("home/{name}"))).unwrap();
        assert!(home("found").contains("assumed a width of one"), "{}", home("found"));
        assert!(home("talk").contains("reading only"), "{}", home("talk"));
        assert!(home("refused").contains("can only be read"), "{}", home("refused"));
        assert!(home("doctor").contains("can only be read"), "{}", home("doctor"));
        let status: serde_json::Value = serde_json::from_str(&home("status")).unwrap();
        assert_eq!(status["counts"]["observations"], 1, "{status}");
        assert_eq!(status["database"]["ok"], false, "{status}");
        let injected = String::from_utf8_lossy(&ran.output.stdout);
        let times = injected.matches("assumed a width of one").count();
        assert!(times >= 2, "once at the start and once with the prompt: {injected}");
    }
}

#[test]
fn a_disk_that_is_read_only_is_reported_elsewhere() {
    let world = World::new();
    let script = r#"
        mkdir "$SMALL/data"
        mount -o remount,ro "$SMALL"
        printf %s "$MESSAGE" | "$REMORA" hook claude-code
    "#;
    let Some(ran) = on_small_disk(&world, "1m", script) else { return };
    assert_soon(&ran);
    let user = if rustix::process::geteuid().is_root() { rustix::process::geteuid().as_raw() } else { 0 };
    let log = fs::read_to_string(world.path(&format!("home/remora-{user}/remora.log"))).unwrap();
    assert!(log.contains("an event is lost"), "{log}");
}

fn pipe(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode};
    let _ = fs::remove_file(path);
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_damaged_pause_file_stops_capture_until_resume() {
    let world = World::new();
    send(&mut world.hook_command(), world.tool("t1").to_string().as_bytes());
    let paused = world.data().join("paused.json");
    let damages: [&dyn Fn(); 3] = [
        &|| fs::write(&paused, "{\"everywhere_since\": 17").unwrap(),
        &|| fs::write(&paused, "").unwrap(),
        &|| pipe(&paused),
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        send(&mut world.hook_command(), world.tool(&format!("lost{number}")).to_string().as_bytes());
        assert_eq!(world.count("pending"), 1 + i64::try_from(number).unwrap());
        let doctor = world.remora(&["doctor"]);
        let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(!doctor.status.success() && text.contains("remora resume"), "{text}");
        assert_eq!(world.json(&["status"])["capture"]["on"], false);
        world.text(&["resume"]);
        send(&mut world.hook_command(), world.tool(&format!("kept{number}")).to_string().as_bytes());
        assert_eq!(world.count("pending"), 2 + i64::try_from(number).unwrap());
    }
}

#[test]
fn pipes_in_place_of_our_files_do_not_block_a_hook() {
    let world = World::new();
    send(&mut world.hook_command(), world.tool("t1").to_string().as_bytes());
    pipe(&world.data().join("remora.log"));
    // Not an event, so that an error is logged.
    send(&mut world.hook_command(), b"{");
    assert!(world.fallback_log().contains("the host's message cannot be read"), "{}", world.fallback_log());
    pipe(&world.data().join("spool.jsonl"));
    send(&mut world.hook_command(), world.tool("t2").to_string().as_bytes());
    assert_eq!(world.count("pending"), 2);
    assert!(!world.data().join("spool.jsonl").exists() && !world.data().join("spool.ingesting").exists());
}

#[test]
fn a_limit_for_the_size_of_files_does_not_kill_a_hook() {
    let world = World::new();
    for blocks in [0, 1, 8, 64] {
        let mut command = world.hook_command();
        let remora = command.get_program().to_owned();
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" hook claude-code")]).arg(remora);
        limited.env_clear().current_dir(world.project());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        send(&mut limited, world.tool(&format!("t{blocks}")).to_string().as_bytes());
        command.env_clear();
    }
    send(&mut world.hook_command(), world.tool("free").to_string().as_bytes());
    assert!(world.count("pending") >= 1);
}

#[test]
fn a_deeply_nested_message_is_stored() {
    let world = World::new();
    let mut tool = world.tool("t1");
    tool["tool_response"] = json!({ "stdout": "before the depth" });
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let text = tool.to_string().replacen(
        "\"before the depth\"",
        &format!("\"before the depth\",\"deep\":{deep}"),
        1,
    );
    send(&mut world.hook_command(), text.as_bytes());
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn lost_events_are_counted_until_acknowledged() {
    let world = World::new();
    send(&mut world.hook_command(), world.tool("t1").to_string().as_bytes());
    let line = "2026-03-10T02:10:41.614Z error hook: the disk is full; the spool failed too, an event is lost: full\n";
    fs::write(world.data().join("remora.log"), line.repeat(3)).unwrap();
    assert_eq!(world.json(&["status"])["spool"]["lost"], 3);
    assert!(world.text(&["status"]).contains("3 events lost"));
    let doctor = world.remora(&["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(!doctor.status.success() && text.contains("remora doctor --acknowledge"), "{text}");
    assert!(world.remora(&["doctor", "--acknowledge"]).status.success());
    assert!(world.remora(&["doctor"]).status.success());
    assert_eq!(world.json(&["status"])["spool"]["lost"], 0);
}

#[test]
fn doctor_reports_a_logged_bug() {
    let world = World::new();
    send(&mut world.hook_command(), world.tool("t1").to_string().as_bytes());
    let line = |version: &str| {
        format!("2026-11-17T02:10:41.614Z error hook: bug: panic at crates/a.rs:1:2 (version {version})\n")
    };
    fs::write(world.data().join("remora.log"), line("0.0.0-old")).unwrap();
    assert!(world.remora(&["doctor"]).status.success(), "another version may have fixed it");
    fs::write(world.data().join("remora.log"), line(env!("CARGO_PKG_VERSION"))).unwrap();
    let doctor = world.remora(&["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(!doctor.status.success() && text.contains("1 panic in the log"), "{text}");
}

#[test]
fn a_data_directory_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let open = world.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let mut hook = world.hook_command();
    send(hook.env("REMORA_DATA_DIR", &open), world.tool("t1").to_string().as_bytes());
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    let output = world.command(&["status"]).env("REMORA_DATA_DIR", &open).output().unwrap();
    let hint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && hint.contains("chmod 700"), "{hint}");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(world.command(&["status"]).env("REMORA_DATA_DIR", &open).output().unwrap().status.success());
}
