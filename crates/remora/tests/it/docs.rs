//! Checks that the documents match the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use remora_core::memory::ObservationType;

use crate::support::{World, let_agents_reach_everything};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// A crate's name as in the graph.
fn short(name: &str) -> String {
    name.strip_prefix("remora-").unwrap_or(name).to_owned()
}

/// The crates of the workspace with their dependencies, sorted, without dev-dependencies.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let members = crates.chain([root().join("benches"), root().join("xtask")]);
    let used = |manifest: PathBuf| {
        let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
        let names = manifest["dependencies"].as_table().unwrap().keys();
        let mut own: Vec<String> =
            names.filter(|name| name.starts_with("remora-")).map(|name| short(name)).collect();
        own.sort();
        (short(manifest["package"]["name"].as_str().unwrap()), own)
    };
    members.map(|folder| used(folder.join("Cargo.toml"))).collect()
}

#[test]
fn the_crate_graph_matches_the_dependencies() {
    let architecture = document("ARCHITECTURE.md");
    let drawn: Vec<(String, Vec<String>)> = architecture
        .lines()
        .filter_map(|line| line.split_once(" →"))
        .filter(|(name, _)| name.trim_end().chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .map(|(name, used)| (name.trim().to_owned(), used.split_whitespace().map(str::to_owned).collect()))
        .collect();
    for (line, (name, used)) in drawn.iter().enumerate() {
        for other in used {
            let is_below = drawn[line + 1..].iter().any(|(below, _)| below == other);
            assert!(is_below, "{name} → {other} does not point down");
        }
    }
    let sorted = drawn.into_iter().map(|(name, mut used)| {
        used.sort();
        (name, used)
    });
    assert_eq!(sorted.collect::<BTreeMap<_, _>>(), dependencies());
}

#[test]
fn every_observation_type_is_in_the_prompt_of_models_in_the_docs_and_in_the_help() {
    let help = |command| World::new().text(&[command, "--help"]);
    for text in [
        document("crates/remora-observer/prompts/code.md"),
        document("docs/http.md"),
        document("docs/mcp.md"),
        document("docs/import.md"),
        help("search"),
        help("save"),
    ] {
        for kind in ObservationType::ALL {
            let names = |word: &str| word == kind.name();
            assert!(text.split(|c: char| !c.is_alphabetic()).any(names), "{kind}: {text}");
        }
    }
}

#[test]
fn every_file_that_the_code_map_names_exists() {
    let architecture = document("ARCHITECTURE.md");
    let map = architecture.split("## Code map").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut described = 0;
    for paragraph in map.split("\n\n") {
        let Some(name) = paragraph.trim().strip_prefix("**`crates/").and_then(|rest| rest.split('`').next())
        else {
            continue;
        };
        described += 1;
        let source = root().join("crates").join(name).join("src");
        let files: Vec<PathBuf> = walk(&source);
        for word in paragraph.split('`').skip(1).step_by(2) {
            let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
            let is_file = matches!(extension, Some("rs" | "sql"));
            let is_folder = word.ends_with('/') && word.bytes().filter(|b| *b == b'/').count() == 1;
            let exists = files.iter().any(|file| file.ends_with(word.trim_end_matches('/')));
            assert!(exists || !(is_file || is_folder), "{name}: {word}");
        }
    }
    assert_eq!(described, fs::read_dir(root().join("crates")).unwrap().count(), "one paragraph per crate");
}

/// All files and folders below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below =
        entries.flat_map(|path| if path.is_dir() { [walk(&path), vec![path]].concat() } else { vec![path] });
    below.collect()
}

#[test]
fn every_setting_and_file_is_documented() {
    let architecture = document("ARCHITECTURE.md");
    let defaults = remora_core::settings::Settings::default();
    for setting in remora_core::settings::all() {
        let row = architecture.lines().find(|line| line.starts_with(&format!("| `{}` |", setting.name)));
        let row = row.unwrap_or_else(|| panic!("{} is missing", setting.name));
        assert!(row.ends_with(&format!(" | {} |", setting.meaning)), "{row}");
        // Defaults of lists are described in words.
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
    // Locks appear only while something is done for the first time, so their names are taken from the sources.
    let has_extension = |name: &Path, wanted: &str| name.extension().is_some_and(|found| found == wanted);
    let is_source =
        |path: &PathBuf| has_extension(path, "rs") && path.components().any(|part| part.as_os_str() == "src");
    let mut locks = BTreeSet::new();
    for source in walk(&root().join("crates")).into_iter().filter(is_source) {
        let text = fs::read_to_string(source).unwrap();
        let is_name =
            |word: &&str| has_extension(Path::new(word), "lock") && !word.contains(char::is_whitespace);
        locks.extend(text.split('"').filter(is_name).map(str::to_owned));
    }
    assert!(locks.len() >= 9, "{locks:?}");
    for lock in locks {
        assert!(architecture.contains(&format!("`{lock}`")), "{lock}");
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
fn every_mcp_tool_is_documented_and_in_the_help() {
    let texts = [document("docs/mcp.md"), World::new().text(&["mcp", "--help"])];
    for tool in crate::mcp::TOOLS {
        assert!(texts[0].contains(&format!("| `{tool}` |")), "{tool}");
        assert!(texts[1].contains(tool), "{tool}");
    }
}

#[test]
fn the_commands_in_the_readme_work() {
    let readme = document("README.md");
    let world = World::new();
    let mut message = world.prompt("p1", "Hello");
    message["session_id"] = "3a36f8d1".into();
    world.hook(&message);
    let_agents_reach_everything(&world);
    let mut ran = 0;
    for line in readme.lines() {
        let Some(command) = line.strip_prefix("$ remora ") else { continue };
        let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
        // There is no terminal, so no questions can be asked.
        let words =
            if words == ["install"] { vec!["install", "--yes", "--host", "claude-code"] } else { words };
        let words = if words == ["install", "--dry-run"] {
            vec!["install", "--dry-run", "--host", "codex"]
        } else {
            words
        };
        // At a terminal, these ask.
        let words = match words.as_slice() {
            [command @ ("uninstall" | "restore")] => vec![command, "--yes"],
            _ => words,
        };
        world.text(&words);
        ran += 1;
    }
    assert!(ran >= 5, "{ran}");
}

#[test]
fn the_hooks_in_the_docs_are_known_events() {
    let settings = document("docs/install.md");
    let settings = settings.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
    let recorded = include_str!("../../../remora-hosts/tests/fixtures/claude-code-2.1.325.jsonl");
    for (event, hooks) in settings["hooks"].as_object().unwrap() {
        assert!(recorded.contains(&format!("\"event\": \"{event}\"")), "{event}");
        assert_eq!(hooks[0]["hooks"][0]["command"], "remora hook claude-code");
    }
}
