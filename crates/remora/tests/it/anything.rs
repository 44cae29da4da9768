//! A hundred thousand random messages through all stages: intake, host, gate, privacy, store, observer,
//! context. Nothing panics, and every message is stored or rejected with a reason.

use std::fmt::Write as _;
use std::time::Duration;

use remora_app::capture::{self, Decision, LeftOut};
use remora_app::recall::start::{self, Reader, Starting};
use remora_app::{Alone, Local};
use remora_core::context::More;
use remora_core::event::{SessionRef, Start};
use remora_core::host::Host;
use remora_core::intake::Intake;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_observer::Observer;
use remora_store::{DataDir, Enqueued, EventRecord, Store};

const MESSAGES: usize = 25_000;
const GROUP: usize = 500;

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap() % limit
    }

    fn one_of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        these[self.below(these.len())]
    }
}

/// Text fragments that some rule reacts to, in several scripts, and fragments in none.
const PIECES: &[&str] = &[
    "fix the parser",
    "修复登录错误",
    "エラーを直す",
    "Ошибка в модуле",
    "كلمة المرور",
    "שלום",
    "नमस्ते",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "é\u{301}\u{301}\u{301}",
    "<private>",
    "</private>",
    "<private\n>",
    "&lt;private&gt;",
    "\\u003cprivate\\u003e",
    "<system-reminder>",
    "</system-reminder>",
    "<remora-context>",
    "</remora-context>",
    "<Button>提交订单</Button>",
    "<",
    ">",
    "`",
    "```rust\n",
    "```",
    "**",
    "# ",
    "\n- ",
    "|",
    "![](http://x/y.png)",
    "password=",
    " AKIAIOSFODNN7EXAMPLE ",
    " ghp_0123456789abcdefghijklmnopqrstuvwxyzAB ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "\u{1b}[31m",
    "\u{0}",
    "\u{7}",
    "\r",
    "\r\n",
    "\t",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "\u{e0041}",
    "\u{2028}",
    "\u{fffd}",
    "\u{10ffff}",
    "always use tabs",
    "never push to main",
    "I decided to keep the cache because it is faster.",
    "error[E0382]: borrow of moved value",
    "test result: FAILED. 1 passed; 2 failed",
    "src/lib.rs:10:5",
    "/etc/passwd",
    "C:\\Windows\\x",
    "https://user:pw@example.org/a?b=c",
    "#123",
    "s1",
    "'; DROP TABLE x; --",
];

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(12) {
        text.push_str(random.one_of(PIECES));
        if random.below(3) == 0 {
            text.push(' ');
        }
        if random.below(8) == 0 {
            let any = u32::try_from(random.next() % 0x0011_0000).unwrap();
            text.extend(char::from_u32(any));
        }
    }
    // Rarely large, so that the test takes less than a minute.
    if random.below(400) == 0 { text.repeat(1 + 20_000 / text.len().max(1)) } else { text }
}

/// A JSON string as any program might write it: all kinds of escapes, lone surrogates, raw control
/// characters.
fn string(random: &mut Random) -> String {
    let mut json = String::from("\"");
    for c in text(random).chars() {
        match (c, random.below(6)) {
            ('"' | '\\', _) => json.extend(['\\', c]),
            ('\u{0}'..='\u{1f}', 0) => json.push(c),
            ('\u{0}'..='\u{1f}', _) | (_, 1) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
            _ => json.push(c),
        }
    }
    if random.below(20) == 0 {
        json.push_str(random.one_of(&["\\ud83d", "\\udc00", "\\ud800\\ud800", "\\u0000", "\\q"]));
    }
    json.push('"');
    json
}

fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth > 4 { 5 } else { 8 }) {
        0 => random
            .one_of(&["null", "true", "false", "0", "-1", "1e308", "1e999", "0.1", "9223372036854775808"])
            .to_owned(),
        1..=4 => string(random),
        5 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| value(random, depth + 1)).collect();
            format!("[{}]", items.join(","))
        }
        6 => object(random, depth + 1),
        _ if random.below(50) == 0 => format!("{}1{}", "[".repeat(300), "]".repeat(300)),
        _ => "{}".to_owned(),
    }
}

