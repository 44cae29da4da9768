//! The pages as a browser requests them: access control, and stored text is escaped.

use serde_json::json;

use crate::client::{Answer, Client, header, start};
use crate::daemon::{Background, turn};
use crate::support::let_agents_reach_everything;

const PAGES: [&str; 14] = [
    "/",
    "/search?q=index",
    "/timeline?project=1",
    "/sessions",
    "/sessions/1",
    "/observations/1",
    "/files",
    "/queue",
    "/health",
    "/privacy",
    "/memory",
    "/playground?prompt=Why+is+the+index+slow",
    "/costs",
    "/settings",
];

/// Requests a page as a browser does, with additional headers.
pub(crate) fn browse(client: &Client, path: &str, more: &str) -> Answer {
    let head =
        format!("Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: none\r\n{more}", client.port);
    client.send("GET", path, &head, b"")
}

/// Follows a new link and returns the cookie.
pub(crate) fn let_in(client: &Client) -> String {
    let link = client.post("/api/v1/ui-link", &json!({})).json();
    let answer = browse(client, link["path"].as_str().unwrap(), "");
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = header(&answer.head, "set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let again = browse(client, link["path"].as_str().unwrap(), "");
    assert_eq!(again.status, 401, "a link works once: {again:?}");
    format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
}

fn memory() -> Background {
    let background = Background::new();
    for number in 1..=2 {
        turn(&background.world, "one", number, |message| background.world.hook(message));
    }
    background.world.text(&["queue", "drain"]);
    let_agents_reach_everything(&background.world);
    background
}

/// A request of one of our pages, in the browser of a person who signed in.
pub(crate) fn send_from_page(client: &Client, method: &str, path: &str, body: &serde_json::Value) -> Answer {
    let cookie = let_in(client);
    let home = browse(client, "/", &cookie).body;
    let (_, rest) = home.split_once("name=\"remora-page\" content=\"").unwrap();
    let page = rest.split('"').next().unwrap();
    let body = body.to_string();
    let head = format!(
        "Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\nSec-Fetch-Site: same-origin\r\n{cookie}\
         X-Remora-Page: {page}\r\nContent-Type: application/json\r\nContent-Length: {1}\r\n",
        client.port,
        body.len()
    );
    client.send(method, path, &head, body.as_bytes())
}

#[test]
fn a_browser_without_a_link_sees_only_the_sign_in_page() {
    let background = memory();
    let client = start(&background);
    for path in PAGES.into_iter().chain(["/privacy/export"]) {
        for host in ["127.0.0.1", "localhost"] {
            let head =
                format!("Host: {host}:{}\r\nAccept: text/html\r\nSec-Fetch-Site: none\r\n", client.port);
            let answer = client.send("GET", path, &head, b"");
            assert_eq!(answer.status, 401, "{path}: {answer:?}");
            assert!(answer.body.contains("remora ui"), "{path}: {answer:?}");
            assert!(!answer.body.contains("index") && answer.body.len() < 1500, "{path}: {answer:?}");
        }
    }
    for cookie in ["remora_session=", "remora_session=a.9999999999999.b", "remora_session=x"] {
        assert_eq!(browse(&client, "/", &format!("Cookie: {cookie}\r\n")).status, 401, "{cookie}");
    }
}

#[test]
fn every_page_works_for_its_owner_and_loads_nothing_from_elsewhere() {
    let background = memory();
    let client = start(&background);
    let cookie = let_in(&client);
    for path in PAGES {
        let answer = browse(&client, path, &cookie);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let policy = header(&answer.head, "content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for elsewhere in ["src=\"http", "href=\"http", "action=\"http", "url("] {
            assert!(!answer.body.contains(elsewhere), "{path}: {elsewhere}");
        }
        assert!(!answer.body.contains("<script>") && !answer.body.contains(" style="), "{path}");
    }
    // A page on another local port gets the cookie, too, but its requests reveal their origin.
    let other = browse(&client, "/", &cookie.replace("Cookie", "X-Other: 1\r\nCookie"));
    assert_eq!(other.status, 200);
    let head = format!(
        "Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: same-site\r\n{cookie}",
        client.port
    );
    assert_eq!(client.send("GET", "/", &head, b"").status, 403);
}

#[test]
fn a_printed_link_leads_to_its_record_and_works_once() {
    let background = memory();
    let client = start(&background);
    let ui = |words: &[&str]| background.command(words).output().unwrap();
    background.world.text(&["facts", "set", "port", "7070"]);
    for (words, place) in [
        (&["ui", "--print"][..], "/"),
        (&["ui", "1", "--print"], "/observations/1"),
        (&["ui", "t2", "--print"], "/sessions/1?turn=2"),
        (&["ui", "f1", "--print"], "/memory#fact-f1"),
    ] {
        let output = ui(words);
        let link = String::from_utf8(output.stdout).unwrap();
        let origin = format!("http://127.0.0.1:{}", client.port);
        let path = link.trim().strip_prefix(&origin).unwrap_or_else(|| panic!("{link}"));
        let answer = browse(&client, path, "");
        assert_eq!((answer.status, header(&answer.head, "location")), (303, Some(place)), "{answer:?}");
        assert_eq!(browse(&client, path, "").status, 401, "{link} works once");
    }
    assert_eq!(ui(&["ui", "999", "--print"]).status.code(), Some(1));
}

#[test]
fn home_and_health_show_the_findings_of_the_doctor() {
    let background = memory();
    std::fs::create_dir_all(background.world.path("home/.claude")).unwrap();
    let client = start(&background);
    let cookie = let_in(&client);
    let compare = |heading: &str, is_ok: bool| {
        let mut doctor = background.command(&["doctor", "--json"]);
        let output = doctor.env("REMORA_DAEMON_PORT", "0").output().unwrap();
        assert_eq!(output.status.success(), is_ok, "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let [home, health] = ["/", "/health"].map(|path| browse(&client, path, &cookie).body);
        assert!(home.contains(&format!(">{heading}</h2>")), "{home}");
        for finding in report["checks"].as_array().unwrap() {
            let name = format!("<strong>{}</strong>", finding["name"].as_str().unwrap());
            assert!(health.contains(&name), "{name}: {health}");
            let is_shown = home.contains(&name);
            assert_eq!(is_shown, finding["state"] != "ok", "{finding}: {home}");
        }
        let wrong = health.matches("<li class=\"bad\"").count();
        let checks = report["checks"].as_array().unwrap().iter();
        assert_eq!(wrong, checks.filter(|finding| finding["state"] == "wrong").count(), "{health}");
    };
    compare("Needs attention", false);
    background.world.text(&["install", "--yes"]);
    compare("All good", true);
    background.world.text(&["pause"]);
    compare("Worth knowing", true);
}

/// Imported sessions have no events of their own.
#[test]
fn imported_sessions_are_listed() {
    let lines = memory().world.text(&["export"]);
    let background = Background::new();
    let path = background.world.path("lines.jsonl");
    std::fs::write(&path, lines).unwrap();
    background.world.text(&["import", path.to_str().unwrap()]);
    background.world.text(&["save", "--title", "A saved text", "Deploys happen on Tuesdays only"]);
    let client = start(&background);
    let cookie = let_in(&client);
    for path in ["/sessions", "/sessions?project=1"] {
        let body = browse(&client, path, &cookie).body;
        assert_eq!(body.matches("<li class=\"entry\"").count(), 1, "{path}: {body}");
    }
}

#[test]
fn a_wrong_address_is_a_page_for_a_person_and_data_for_a_program() {
    let background = memory();
    let client = start(&background);
    let cookie = let_in(&client);
    for (path, status) in
        [("/nope", 404), ("/observations/999", 404), ("/sessions/x", 404), ("/?project=abc", 422)]
    {
        let page = browse(&client, path, &cookie);
        assert_eq!(
            (page.status, header(&page.head, "content-type")),
            (status, Some("text/html; charset=utf-8"))
        );
        assert!(page.body.contains("<nav") && !page.body.contains("{\"error\""), "{path}: {page:?}");
        let data = client.get(path);
        assert_eq!(data.status, status, "{path}: {data:?}");
        assert!(data.json()["error"]["message"].is_string(), "{path}: {data:?}");
    }
    let other = format!(
        "Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\n{cookie}",
        client.port
    );
    let refused = client.send("GET", "/search?q=%22%3E%3Cb%3E", &other, b"");
    assert_eq!(refused.status, 403);
    assert!(
        refused.body.contains("href=\"/search?q=%22%3E%3Cb%3E\"") && !refused.body.contains("<b>"),
        "{refused:?}"
    );
    assert!(!refused.body.contains("<nav"), "nothing stored is shown: {refused:?}");
}

#[test]
fn health_is_data_for_a_program_and_a_page_for_a_person() {
    let background = memory();
    let client = start(&background);
    let (page, api) = (client.get("/health").json(), client.get("/api/health").json());
    let names = |health: &serde_json::Value| health.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((names(&page), &page["status"]), (names(&api), &api["status"]));
    assert!(browse(&client, "/health", &let_in(&client)).body.contains("<h1>Health</h1>"));
}

#[test]
fn the_cookie_outlives_the_daemon() {
    let background = memory();
    let client = start(&background);
    let cookie = let_in(&client);
    background.command(&["daemon", "stop"]).output().unwrap();
    let client = start(&background);
    assert_eq!(browse(&client, "/", &cookie).status, 200);
}

#[test]
fn a_change_needs_the_secret_of_a_page() {
    let background = memory();
    let client = start(&background);
    let cookie = let_in(&client);
    let home = browse(&client, "/", &cookie).body;
    let (_, rest) = home.split_once("name=\"remora-page\" content=\"").unwrap();
    let page = rest.split('"').next().unwrap();
    let body = r#"{"verdict": "useful"}"#;
    let judge = |more: &str| {
        let head = format!(
            "Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\nSec-Fetch-Site: same-origin\r\n{cookie}{more}\
             Content-Type: application/json\r\nContent-Length: {1}\r\n",
            client.port,
            body.len()
        );
        client.send("POST", "/api/observations/1/feedback", &head, body.as_bytes()).status
    };
    assert_eq!(judge(""), 403);
    assert_eq!(judge("X-Remora-Page: 0000\r\n"), 403);
    assert_eq!(judge(&format!("X-Remora-Page: {page}\r\n")), 200);
    let judged = browse(&client, "/observations/1", &cookie).body;
    assert!(judged.contains("called useful"), "{judged}");
}

#[test]
fn a_tool_call_is_shown_with_its_subject_while_it_waits_and_after() {
    let background = Background::new();
    let world = &background.world;
    world.hook(&world.prompt("p1", "What does the carrier charge?"));
    let calls = [
        ("WebFetch", json!({"url": "https://carrier.invalid/tariff", "prompt": "the price"})),
        ("Bash", json!({"command": "make tariff"})),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "Gross or net?", "header": "Price", "options": []}]}),
        ),
    ];
    for (tool, input) in calls {
        let call =
            json!({"tool_name": tool, "tool_use_id": tool, "tool_input": input, "tool_response": "ok"});
        world.hook(&world.message("PostToolUse", &call));
    }
    let client = start(&background);
    let cookie = let_in(&client);
    let shown = |path: &str| {
        let page = browse(&client, path, &cookie).body;
        for subject in ["carrier.invalid/tariff", "make tariff", "Gross or net?"] {
            assert!(page.contains(subject), "{path} lacks {subject}: {page}");
        }
    };
    shown("/queue");
    shown("/sessions/1");
    world.hook(&world.message("Stop", &json!({"last_assistant_message": "The carrier charges 4.20 net."})));
    background.wait("the observer", || world.count("summaries") == 1 && world.count("pending") == 0);
    shown("/sessions/1");
}

