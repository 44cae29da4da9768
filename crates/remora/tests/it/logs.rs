use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use remora_store::{DataDir, log};
use serde_json::Value;

use crate::support::{World, contains};

impl World {
    fn dir(&self) -> DataDir {
        DataDir::new(self.data())
    }
}

struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(&[&["logs", "-f"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for the next line and returns its message.
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().rsplit(": ").next().unwrap().to_owned()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ends(child: &mut Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_missing_log_is_reported() {
    let world = World::new();
    let logs = world.remora(&["logs"]);
    assert!(logs.status.success() && logs.stdout.is_empty(), "{logs:?}");
    assert!(contains(&logs.stderr, "Nothing has been logged yet"), "{logs:?}");
    assert!(!world.data().exists(), "reading creates no files");
}

#[test]
fn lines_have_a_level_and_an_origin_and_can_be_chosen() {
    let world = World::new();
    fs::create_dir_all(world.data()).unwrap();
    let mut unknown = world.command(&["hook", "nobody"]);
    assert!(unknown.stdin(Stdio::null()).status().unwrap().success());
    log::info(&world.dir(), "daemon", "started");
    log::warn(&world.dir(), "daemon", "slow\nvery slow");
    fs::write(world.data().join("remora.log.1"), "2020-01-01T00:00:00.000Z error hook: long ago\n").unwrap();
    let text = world.text(&["logs"]);
    let told: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(
        told,
        [
            "error hook: long ago",
            "error hook: nobody: unknown host `nobody`",
            "info daemon: started",
            "warn daemon: slow very slow"
        ]
    );
    assert_eq!(world.text(&["logs", "-n", "1", "--level", "error"]).lines().count(), 1);
    assert_eq!(world.text(&["logs", "--level", "warn"]).lines().count(), 3);
    let json = world.text(&["logs", "--json", "-n", "1"]);
    let entry: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((&entry["level"], &entry["from"]), (&"warn".into(), &"daemon".into()));
    assert!(entry["at"].as_str().unwrap().ends_with('Z') && entry["at_epoch"].is_i64());
    // The test created the data directory, open to others. Any command restricts its mode.
    world.text(&["status"]);
    let doctor = world.json(&["doctor"]);
    let problems = doctor["recent_problems"].to_string();
    assert!(problems.contains("slow") && problems.contains("unknown host"), "{problems}");
    assert!(!problems.contains("started"), "{problems}");
}

#[test]
fn following_misses_nothing_when_the_log_is_rotated() {
    let world = World::new();
    let dir = world.dir();
    log::info(&dir, "daemon", "before");
    let mut follower = Follower::start(&world, &[]);
    assert_eq!(follower.next(), "before");
    // A process that opened the log before the rotation and writes afterwards.
    let mut late = OpenOptions::new().append(true).open(world.data().join("remora.log")).unwrap();
    log::set_limit(1);
    let (filler, mut written, mut read) = ("x".repeat(480), 0, 0);
    for rotation in 0..3 {
        let inode = || fs::metadata(world.data().join("remora.log")).unwrap().ino();
        let before = inode();
        while inode() == before {
            log::info(&dir, "daemon", &format!("{filler}: {written}"));
            written += 1;
        }
        while read < written {
            assert_eq!(follower.next(), read.to_string());
            read += 1;
        }
        if rotation == 0 {
            late.write_all(b"2026-03-10T09:22:00.123Z warn hook: late\n").unwrap();
            assert_eq!(follower.next(), "late");
        }
    }
    let size: u64 = ["remora.log", "remora.log.1"]
        .iter()
        .map(|name| {
            let file = fs::metadata(world.data().join(name)).unwrap();
            assert_eq!(file.mode() & 0o777, 0o600);
            file.len()
        })
        .sum();
    assert!(size <= (1 << 20) + 2000, "{size}");
    assert_eq!(fs::read_dir(world.data()).unwrap().count(), 2);
}

#[test]
fn following_waits_for_the_first_line_and_ends_with_its_reader() {
    let world = World::new();
    let mut follower = Follower::start(&world, &["--json"]);
    let mut told = [0; 20];
    follower.child.stderr.as_mut().unwrap().read_exact(&mut told).unwrap();
    assert!(contains(&told, "Nothing has been"), "{told:?}");
    log::info(&world.dir(), "daemon", "first");
    let mut line = String::new();
    follower.lines.read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["message"], "first");
    let mut child = world.command(&["logs", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(ends(&mut child).success(), "the reader is gone");
    let pid = rustix::process::Pid::from_raw(i32::try_from(follower.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    ends(&mut follower.child);
}
