//! The documents tell the truth.

use std::fs;
use std::path::PathBuf;

use crate::support::World;

fn document(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

#[test]
fn every_setting_and_file_is_documented() {
    let architecture = document("ARCHITECTURE.md");
    let defaults = remora_core::settings::Settings::default();
    for setting in remora_core::settings::all() {
        let row = architecture.lines().find(|line| line.starts_with(&format!("| `{}` |", setting.name)));
        let row = row.unwrap_or_else(|| panic!("{} is missing", setting.name));
        assert!(row.ends_with(&format!(" | {} |", setting.meaning)), "{row}");
        // A list is told in words.
        let default = setting.show(&defaults);
        assert!(setting.secret || default.is_array() || row.contains(&format!(" `{default}` ")), "{row}");
    }
    let world = World::new();
    world.hook(&world.tool("t1"));
    world.hook(&world.prompt("p1", "<private>x</private>"));
    world.text(&["pause"]);
    world.text(&["config", "set", "daemon.port", "0"]);
    for entry in fs::read_dir(world.data()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let name = name.trim_end_matches("-wal").trim_end_matches("-shm");
        assert!(architecture.contains(&format!("`{name}")), "{name}");
    }
}

#[test]
fn every_route_and_host_is_documented() {
    let http = document("docs/http.md");
    for route in remora_server::http::routes() {
        let named = format!("`{} {}`", route.method, route.path);
        assert!(http.contains(&named), "{named}");
    }
    for host in remora_core::host::Host::ALL {
        assert!(http.contains(&format!("`{host}`")), "{host}");
    }
}

#[test]
fn the_commands_in_the_readme_work() {
    let readme = document("README.md");
    let world = World::new();
    let mut message = world.prompt("p1", "Hello");
    message["session_id"] = "3a36f8d1".into();
    world.hook(&message);
    let mut ran = 0;
    for line in readme.lines() {
        let Some(command) = line.strip_prefix("$ remora ") else { continue };
        let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
        world.text(&words);
        ran += 1;
    }
    assert!(ran >= 5, "{ran}");
}

#[test]
fn the_hooks_in_the_readme_are_events_we_know() {
    let readme = document("README.md");
    let settings = readme.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
    let recorded = include_str!("../../../remora-hosts/tests/fixtures/claude-code-2.1.325.jsonl");
    for (event, hooks) in settings["hooks"].as_object().unwrap() {
        assert!(recorded.contains(&format!("\"event\": \"{event}\"")), "{event}");
        assert_eq!(hooks[0]["hooks"][0]["command"], "remora hook claude-code");
    }
}
