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

/// A browser that is signed in: its pages lie below `root`.
pub(crate) struct Browser<'a> {
    client: &'a Client,
    root: String,
    cookie: String,
}

impl Browser<'_> {
    pub(crate) fn get(&self, path: &str) -> Answer {
        browse(self.client, &format!("{}{path}", self.root), &self.cookie)
    }
}

/// Follows a link. Returns the page it leads to, and the headers of cookies for pages and for the next link.
fn follow(client: &Client, link: &str, more: &str) -> (String, String, String) {
    // A file leads to the link, so it comes from another site.
    let head = format!(
        "Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\n{more}",
        client.port
    );
    let answer = client.send("GET", link, &head, b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    let (_, place) = answer.body.split_once("content=\"0;url=").unwrap();
    let place = place.split('"').next().unwrap().to_owned();
    let cookies: Vec<&str> =
        answer.head.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect();
    let [session, known] = cookies[..] else { panic!("{answer:?}") };
    let root = &place[..33];
    assert!(
        session.contains(&format!("; Path={root}; Max-Age=2592000; HttpOnly; SameSite=Strict")),
        "{session}"
    );
    assert!(known.contains("; Path=/enter; ") && known.contains("HttpOnly"), "{known}");
    let again = client.send("GET", link, &head, b"");
    assert_eq!(again.status, 401, "a link works once: {again:?}");
    let header = |cookie: &str| format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    (place, header(session), header(known))
}

fn new_link(client: &Client) -> String {
    let link = client.post("/api/v1/ui-link", &json!({})).json();
    link["path"].as_str().unwrap().to_owned()
}

pub(crate) fn let_in(client: &Client) -> Browser<'_> {
    let (place, cookie, _) = follow(client, &new_link(client), "");
    Browser { client, root: place.trim_end_matches('/').to_owned(), cookie }
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
    let browser = let_in(client);
    let home = browser.get("/memory").body;
    let (_, rest) = home.split_once("name=\"remora-page\" content=\"").unwrap();
    let page = rest.split('"').next().unwrap();
    let Browser { root, cookie, .. } = &browser;
    let body = body.to_string();
    let head = format!(
        "Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\nSec-Fetch-Site: same-origin\r\n{cookie}\
         X-Remora-Page: {page}\r\nContent-Type: application/json\r\nContent-Length: {1}\r\n",
        client.port,
        body.len()
    );
    client.send(method, &format!("{root}{path}"), &head, body.as_bytes())
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
    let browser = let_in(&client);
    for path in PAGES {
        let answer = browser.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let policy = header(&answer.head, "content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for elsewhere in ["src=\"http", "href=\"http", "action=\"http", "url("] {
            assert!(!answer.body.contains(elsewhere), "{path}: {elsewhere}");
        }
        assert!(!answer.body.contains("<script>") && !answer.body.contains(" style="), "{path}");
    }
    let Browser { root, cookie, .. } = &browser;
    let from_elsewhere = format!(
        "Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: same-site\r\n{cookie}",
        client.port
    );
    assert_eq!(client.send("GET", &format!("{root}/"), &from_elsewhere, b"").status, 403);
}

#[test]
fn a_cookie_counts_only_below_its_own_root() {
    let background = memory();
    let client = start(&background);
    let (one, other) = (let_in(&client), let_in(&client));
    assert_ne!(one.root, other.root);
    let status = |root: &str, cookie: &str| browse(&client, &format!("{root}/"), cookie).status;
    assert_eq!(status(&one.root, &one.cookie), 200);
    for (root, cookie) in
        [("", &one.cookie), (&other.root, &one.cookie), (&format!("/{}", "0".repeat(32)), &one.cookie)]
    {
        assert_eq!(status(root, cookie), 401, "{root}");
    }
    // Another server of this machine can set cookies of the same name.
    let two = one.cookie.replace("Cookie: ", "Cookie: remora_session=x.y; remora_session=; ");
    assert_eq!(status(&one.root, &two), 200);
    // A cookie as it was signed before, and an id that is a path.
    for value in ["0a.9999999999999.00", "../token.00", ".", "0"] {
        assert_eq!(status(&one.root, &format!("Cookie: remora_session={value}\r\n")), 401, "{value}");
    }
    for path in ["/api/v1/search", "/api/stats", "/stream", "/assets/app.js"] {
        assert_eq!(browse(&client, path, &one.cookie).status, 401, "{path}");
    }
    assert_eq!(one.get("/api/stats").status, 200);
    // Every answer hides the root from where its links lead.
    for path in ["/", "/nope", "/api/stats", "/assets/app.js", "/privacy/export"] {
        assert_eq!(header(&one.get(path).head, "referrer-policy"), Some("no-referrer"), "{path}");
    }
    for link in one.get("/").body.split(" href=\"").skip(1).chain(one.get("/").body.split(" src=\"").skip(1))
    {
        assert!(link.starts_with(&format!("{}/", one.root)) || link.starts_with('#'), "{link:.80}");
    }
}

