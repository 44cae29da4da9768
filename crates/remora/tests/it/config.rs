use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Output, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::support::{World, contains, feed};

const KEY: &str = "sk-test-4f6b9a0c2d";

impl World {
    fn config(&self) -> String {
        fs::read_to_string(self.data().join("config.toml")).unwrap_or_default()
    }

    fn write_config(&self, text: &str) {
        fs::create_dir_all(self.data()).unwrap();
        fs::write(self.data().join("config.toml"), text).unwrap();
    }

    /// The terminal output of a command: both streams and the exit code.
    fn seen(&self, arguments: &[&str]) -> String {
        let output = self.remora(arguments);
        let (out, err) = (self.neutral(&output.stdout), self.neutral(&output.stderr));
        format!("$ remora {}\n{out}{err}[{}]\n", arguments.join(" "), output.status.code().unwrap())
    }

    fn set_from_stdin(&self, name: &str, text: &str) -> Output {
        let mut command = self.command(&["config", "set", name, "-"]);
        feed(&mut command, text.as_bytes()).wait_with_output().unwrap()
    }
}

fn listed(world: &World, name: &str) -> Value {
    let list = world.json(&["config", "list"]);
    list.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap().clone()
}

#[test]
fn every_setting_is_listed_with_its_value_and_source() {
    let world = World::new();
    world.write_config(
        "[gemini]\napi_key = \"sk-in-the-file\"\n[capture]\nexclude_projects = [\"~/secret\"]\n",
    );
    let list = world.command(&["config", "list"]).env("OPENAI_API_KEY", KEY).output().unwrap();
    assert!(list.status.success() && list.stderr.is_empty(), "{list:?}");
    insta::assert_snapshot!(world.neutral(&list.stdout));
}

#[test]
fn mistakes_are_reported_with_the_next_step_and_change_nothing() {
    let world = World::new();
    let text = "# mine\n[daemon]\nport = 4000\n";
    world.write_config(text);
    let commands: &[&[&str]] = &[
        &["config", "get", "observer.providr"],
        &["config", "get", "anthropic.api_key"],
        &["config", "set", "colour", "red"],
        &["config", "set", "observer.provider", "chatgpt"],
        &["config", "set", "observer.parallel_sessions", "-1"],
        &["config", "set", "openai.api_key", "two words"],
        &["config", "set", "openai.base_url", "localhost:11434"],
    ];
    let mut seen: Vec<String> = commands.iter().map(|command| world.seen(command)).collect();
    assert_eq!(world.config(), text);
    for broken in ["[daemon]\nport = 4000\n[openai]\napi_key = sk-in-the-file\n", "daemon = 7\n"] {
        world.write_config(broken);
        seen.push(world.seen(&["config", "set", "daemon.port", "4001"]));
        assert_eq!(world.config(), broken);
    }
    let seen = seen.join("\n");
    assert!(!seen.contains("sk-in-the-file") && !seen.contains("two words;"), "{seen}");
    insta::assert_snapshot!(seen);
    assert_eq!(world.remora(&["config", "set", "daemon.port"]).status.code(), Some(2));
}