#[test]
fn stored_text_is_shown_and_never_executed() {
    let background = Background::new();
    let world = &background.world;
    let hostile = "<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) \u{202e}\u{1b}[31mred";
    world.hook(&world.prompt("p1", hostile));
    world.hook(
        &world.message("Stop", &json!({"last_assistant_message": format!("The cause was {hostile}.")})),
    );
    world.text(&["queue", "drain"]);
    world.text(&["save", hostile]);
    world.text(&["facts", "set", hostile, hostile]);
    let client = start(&background);
    let cookie = let_in(&client);
    for path in [
        "/",
        "/search?q=alert",
        "/timeline?project=1",
        "/sessions/1",
        "/observations/1",
        "/memory",
        "/playground?prompt=The+cause+was+%3Cscript%3Ealert(1)",
    ] {
        let answer = browse(&client, path, &cookie);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        for sign in ["<script>alert", "<img src=x", "href=\"javascript", "\u{202e}", "\u{1b}"] {
            assert!(!answer.body.contains(sign), "{path} has {sign}: {}", answer.body);
        }
    }
}

#[test]
fn a_fact_set_on_a_page_is_the_users_own_and_can_be_undone() {
    let background = memory();
    let client = start(&background);
    let send = |method: &str, path: &str, body: &serde_json::Value| {
        let answer = send_from_page(&client, method, path, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let own = json!({"key": "port", "value": "7070", "kind": "convention", "project": "1"});
    let set = send("POST", "/api/memory/facts", &own);
    assert_eq!((&set["fact"]["source"], &set["fact"]["kind"]), (&json!("user"), &json!("convention")));
    let other = json!({"key": "port", "value": "9090", "project": "1", "replace": true});
    assert_eq!(client.post("/api/memory/facts", &other).status, 409, "a user's fact stays");

    let changed = send("PATCH", "/api/memory/facts/port", &json!({"value": "6060", "project": "1"}));
    assert_eq!(
        (&changed["source"], &changed["kind"]),
        (&json!("user"), &json!("convention")),
        "its kind stays"
    );
    let first = format!("f{}", set["fact"]["id"]);
    let back = send("POST", "/api/v1/facts/undo", &json!({"id": first}));
    assert_eq!((&back["value"], &back["id"]), (&json!("7070"), &set["fact"]["id"]));
    assert_eq!(client.post("/api/v1/facts/undo", &json!({"id": first})).status, 404, "it is current");
    assert_eq!(client.post("/api/v1/facts/undo", &json!({"id": "12"})).status, 404, "not a fact");
}

#[test]
fn styles_and_scripts_are_small() {
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/../remora-server/assets");
    let bytes: u64 =
        std::fs::read_dir(assets).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes <= 150 << 10, "{bytes} bytes");
}
