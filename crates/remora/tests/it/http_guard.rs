//! Access control: strangers get no data, and their bodies are not read.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use remora_server::http::{Route, routes};
use serde_json::json;

use crate::client::{Answer, Client, header, start};
use crate::daemon::Background;

/// Every route, and some paths that are not routes.
fn everything() -> Vec<Route> {
    let mut all = routes();
    all.extend([
        Route { method: "GET", path: "/" },
        Route { method: "GET", path: "/nowhere" },
        Route { method: "POST", path: "/nowhere" },
        Route { method: "DELETE", path: "/api/health" },
        Route { method: "OPTIONS", path: "/api/sessions/init" },
        Route { method: "PUT", path: "/stream" },
    ]);
    all
}

fn takes_body(route: Route) -> bool {
    !["GET", "HEAD"].contains(&route.method)
}

/// Rejected requests, as expected status and head.
fn hostile(client: &Client) -> Vec<(u16, String)> {
    let Client { port, token } = client;
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let with_host = |host: &str| format!("Host: {host}\r\n{bearer}");
    let with = |line: &str| format!("{host}{bearer}{line}\r\n");
    let mut cases = vec![
        (401, host.clone()),
        (401, format!("{host}Authorization: Bearer {}\r\n", "0".repeat(64))),
        (401, format!("{host}Authorization: Bearer {}\r\n", &token[..63])),
        (401, format!("{host}Authorization: Bearer {token}0\r\n")),
        (401, format!("{host}Authorization: Basic {token}\r\n")),
        (401, format!("{host}Cookie: token={token}\r\n")),
        (403, with(&format!("Authorization: Bearer {token}"))),
        (403, bearer.clone()),
        (403, format!("{host}{host}{bearer}")),
    ];
    for name in ["127.0.0.1", "localhost"] {
        cases.push((403, with_host(&format!("{name}.:{port}"))));
    }
    for name in ["evil.example", "127.0.0.1:", "localhost:x", "[::1", "127.0.0.1.evil.example", "0.0.0.0"] {
        cases.push((403, with_host(name)));
        cases.push((403, with_host(&format!("{name}.:{port}"))));
    }
    for origin in
        ["http://evil.example", "null", &format!("https://127.0.0.1:{port}"), "http://localhost", "file://"]
    {
        cases.push((403, with(&format!("Origin: {origin}"))));
    }
    for site in ["cross-site", "same-site", ""] {
        cases.push((403, with(&format!("Sec-Fetch-Site: {site}"))));
    }
    cases
}

fn assert_closed(answer: &Answer, expected: u16, about: &str) {
    assert_eq!(answer.status, expected, "{about}: {answer:?}");
    assert!(answer.json()["error"]["code"].is_string(), "{about}: {answer:?}");
    assert_guarded(answer, about);
}

fn assert_guarded(answer: &Answer, about: &str) {
    assert_eq!(header(&answer.head, "cache-control"), Some("no-store"), "{about}");
    assert_eq!(header(&answer.head, "x-content-type-options"), Some("nosniff"), "{about}");
    assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{about}: {answer:?}");
}

#[test]
fn no_route_answers_a_stranger() {
    let background = Background::new();
    let client = start(&background);
    assert!(routes().len() >= 12, "{:?}", routes());
    for route in everything() {
        let Route { method, path } = route;
        let body =
            if takes_body(route) { "Content-Type: application/json\r\nContent-Length: 2\r\n" } else { "" };
        for (status, head) in hostile(&client) {
            let about = format!("{method} {path} with {head:?}");
            // A one-time link is followed from anywhere.
            let is_link = (method, path) == ("GET", "/enter") && head.contains("Sec-Fetch-Site");
            let status = if is_link { 401 } else { status };
            let answer = client.send(
                method,
                path,
                &format!("{head}{body}"),
                if body.is_empty() { b"" } else { b"{}" },
            );
            assert_closed(&answer, status, &about);
        }
        if takes_body(route) {
            for kind in
                ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"]
            {
                let head = format!("{}{kind}Content-Length: 2\r\n", client.friendly());
                assert_closed(
                    &client.send(method, path, &head, b"{}"),
                    415,
                    &format!("{method} {path} as {kind:?}"),
                );
            }
        }
    }
}

