//! Storing events and listing records over HTTP: with real sockets and a real daemon.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, header, start};
use crate::daemon::Background;
use crate::durability::SEE_SYNC;
use crate::support::{assert_harmless, contains, run_hook};

fn body(background: &Background, session: &str, more: &Value) -> Value {
    let mut body = json!({"contentSessionId": session, "cwd": background.world.project()});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// All events are of one session: the start of another would end the turn, and then its events would not stay
/// queued.
fn make(background: &Background, number: usize) -> Value {
    body(
        background,
        "one",
        &json!({"tool_name": "Bash", "tool_use_id": format!("t{number}"),
            "tool_input": {"command": format!("make target-{number}-end")}, "tool_response": {"stdout": "done"}}),
    )
}

/// The request and response bodies, for authors of clients. `docs/http.md` describes them.
#[test]
fn the_bodies_are_these() {
    let background = Background::new();
    let client = start(&background);
    let mut told = String::new();
    let mut tell = |method: &str, path: &str, body: Option<Value>| {
        let answer = match &body {
            Some(body) => client.post(path, body),
            None => client.get(path),
        };
        writeln!(told, "{method} {path}").unwrap();
        if let Some(body) = body {
            writeln!(told, "{body:#}").unwrap();
        }
        writeln!(told, "=> {}\n{:#}\n", answer.status, answer.json()).unwrap();
    };
    let with = |more: Value| Some(body(&background, "3a36f8d1", &more));
    tell("POST", "/api/sessions/init", with(json!({"host": "cursor"})));
    tell(
        "POST",
        "/api/sessions/init",
        with(json!({"host": "cursor", "prompt": "Fix the clock", "prompt_id": "p1"})),
    );
    let write = json!({"host": "cursor", "prompt_id": "p1", "tool_use_id": "t1", "tool_name": "Write",
        "tool_input": {"file_path": "/p/clock.rs", "content": "x"}, "tool_response": {"type": "create"}});
    tell("POST", "/api/sessions/observations", with(write.clone()));
    tell("POST", "/api/sessions/observations", with(write));
    tell("POST", "/api/sessions/observations", with(json!({"host": "cursor", "tool_name": "Grep"})));
    let message = "The clock is right again. It took the wrong time zone.";
    tell(
        "POST",
        "/api/sessions/summarize",
        with(json!({"host": "cursor", "last_assistant_message": message})),
    );
    background.wait("the summary", || background.counts()["summaries"] == 1);
    tell("POST", "/api/sessions/complete", Some(json!({"contentSessionId": "3a36f8d1", "host": "cursor"})));
    background.wait("the end", || background.counts()["pending"] == 0);
    for path in
        ["observations", "observations?ids=1,99", "summaries", "prompts", "sessions", "stats", "health"]
    {
        tell("GET", &format!("/api/{path}"), None);
    }
    tell("POST", "/api/settings", Some(json!({"daemon.idle_exit": "1h", "openai.api_key": "x"})));
    tell("POST", "/api/sessions/summarize", Some(json!({"contentSessionId": "unknown"})));
    tell("POST", "/api/sessions/observations", with(json!({})));
    tell("POST", "/api/sessions/init", with(json!({"host": "emacs"})));
    tell("GET", "/api/prompts?limit=1000", None);
    tell("GET", "/api/prompts?project=nowhere", None);
    tell("GET", "/api/nothing", None);
    insta::with_settings!({filters => vec![
        (r#"_at": "\d[^"]+""#, r#"_at": "[TIME]""#),
        (r#"_epoch": \d+"#, r#"_epoch": [EPOCH]"#),
        (r#""(pid|bytes|uptime_ms|schema)": \d+"#, r#""$1": [NUMBER]"#),
        (r#""version": "[^"]+""#, r#""version": "[VERSION]""#),
        (r#""[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}""#, r#""[UUID]""#),
    ]}, {
        insta::assert_snapshot!(background.world.neutral(told.as_bytes()));
    });
}

#[test]
fn an_event_sent_again_is_stored_once() {
    let background = Background::new();
    let client = start(&background);
    let first = client.event("observations", &make(&background, 1));
    assert_eq!(
        (&first["stored"], &first["duplicate"], &first["id"]),
        (&json!(true), &json!(false), &json!(1))
    );
    let again = client.event("observations", &make(&background, 1));
    assert_eq!((&again["stored"], &again["duplicate"]), (&json!(false), &json!(true)));
    // The same event from a hook is a duplicate.
    let mut hook = background.world.command(&["hook", "generic", "--event", "observations"]);
    assert_harmless(&run_hook(&mut hook, make(&background, 1).to_string().as_bytes()));
    assert_eq!(background.counts()["pending"], 1);
}

#[test]
fn private_text_and_secrets_never_reach_the_disk() {
    let background = Background::new();
    let client = start(&background);
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let tool = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "env <private>the merger</private>"},
        "tool_response": {"stdout": format!("GITHUB_TOKEN={secret}")}});
    assert_eq!(client.event("observations", &body(&background, "a", &tool))["stored"], true);
    let prompt = json!({"prompt": "<private>call the lawyers</private>", "prompt_id": "p1"});
    client.event("init", &body(&background, "b", &prompt));
    let in_private = json!({"tool_name": "Bash", "prompt_id": "p1", "tool_input": {"command": "lawyers"}});
    assert_eq!(client.event("observations", &body(&background, "b", &in_private))["reason"], "private_turn");
    assert_eq!(background.counts()["private_turns"], 1);
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    let bytes = background.world.all_bytes();
    for text in [secret.as_str(), "merger", "lawyers"] {
        assert!(!contains(&bytes, text), "{text}");
    }
}

#[test]
fn a_pause_applies_to_events_without_a_directory() {
    let background = Background::new();
    let client = start(&background);
    client.event("init", &body(&background, "a", &json!({})));
    background.world.text(&["pause", "--project", "."]);
    let said = json!({"contentSessionId": "a", "last_assistant_message": "Done."});
    assert_eq!(client.event("summarize", &said)["reason"], "paused");
    assert_eq!(client.event("observations", &make(&background, 1))["reason"], "paused");
    background.world.text(&["resume", "--project", "."]);
    assert_eq!(client.event("summarize", &said)["stored"], true);
}

#[test]
fn lists_come_in_pages_latest_first() {
    let background = Background::new();
    let client = start(&background);
    for number in 0..25 {
        let prompt = json!({"prompt": format!("Prompt {number}"), "prompt_id": number.to_string()});
        client.event("init", &body(&background, "here", &prompt));
    }
    let mut elsewhere = body(&background, "there", &json!({"prompt": "Elsewhere"}));
    elsewhere["cwd"] = json!(background.world.path("other"));
    client.event("init", &elsewhere);
    let texts = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
    };
    let first = client.list("/api/prompts");
    assert_eq!((texts(&first).len(), &first["total"], &first["hasMore"]), (20, &json!(26), &json!(true)));
    assert_eq!(texts(&first)[..2], ["Elsewhere", "Prompt 24"]);
    let last = client.list("/api/prompts?limit=10&offset=20&session=here");
    assert_eq!(texts(&last), ["Prompt 4", "Prompt 3", "Prompt 2", "Prompt 1", "Prompt 0"]);
    assert_eq!(client.list("/api/prompts?limit=10&offset=20&session=he"), last, "as in search");
    assert_eq!(client.get("/api/prompts?session=nowhere").status, 404);
    assert_eq!((&last["total"], &last["hasMore"]), (&json!(25), &json!(false)));
    let other = background.world.path("other");
    for project in ["other", "2", other.to_str().unwrap()] {
        assert_eq!(
            texts(&client.list(&format!("/api/prompts?project={project}"))),
            ["Elsewhere"],
            "{project}"
        );
    }
    assert_eq!(client.list("/api/prompts?session=2")["total"], 1);
    assert_eq!(client.list("/api/sessions?project=other")["items"][0]["content_session_id"], "there");
    assert_eq!(client.list("/api/observations?project=other")["total"], 0);
    for (wrong, status) in [
        ("limit=0", 422),
        ("limit=101", 422),
        ("limit=x", 422),
        ("offset=-1", 422),
        ("projekt=other", 422),
        ("ids=1", 422),
        ("project=nowhere", 404),
        ("project=../other", 404),
    ] {
        assert_eq!(client.get(&format!("/api/prompts?{wrong}")).status, status, "{wrong}");
    }
    assert_eq!(client.get("/api/observations?ids=1,x").status, 422);
}

#[test]
fn an_event_that_cannot_be_stored_is_not_acknowledged() {
    let background = Background::new();
    let client = start(&background);
    client.event("observations", &make(&background, 1));
    let database = Connection::open(background.world.data().join("remora.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        let sent: Vec<_> = (2..12)
            .map(|number| {
                let (client, background) = (&client, &background);
                scope.spawn(move || client.post("/api/sessions/observations", &make(background, number)))
            })
            .collect();
        for answer in sent {
            let answer = answer.join().unwrap();
            assert_eq!((answer.status, header(&answer.head, "retry-after")), (503, Some("1")), "{answer:?}");
        }
    });
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(background.counts()["pending"], 1);
    assert_eq!(client.event("observations", &make(&background, 2))["stored"], true);
    for wrong in ["", "[]", "{", "nonsense", "{\"contentSessionId\":"] {
        let head = format!(
            "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            client.friendly(),
            wrong.len()
        );
        let answer = client.send("POST", "/api/sessions/init", &head, wrong.as_bytes());
        assert_eq!(answer.status, 422, "{wrong}: {answer:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
fn an_event_is_synced_before_it_is_acknowledged() {
    let background = Background::new();
    let client = start(&background);
    assert_eq!(client.post("/api/sessions/observations", &make(&background, 0)).status, 200);
    let db = Connection::open(background.world.data().join("remora.db")).unwrap();
    db.execute_batch(SEE_SYNC).unwrap();
    assert_eq!(client.post("/api/sessions/observations", &make(&background, 1)).status, 200);
    let levels: String = db.query_row("SELECT group_concat(level) FROM seen", [], |row| row.get(0)).unwrap();
    assert_eq!(levels, "2", "FULL");
}

#[test]
fn acknowledged_events_survive_a_kill_and_are_stored_once() {
    let background = Background::new();
    let client = start(&background);
    let pid = background.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).unwrap();
    let (acknowledged, sent) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                loop {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    let body = make(&background, number).to_string();
                    let head = format!(
                        "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
                        client.friendly(),
                        body.len()
                    );
                    match client.try_send("POST", "/api/sessions/observations", &head, body.as_bytes()) {
                        Ok(answer) if answer.status == 200 => acknowledged.lock().unwrap().push(number),
                        _ => return,
                    }
                }
            });
        }
        background.wait("some events", || acknowledged.lock().unwrap().len() > 300);
        kill_process(pid, Signal::KILL).unwrap();
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let stored = |background: &Background| -> Vec<String> {
        let database = Connection::open(background.world.data().join("remora.db")).unwrap();
        let mut rows = database.prepare("SELECT payload FROM pending_messages").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let there = stored(&background);
    for number in &acknowledged {
        let target = format!("target-{number}-end");
        assert_eq!(there.iter().filter(|payload| payload.contains(&target)).count(), 1, "{target}");
    }
    // A client that does not know which events were stored sends them all again.
    let client = start(&background);
    let sent = sent.into_inner();
    for number in 0..sent {
        let answer = client.event("observations", &make(&background, number));
        assert_eq!(answer["stored"] == true, answer["duplicate"] == false, "{answer}");
        assert!(answer["duplicate"] == true || !acknowledged.contains(&number), "{number}: {answer}");
    }
    assert_eq!(stored(&background).len(), sent);
    assert_eq!(background.world.json(&["doctor"])["ok"], true);
}

#[test]
fn the_port_is_recorded_and_a_taken_one_is_skipped() {
    let background = Background::new();
    let first = start(&background);
    let status = background.world.json(&["status"]);
    assert_eq!(status["daemon"]["port"], first.port);
    assert!(background.world.text(&["daemon", "status"]).contains(&format!("port {}", first.port)));
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    assert_eq!(background.world.json(&["status"])["daemon"]["port"], Value::Null);

    let taken = TcpListener::bind(("127.0.0.1", first.port)).unwrap();
    let mut command = background.command(&["daemon", "start", "--json"]);
    let second =
        crate::client::started(&background, command.env("REMORA_DAEMON_PORT", first.port.to_string()));
    assert_ne!(second.port, first.port);
    assert_eq!(second.list("/api/health")["status"], "ok");
    drop(taken);
    let elsewhere = Client { port: second.port, token: "0".repeat(64) };
    assert_eq!(elsewhere.get("/api/health").status, 401);
}

#[test]
fn what_cannot_be_used_is_refused_by_every_route_with_a_fitting_hint() {
    let background = Background::new();
    let world = &background.world;
    world.text(&["save", "Tides are high."]);
    world.text(&["save", "Tides are low."]);
    let client = start(&background);
    for path in ["/api/memory/stats?project=project", "/api/stats?bogus=1", "/api/settings?bogus=1"] {
        assert_eq!(client.get(path).status, 422, "{path}");
        let (without, _) = path.split_once('?').unwrap();
        assert_eq!(client.get(without).status, 200, "{without}");
    }
    let fact = client.post("/api/memory/facts", &json!({"key": "port", "value": "80", "kind": "zz"}));
    assert_eq!(fact.status, 422, "{fact:?}");
    assert!(fact.json()["error"]["message"].as_str().unwrap().contains("convention"), "{fact:?}");
    for (path, hint) in
        [("/api/search?project=nowhere", "name a project"), ("/api/memory/facts?key=none", "facts")]
    {
        let unknown = client.get(path).json();
        assert!(unknown["error"]["hint"].as_str().unwrap().contains(hint), "{unknown}");
    }
    // Ids of responses are numbers, and are accepted as such.
    let planned = client.post("/api/v1/forget", &json!({"ids": [1]}));
    assert_eq!(
        (planned.status, &planned.json()["plan"]["records"][0]["id"]),
        (200, &json!("1")),
        "{planned:?}"
    );
    let body = json!({"superseded_by": 2}).to_string();
    let head =
        format!("{}Content-Type: application/json\r\nContent-Length: {}\r\n", client.friendly(), body.len());
    assert_eq!(client.send("PATCH", "/api/v1/observations/1", &head, body.as_bytes()).status, 200);
}
