//! `remora install` and `remora uninstall` in a temporary home, with the real binary.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{World, contains};

/// A host's configuration file, with content that a user may already have.
struct HostFile {
    host: &'static str,
    path: &'static str,
    theirs: &'static str,
}

const HOST_FILES: &[HostFile] = &[
    HostFile {
        host: "claude-code",
        path: ".claude/settings.json",
        theirs: "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n        ]\n    },\n    \"permissions\": {\n        \"allow\": [\"Bash(ls:*)\"]\n    }\n}\n",
    },
    HostFile {
        host: "claude-code",
        path: ".claude.json",
        theirs: "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\", \"args\": []}\n  }\n}\n",
    },
    HostFile {
        host: "codex",
        path: ".codex/hooks.json",
        theirs: "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}}\n",
    },
    HostFile {
        host: "codex",
        path: ".codex/config.toml",
        theirs: "# mine\nmodel = \"gpt-5\" # best\n\n[mcp_servers.other]\ncommand = \"other\"\n",
    },
    HostFile {
        host: "gemini",
        path: ".gemini/settings.json",
        theirs: "{\n  \"hooks\": {\n    \"AfterTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  },\n  \"mcpServers\": {\"other\": {\"command\": \"other\"}}\n}\n",
    },
    HostFile {
        host: "qwen",
        path: ".qwen/settings.json",
        theirs: "{\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n\t}\n}\n",
    },
    HostFile {
        host: "copilot",
        path: ".copilot/mcp-config.json",
        theirs: "{\"mcpServers\": {\"other\": {\"type\": \"local\", \"command\": \"other\", \"tools\": [\"*\"]}}}",
    },
    HostFile {
        host: "opencode",
        path: ".config/opencode/opencode.json",
        theirs: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"other\": {\"type\": \"local\", \"command\": [\"other\"]}\n  }\n}\n",
    },
    HostFile {
        host: "cursor",
        path: ".cursor/hooks.json",
        theirs: "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{\"command\": \"say done\"}]\n  }\n}\n",
    },
    HostFile {
        host: "cursor",
        path: ".cursor/mcp.json",
        theirs: "{\"mcpServers\": {\"other\": {\"command\": \"other\"}}}\n",
    },
    HostFile {
        host: "windsurf",
        path: ".codeium/windsurf/hooks.json",
        theirs: "{\n  \"hooks\": {\n    \"post_write_code\": [\n      {\"command\": \"say done\"}\n    ]\n  }\n}\n",
    },
    HostFile {
        host: "windsurf",
        path: ".codeium/windsurf/mcp_config.json",
        theirs: "{\"mcpServers\": {\"other\": {\"command\": \"other\"}}}\n",
    },
];

impl HostFile {
    fn is_json(&self) -> bool {
        !self.path.contains(".toml")
    }

    fn at(&self, world: &World) -> PathBuf {
        world.path("home").join(self.path)
    }

    fn write(&self, world: &World, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(world).parent().unwrap()).unwrap();
        fs::write(self.at(world), text).unwrap();
    }

    fn read(&self, world: &World) -> String {
        fs::read_to_string(self.at(world)).unwrap()
    }

    /// Installs, and checks that the file has our entries and kept the user's.
    fn install(&self, world: &World) -> String {
        world.text(&["install", "--host", self.host, "--yes"]);
        let text = self.read(world);
        assert!(text.contains("remora"), "{}: {text}", self.path);
        assert_eq!(world.json(&["install", "--host", self.host, "--yes"])["done"], json!([]), "{text}");
        text
    }

    fn uninstall(&self, world: &World) {
        world.text(&["uninstall", "--host", self.host, "--yes"]);
    }

    /// Checks that the installation is refused for this reason and changes nothing in the home.
    fn is_refused(&self, world: &World, reason: &str) {
        let before = tree(&world.path("home"));
        let output = world.remora(&["install", "--host", self.host, "--yes"]);
        assert_eq!(output.status.code(), Some(1), "{}: {output:?}", self.path);
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().find(|line| line.contains("refused") && line.contains(self.path));
        assert!(line.is_some_and(|line| line.contains(reason)), "{}: {said}", self.path);
        assert_eq!(tree(&world.path("home")), before, "{}", self.path);
    }
}