#[test]
fn pages_work_through_a_tunnel_with_another_port() {
    let background = memory();
    let client = start(&background);
    let Browser { root, cookie, .. } = let_in(&client);
    for host in ["127.0.0.1:1", "localhost:8080", "[::1]:65535", "localhost"] {
        let head = format!("Host: {host}\r\nOrigin: http://{host}\r\nAccept: text/html\r\n{cookie}");
        assert_eq!(client.send("GET", &format!("{root}/"), &head, b"").status, 200, "{host}");
        let other = head.replace("Origin: http://", "Origin: http://127.0.0.1:9\r\nX-Was: ");
        assert_eq!(client.send("GET", &format!("{root}/"), &other, b"").status, 403, "{host}");
    }
}

#[test]
fn browsers_are_listed_signed_in_again_and_signed_out() {
    let background = memory();
    let client = start(&background);
    let list = || background.world.json(&["ui", "--list"])["browsers"].as_array().unwrap().clone();
    assert_eq!(list(), [] as [serde_json::Value; 0]);
    let agent = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n";
    let (place, cookie, known) = follow(&client, &new_link(&client), agent);
    assert_eq!(list().len(), 1);
    // The same browser keeps its root, so bookmarks still work, and it is listed once.
    let (again, ..) = follow(&client, &new_link(&client), &format!("{agent}{known}"));
    assert_eq!((&again, list().len()), (&place, 1));
    let other = let_in(&client);
    assert_eq!(list().len(), 2);
    let text = background.world.text(&["ui", "--list"]);
    assert!(text.contains("Firefox on Linux") && text.contains("Another browser"), "{text}");
    let id = list().iter().find(|one| one["name"] == "Firefox on Linux").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    // A stream that is open ends, too.
    let mut stream = client.stream_of(
        &format!("{}/stream", &place[..33]),
        &format!("Host: 127.0.0.1:{}\r\n{cookie}", client.port),
    );
    assert_eq!(stream.next().unwrap().kind, "queue");
    background.world.text(&["ui", "--revoke", &id[..8]]);
    background.world.hook(&background.world.prompt("p9", "What is said after that?"));
    assert!(stream.next().is_none());
    assert_eq!(browse(&client, &place, &cookie).status, 401);
    assert_eq!((other.get("/").status, list().len()), (200, 1));
    // A browser that was signed out gets a new root.
    let (new, ..) = follow(&client, &new_link(&client), &known);
    assert_ne!(new, place);
    assert_eq!(background.world.remora(&["ui", "--revoke", "nobody"]).status.code(), Some(1));
    background.world.text(&["ui", "--revoke", "all"]);
    assert_eq!((other.get("/").status, list().len()), (401, 0));
}

/// As root: another user reads the arguments of all processes while a browser starts.
#[test]
fn other_users_do_not_see_the_link_that_the_browser_opens() {
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    let background = memory();
    let client = start(&background);
    let world = &background.world;
    std::fs::create_dir_all(world.path("bin")).unwrap();
    let program = world.path("bin/xdg-open");
    std::fs::write(
        &program,
        "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\nwhile [ ! -e \"$HOME/go\" ]; do sleep 0.05; done\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = background.command(&["ui"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let mut running = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let opened = || std::fs::read_to_string(world.path("home/opened")).unwrap_or_default();
    background.wait("the browser", || opened().ends_with('\n'));
    let page = opened().trim().to_owned();
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(std::fs::metadata(&page).unwrap().mode() & 0o777, 0o600);
    let (_, link) = text.split_once("href=\"").unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let (_, code) = link.split_once("code=").unwrap();
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let seen = |words: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", words]).stderr(std::process::Stdio::null());
        if is_root {
            command.uid(65534).gid(65534);
        }
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    if !is_root {
        let words = "skipped: reading as another user needs root; this user reads instead";
        writeln!(std::io::stderr(), "{words}").unwrap();
    }
    let arguments = seen("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'");
    assert!(arguments.contains(&page), "it sees the browser: {arguments}");
    assert!(!arguments.contains(code) && !arguments.contains("/enter"), "{arguments}");
    if is_root {
        assert_eq!(seen(&format!("cat '{page}'")), "", "it reads the file");
    }
    std::fs::write(world.path("home/go"), "").unwrap();
    assert!(running.wait().unwrap().success());
    let path = link.strip_prefix(&format!("http://127.0.0.1:{}", client.port)).unwrap();
    follow(&client, path, "");
    assert!(!std::path::Path::new(&page).exists(), "it is deleted once it was used");
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
        let (leads_to, ..) = follow(&client, path, "");
        assert_eq!(&leads_to[33..], place, "{link}");
    }
    assert_eq!(ui(&["ui", "999", "--print"]).status.code(), Some(1));
}

