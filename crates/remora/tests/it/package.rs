//! Packages made by `scripts/package` install without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::World;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reports a skipped test. Not `println!`, because the harness hides its output if the test passes.
fn skipped(reason: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {reason}\n").as_bytes());
}

/// Whether a program is installed. If not, reports that the test is skipped.
fn has(program: &str) -> bool {
    let is_here = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_here {
        skipped(&format!("{program} is not installed"));
    }
    is_here
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// Builds the packages with a small script instead of the real program, but with its version.
fn packages(world: &World) -> PathBuf {
    let program = world.path("program");
    let version = env!("CARGO_PKG_VERSION");
    fs::write(&program, format!("#!/bin/sh\necho remora {version} \"$@\"\n")).unwrap();
    let out = world.path("packages");
    run(Command::new(root().join("scripts/package")).arg(&program).arg("--out").arg(&out));
    out
}

fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_str().unwrap().ends_with(end)).collect()
}

fn answer() -> String {
    format!("remora {} status --json\n", env!("CARGO_PKG_VERSION"))
}

#[test]
fn npm_installs_the_program_of_this_platform() {
    if !has("npm") || !has("python3") {
        return;
    }
    let world = World::new();
    let packages = packages(&world);
    let folder = world.path("npm");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("package.json"), "{}").unwrap();
    let mut install = Command::new("npm");
    install.args(["install", "--offline", "--no-audit", "--no-fund"]).args(ending(&packages, ".tgz"));
    run(install.current_dir(&folder).env("HOME", world.path("home")));
    let program = folder.join("node_modules/.bin/remora");
    let ran = run(Command::new(&program).args(["status", "--json"]));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), answer());

    // Without the package of the platform, the error says what is missing.
    for path in fs::read_dir(folder.join("node_modules")).unwrap().map(|entry| entry.unwrap().path()) {
        if path.file_name().unwrap().to_str().unwrap().starts_with("remora-") {
            fs::remove_dir_all(path).unwrap();
        }
    }
    let failed = Command::new(&program).arg("status").output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("there is no program for"), "{failed:?}");
}

#[test]
fn pip_installs_the_wheel() {
    if !has("python3") {
        return;
    }
    let world = World::new();
    let packages = packages(&world);
    let environment = world.path("venv");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).output().unwrap();
    if !made.status.success() {
        skipped("python3 has no venv");
        return;
    }
    let mut install = Command::new(environment.join("bin/pip"));
    run(install.args(["install", "--no-index", "--no-deps"]).args(ending(&packages, ".whl")));
    let ran = run(Command::new(environment.join("bin/remora")).args(["status", "--json"]));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), answer());
}

#[test]
fn packages_are_the_same_bytes_each_time() {
    if !has("python3") {
        return;
    }
    let world = World::new();
    let read = |folder: &Path| -> Vec<Vec<u8>> {
        let mut files = [ending(folder, ".tgz"), ending(folder, ".whl")].concat();
        files.sort();
        files.iter().map(|file| fs::read(file).unwrap()).collect()
    };
    let first = read(&packages(&world));
    assert_eq!(first.len(), 3);
    assert!(first == read(&packages(&world)));
}

#[test]
fn a_program_in_a_cache_is_copied_for_the_hosts() {
    let world = World::new();
    let cache = world.path("home/.npm/_npx/0a1b/node_modules/remora-linux-x64/bin");
    fs::create_dir_all(&cache).unwrap();
    let program = cache.join("remora");
    fs::hard_link(env!("CARGO_BIN_EXE_remora"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_remora"), &program).map(drop))
        .unwrap();
    let remora = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(world.project());
        command.env("HOME", world.path("home")).env("REMORA_DATA_DIR", world.data());
        run(&mut command)
    };
    remora(&["install", "--yes", "--host", "claude-code"]);
    let kept = world.data().join("bin/remora");
    assert!(kept.is_file());
    let settings = fs::read_to_string(world.path("home/.claude/settings.json")).unwrap();
    assert!(settings.contains(kept.to_str().unwrap()) && !settings.contains("_npx"), "{settings}");
    assert!(settings.contains(&format!("Bash({} show:*)", kept.display())), "{settings}");
    remora(&["uninstall", "--yes"]);
    assert!(!kept.exists());
}

#[test]
fn the_man_page_and_completions_are_made_from_the_commands() {
    let world = World::new();
    let page = world.text(&["man"]);
    assert!(page.contains(".TH remora 1") && page.contains("install"), "{page}");
    // Missing folders are created: `man` finds pages in one that many accounts do not have yet.
    let pages = world.path("share/man/man1");
    world.text(&["man", "--to", pages.to_str().unwrap()]);
    assert!(pages.join("remora.1").is_file() && pages.join("remora-search.1").is_file());
    let refused = world.remora(&["man", "--to", "/proc/nowhere"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(world.text(&["completions", "bash"]).contains("_remora"));
}

#[test]
fn updates_are_never_checked_automatically() {
    let world = World::new();
    let text = world.text(&["update", "--check"]);
    assert!(text.contains("makes no such request by itself"), "{text}");
    assert_eq!(world.json(&["update"])["version"], env!("CARGO_PKG_VERSION"));
}