/// Every file below a folder with its content, or its target if it is a link.
fn tree(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".remora") {
            continue;
        }
        if path.is_symlink() {
            all.push((path.clone(), fs::read_link(&path).unwrap().display().to_string()));
        } else if path.is_dir() {
            all.push((path.clone(), "folder".into()));
            all.extend(tree(&path));
        } else {
            all.push((path.clone(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
    }
    all.sort();
    all
}

fn each(test: impl Fn(&HostFile, &World)) {
    for file in HOST_FILES {
        test(file, &World::new());
    }
}

#[test]
fn a_missing_file_is_created_and_removed_again() {
    each(|file, world| {
        let before = tree(&world.path("home"));
        file.install(world);
        file.uninstall(world);
        assert_eq!(tree(&world.path("home")), before);
    });
}

#[test]
fn an_empty_file_is_filled_and_empty_again() {
    for text in ["", "\n"] {
        each(|file, world| {
            file.write(world, text);
            file.install(world);
            file.uninstall(world);
            assert_eq!(file.read(world), text);
        });
    }
}

#[test]
fn an_invalid_file_is_refused_with_the_line() {
    each(|file, world| {
        file.write(
            world,
            if file.is_json() { "{\n  \"a\": 1\n  \"b\": 2\n}\n" } else { "a = 1\n\nb = = 2\n" },
        );
        file.is_refused(world, "line 3");
        file.write(world, [0xff, 0xfe, b'{', 0, b'}', 0]);
        file.is_refused(world, "not UTF-8");
        let wrong = if file.is_json() {
            "{\"hooks\": 1, \"mcpServers\": [], \"mcp\": 2}"
        } else {
            "mcp_servers = 1\n"
        };
        file.write(world, wrong);
        file.is_refused(world, "is not");
        if file.is_json() {
            file.write(world, "[1, 2]");
            file.is_refused(world, "it is not an object");
        }
    });
}

#[test]
fn only_the_refused_files_of_a_refused_agent_are_listed() {
    let world = World::new();
    let file = &HOST_FILES[1];
    file.write(&world, "[1, 2]");
    let output = world.remora(&["install", "--host", file.host, "--host", "codex", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = world.neutral(&output.stdout);
    assert!(
        !said.contains("settings.json") && said.contains("create     [TEMP]/home/.codex/hooks.json"),
        "{said}"
    );
    assert!(contains(&output.stderr, "repeat: `remora install --host claude-code`"), "{output:?}");
    assert!(contains(&output.stderr, "as usual"), "Codex is installed: {output:?}");
}

#[test]
fn comments_and_order_stay() {
    each(|file, world| {
        let text = if file.is_json() {
            file.theirs.replacen('{', "{ // why\n  /* all */", 1)
        } else {
            file.theirs.to_owned()
        };
        file.write(world, &text);
        let shown = world.text(&["install", "--host", file.host, "--dry-run"]);
        let is_ignored = file.is_json() && matches!(file.host, "claude-code" | "codex");
        assert_eq!(shown.contains("ignores a file with comments"), is_ignored, "{shown}");
        let merged = file.install(world);
        let comments =
            if file.is_json() { ["// why\n", "/* all */"] } else { ["# mine\nmodel", "\"gpt-5\" # best\n"] };
        assert!(comments.iter().all(|comment| merged.contains(comment)), "{merged}");
        file.uninstall(world);
        assert_eq!(file.read(world), text);
    });
}

#[test]
fn a_read_only_file_is_refused() {
    each(|file, world| {
        file.write(world, file.theirs);
        fs::set_permissions(file.at(world), Permissions::from_mode(0o444)).unwrap();
        file.is_refused(world, "read-only");
    });
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_changed() {
    each(|file, world| {
        let real = world.path("dotfiles");
        fs::write(&real, file.theirs).unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        fs::create_dir_all(file.at(world).parent().unwrap()).unwrap();
        symlink(&real, file.at(world)).unwrap();
        file.install(world);
        assert!(file.at(world).is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        file.uninstall(world);
        assert_eq!(fs::read_to_string(&real).unwrap(), file.theirs);
        assert!(file.at(world).is_symlink());

        fs::remove_file(&real).unwrap();
        file.is_refused(world, "a link to a file that is not there");
    });
}

#[test]
fn a_file_keeps_its_owner() {
    let world = World::new();
    let file = &HOST_FILES[0];
    file.write(&world, file.theirs);
    if chown(file.at(&world), Some(1234), Some(1234)).is_err() {
        // Only root can give a file away.
        return;
    }
    let owner = || fs::metadata(file.at(&world)).map(|file| (file.uid(), file.gid())).unwrap();
    file.install(&world);
    assert_eq!(owner(), (1234, 1234));
    file.uninstall(&world);
    assert_eq!(owner(), (1234, 1234));
    // Another user may write to the folder, but cannot keep the owner.
    for folder in [world.path(""), world.path("home"), world.path("home/.claude"), world.project()] {
        fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    }
    fs::set_permissions(file.at(&world), Permissions::from_mode(0o666)).unwrap();
    let other = world.path("other");
    let mut command = world.command(&["install", "--host", file.host, "--yes"]);
    let output = command.env("REMORA_DATA_DIR", &other).uid(4321).gid(4321).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(contains(&output.stdout, "it belongs to user 1234 and group 1234"), "{output:?}");
    assert_eq!((owner(), file.read(&world)), ((1234, 1234), file.theirs.to_owned()));
}

#[test]
fn hooks_and_servers_of_other_programs_are_kept() {
    each(|file, world| {
        file.write(world, file.theirs);
        let merged = file.install(world);
        assert!(merged.contains("say done") || merged.contains("other"), "{merged}");
        // Another program adds an entry after ours, so the file is no longer as we wrote it.
        let theirs = |text: &str| {
            if file.is_json() {
                text.trim_end().strip_suffix('}').unwrap().trim_end().to_owned() + ",\n\"added\": true}\n"
            } else {
                format!("{text}\n[added]\nyes = true\n")
            }
        };
        file.write(world, theirs(&merged));
        assert_eq!(world.json(&["install", "--host", file.host, "--yes"])["done"], json!([]));
        let said = world.text(&["uninstall", "--host", file.host, "--yes"]);
        assert!(said.contains("others have changed it"), "{said}");
        let left = file.read(world);
        assert!(!left.contains("remora"), "{left}");
        if file.is_json() {
            let expected: Value = serde_json::from_str(&theirs(file.theirs)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&left).unwrap(), expected, "{left}");
        } else {
            assert_eq!(left, theirs(file.theirs));
        }
    });
}

#[test]
fn an_older_version_of_ours_is_replaced_and_never_doubled() {
    let world = World::new();
    let (settings, hooks) = (&HOST_FILES[0], &HOST_FILES[2]);
    let old = |host: &str| {
        json!({"hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": format!("remora hook {host}")}]},
                {"hooks": [{"type": "command", "command": "say done"}, {"type": "command", "command": format!("'/old place/remora' hook {host}")}]},
            ],
            "Notification": [{"hooks": [{"type": "command", "command": format!("/old/remora hook {host}"), "timeout": 60}]}],
        }})
    };
    for file in [settings, hooks] {
        file.write(&world, serde_json::to_string_pretty(&old(file.host)).unwrap());
        let merged: Value = serde_json::from_str(&file.install(&world)).unwrap();
        let stop = merged["hooks"]["Stop"].as_array().unwrap();
        assert_eq!(stop.len(), 2, "{merged}");
        assert_eq!(stop[0], json!({"hooks": [{"type": "command", "command": "say done"}]}));
        assert_eq!(merged["hooks"]["Notification"], Value::Null);
        file.uninstall(&world);
        let left: Value = serde_json::from_str(&file.read(&world)).unwrap();
        assert_eq!(
            left,
            json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}})
        );
    }
}