#[test]
fn every_route_answers_a_caller_with_the_token() {
    let background = Background::new();
    background.world.hook(&background.world.tool("t1"));
    background.world.text(&["save", "Something to look at."]);
    let client = start(&background);
    let Client { port, token } = &client;
    // `/enter` needs a one-time link, even with the token.
    for route in everything().into_iter().filter(|route| route.path != "/enter") {
        let Route { method, path } = route;
        for host in ["127.0.0.1", "localhost", "[::1]"] {
            let body = if takes_body(route) {
                "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n"
            } else {
                ""
            };
            let head = format!(
                "Host: {host}:{port}\r\nOrigin: http://{host}:{port}\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer {token}\r\n{body}"
            );
            // Some routes need a project.
            let asked = match path {
                "/api/search" => "/api/search?project=all",
                "/api/timeline" => "/api/timeline?project=1",
                "/api/context/inject" => "/api/context/inject?project=1",
                "/timeline" => "/timeline?project=1",
                "/sessions/{id}" => "/sessions/1",
                "/observations/{id}" => "/observations/1",
                "/feed/{id}" => "/feed/1",
                other => other,
            };
            let answer = client.send(method, asked, &head, if body.is_empty() { b"" } else { b"{}" });
            let known = routes().contains(&route);
            let expected: &[u16] = match (known, method) {
                // No record has this id.
                (true, "GET") if asked.contains("{id}") => &[404],
                (true, "GET") => &[200],
                // The body is no message of MCP.
                (true, _) if path == "/mcp" => &[400],
                // There is nothing to undo, and no fact is named.
                (true, _) if path.ends_with("/undo") => &[404, 422],
                // No fact has this key.
                (true, "DELETE") => &[404],
                (true, _) => &[200, 422],
                (false, _) => &[404, 405],
            };
            assert!(expected.contains(&answer.status), "{method} {path}: {answer:?}");
            assert_guarded(&answer, path);
        }
    }
}

/// The client announces a body and sends none of it, so the response must be based on the head alone.
#[test]
fn a_stranger_is_refused_before_its_body_is_read() {
    let background = Background::new();
    let client = start(&background);
    for route in routes().into_iter().filter(|route| takes_body(*route)) {
        let Route { method, path } = route;
        let announced = "Content-Type: application/json\r\nContent-Length: 10000000\r\n";
        for (status, head) in hostile(&client) {
            assert_closed(&client.send(method, path, &format!("{head}{announced}"), b""), status, path);
        }
        let plain = format!("{}Content-Type: text/plain\r\nContent-Length: 10000000\r\n", client.friendly());
        assert_closed(&client.send(method, path, &plain, b""), 415, path);
        let large =
            format!("{}Content-Type: application/json\r\nContent-Length: 20000000\r\n", client.friendly());
        assert_closed(&client.send(method, path, &large, b""), 413, path);
    }
}

#[test]
fn a_body_that_grows_too_large_is_refused_on_the_way() {
    let background = Background::new();
    let client = start(&background);
    let head =
        format!("{}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", client.friendly());
    let mut body = b"20\r\n{\"contentSessionId\": \"s\", \"x\": [\r\n".to_vec();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "1,".repeat(1 << 19));
    for _ in 0..17 {
        body.extend_from_slice(chunk.as_bytes());
    }
    let answer = client.send("POST", "/api/sessions/init", &head, &body);
    assert_closed(&answer, 413, "a body without an announced length");
    assert_eq!(background.counts()["sessions"], 0);
}

