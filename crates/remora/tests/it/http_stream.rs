//! A reader of the stream misses nothing, however often the connection is lost or the daemon restarts.

use std::time::Duration;

use serde_json::json;

use crate::client::{Client, start, started};
use crate::daemon::{Background, is_alive, turn};

fn turn_over_http(background: &Background, client: &Client, session: &str, number: usize) {
    let event = |kind: &str, more: serde_json::Value| {
        let mut body = json!({"contentSessionId": session, "cwd": background.world.project(),
            "prompt_id": format!("{session}-{number}")});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(client.event(kind, &body)["stored"], true, "{kind}");
    };
    event("init", json!({"prompt": format!("Please fix bug {number} of {session}")}));
    event(
        "observations",
        json!({"tool_name": "Write", "tool_use_id": format!("{session}-{number}"),
            "tool_input": {"file_path": "/p/a.rs", "content": "x"}, "tool_response": {"type": "create"}}),
    );
    event(
        "summarize",
        json!({"last_assistant_message": format!("Bug {number} of {session} is fixed. It came from a wrong index.")}),
    );
}

#[test]
fn new_records_appear_in_the_stream_as_in_the_lists() {
    let background = Background::new();
    let client = start(&background);
    let mut stream = client.stream("/stream", "");
    let empty = json!({"pending": 0, "processing": 0, "awaiting_model": 0, "failed": 0});
    assert_eq!(stream.next_of("queue").data, empty);
    turn_over_http(&background, &client, "one", 1);
    let prompt = stream.next_of("prompt");
    assert_eq!(prompt.data["text"], "Please fix bug 1 of one");
    assert!(prompt.id.starts_with("o0-s0-p1-e"), "{}", prompt.id);
    let tool = stream.next_of("tool");
    assert_eq!((&tool.data["tool"], &tool.data["files"]), (&json!("Write"), &json!(["/p/a.rs"])));
    let observation = stream.next_of("observation");
    assert_eq!(observation.data, client.list("/api/observations")["items"][0]);
    assert_eq!(observation.data["files_modified"], json!(["/p/a.rs"]));
    let summary = stream.next_of("summary");
    assert_eq!(summary.data, client.list("/api/summaries")["items"][0]);
    assert!(summary.id.starts_with("o1-s1-p1-e"), "{}", summary.id);
    // The turn has not ended, so its event stays queued long enough to be reported.
    let waiting = json!({"contentSessionId": "two", "cwd": background.world.project(), "prompt": "And now?"});
    assert_eq!(client.event("init", &waiting)["stored"], true);
    while stream.next_of("queue").data["pending"] != 1 {}
    // Another reader starts with the current state.
    let mut later = client.stream("/stream", "");
    assert_eq!(later.next().unwrap().kind, "queue");
    turn_over_http(&background, &client, "one", 2);
    assert_eq!(later.next_of("observation").data["id"], 2);
    assert_eq!(stream.next_of("observation").data["id"], 2);
}

#[test]
fn missed_records_of_any_writer_are_sent_after_a_restart() {
    let background = Background::new();
    let client = start(&background);
    turn_over_http(&background, &client, "one", 1);
    let seen = client.stream("/stream", "Last-Event-ID: o0-s0-p0\r\n").next_of("summary");
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());

    for number in 2..60 {
        turn(&background.world, "one", number, |message| background.world.hook(message));
    }
    let client = start(&background);
    let mut stream = client.stream("/stream", &format!("Last-Event-ID: {}\r\n", seen.id));
    let mut ids = (2..60).map(|id| (stream.next_of("prompt").data["id"].clone(), json!(id)));
    assert!(ids.all(|(found, expected)| found == expected), "prompts in order");
    background.wait("the queue", || background.counts()["pending"] == 0);
    let mut stream = client.stream(&format!("/stream?lastEventId={}", seen.id), "");
    let mut last = seen.id.clone();
    for id in 2..60 {
        let sent = stream.next_of("observation");
        assert_eq!(sent.data["id"], id);
        last = sent.id;
    }
    let mut rest = client.stream("/stream", &format!("Last-Event-ID: {last}\r\n"));
    assert_ne!(rest.next().unwrap().kind, "observation", "they were all seen");
    assert_eq!(client.get("/stream?lastEventId=nonsense").status, 422);
}

#[test]
fn an_open_stream_keeps_the_daemon_alive_and_ends_with_it() {
    let background = Background::new();
    let mut command = background.command(&["daemon", "start", "--json"]);
    command.env("REMORA_DAEMON_PORT", "0").env("REMORA_DAEMON_IDLE_EXIT", "1s");
    let client = started(&background, &mut command);
    let pid = background.pid().unwrap();
    let mut stream = client.stream("/stream", "");
    assert_eq!(stream.next().unwrap().kind, "queue");
    std::thread::sleep(Duration::from_secs(3));
    assert!(is_alive(pid), "a reader is connected");
    drop(stream);
    background.wait("its end", || !is_alive(pid));

    let client = start(&background);
    let pid = background.pid().unwrap();
    let mut stream = client.stream("/stream", "");
    assert_eq!(stream.next().unwrap().kind, "queue");
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    assert_eq!(stream.next(), None);
    background.wait("its end", || !is_alive(pid));
    for name in ["daemon.sock", "daemon.json"] {
        assert!(!background.world.data().join(name).exists(), "{name}");
    }
    assert!(std::net::TcpStream::connect(("127.0.0.1", client.port)).is_err());
}