#[test]
fn a_model_is_turned_on_in_two_steps() {
    let world = World::new();
    let mut seen = vec![world.seen(&["config", "set", "observer.provider", "anthropic"])];
    let set = world.set_from_stdin("anthropic.api_key", &format!("{KEY}\n"));
    assert!(set.status.success(), "{set:?}");
    seen.push(world.neutral(&set.stdout) + &world.neutral(&set.stderr));
    seen.push(world.seen(&["config", "get", "observer.provider"]));
    seen.push(world.seen(&["config", "set", "observer.provider", "--unset"]));
    seen.push(world.seen(&["config", "set", "observer.provider", "--unset"]));
    seen.push(world.seen(&["config", "path"]));
    insta::assert_snapshot!(seen.join("\n"));
    assert_eq!(world.config(), format!("[observer]\n\n[anthropic]\napi_key = \"{KEY}\"\n"));
    for name in ["config.toml", "config.lock"] {
        assert_eq!(fs::metadata(world.data().join(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(world.data()).unwrap().mode() & 0o777, 0o700);
    let empty = world.set_from_stdin("anthropic.api_key", "\n");
    assert_eq!(empty.status.code(), Some(2));
    assert!(world.config().contains(KEY));
}

#[test]
fn a_key_appears_in_no_output_and_no_log() {
    let world = World::new();
    world.set_from_stdin("openai.api_key", KEY);
    world.hook(&world.tool("t1"));
    let mut said = Vec::new();
    for arguments in [
        &["config", "list"][..],
        &["config", "list", "--json"],
        &["config", "get", "openai.api_key"],
        &["config", "get", "openai.api_key", "--json"],
        &["config", "set", "openai.api_key", KEY],
        &["config", "set", "openai.api_key", KEY, "--json"],
        &["config", "set", "observer.provider", "openai"],
        &["status", "--json"],
        &["doctor", "--json"],
        &["logs", "--json"],
    ] {
        let output = world.command(arguments).env("REMORA_GEMINI_API_KEY", KEY).output().unwrap();
        said.extend([output.stdout, output.stderr].concat());
    }
    // A file with a syntax error in the line of the key, and a key of the wrong type.
    world.write_config(&format!("[openai]\napi_key = {KEY}\n"));
    world.hook(&world.tool("t2"));
    world.write_config(&format!("[openai]\napi_key = [\"{KEY}\"]\n"));
    world.hook(&world.tool("t3"));
    for arguments in [&["config", "list"][..], &["doctor"], &["logs"], &["status"]] {
        let output = world.remora(arguments);
        said.extend([output.stdout, output.stderr].concat());
    }
    assert!(contains(&said, "config.toml: line 2"), "{}", String::from_utf8_lossy(&said));
    assert!(!contains(&said, KEY), "{}", String::from_utf8_lossy(&said));
    fs::remove_file(world.data().join("config.toml")).unwrap();
    assert!(!contains(&world.all_bytes(), KEY));
}

#[test]
fn json_has_value_source_default_and_meaning() {
    let world = World::new();
    world.text(&["config", "set", "daemon.port", "0"]);
    let port = listed(&world, "daemon.port");
    assert_eq!((&port["value"], &port["default"]), (&json!(0), &json!(37777)));
    assert_eq!((&port["source"], &port["secret"]), (&json!("config.toml"), &json!(false)));
    assert!(port["meaning"].as_str().unwrap().contains("port"));
    assert_eq!(world.json(&["config", "get", "daemon.port"]), port);
    assert_eq!(listed(&world, "openai.api_key")["value"], "not set");
    assert_eq!(listed(&world, "daemon.autostart")["source"], "$REMORA_DAEMON_AUTOSTART");
    assert_eq!(world.json(&["config", "path"])["exists"], true);
}

#[test]
fn environment_variables_win_and_the_source_says_so() {
    let world = World::new();
    let mut command = world.command(&["config", "set", "daemon.port", "5000"]);
    let set = command.env("REMORA_DAEMON_PORT", "6000").output().unwrap();
    assert!(contains(&set.stdout, "daemon.port = 6000"), "{set:?}");
    assert!(contains(&set.stderr, "REMORA_DAEMON_PORT is set in this shell and overrides"), "{set:?}");
    assert_eq!(world.text(&["config", "get", "daemon.port"]), "5000\n");
}

#[test]
fn comments_order_and_links_stay() {
    let world = World::new();
    world.write_config("# mine\n\n[capture] # what is kept\n# because of the crash\nsync = \"full\" # yes\n");
    fs::rename(world.data().join("config.toml"), world.path("dotfiles.toml")).unwrap();
    std::os::unix::fs::symlink(world.path("dotfiles.toml"), world.data().join("config.toml")).unwrap();
    world.text(&["config", "set", "capture.sync", "normal"]);
    world.text(&["config", "set", "capture.skip_tools", "Glob, Grep"]);
    world.text(&["config", "set", "budget.daily_usd", "2"]);
    assert_eq!(
        world.config(),
        "# mine\n\n[capture] # what is kept\n# because of the crash\nsync = \"normal\" # yes\nskip_tools = [\"Glob\", \"Grep\"]\n\n[budget]\ndaily_usd = 2.0\n"
    );
    assert!(fs::symlink_metadata(world.data().join("config.toml")).unwrap().is_symlink());
}

#[test]
fn concurrent_changes_are_all_kept() {
    let world = World::new();
    let values = [
        ("daemon.port", "4001"),
        ("budget.daily_tokens", "4002"),
        ("observer.history_tokens", "4003"),
        ("retention.usage_days", "4004"),
        ("retention.failed_days", "4005"),
        ("budget.session_tokens", "4006"),
    ];
    for _ in 0..5 {
        let _ = fs::remove_file(world.data().join("config.toml"));
        thread::scope(|scope| {
            for (name, value) in values {
                let world = &world;
                scope.spawn(move || world.text(&["config", "set", name, value]));
            }
        });
        for (name, value) in values {
            assert_eq!(world.text(&["config", "get", name]), format!("{value}\n"), "{}", world.config());
        }
    }
    let left: Vec<_> = fs::read_dir(world.data()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn help_has_examples() {
    let world = World::new();
    let help = world.text(&["config", "--help"]);
    for line in ["remora config set observer.provider anthropic", "remora config set anthropic.api_key -"] {
        assert!(help.contains(line), "{help}");
    }
    let mut command = world.command(&["config", "list"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success(), "a closed pipe is not an error");
    assert!(!world.data().exists(), "reading creates no files");
}

#[test]
fn a_provider_that_misses_its_key_says_so_unless_it_is_a_private_server() {
    let world = World::new();
    assert!(
        world.seen(&["config", "set", "observer.provider", "anthropic"]).contains("anthropic needs a key")
    );
    assert!(world.seen(&["config", "set", "observer.provider", "openai"]).contains("openai needs a key"));
    world.text(&["config", "set", "openai.base_url", "http://localhost:11434/v1"]);
    assert!(!world.seen(&["config", "set", "observer.provider", "openai"]).contains("needs a key"));
}
