//! The OpenAPI document, held against the daemon itself: every operation is guarded, and answers anything with a status that
//! is documented.

use serde_json::{Value, json};

use crate::client::{Answer, Client, start};
use crate::daemon::Background;

struct Operation {
    method: String,
    path: String,
    described: Value,
}

fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, described)| Operation {
            method: method.to_uppercase(),
            path: path.clone(),
            described: described.clone(),
        })
    });
    methods.collect()
}

impl Operation {
    fn send(&self, client: &Client, head: &str, path: &str, body: &[u8]) -> Answer {
        let is_get = self.method == "GET";
        let (kind, body) =
            if is_get { ("", b"".as_slice()) } else { ("Content-Type: application/json\r\n", body) };
        let length = if is_get { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        client.send(&self.method, path, &format!("{head}{kind}{length}"), body)
    }

    fn check(&self, answer: &Answer, about: &str) {
        let about = format!("{} {} with {about}: {answer:?}", self.method, self.path);
        assert!(answer.status < 500, "{about}");
        let documented = &self.described["responses"][answer.status.to_string()];
        assert!(documented.is_object(), "not documented: {about}");
        // A stream has no end to be read.
        if answer.status != 200 || self.path != "/stream" {
            assert!(answer.head.to_ascii_lowercase().contains("content-type: application/json"), "{about}");
            answer.json();
        }
        if answer.status >= 400 {
            let error = &answer.json()["error"];
            assert!(["code", "message", "hint"].iter().all(|member| error[member].is_string()), "{about}");
        }
    }
}

#[test]
fn every_operation_is_guarded_and_survives_nonsense() {
    let background = Background::new();
    let client = start(&background);
    let document = client.list("/api/openapi.json");
    assert_eq!(document, remora_server::http::document(), "made by the same code");
    let operations = operations(&document);
    assert!(operations.len() > 30, "{}", operations.len());
    let stranger = format!("Host: 127.0.0.1:{}\r\n", client.port);
    let bodies: [Value; 9] = [
        json!({}),
        json!([]),
        json!(null),
        json!("text"),
        json!({ "ids": [-1, null], "confirm": "yes", "id": "x", "verdict": 7 }),
        json!({ "whose": "all", "text": "\u{0}\u{202e}\"((", "limit": u64::MAX, "from": "never" }),
        json!({ "key": "", "value": "", "project": "\u{0}", "text": "", "cwd": "relative" }),
        json!({ "prompt": "x".repeat(10_000), "session_id": "", "host": "💥", "cwd": "/nowhere" }),
        json!({ "topic": "%_'\"", "threshold": -1e308, "dateFrom": "99999-99-99", "project": "all" }),
    ];
    let values = ["", "%00", "-1", "99999999999999999999", "%FF%FE", "%22%20OR%20(", "a,b,,", "漢字"];
    for operation in &operations {
        let filled = |value: &str| {
            let value = if value.is_empty() { "%20" } else { value };
            operation.path.replace("{id}", value).replace("{key}", value)
        };
        let answer = operation.send(&client, &stranger, &filled("1"), b"{}");
        assert!([401, 403].contains(&answer.status), "{} {}: {answer:?}", operation.method, operation.path);
        for body in &bodies {
            let answer =
                operation.send(&client, &client.friendly(), &filled("1"), body.to_string().as_bytes());
            operation.check(&answer, &body.to_string());
        }
        for broken in [b"".as_slice(), b"{", b"\xff\xfe\x00", b"[[[[", b"{\"text\":1e999}"] {
            let answer = operation.send(&client, &client.friendly(), &filled("1"), broken);
            operation.check(&answer, &String::from_utf8_lossy(broken));
        }
        let names = operation.described["parameters"].as_array().unwrap();
        let names = names.iter().filter(|parameter| parameter["in"] == "query");
        for name in names.map(|parameter| parameter["name"].as_str().unwrap()).chain(["unknown"]) {
            for value in values {
                let path = format!("{}?{name}={value}", filled(value));
                let answer = operation.send(&client, &client.friendly(), &path, b"{}");
                operation.check(&answer, &path);
            }
        }
    }
    // It is still there, and well.
    assert_eq!(client.list("/api/health")["status"], "ok");
}

#[test]
fn a_route_takes_the_parameters_that_are_described() {
    let background = Background::new();
    background.world.hook(&background.world.tool("t1"));
    background.world.text(&["save", "The clock runs in UTC."]);
    background.world.text(&["facts", "set", "editor", "helix"]);
    let client = start(&background);
    let document = client.list("/api/openapi.json");
    for operation in operations(&document).iter().filter(|operation| operation.method == "GET") {
        if operation.path == "/stream" {
            continue;
        }
        for parameter in operation.described["parameters"].as_array().unwrap() {
            let schema = &parameter["schema"];
            let name = parameter["name"].as_str().unwrap();
            let value = match (name, schema["type"].as_str()) {
                _ if parameter["in"] == "path" => continue,
                (_, Some("integer")) => schema["minimum"].to_string(),
                ("project", _) => "project".to_owned(),
                ("cwd", _) => background.world.project().to_string_lossy().into_owned(),
                ("anchor" | "ids" | "session", _) => "1".to_owned(),
                ("dateFrom" | "dateTo", _) => "yesterday".to_owned(),
                ("host", _) => "codex".to_owned(),
                ("key", _) => "editor".to_owned(),
                (_, Some("array")) => schema["items"]["enum"][0].as_str().unwrap_or("word").to_owned(),
                _ => schema["enum"][0].as_str().unwrap_or("clock").to_owned(),
            };
            let project = if ["project", "cwd"].contains(&name) { "" } else { "&project=project" };
            let path = format!("{}?{name}={value}{project}", operation.path.replace("{id}", "1"));
            let answer = client.get(&path);
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
        }
    }
}

#[test]
fn memory_is_asked_as_a_whole() {
    let background = Background::new();
    let world = &background.world;
    let mut elsewhere = world.tool("t2");
    elsewhere["cwd"] = json!(world.path("other"));
    elsewhere["session_id"] = json!("elsewhere");
    world.hook(&world.tool("t1"));
    world.hook(&elsewhere);
    world.text(&["save", "The zebra clock runs in UTC."]);
    world.text(&["save", "--project", "other", "The zebra printer needs a restart."]);
    world.text(&["facts", "--global", "set", "editor", "helix"]);
    world.text(&["facts", "set", "package manager", "pnpm"]);
    let client = start(&background);

    let found = |path: &str| client.list(path)["hits"].as_array().unwrap().len();
    for mode in ["text", "semantic"] {
        assert_eq!(
            found(&format!("/api/memory/search?query=zebra&kind=observation&mode={mode}")),
            2,
            "{mode}"
        );
    }
    assert_eq!(found("/api/memory/search?q=zebra&kind=observation&mode=text&project=other"), 1);
    assert_eq!(client.get("/api/search?query=zebra").status, 422, "there, nobody means all by mistake");

    let facts = |path: &str| {
        let listed = client.list(path)["facts"].as_array().unwrap().clone();
        listed.iter().map(|fact| fact["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(facts("/api/memory/facts"), ["editor"]);
    assert_eq!(facts("/api/memory/facts?project=project").len(), 2);

    background.wait("vectors", || client.list("/api/memory/stats")["missing"] == 0);
    let stats = client.list("/api/memory/stats");
    assert_eq!(stats["facts"], 2);
    assert!(stats["vectors"].as_u64().unwrap() >= 2 && stats["last_indexed_at"].is_string(), "{stats}");

    let path = "/api/memory/settings";
    let body = json!({ "auto_retrieve_enabled": false });
    let head = |length: usize| {
        format!("{}Content-Type: application/json\r\nContent-Length: {length}\r\n", client.friendly())
    };
    let text = body.to_string();
    let answer = client.send("PATCH", path, &head(text.len()), text.as_bytes());
    assert_eq!((answer.status, &answer.json()["auto_retrieve_enabled"]), (200, &json!(false)));
    assert_eq!(client.list(path)["auto_retrieve_enabled"], false);
}
