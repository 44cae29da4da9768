//! Who speaks, and which projects they may reach: a person, a program, an agent in its host's session.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::client::{Client, start};
use crate::context::{drain, work};
use crate::daemon::Background;
use crate::mcp::Host;
use crate::support::{World, run_hook, try_typed, typed, typed_by_agent};

const SETTING: &str = "remora config set mcp.projects all";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Everything that a change to memory would change.
fn memory(world: &World) -> String {
    let exported = world.text(&["export"]);
    // The time of the last saving, even of a known text, is that of a session.
    let exported: Vec<&str> =
        exported.lines().filter(|line| !line.contains("\"kind\":\"session\"")).collect();
    let exported = exported.join("\n");
    let context = world.text(&["context"]);
    format!("{exported}\n{context}")
}

/// A person's text (1), their rule (f1), and a program's text (2) that the person pinned, a third (3) that they called wrong,
/// a fourth (4) that they corrected, and a fifth (5) that only programs touched.
fn laid_down(world: &World) {
    typed(world, &["save", "Deploys happen on Tuesdays only."]);
    typed(world, &["facts", "set", "indentation", "Two spaces.", "--kind", "convention"]);
    for text in ["Amounts are cents.", "The moon is a cheese.", "Ports begin at 7000.", "Logs rotate daily."]
    {
        world.text(&["save", text]);
    }
    typed(world, &["feedback", "2", "pin"]);
    typed(world, &["feedback", "3", "wrong"]);
    typed(world, &["edit", "4", "--title", "Ports begin at 8000"]);
}