#[test]
fn home_and_health_show_the_findings_of_the_doctor() {
    let background = memory();
    std::fs::create_dir_all(background.world.path("home/.claude")).unwrap();
    let client = start(&background);
    let browser = let_in(&client);
    let compare = |heading: &str, is_ok: bool| {
        let mut doctor = background.command(&["doctor", "--json"]);
        let output = doctor.env("REMORA_DAEMON_PORT", "0").output().unwrap();
        assert_eq!(output.status.success(), is_ok, "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let [home, health] = ["/", "/health"].map(|path| browser.get(path).body);
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
    let browser = let_in(&client);
    for path in ["/sessions", "/sessions?project=1"] {
        let body = browser.get(path).body;
        assert_eq!(body.matches("<li class=\"entry\"").count(), 1, "{path}: {body}");
    }
}

#[test]
fn a_wrong_address_is_a_page_for_a_person_and_data_for_a_program() {
    let background = memory();
    let client = start(&background);
    let browser = let_in(&client);
    for (path, status) in
        [("/nope", 404), ("/observations/999", 404), ("/sessions/x", 404), ("/?project=abc", 422)]
    {
        let page = browser.get(path);
        assert_eq!(
            (page.status, header(&page.head, "content-type")),
            (status, Some("text/html; charset=utf-8"))
        );
        assert!(page.body.contains("<nav") && !page.body.contains("{\"error\""), "{path}: {page:?}");
        let data = client.get(path);
        assert_eq!(data.status, status, "{path}: {data:?}");
        assert!(data.json()["error"]["message"].is_string(), "{path}: {data:?}");
    }
    let Browser { root, cookie, .. } = &browser;
    let other = format!(
        "Host: 127.0.0.1:{}\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\n{cookie}",
        client.port
    );
    let refused = client.send("GET", &format!("{root}/search?q=%22%3E%3Cb%3E"), &other, b"");
    assert_eq!(refused.status, 403);
    assert!(
        refused.body.contains(&format!("href=\"{root}/search?q=%22%3E%3Cb%3E\""))
            && !refused.body.contains("<b>"),
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
    assert!(let_in(&client).get("/health").body.contains("<h1>Health</h1>"));
}

#[test]
fn the_cookie_outlives_the_daemon() {
    let background = memory();
    let client = start(&background);
    let Browser { root, cookie, .. } = let_in(&client);
    background.command(&["daemon", "stop"]).output().unwrap();
    let client = start(&background);
    assert_eq!(Browser { client: &client, root, cookie }.get("/").status, 200);
}

#[test]
fn a_change_needs_the_secret_of_a_page() {
    let background = memory();
    let client = start(&background);
    let browser = let_in(&client);
    let home = browser.get("/").body;
    let (_, rest) = home.split_once("name=\"remora-page\" content=\"").unwrap();
    let page = rest.split('"').next().unwrap();
    let body = r#"{"verdict": "useful"}"#;
    let judge = |more: &str| {
        let Browser { cookie, .. } = &browser;
        let head = format!(
            "Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\nSec-Fetch-Site: same-origin\r\n{cookie}{more}\
             Content-Type: application/json\r\nContent-Length: {1}\r\n",
            client.port,
            body.len()
        );
        client
            .send("POST", &format!("{}/api/observations/1/feedback", browser.root), &head, body.as_bytes())
            .status
    };
    assert_eq!(judge(""), 403);
    assert_eq!(judge("X-Remora-Page: 0000\r\n"), 403);
    assert_eq!(judge(&format!("X-Remora-Page: {page}\r\n")), 200);
    let judged = browser.get("/observations/1").body;
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
    let browser = let_in(&client);
    let shown = |path: &str| {
        let page = browser.get(path).body;
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
    let browser = let_in(&client);
    for path in [
        "/",
        "/search?q=alert",
        "/timeline?project=1",
        "/sessions/1",
        "/observations/1",
        "/memory",
        "/playground?prompt=The+cause+was+%3Cscript%3Ealert(1)",
    ] {
        let answer = browser.get(path);
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
