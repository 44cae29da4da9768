//! Checks rules of the source code that the compiler and clippy do not know; CONTRIBUTING.md names them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The sources of every crate, without its tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut directories = vec![entry.path().join("src")];
        while let Some(directory) = directories.pop() {
            for file in fs::read_dir(directory).unwrap() {
                let path = file.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let (code, _) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((&text, ""));
                    sources.push((name.clone(), path.clone(), code.to_owned()));
                }
            }
        }
    }
    assert!(sources.len() > 300, "{} files", sources.len());
    sources
}

#[test]
fn limits_are_named_max_and_min() {
    let constant = Regex::new(
        r"\b(?:const|static) (\w*(?:MOST|LONGEST|LARGEST|FEWEST|DEEPEST|LEAST|SHORTEST|NEWEST|OLDEST)(?:_\w*)?)\b:",
    )
    .unwrap();
    assert!(constant.is_match("const MOST_FILES: usize") && !constant.is_match("const MAX_FILES: usize"));
    let mut found = Vec::new();
    for (_, path, code) in sources() {
        found.extend(constant.captures_iter(&code).map(|one| format!("{}: {}", path.display(), &one[1])));
    }
    assert!(found.is_empty(), "use MAX_ or MIN_: {found:#?}");
}

/// Hooks write to the log themselves: a subscriber costs them time, and without one an event of `tracing` is lost.
#[test]
fn only_crates_of_the_background_use_tracing() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let entry = entry.unwrap();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        if manifest.lines().any(|line| line.starts_with("tracing")) {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found.sort();
    assert_eq!(found, ["remora-net", "remora-observer", "remora-server"]);
}

#[test]
fn no_crate_has_two_types_of_one_name() {
    let definition =
        Regex::new(r"(?m)^ *(?:pub(?:\([a-z ]+\))? )?(?:struct|enum|trait|union) (\w+)").unwrap();
    let mut definitions: BTreeMap<(String, String), Vec<PathBuf>> = BTreeMap::new();
    for (name, path, code) in sources() {
        for one in definition.captures_iter(&code) {
            definitions.entry((name.clone(), one[1].to_owned())).or_default().push(path.clone());
        }
    }
    definitions.retain(|_, places| places.len() > 1);
    assert!(definitions.is_empty(), "{definitions:#?}");
}

/// Rows are not the interface: `remora_app::present` makes their JSON, so that a column can change without it.
#[test]
fn the_store_has_no_json_schema() {
    let of_store: Vec<_> = sources().into_iter().filter(|(name, ..)| name == "remora-store").collect();
    assert!(of_store.len() > 50, "{} files", of_store.len());
    let found: Vec<_> = of_store.iter().filter(|(_, _, code)| code.contains("JsonSchema")).collect();
    assert!(found.is_empty(), "belongs in remora_app::present: {:#?}", found.iter().map(|(_, path, _)| path));
}

/// The handles of the store, and the store itself.
const STORE: [&str; 11] = [
    "Store",
    "Queue",
    "Facts",
    "Records",
    "Sessions",
    "Projects",
    "KnownFiles",
    "Injections",
    "Index",
    "Forget",
    "Notes",
];

#[test]
fn the_store_has_few_methods() {
    let block = Regex::new(r"(?ms)^impl(?:<[^>]*>)? (\w+)(?:<[^>]*>)? \{\n(.*?)^\}").unwrap();
    let method = Regex::new(r"(?m)^    pub (?:const )?fn \w+").unwrap();
    let mut methods: BTreeMap<&str, usize> = STORE.iter().map(|name| (*name, 0)).collect();
    for (name, _, code) in sources() {
        for block in block.captures_iter(&code).filter(|_| name == "remora-store") {
            if let Some(number) = methods.get_mut(&block[1]) {
                *number += method.find_iter(&block[2]).count();
            }
        }
    }
    let most = methods.values().max().copied().unwrap_or_default();
    let all: usize = methods.values().sum();
    assert!(methods.values().all(|number| *number > 0), "{methods:#?}");
    assert!(most <= 25 && all <= 150, "at most 25 each and 150 together, but {all}: {methods:#?}");
}