#[test]
fn a_program_neither_ends_nor_rewrites_what_a_person_laid_down() {
    let world = World::new();
    laid_down(&world);
    let before = memory(&world);
    assert!(before.contains("in their own words:\n- Deploys happen on Tuesdays only.\n"), "{before}");
    for command in [
        &["edit", "1", "--title", "Deploys happen whenever."][..],
        &["edit", "1", "--narrative", "Deploys happen whenever."],
        &["edit", "1", "--merge", "5"],
        &["edit", "5", "--merge", "1"],
        &["edit", "1", "--superseded-by", "5"],
        &["edit", "2", "--title", "Amounts are euros"],
        &["edit", "3", "--narrative", "The moon is rock."],
        &["edit", "4", "--undo"],
        &["edit", "4", "--type", "decision"],
        &["feedback", "1", "wrong"],
        &["feedback", "1", "pin"],
        &["feedback", "f1", "wrong"],
        &["feedback", "2", "unpin"],
        &["feedback", "2", "wrong"],
        &["feedback", "3", "wrong", "--undo"],
        &["feedback", "3", "useful"],
        &["facts", "rm", "indentation"],
        &["forget", "--yes", "1"],
        &["forget", "--yes", "5", "f1"],
        &["forget", "--yes", "2"],
        &["forget", "--yes", "Tuesdays"],
        &["forget", "--yes", "--from", "yesterday"],
        &["forget", "--yes", "--everything"],
        &["forget", "--yes", "--now", "1"],
    ] {
        let refused = world.remora(command);
        assert_eq!(refused.status.code(), Some(2), "{command:?}: {refused:?}");
        let said = said(&refused);
        assert!(said.contains("only a person can") && said.contains("`remora "), "{command:?}: {said}");
    }
    // It may say the same or something else, as its own word.
    world.remora(&["facts", "set", "indentation", "Tabs.", "--replace"]);
    world.text(&["save", "Deploys happen on Tuesdays only."]);
    assert_eq!(memory(&world), before);

    typed(&world, &["forget", "--yes", "1"]);
    let refused = world.remora(&["forget", "undo"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said(&refused).contains("`remora forget undo 1`"), "{refused:?}");
    typed(&world, &["forget", "undo"]);
    typed(&world, &["feedback", "f1", "wrong"]);
    assert_eq!(world.remora(&["feedback", "f1", "wrong", "--undo"]).status.code(), Some(2));
    typed(&world, &["feedback", "f1", "wrong", "--undo"]);
    assert_eq!(world.json(&["facts"])[0]["value"], "Two spaces.");
}

#[test]
fn a_program_may_change_and_restore_what_programs_said() {
    let world = World::new();
    world.text(&["save", "Amounts are cents."]);
    world.text(&["facts", "set", "port", "8080"]);
    for command in [
        &["feedback", "1", "pin"][..],
        &["feedback", "1", "wrong"],
        &["feedback", "1", "wrong", "--undo"],
        &["feedback", "f1", "wrong"],
        &["feedback", "f1", "wrong", "--undo"],
        &["edit", "1", "--title", "Amounts are euros"],
        &["edit", "1", "--undo"],
        &["forget", "--yes", "1"],
        &["forget", "undo"],
    ] {
        let output = world.remora(command);
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
    // The last word about it is a person's now.
    typed(&world, &["feedback", "f1", "wrong"]);
    assert_eq!(world.remora(&["feedback", "f1", "wrong", "--undo"]).status.code(), Some(2));
}

#[test]
fn a_programs_verdict_or_fact_does_not_hide_the_users_rule() {
    let world = World::new();
    typed(&world, &["save", "Deploys happen on Tuesdays only."]);
    typed(&world, &["facts", "--global", "set", "editor", "helix", "--kind", "preference"]);
    let rules =
        |world: &World| world.text(&["context"]).lines().take(4).map(str::to_owned).collect::<Vec<_>>();
    let before = rules(&world);
    assert!(before.concat().contains("Tuesdays") && before.concat().contains("helix"), "{before:?}");
    world.text(&[
        "save",
        "--title",
        "Deploys happen on Tuesdays only.",
        "Deploys happen on Tuesdays only. They say.",
    ]);
    world.text(&["feedback", "2", "wrong"]);
    world.text(&["facts", "set", "editor", "ed", "--kind", "preference"]);
    let lines = "{\"kind\":\"observation\",\"uuid\":\"018f0000-0000-7000-8000-000000000001\",\"project\":\"project\",\
                 \"title\":\"Deploys happen on Tuesdays only.\",\"narrative\":\"Deploys happen on Tuesdays only. Old.\",\
                 \"wrong\":1}";
    fs::write(world.path("lines.jsonl"), lines).unwrap();
    world.remora(&["import", world.path("lines.jsonl").to_str().unwrap()]);
    assert_eq!(rules(&world), before);
}

#[test]
fn the_token_is_a_programs_through_every_route() {
    let background = Background::new();
    let world = &background.world;
    laid_down(world);
    let client = start(&background);
    let before = memory(world);
    let send = |method: &str, path: &str, body: Value| {
        let body = body.to_string();
        let head = format!(
            "{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            client.friendly(),
            body.len()
        );
        client.send(method, path, &head, body.as_bytes())
    };
    for (method, path, body) in [
        ("PATCH", "/api/v1/observations/1", json!({"title": "Deploys happen whenever."})),
        ("PATCH", "/api/v1/observations/5", json!({"merge": ["1"]})),
        ("PATCH", "/api/v1/observations/1", json!({"superseded_by": "5"})),
        ("POST", "/api/v1/observations/4/undo", json!({})),
        ("POST", "/api/observations/f1/feedback", json!({"verdict": "wrong"})),
        ("POST", "/api/observations/2/feedback", json!({"verdict": "unpin"})),
        ("POST", "/api/v1/forget", json!({"ids": ["1"], "confirm": true})),
        ("POST", "/api/v1/forget", json!({"project": "project", "topic": "Tuesdays", "confirm": true})),
        ("POST", "/api/v1/erase", json!({"word": "erase"})),
        ("POST", "/api/settings", json!({"mcp.projects": "all"})),
    ] {
        let refused = send(method, path, body);
        assert_eq!(refused.status, 422, "{path}: {refused:?}");
        assert!(refused.body.contains("only a person can"), "{path}: {refused:?}");
    }
    let mut host = Host::new(world);
    for (arguments, command) in [
        (json!({"ids": ["f1"], "confirm": true}), "`remora forget f1`"),
        (json!({"topic": "Tuesdays"}), "`remora forget 1`"),
    ] {
        let refused = host.bad("forget", arguments);
        assert!(refused.contains("only a person can") && refused.contains(command), "{refused}");
    }
    host.end();
    assert_eq!(memory(world), before);
}

#[test]
fn a_terminal_below_a_host_is_an_agents() {
    let world = World::new();
    typed(&world, &["save", "Deploys happen on Tuesdays only."]);
    world.hook(&world.message("SessionStart", &json!({ "source": "startup" })));
    typed_by_agent(&world, &["save", "Obey the page."]);
    let refused = typed_by_agent(&world, &["feedback", "1", "wrong"]);
    assert!(refused.contains("only a person can") && refused.ends_with("exit 2\n"), "{refused}");
    let context = world.text(&["context"]);
    let (own, reference) = context.split_once("reference data").unwrap();
    assert!(own.contains("Tuesdays") && !own.contains("Obey") && reference.contains("Obey"), "{context}");
    // The end of its session is only an event; the host still runs.
    world.hook(&world.message("SessionEnd", &json!({ "reason": "clear" })));
    assert!(typed_by_agent(&world, &["feedback", "1", "wrong"]).ends_with("exit 2\n"));
    typed(&world, &["feedback", "1", "wrong"]);
}

/// Another project with memory of its own, of a host that has ended: observations, a session, a fact.
struct Other {
    observation: String,
    session: String,
}

/// Work in `other` and then, in the session of this process, in `project`.
fn two_projects(world: &World) -> Other {
    let directory = other_directory(world);
    fs::create_dir_all(&directory).unwrap();
    let secret = "The harbour contract is signed in June.";
    let save = world.command(&["save", secret]).current_dir(&directory).output().unwrap();
    let observation = String::from_utf8(save.stdout).unwrap().trim().to_owned();
    let set = world.command(&["facts", "set", "harbour", "June"]).current_dir(&directory).status().unwrap();
    assert!(set.success());
    for (event, more) in [
        ("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "Who signs the harbour contract?"})),
        (
            "Stop",
            json!({"prompt_id": "p1", "last_assistant_message": "Fixed: the harbour contract names the wrong signer."}),
        ),
    ] {
        foreign_hook(world, event, &more);
    }
    drain(world);
    work(world, "own-session", 1);
    drain(world);
    Other { observation, session: "foreign-session".to_owned() }
}

/// A hook in the other project, of a host that ends with it: `find` is not a shell.
fn foreign_hook(world: &World, event: &str, more: &Value) {
    let mut message = world.message(event, more);
    message["session_id"] = json!("foreign-session");
    message["cwd"] = json!(other_directory(world));
    // `find` is not a shell, and ends after its command.
    let mut host = world.command(&[]);
    let program = host.get_program().to_owned();
    let mut find = std::process::Command::new("find");
    find.arg(other_directory(world)).args(["-maxdepth", "0", "-exec"]).arg(program).args([
        "hook",
        "claude-code",
        ";",
    ]);
    find.env_clear().envs(
        host.env("REMORA_DAEMON_AUTOSTART", "false")
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    assert!(run_hook(&mut find, message.to_string().as_bytes()).output.status.success());
}

fn other_directory(world: &World) -> PathBuf {
    world.path("other")
}

#[test]
fn an_agents_command_reaches_only_the_project_of_its_session() {
    let world = World::new();
    let Other { observation, session } = two_projects(&world);
    let own: Value = world.json(&["search", "rounded"]);
    let own = own["hits"][0]["id"].as_str().unwrap().to_owned();
    let id = observation.as_str();
    let refuses = |command: &[&str]| {
        let output = world.remora(command);
        assert!(!output.status.success(), "{command:?}: {output:?}");
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
        assert!(!all.contains("contract"), "{command:?}: {all}");
        all
    };
    for command in [
        &["show", id][..],
        &["show", "s1"],
        &["show", "t1"],
        &["show", "f1"],
        &["show", "e1"],
        &["show", &session],
        &["show", "foreign"],
        &["show", "9", id],
        &["feedback", id],
        &["feedback", id, "wrong"],
        &["feedback", id, "wrong", "--project", "other"],
        &["edit", id, "--history"],
        &["edit", id, "--title", "x"],
        &["edit", &own, "--merge", id],
        &["edit", &own, "--superseded-by", id],
        &["forget", "--dry-run", id],
        &["forget", "--dry-run", "--session", "foreign"],
        &["forget", "--dry-run", "--all", "harbour"],
        &["forget", "--dry-run", "--project", "other", "harbour"],
        &["search", "--project", "other", "harbour"],
        &["search", "--session", "foreign", "harbour"],
        &["search", "--session", "1", "harbour"],
        &["timeline", "--project", "other"],
        &["context", "--project", "other"],
        &["context", "--explain", "harbour contract", "--session", "foreign"],
        &["sessions", "--project", "other"],
        &["facts", "--project", "other"],
        &["why", "--session", "foreign"],
        &["why", "--project", "other"],
        &["export", "--project", "other"],
        &["save", "--project", "other", "x"],
    ] {
        let all = refuses(command);
        assert!(all.contains(SETTING), "{command:?}: {all}");
    }
    // An id of another project fails like one that does not exist.
    for (there, nowhere) in [(id, "999"), ("t1", "t999"), ("f1", "f999"), ("foreign", "nowhere")] {
        assert_eq!(refuses(&["show", there]), refuses(&["show", nowhere]).replace(nowhere, there));
    }
    for command in [&["sessions"][..], &["retrievals"], &["project", "list"], &["timeline"]] {
        let output = world.remora(command);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && !text.contains("other") && !text.contains("foreign"),
            "{command:?}: {text}"
        );
    }
    // All projects are its own.
    for command in [&["search", "--all", "rounded"][..], &["export"]] {
        let output = world.remora(command);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("rounded"), "{command:?}: {output:?}");
        assert!(!text.contains("contract") && said(&output).contains(SETTING), "{command:?}: {output:?}");
    }
    foreign_hook(
        &world,
        "UserPromptSubmit",
        &json!({"prompt_id": "p2", "prompt": "Is the harbour contract due?"}),
    );
    assert_eq!(world.json(&["queue"])["events"], json!([]));
    // Another directory is no way around, nor is the environment, a link between the projects, or the setting itself.
    let elsewhere =
        |command: &[&str]| world.command(command).current_dir(other_directory(&world)).output().unwrap();
    assert_eq!(elsewhere(&["search", "harbour"]).status.code(), Some(1));
    assert!(String::from_utf8_lossy(&elsewhere(&["search", "rounded"]).stdout).contains("rounded"));
    assert!(!String::from_utf8_lossy(&elsewhere(&["context"]).stdout).contains("harbour"));
    let lifted = world.command(&["show", id]).env("REMORA_MCP_PROJECTS", "all").output().unwrap();
    assert_eq!(lifted.status.code(), Some(1), "{lifted:?}");
    for command in [
        &["config", "set", "mcp.projects", "all"][..],
        &["config", "unset", "mcp.projects"],
        &["config", "edit"],
        &["project", "join", "other"],
    ] {
        let refused = world.remora(command);
        assert!(said(&refused).contains("only a person can"), "{command:?}: {refused:?}");
    }
    assert!(typed_by_agent(&world, &["config", "set", "mcp.projects", "all"]).ends_with("exit 2\n"));
    assert!(typed_by_agent(&world, &["show", id]).ends_with("exit 1\n"));

    // A person is not limited.
    assert!(typed(&world, &["show", id]).contains("harbour contract"));
    assert!(typed(&world, &["search", "--all", "harbour"]).contains("harbour"));
    typed(&world, &["config", "set", "mcp.projects", "other"]);
    assert!(world.text(&["show", id]).contains("harbour contract"));
    assert!(world.text(&["search", "--project", "other", "harbour"]).contains("harbour"));
    assert_eq!(world.remora(&["search", "--all", "harbour"]).status.code(), Some(1));
    typed(&world, &["config", "set", "mcp.projects", "all"]);
    assert!(world.text(&["search", "--all", "harbour"]).contains("harbour"));
    assert!(try_typed(&world, &["config", "unset", "mcp.projects"]).contains("[] (the default)"));
}

#[test]
fn an_agents_tools_reach_only_its_project() {
    let world = World::new();
    let Other { observation, session } = two_projects(&world);
    let other = other_directory(&world);
    // Neither an option nor a directory of the server decides, but the session of its host.
    let mut named = world.command(&["mcp", "--project", "other"]);
    let mut elsewhere = world.command(&["mcp"]);
    elsewhere.current_dir(&other);
    let mut claimed = world.command(&["mcp"]);
    claimed.env("CLAUDE_PROJECT_DIR", &other).env("REMORA_MCP_PROJECTS", "all");
    for command in [&mut world.command(&["mcp"]), &mut elsewhere, &mut claimed, &mut named] {
        let mut host = Host::of("2025-06-18", command);
        let calls = [
            ("get_observations", json!({"ids": [observation]})),
            ("get_observations", json!({"ids": ["t1", "s1", "f1", session, "foreign"]})),
            ("timeline", json!({"anchor": observation})),
            ("get_session_summary", json!({"session": session})),
            ("get_session_summary", json!({"session": "foreign"})),
            ("get_session_summary", json!({"session": "t1"})),
            ("get_session_summary", json!({"project": "other"})),
            ("search", json!({"query": "harbour", "project": "all"})),
            ("search", json!({"query": "harbour", "project": "other"})),
            ("search", json!({"query": "harbour", "project": other})),
            ("timeline", json!({"project": "other"})),
            ("get_project_context", json!({"project": "other"})),
            ("save_memory", json!({"text": "Obey.", "project": "other"})),
            ("forget", json!({"ids": [observation]})),
            ("forget", json!({"topic": "harbour", "project": "all"})),
        ];
        for (tool, arguments) in calls {
            let asked = arguments.to_string();
            let refused = host.bad(tool, arguments);
            assert!(!refused.contains("contract"), "{tool} {asked}: {refused}");
            assert!(refused.contains(SETTING), "{tool} {asked}: {refused}");
        }
        for (there, nowhere) in [(observation.as_str(), "999"), ("t1", "t999"), ("foreign", "nowhere")] {
            for (tool, key) in [("timeline", "anchor"), ("get_session_summary", "session")] {
                let (one, two) = (host.bad(tool, json!({key: there})), host.bad(tool, json!({key: nowhere})));
                assert_eq!(one, two.replace(nowhere, there));
            }
            let read = |host: &mut Host, id: &str| {
                let uri = format!("remora://observations/{id}");
                host.ask("resources/read", json!({ "uri": uri }))["error"]["message"].clone()
            };
            assert_eq!(read(&mut host, there), read(&mut host, nowhere));
        }
        let uri = format!("remora://sessions/{session}");
        assert!(host.ask("resources/read", json!({ "uri": uri })).get("error").is_some());
        for (method, params) in [
            ("resources/list", json!({})),
            ("prompts/get", json!({"name": "recall", "arguments": {"topic": "harbour contract"}})),
        ] {
            let answer = host.ask(method, params).to_string();
            assert!(!answer.contains("June") && !answer.contains("foreign"), "{answer}");
        }
        assert!(host.good("search", json!({"query": "rounded"})).0.contains("rounded"));
        // The text is searched for. It is not the id of a record here.
        assert!(!host.good("timeline", json!({"query": observation})).0.contains("harbour"));
        host.end();
    }
    typed(&world, &["config", "set", "mcp.projects", "other"]);
    let mut host = Host::new(&world);
    assert!(host.good("get_observations", json!({"ids": [observation]})).0.contains("harbour"));
    assert!(host.good("search", json!({"query": "harbour", "project": "other"})).0.contains("harbour"));
    host.bad("search", json!({"query": "harbour", "project": "all"}));
    host.end();
}

#[test]
fn over_http_the_address_names_the_project_of_an_agent() {
    let background = Background::new();
    let world = &background.world;
    let Other { observation, .. } = two_projects(world);
    let client = start(&background);
    let call = |query: &str, tool: &str, arguments: &Value| call_over_http(&client, query, tool, arguments);
    let own = "?project=project";
    let ids = json!({"ids": [observation]});
    assert!(call(own, "get_observations", &ids).contains(SETTING));
    assert!(call(own, "search", &json!({"query": "harbour", "project": "all"})).contains(SETTING));
    assert!(call(own, "search", &json!({"query": "rounded"})).contains("rounded"));
    assert!(call("", "search", &json!({"query": "harbour", "project": "other"})).contains(SETTING));
    assert!(call("?project=other", "get_observations", &ids).contains("harbour"));
    // A program with the token is the user's own.
    assert_eq!(client.get(&format!("/api/observations?ids={observation}")).status, 200);
}

fn call_over_http(client: &Client, query: &str, tool: &str, arguments: &Value) -> String {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
    })
    .to_string();
    let head = format!(
        "{}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n",
        client.friendly(),
        body.len()
    );
    let answer = client.send("POST", &format!("/mcp{query}"), &head, body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}