#[test]
fn windows_line_ends_stay() {
    each(|file, world| {
        let text = file.theirs.replace('\n', "\r\n");
        file.write(world, &text);
        let merged = file.install(world);
        assert_eq!(merged.matches('\n').count(), merged.matches("\r\n").count(), "{merged:?}");
        file.uninstall(world);
        assert_eq!(file.read(world), text);
    });
}

#[test]
fn a_byte_order_mark_stays() {
    each(|file, world| {
        let text = format!("\u{feff}{}", file.theirs);
        file.write(world, &text);
        let merged = file.install(world);
        assert_eq!(merged.matches('\u{feff}').count(), 1);
        assert!(merged.starts_with('\u{feff}'));
        file.uninstall(world);
        assert_eq!(file.read(world), text);
    });
}

#[test]
fn a_large_file_is_merged_and_a_huge_one_refused() {
    each(|file, world| {
        let padding = "x".repeat(1 << 20);
        let text = if file.is_json() {
            file.theirs.replacen('{', &format!("{{\"padding\": \"{padding}\","), 1)
        } else {
            format!("padding = \"{padding}\"\n{}", file.theirs)
        };
        file.write(world, &text);
        file.install(world);
        file.uninstall(world);
        assert_eq!(file.read(world), text);
        fs::File::options().write(true).open(file.at(world)).unwrap().set_len(32 << 20).unwrap();
        file.is_refused(world, "32 MB");
    });
}

#[test]
fn a_file_that_changes_while_the_user_is_asked_is_not_overwritten() {
    each(|file, world| {
        file.write(world, file.theirs);
        let mut terminal = Terminal::start(world, &["install", "--host", file.host]);
        terminal.wait_for("[Y/n]");
        let changed = file.theirs.replace("done", "finished").replace("other", "another");
        file.write(world, &changed);
        // If it were not refused, more questions would follow. The end of input would answer them.
        terminal.say("y\n\u{4}");
        let said = terminal.end();
        assert!(said.contains("another program has changed it meanwhile"), "{said}");
        let again = format!("repeat: `remora install --host {}`", file.host);
        assert!(said.contains(&again) && !said.contains("as usual"), "{said}");
        assert_eq!(file.read(world), changed);
        let others = tree(&world.path("home")).into_iter().filter(|(_, text)| text.contains("remora"));
        assert_eq!(others.collect::<Vec<_>>(), [], "a host is changed completely or not at all");
        assert!(!world.data().join("installed.json").exists());
    });
}

/// A user at a terminal.
pub(crate) struct Terminal {
    child: std::process::Child,
    control: fs::File,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        Self::run(&mut world.command(arguments))
    }

    fn run(command: &mut std::process::Command) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap();
        let line = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let copy = || line.try_clone().unwrap();
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().unwrap();
        Self { child, control: control.into(), seen: String::new() }
    }

    pub(crate) fn wait_for(&mut self, text: &str) {
        use std::io::Read as _;
        let mut buffer = [0; 4096];
        while !self.seen.contains(text) {
            let number = self.control.read(&mut buffer).unwrap();
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..number]));
        }
    }

    pub(crate) fn say(&mut self, text: &str) {
        use std::io::Write as _;
        self.control.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn end(mut self) -> String {
        use std::io::Read as _;
        let mut buffer = [0; 4096];
        // The terminal closes when the program ends, which the reader sees as an error.
        while let Ok(number) = self.control.read(&mut buffer)
            && number > 0
        {
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..number]));
        }
        self.child.wait().unwrap();
        self.seen
    }
}