#[test]
fn the_token_is_private_and_survives_restarts() {
    use std::os::unix::fs::PermissionsExt;
    let background = Background::new();
    let first = start(&background);
    let file = background.world.data().join("token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(first.token.len(), 64);
    assert!(background.command(&["daemon", "stop"]).output().unwrap().status.success());
    assert_eq!(start(&background).token, first.token);
    let log = std::fs::read_to_string(background.world.data().join("remora.log")).unwrap_or_default();
    assert!(!log.contains(&first.token), "{log}");
}

#[test]
fn a_key_can_be_set_and_is_never_shown() {
    let background = Background::new();
    let client = start(&background);
    let key = "not-a-real-key-4711";
    let answer = client
        .post("/api/settings", &json!({"anthropic.api_key": key, "capture.skip_tools": ["Glob", "a,b"]}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let settings = client.get("/api/settings");
    assert!(!answer.body.contains(key) && !settings.body.contains(key), "{settings:?}");
    let all = settings.json()["settings"].clone();
    let names: Vec<&str> =
        all.as_array().unwrap().iter().filter_map(|entry| entry["name"].as_str()).collect();
    assert_eq!(names, remora_core::settings::names().collect::<Vec<_>>());
    let find =
        |name: &str| all.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap().clone();
    assert_eq!(find("anthropic.api_key")["value"], json!({"set": true}));
    assert_eq!(find("gemini.api_key")["value"], json!({"set": false}));
    assert_eq!(find("capture.skip_tools")["value"], json!(["Glob", "a,b"]));
    assert_eq!(find("capture.skip_tools")["source"], "config.toml");

    let wrong = client.post("/api/settings", &json!({"capture.sync": "full", "daemon.port": "many"}));
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert!(!std::fs::read_to_string(background.world.data().join("config.toml")).unwrap().contains("sync"));
    let unknown = client.post("/api/settings", &json!({"daemon.prot": 1}));
    assert_eq!(unknown.json()["error"]["hint"], "did you mean `daemon.port`?");
    let program = client.post("/api/settings", &json!({"claude_cli.program": "/tmp/mine"}));
    assert_eq!(program.status, 422, "{program:?}");
    assert!(
        !std::fs::read_to_string(background.world.data().join("config.toml")).unwrap().contains("/tmp/mine")
    );
    client.post("/api/settings", &json!({"capture.skip_tools": null}));
    let tool = json!({"contentSessionId": "s", "cwd": background.world.project(), "tool_name": "Glob"});
    assert_eq!(client.event("observations", &tool)["reason"], "skipped_tool");
}

/// Connections that send nothing, half a head, or the wrong token never block others, however many there are.
#[test]
fn strangers_cannot_block_callers_with_the_token() {
    let background = Background::new();
    let client = start(&background);
    let mut held = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, client.port)).unwrap();
        let said: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /api/health HTTP/1.1\r\nHost: 127",
            _ => b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        };
        // The oldest are already closed.
        let _ = stream.write_all(said);
        held.push(stream);
        if number % 100 == 99 {
            assert_eq!(client.get("/api/health").status, 200, "beside {number} strangers");
        }
    }
    for mut stream in held {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => assert!(!answer.starts_with(b"HTTP/1.1 200"), "{answer:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "must not stay open"),
        }
    }
    let bugs = background.world.text(&["logs"]);
    assert!(!bugs.contains("hit a bug"), "{bugs}");
}

#[test]
fn streams_do_not_take_every_connection() {
    let background = Background::new();
    let client = start(&background);
    let head = format!("GET /stream HTTP/1.1\r\n{}\r\n", client.friendly());
    let mut streams = Vec::new();
    let refused = (0..100).find_map(|_| {
        let mut stream = BufReader::new(TcpStream::connect((Ipv4Addr::LOCALHOST, client.port)).unwrap());
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        let mut status = String::new();
        stream.read_line(&mut status).unwrap();
        streams.push(stream);
        status.contains("503").then_some(streams.len())
    });
    assert_eq!(refused, Some(65));
    assert_eq!(client.get("/api/health").status, 200);
    streams.remove(0);
    let again =
        std::iter::repeat_with(|| client.get("/stream").status).take(1000).any(|status| status == 200);
    assert!(again, "a stream that ended makes room for another");
}