fn object(random: &mut Random, depth: usize) -> String {
    const NAMES: &[&str] = &[
        "command",
        "file_path",
        "old_string",
        "new_string",
        "stdout",
        "stderr",
        "content",
        "pattern",
        "url",
        "prompt",
        "description",
        "x",
    ];
    let members: Vec<String> = (0..random.below(5))
        .map(|_| {
            let name =
                if random.below(5) == 0 { string(random) } else { format!("\"{}\"", random.one_of(NAMES)) };
            format!("{name}:{}", value(random, depth))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn message(random: &mut Random, number: usize) -> String {
    const EVENTS: &[&str] = &[
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
        "StopFailure",
        "Unknown",
    ];
    const TOOLS: &[&str] = &[
        "Bash",
        "Edit",
        "Write",
        "Read",
        "Grep",
        "WebFetch",
        "Task",
        "AskUserQuestion",
        "TodoWrite",
        "mcp__x__y",
    ];
    let session = random.below(40);
    let mut json = format!(
        "{{\"session_id\":\"s{session}\",\"cwd\":\"/nowhere/p{}\",\"hook_event_name\":\"{}\",\"tool_name\":\"{}\",\"tool_use_id\":\"t{number}\",\"prompt_id\":\"p{number}\"",
        session % 5,
        random.one_of(EVENTS),
        random.one_of(TOOLS)
    );
    for name in [
        "prompt",
        "last_assistant_message",
        "tool_input",
        "tool_response",
        "source",
        "agent_id",
        "error",
        "cwd",
    ] {
        if random.below(3) == 0 {
            let _ = write!(json, ",\"{name}\":{}", value(random, 0));
        } else if ["prompt", "last_assistant_message"].contains(&name) {
            let _ = write!(json, ",\"{name}\":{}", string(random));
        }
    }
    json.push('}');
    // Some messages are cut short.
    match random.below(60) {
        0 => json.chars().take(random.below(json.len())).collect(),
        _ => json,
    }
}

#[derive(Debug, Default)]
struct Fates {
    stored: usize,
    repeated: usize,
    left_out: usize,
    refused: usize,
    nothing: usize,
}

/// Stores the collected records, observes them, and reads the result as an agent does.
fn flush(store: &mut Store, observer: &Observer, records: &mut Vec<EventRecord>, fates: &mut Fates) {
    for enqueued in store.queue().enqueue_all(records).unwrap() {
        match enqueued {
            Enqueued::Stored(_) => fates.stored += 1,
            Enqueued::Duplicate => fates.repeated += 1,
        }
    }
    records.clear();
    while observer.observe(store, Time::now().after(Duration::from_secs(1))).unwrap().is_some() {}
    let session = SessionRef { host: Host::ClaudeCode, id: "s0".into() };
    let starting = Starting { session: &session, directory: "/nowhere/p0", how: Start::New };
    let reader = Reader { limit: 2_000, more: More::Commands("remora") };
    let mut rt = Local::new(Store::open(store.dir()).unwrap(), Settings::default(), &Alone);
    let injection = start::begin(&mut rt, starting, reader).unwrap();
    if let Some(text) = injection.map(|injection| injection.text) {
        assert_eq!(text.matches("<remora-context>").count(), text.matches("</remora-context>").count());
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{text}");
    }
}

fn walk(seed: u64) {
    let temp = tempfile::tempdir().unwrap();
    let dir = DataDir::new(temp.path().join("data"));
    let mut store = Store::open(&dir).unwrap();
    let settings = Settings::default();
    let observer = Observer::builtin("test", Duration::ZERO);
    let mut random = Random(seed);
    let mut fates = Fates::default();
    let mut records: Vec<EventRecord> = Vec::new();
    for number in 0..MESSAGES {
        let host = if number % 5 == 0 { Host::Generic } else { Host::ClaudeCode };
        let event = (host == Host::Generic)
            .then(|| random.one_of(&["init", "observations", "summarize", "complete"]));
        let mut bytes = message(&mut random, number).into_bytes();
        if random.below(60) == 0 {
            let at = random.below(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = 0xff;
            }
        }
        let mut intake = Intake::default();
        let read = bytes.chunks(1 + random.below(4096)).try_for_each(|part| intake.push(part).map(drop));
        let Ok(document) = read.and_then(|()| intake.finish()) else {
            fates.refused += 1;
            continue;
        };
        let reading = remora_hosts::read(host, event, document);
        match capture::decide(&dir, &settings, None, reading, Time::now()).unwrap() {
            Decision::Store(record) => records.push(*record),
            Decision::LeftOut(LeftOut::NotAnEvent | LeftOut::Synthetic) | Decision::Inject(_) => {
                fates.nothing += 1;
            }
            Decision::LeftOut(_) => fates.left_out += 1,
            Decision::Malformed(reason) => {
                assert!(!reason.is_empty());
                fates.refused += 1;
            }
        }
        if records.len() >= GROUP {
            flush(&mut store, &observer, &mut records, &mut fates);
        }
    }
    flush(&mut store, &observer, &mut records, &mut fates);
    let Fates { stored, repeated, left_out, refused, nothing } = fates;
    assert_eq!(stored + repeated + left_out + refused + nothing, MESSAGES, "{stored} {repeated}");
    assert!(
        stored > MESSAGES / 3,
        "most arrive: {stored} of {MESSAGES}, {refused} refused, {nothing} are nothing"
    );
    assert_eq!(store.counts().unwrap().failed, 0);
    for needle in ["ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "AKIAIOSFODNN7EXAMPLE"] {
        let file = std::fs::read(dir.database()).unwrap();
        let at = file.windows(needle.len()).position(|window| window == needle.as_bytes());
        let around = at.map(|at| {
            String::from_utf8_lossy(&file[at.saturating_sub(40)..(at + 80).min(file.len())]).into_owned()
        });
        assert_eq!(around, None, "{needle} is in the database");
    }
}

#[test]
fn anything_is_stored_or_refused_1() {
    walk(1);
}

#[test]
fn anything_is_stored_or_refused_2() {
    walk(2);
}

#[test]
fn anything_is_stored_or_refused_3() {
    walk(3);
}

#[test]
fn anything_is_stored_or_refused_4() {
    walk(4);
}