#[test]
fn nothing_is_changed_without_consent() {
    let world = World::new();
    fs::create_dir_all(world.path("home/.claude")).unwrap();
    let before = tree(&world.path("home"));
    let dry = world.text(&["install", "--dry-run"]);
    assert!(
        dry.contains("Claude Code") && !dry.contains("Codex") && dry.contains("+  \"hooks\": {"),
        "{dry}"
    );
    assert!(!world.data().exists(), "a dry run creates no files");
    let asked = world.remora(&["install"]);
    assert_eq!(asked.status.code(), Some(2));
    assert!(contains(&asked.stderr, "`remora install --yes`"), "{asked:?}");
    let asked = world.remora(&["install", "--host", "codex", "--no-allow"]);
    assert!(contains(&asked.stderr, "`remora install --host codex --no-allow --yes`"), "{asked:?}");
    fs::write(
        world.path("home/.claude.json"),
        r#"{"mcpServers": {"remora": {"command": "/x/remora", "args": ["mcp"]}}}"#,
    )
    .unwrap();
    let asked = world.remora(&["uninstall", "--host", "claude-code"]);
    assert!(contains(&asked.stderr, "`remora uninstall --host claude-code --yes`"), "{asked:?}");
    fs::remove_file(world.path("home/.claude.json")).unwrap();
    assert_eq!(tree(&world.path("home")), before);
    fs::remove_dir(world.path("home/.claude")).unwrap();
    let nobody = world.remora(&["install", "--yes"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(contains(&nobody.stderr, "remora install --host claude-code"), "{nobody:?}");
}

#[test]
fn hosts_are_found_by_their_program_or_their_configuration() {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("codex"), "").unwrap();
    let install = || world.command(&["install", "--yes"]).env("PATH", &bin).output().unwrap();
    assert_eq!(install().status.code(), Some(1), "a file that is not executable is not a program");
    fs::set_permissions(bin.join("codex"), Permissions::from_mode(0o755)).unwrap();
    let output = install();
    assert!(output.status.success(), "{output:?}");
    assert!(world.path("home/.codex/hooks.json").exists() && !world.path("home/.claude").exists());
    let elsewhere = world.path("elsewhere");
    let mut command = world.command(&["install", "--host", "claude-code", "--yes"]);
    assert!(command.env("CLAUDE_CONFIG_DIR", &elsewhere).output().unwrap().status.success());
    assert!(elsewhere.join("settings.json").exists() && elsewhere.join(".claude.json").exists());
}

#[test]
fn rules_are_left_out_on_request_and_tools_are_named() {
    let world = World::new();
    world.text(&["install", "--host", "claude-code", "--host", "codex", "--yes", "--no-allow"]);
    let all: String = tree(&world.path("home")).into_iter().map(|(_, text)| text).collect();
    assert!(
        !all.contains("mcp__remora__") && !all.contains("approve") && !all.contains("prefix_rule"),
        "{all}"
    );
    assert_eq!(world.text(&["config", "get", "context.mcp_hosts"]), "[\"claude-code\", \"codex\"]\n");
    world.text(&["uninstall", "--host", "codex", "--yes"]);
    assert_eq!(world.text(&["config", "get", "context.mcp_hosts"]), "[\"claude-code\"]\n");
    world.text(&["uninstall", "--yes"]);
    assert_eq!(world.text(&["config", "get", "context.mcp_hosts"]), "[]\n");
}

#[test]
fn an_installation_for_a_project_has_its_own_files() {
    let world = World::new();
    fs::create_dir(world.project().join(".git")).unwrap();
    let before = (tree(&world.path("home")), tree(&world.project()));
    world.text(&["install", "--host", "claude-code", "--host", "codex", "--project", "--yes"]);
    for name in [".claude/settings.local.json", ".codex/hooks.json", ".codex/config.toml"] {
        assert!(world.project().join(name).exists(), "{name}");
    }
    let state: Value = serde_json::from_slice(&fs::read(world.path("home/.claude.json")).unwrap()).unwrap();
    let project = world.project().to_string_lossy().into_owned();
    assert_eq!(state["projects"][&project]["mcpServers"]["remora"]["alwaysLoad"], true);
    world.text(&["uninstall", "--yes"]);
    assert_eq!((tree(&world.path("home")), tree(&world.project())), before);
}

#[test]
fn doctor_examines_and_repairs_installations_for_a_project() {
    let world = World::new();
    fs::create_dir(world.project().join(".git")).unwrap();
    world.text(&["install", "--host", "claude-code", "--host", "codex", "--project", "--yes"]);
    let doctor = world.text(&["doctor"]);
    assert!(doctor.contains("hooks installed in Claude Code in [TEMP]/project"), "{doctor}");
    assert!(doctor.contains("Codex in [TEMP]/project runs the hooks only after"), "{doctor}");
    for folder in [".claude", ".codex"] {
        fs::remove_dir_all(world.project().join(folder)).unwrap();
    }
    let doctor = world.remora(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{doctor:?}");
    assert!(contains(&doctor.stdout, "project/.claude/settings.local.json is missing"), "{doctor:?}");
    assert!(world.text(&["status"]).contains("not in order in Claude Code in [TEMP]/project, Codex in"));
    assert!(world.remora(&["doctor", "--fix"]).status.success());
    assert!(world.project().join(".codex/hooks.json").exists());
}

#[test]
fn a_project_that_was_moved_is_reported_and_can_be_cleaned() {
    let world = World::new();
    fs::create_dir(world.project().join(".git")).unwrap();
    world.text(&["install", "--host", "claude-code", "--project", "--yes"]);
    let moved = world.path("moved");
    fs::rename(world.project(), &moved).unwrap();
    let remora = |arguments: &[&str]| {
        let output = world.command(arguments).current_dir(&moved).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        world.neutral(&output.stdout)
    };
    let doctor = remora(&["doctor"]);
    let hint = "`remora uninstall --project=[TEMP]/project`";
    assert!(doctor.contains("[TEMP]/project, which is not there") && doctor.contains(hint), "{doctor}");
    let said = remora(&["uninstall", "--dry-run"]);
    assert!(said.contains("the directory is not there"), "{said}");
    remora(&["uninstall", &format!("--project={}", world.project().display()), "--yes"]);
    assert!(!world.data().join("installed.json").exists());
    // What moved with it is recognised without a receipt.
    remora(&["uninstall", "--project", "--yes"]);
    let left = tree(&moved);
    assert!(left.iter().all(|(_, text)| !text.contains("\"hooks\"")), "{left:?}");
}

#[test]
fn uninstall_covers_the_project_and_the_user() {
    for before in [None, Some("{\n  \"numStartups\": 3\n}\n")] {
        let world = World::new();
        let state = world.path("home/.claude.json");
        if let Some(before) = before {
            fs::write(&state, before).unwrap();
        }
        world.text(&["install", "--host", "claude-code", "--yes"]);
        world.text(&["install", "--host", "claude-code", "--project", "--yes"]);
        assert_eq!(fs::read_to_string(&state).unwrap().matches("\"mcp\"").count(), 2);
        world.text(&["uninstall", "--yes"]);
        assert_eq!(fs::read_to_string(&state).ok().as_deref(), before);
        assert_eq!(tree(&world.project()), [], "nothing is left in the project");
        let again = world.text(&["uninstall", "--yes"]);
        assert!(!again.contains("remora.json") && !again.contains("clean"), "{again}");
    }
}

#[test]
fn uninstalling_from_one_agent_does_not_mention_the_others() {
    let world = World::new();
    world.text(&["install", "--host", "claude-code", "--host", "codex", "--yes"]);
    assert!(world.text(&["uninstall", "--host", "codex", "--yes"]).contains("Remora is out of Codex."));
    assert!(world.text(&["uninstall", "--host", "codex", "--yes"]).contains("not installed there"));
    assert!(world.text(&["uninstall", "--yes"]).contains("Remora is out of your agents."));
}

#[test]
fn installations_at_the_same_time_do_not_harm_each_other() {
    let world = World::new();
    let before = tree(&world.path("home"));
    let mut hosts: Vec<&str> = HOST_FILES.iter().map(|file| file.host).collect();
    hosts.dedup();
    for verb in ["install", "uninstall"] {
        // Each twice, so that some also meet at the same files.
        let run = |host: &&str| {
            let mut command = world.command(&[verb, "--host", *host, "--yes"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let running: Vec<_> = hosts.iter().chain(&hosts).map(run).collect();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        if verb == "install" {
            let receipt: Value =
                serde_json::from_slice(&fs::read(world.data().join("installed.json")).unwrap()).unwrap();
            assert_eq!(receipt["installed"].as_array().unwrap().len(), hosts.len(), "{receipt}");
            assert!(world.text(&["install", "--yes"]).contains("Everything is installed."));
        }
    }
    assert_eq!(tree(&world.path("home")), before);
}

#[test]
fn hooks_use_the_data_directory_they_were_installed_with() {
    let world = World::new();
    let before = tree(&world.path("home"));
    let data = world.path("my memory");
    let remora = |arguments: &[&str]| {
        let output = world.command(arguments).env("REMORA_DATA_DIR", &data).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    };
    let hosts = ["--host", "claude-code", "--host", "gemini"];
    let installed = remora(&[&["install", "--yes"][..], &hosts].concat());
    assert!(contains(&installed.stderr, "Hooks use the memory in"), "{installed:?}");
    let read =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(world.path(path)).unwrap()).unwrap() };
    // The hosts are started without the variable.
    let hook = &read("home/.claude/settings.json")["hooks"]["PostToolUse"][0]["hooks"][0];
    let arguments: Vec<&str> =
        hook["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let mut claude = world.command(&arguments);
    crate::support::assert_harmless(&crate::support::run_hook(
        &mut claude,
        world.tool("t1").to_string().as_bytes(),
    ));
    let command = &read("home/.gemini/settings.json")["hooks"]["SessionStart"][0]["hooks"][0]["command"];
    let mut gemini = std::process::Command::new("sh");
    gemini.args(["-c", command.as_str().unwrap()]).env_clear().current_dir(world.project());
    gemini.envs(claude.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let message = json!({"session_id": "g1", "hook_event_name": "SessionStart", "source": "startup", "cwd": world.project()});
    crate::support::assert_harmless(&crate::support::run_hook(&mut gemini, message.to_string().as_bytes()));
    assert!(!world.data().exists());
    let status: Value = serde_json::from_slice(&remora(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["counts"]["sessions"], 2, "{status}");
    let server = &read("home/.claude.json")["mcpServers"]["remora"];
    assert_eq!(server["args"], json!(["mcp", "--data-dir", data]));
    assert!(contains(&remora(&["doctor"]).stdout, "hooks installed in Claude Code"));
    remora(&["uninstall", "--yes"]);
    assert_eq!(tree(&world.path("home")), before);
}

#[test]
fn our_entries_are_recognised_without_a_receipt() {
    let world = World::new();
    for file in HOST_FILES {
        file.write(&world, file.theirs);
    }
    world.text(&["install", "--yes"]);
    fs::remove_dir_all(world.data()).unwrap();
    world.text(&["uninstall", "--yes"]);
    for file in HOST_FILES {
        let left = file.read(&world).replace("mcp__remora__", "").replace("Bash(remora", "");
        assert!(!left.contains("remora"), "{left}");
    }
}

#[test]
fn whole_files_of_ours_are_recognised_without_a_receipt() {
    const WHOLE: &[(&str, &str)] = &[
        ("copilot", ".copilot/hooks/remora.json"),
        ("opencode", ".config/opencode/plugin/remora.js"),
        ("codex", ".codex/rules/remora.rules"),
        ("gemini", ".gemini/policies/remora.toml"),
    ];
    for (host, path) in WHOLE {
        let world = World::new();
        let path = world.path("home").join(path);
        let install = || world.remora(&["install", "--host", host, "--yes"]);
        install();
        let ours = fs::read_to_string(&path).unwrap();
        // Another version of Remora in another place installed it, and its receipt is gone.
        let program = env!("CARGO_BIN_EXE_remora");
        let other = ours.replace(program, "/opt/remora").replace("timeline", "timelines");
        for text in [&other, ""] {
            fs::remove_dir_all(world.data()).unwrap();
            fs::write(&path, text).unwrap();
            let output = install();
            assert!(output.status.success(), "{host}: {output:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), ours);
        }
        fs::remove_dir_all(world.data()).unwrap();
        fs::write(&path, &other).unwrap();
        world.text(&["uninstall", "--yes"]);
        assert!(!path.exists(), "{host}");

        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"theirs\": true}").unwrap();
        let refused = install();
        assert!(contains(&refused.stdout, "there is a file of another program"), "{refused:?}");
        world.text(&["uninstall", "--yes"]);
        assert!(path.exists());
    }
}

#[test]
fn purge_deletes_the_memory_and_nothing_else_does() {
    let world = World::new();
    world.hook(&world.tool("t1"));
    world.text(&["install", "--host", "claude-code", "--yes"]);
    world.text(&["uninstall", "--yes"]);
    assert!(world.data().join("remora.db").exists());
    assert!(!world.data().join("installed.json").exists() && !world.data().join("installed").exists());
    let purged = world.json(&["uninstall", "--purge", "--yes"]);
    assert!(!world.data().exists());
    // A purge by mistake can be undone.
    let backup = purged["backup"].as_str().unwrap();
    assert_eq!(tree(&world.path("home")).len(), 1, "{purged}");
    world.text(&["restore", "--yes", backup]);
    assert_eq!(world.count("sessions"), 1);
    fs::remove_file(backup).unwrap();
    world.text(&["uninstall", "--purge", "--no-backup", "--yes"]);
    assert_eq!(tree(&world.path("home")), []);
}

#[test]
fn uninstall_takes_memory_out_of_context_files() {
    for purge in [&[][..], &["--purge", "--no-backup"]] {
        let world = newcomer();
        let claude_md = world.project().join("CLAUDE.md");
        fs::write(&claude_md, "# Mine\n").unwrap();
        let before = tree(&world.project());
        world.text(&["save", "Deploys happen on Tuesdays"]);
        world.text(&["install", "--yes"]);
        world.text(&["context-files", "enable", "--claude-md", "--cursor"]);
        assert!(fs::read_to_string(&claude_md).unwrap().contains("Tuesdays"));

        let one = world.remora(&["uninstall", "--host", "claude-code", "--yes"]);
        assert!(contains(&one.stderr, "Context files stay"), "{one:?}");
        assert!(fs::read_to_string(&claude_md).unwrap().contains("Tuesdays"));

        let dry = world.text(&[&["uninstall", "--dry-run"], purge].concat());
        assert!(dry.contains("project/CLAUDE.md") && dry.contains("remora-context.mdc"), "{dry}");
        let rules = world.project().join(".cursor/rules/remora-context.mdc");
        assert!(rules.exists());
        world.text(&[&["uninstall", "--yes"], purge].concat());
        let left = tree(&world.project());
        let is_exclude = |(path, _): &(PathBuf, String)| path.starts_with(world.project().join(".git/info"));
        assert_eq!(left.iter().filter(|file| !is_exclude(file)).cloned().collect::<Vec<_>>(), before);
        assert!(
            left.iter().filter(|file| is_exclude(file)).all(|(_, text)| !text.contains("remora")),
            "{left:?}"
        );
        assert_eq!(world.data().exists(), purge.is_empty());
    }
}

#[test]
fn a_context_file_that_cannot_be_changed_stops_the_purge() {
    let world = newcomer();
    world.text(&["save", "Deploys happen on Tuesdays"]);
    world.text(&["context-files", "enable", "--claude-md"]);
    let claude_md = world.project().join("CLAUDE.md");
    let text = fs::read_to_string(&claude_md).unwrap();
    // Without the end mark, nobody knows what is the user's.
    fs::write(&claude_md, text.replace("<!-- remora:end -->", "")).unwrap();
    let stopped = world.remora(&["uninstall", "--purge", "--no-backup", "--yes"]);
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    assert!(contains(&stopped.stdout, "CLAUDE.md: it still has a section"), "{stopped:?}");
    assert!(world.data().join("remora.db").exists());
    // A directory that is gone does not stop it.
    fs::remove_dir_all(world.project()).unwrap();
    fs::create_dir(world.project()).unwrap();
    world.text(&["uninstall", "--purge", "--no-backup", "--yes"]);
    assert!(!world.data().exists());
}

#[test]
fn purge_needs_a_typed_yes() {
    let world = World::new();
    world.text(&["save", "Deploys happen on Tuesdays"]);
    let mut terminal = Terminal::start(&world, &["uninstall", "--purge"]);
    terminal.wait_for("delete the memory? [y/N]");
    terminal.say("\n");
    assert!(terminal.end().contains("Nothing was changed."));
    assert!(world.data().join("remora.db").exists());
}

#[test]
fn a_memory_that_cannot_be_backed_up_is_not_purged() {
    let world = World::new();
    world.text(&["save", "Deploys happen on Tuesdays"]);
    fs::write(world.data().join("remora.db"), "not a database, but perhaps still of use to somebody")
        .unwrap();
    let stopped = world.remora(&["uninstall", "--purge", "--yes"]);
    assert_eq!(stopped.status.code(), Some(3), "{stopped:?}");
    assert!(contains(&stopped.stderr, "`remora uninstall --purge --no-backup`"), "{stopped:?}");
    assert!(world.data().join("remora.db").exists());
    world.text(&["uninstall", "--purge", "--no-backup", "--yes"]);
    assert!(!world.data().exists());
}

/// A project in git, one agent, and a past session of that agent.
fn newcomer() -> World {
    let world = World::new();
    fs::create_dir_all(world.project().join(".git")).unwrap();
    fs::write(world.project().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let folder = world.path("home/.claude/projects/-project");
    fs::create_dir_all(&folder).unwrap();
    let line = |kind: &str, message: Value, number: u32| {
        json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "5b1c9c1e-0000-4000-8000-000000000001",
            "cwd": world.project(), "version": "2.1.0", "isSidechain": false, "userType": "external",
            "timestamp": format!("2026-03-10T09:00:0{number}.000Z"), "message": message})
        .to_string()
    };
    let lines = [
        line("user", json!({"role": "user", "content": "Why is the deploy slow?"}), 1),
        line(
            "assistant",
            json!({"role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text",
                "text": "The deploy is slow because the image is built without a cache, so every layer is made anew."}]}),
            2,
        ),
    ];
    fs::write(folder.join("5b1c9c1e-0000-4000-8000-000000000001.jsonl"), lines.join("\n") + "\n").unwrap();
    world
}

#[test]
fn a_person_is_asked_who_writes_the_memory_and_whether_to_fill_it() {
    let world = newcomer();
    let mut terminal = Terminal::start(&world, &["install"]);
    terminal.wait_for("Make these changes?");
    terminal.say("y\n");
    terminal.wait_for("Enter for builtin:");
    terminal.say("seven\n");
    terminal.wait_for("Please type a number");
    terminal.say("3\n");
    terminal.wait_for("Fill the memory from it? [Y/n]");
    terminal.say("\n");
    terminal.wait_for("Keep memory in CLAUDE.md of this project? [y/N]");
    terminal.say("\n");
    let said = terminal.end();
    for part in [
        "free, offline",
        "at Anthropic's price",
        "remora config set anthropic.api_key -",
        "1 past session of claude-code",
        "costs nothing",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(world.text(&["config", "get", "observer.provider"]), "anthropic\n");
    assert!(world.text(&["show", "t1"]).contains("built without a cache"), "{said}");
    assert!(!world.project().join("CLAUDE.md").exists(), "context files need consent");
}

#[test]
fn the_observers_line_up_at_a_narrow_terminal() {
    let world = newcomer();
    let mut terminal = Terminal::run(world.command(&["install"]).env("COLUMNS", "80"));
    terminal.wait_for("Make these changes?");
    terminal.say("y\n");
    terminal.wait_for("Enter for builtin:");
    terminal.say("\u{4}\u{4}\u{4}");
    let said = terminal.end();
    let list = said.split("Who writes the memory?").nth(1).unwrap().split("A model is asked").next().unwrap();
    let lines: Vec<&str> = list.trim_matches(['\r', '\n']).lines().collect();
    assert!(lines.len() > 6, "some wrap: {list}");
    for line in lines {
        let is_first = line.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
        let is_next =
            line.starts_with(&" ".repeat(17)) && line.as_bytes().get(17).is_some_and(|byte| *byte != b' ');
        assert!((is_first || is_next) && line.chars().count() <= 80, "{line:?} in {list}");
    }
}

#[test]
fn the_receipt_of_a_newer_version_is_not_used() {
    let world = World::new();
    world.text(&["install", "--host", "codex", "--yes"]);
    let receipt = world.data().join("installed.json");
    let text = fs::read_to_string(&receipt).unwrap().replace("\"format\": 1", "\"format\": 99");
    fs::write(&receipt, &text).unwrap();
    for arguments in [["install", "--yes"], ["uninstall", "--yes"]] {
        let output = world.remora(&arguments);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(
            contains(&output.stderr, "newer Remora") && contains(&output.stderr, "remora update"),
            "{output:?}"
        );
    }
    assert!(contains(&world.remora(&["doctor"]).stdout, "a newer Remora wrote it"));
    assert_eq!(fs::read_to_string(&receipt).unwrap(), text);
}

#[test]
fn without_a_terminal_the_defaults_are_safe_and_options_decide() {
    let world = newcomer();
    world.text(&["install", "--yes"]);
    assert_eq!(world.text(&["config", "get", "observer.provider"]), "builtin\n");
    assert_eq!(world.count("sessions"), 0);
    assert!(!world.project().join("CLAUDE.md").exists());
    // Options also apply if the hooks are already installed.
    let again = world.remora(&["install", "--yes", "--provider", "gemini"]);
    assert!(again.status.success() && contains(&again.stderr, "gemini.api_key"), "{again:?}");
    assert_eq!(world.text(&["config", "get", "observer.provider"]), "gemini\n");
    let unknown = world.remora(&["install", "--yes", "--provider", "oracle"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    fs::create_dir_all(world.path("home/.cursor")).unwrap();
    world.text(&["save", "Deploys happen on Tuesdays"]);
    world.text(&["install", "--yes", "--context-files"]);
    assert!(world.project().join(".cursor/rules/remora-context.mdc").exists());
}

#[test]
fn a_stale_receipt_is_reported_at_the_start_and_doctor_refreshes_it() {
    let world = World::new();
    world.text(&["install", "--host", "claude-code", "--yes"]);
    let start = |id: &str| {
        let mut message = world.message("SessionStart", &json!({"source": "startup"}));
        message["session_id"] = id.into();
        let ran = crate::support::run_hook(&mut world.hook_command(), message.to_string().as_bytes());
        crate::support::assert_harmless(&ran);
        String::from_utf8(ran.output.stdout).unwrap()
    };
    assert!(!start("one").contains("doctor --fix"));
    let receipt = world.data().join("installed.json");
    let text = fs::read_to_string(&receipt).unwrap().replace("\"format\": 1,", "\"format\": 0,");
    fs::write(&receipt, text).unwrap();
    let answer: Value = serde_json::from_str(&start("two")).unwrap();
    assert!(answer["systemMessage"].as_str().unwrap().contains("`remora doctor --fix`"), "{answer}");
    let doctor = world.remora(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(contains(&doctor.stdout, "older Remora"), "{doctor:?}");
    assert!(world.remora(&["doctor", "--fix"]).status.success());
    assert!(!start("three").contains("doctor --fix"));
}

#[test]
fn status_and_doctor_say_where_hooks_are_missing() {
    let world = World::new();
    let status = world.text(&["status"]);
    assert!(status.contains("hooks not installed: `remora install`"), "{status}");
    fs::create_dir_all(world.path("home/.claude")).unwrap();
    assert!(world.text(&["status"]).contains("hooks not installed in Claude Code: `remora install`"));
    let doctor = world.remora(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(contains(&doctor.stdout, "hooks not installed in Claude Code"), "{doctor:?}");
    world.text(&["install", "--yes"]);
    assert!(world.text(&["status"]).contains("installed in Claude Code\n"));
    assert!(world.text(&["doctor"]).contains("installed in Claude Code"));
    // Half of the hooks are removed by hand.
    let settings = world.path("home/.claude/settings.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    value["hooks"].as_object_mut().unwrap().remove("Stop");
    fs::write(&settings, value.to_string()).unwrap();
    let doctor = world.remora(&["doctor"]);
    assert!(contains(&doctor.stdout, "settings.json was changed since"), "{doctor:?}");
    assert!(world.remora(&["doctor", "--fix"]).status.success());
}

#[test]
fn hooks_that_codex_does_not_trust_are_reported() {
    let world = World::new();
    world.text(&["install", "--host", "codex", "--yes"]);
    let doctor = world.text(&["doctor"]);
    assert!(doctor.contains("Codex runs the hooks only after you have reviewed them"), "{doctor}");
    let config = world.path("home/.codex/config.toml");
    let mut text = fs::read_to_string(&config).unwrap();
    let hooks = world.path("home/.codex/hooks.json");
    for event in [
        "session_start",
        "user_prompt_submit",
        "pre_tool_use",
        "post_tool_use",
        "subagent_stop",
        "stop",
        "session_end",
    ] {
        let key = format!("{}:{event}:0:0", hooks.display());
        text.extend(["\n[hooks.state.\"", &key, "\"]\ntrusted_hash = \"sha256:00\"\n"]);
    }
    fs::write(&config, text).unwrap();
    assert!(world.text(&["doctor"]).contains("installed in Codex"));
    world.text(&["uninstall", "--yes"]);
    assert_eq!(tree(&world.path("home")), [], "the trust entries are removed with the hooks");
}

#[test]
fn the_diff_of_a_file_on_one_line_shows_every_entry() {
    let world = World::new();
    HOST_FILES[0].write(&world, "{\"model\":\"opus\"}");
    let shown = world.text(&["install", "--dry-run"]);
    for entry in ["SessionEnd", "mcp__remora__search", "Bash(remora timeline:*)"] {
        assert!(shown.contains(entry), "{entry}: {shown}");
    }
}

#[test]
fn a_diff_shows_no_secret() {
    let world = World::new();
    let key = [
        "sk-ant-api03-",
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx-AAAAAAAA",
    ]
    .concat();
    HOST_FILES[0].write(&world, format!("{{\n  \"env\": {{\"ANTHROPIC_API_KEY\": \"{key}\"}}\n}}\n"));
    let shown = world.text(&["install", "--dry-run"]);
    assert!(!shown.contains(&key) && shown.contains("[redacted:"), "{shown}");
}

#[test]
fn a_program_with_another_name_is_installed_as_remora() {
    let world = World::new();
    let settings = world.path("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{}\n").unwrap();
    let downloaded = world.path("remora-0.1.0-x86_64");
    fs::copy(env!("CARGO_BIN_EXE_remora"), &downloaded).unwrap();
    let run = |arguments: &[&str]| {
        let own = world.command(arguments);
        let mut command = std::process::Command::new(&downloaded);
        command.args(arguments).env_clear().current_dir(world.project());
        for (name, value) in own.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&["install", "--host", "claude-code", "--yes"]);
    let installed = fs::read_to_string(&settings).unwrap();
    assert!(installed.contains("/.remora/bin/remora") && !installed.contains("x86_64"), "{installed}");
    run(&["install", "--host", "claude-code", "--yes"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), installed, "nothing is added twice");
    // Another program changes the file, so only our entries are removed.
    fs::write(&settings, installed.replacen('{', "{\n  \"model\": \"opus\",", 1)).unwrap();
    run(&["uninstall", "--yes"]);
    let left: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(left, json!({ "model": "opus" }));
}
