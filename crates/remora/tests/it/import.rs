//! Import and export, from a user's view.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{World, contains};

mod claude_mem;
mod lines;
mod transcripts;

/// The counts of a report for one kind of record: read, imported, already there, skipped.
fn tally(report: &Value, kind: &str) -> [u64; 4] {
    let kinds = report["kinds"].as_array().unwrap();
    let Some(tally) = kinds.iter().find(|tally| tally["kind"] == kind) else { return [0; 4] };
    let skipped = tally["skipped"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    [&tally["read"], &tally["imported"], &tally["already_there"]]
        .map(|count| count.as_u64().unwrap())
        .into_iter()
        .chain([skipped])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

fn assert_adds_up(report: &Value) {
    for kind in report["kinds"].as_array().unwrap() {
        let [read, imported, there, skipped] = tally(report, kind["kind"].as_str().unwrap());
        assert_eq!(read, imported + there + skipped, "{kind}");
    }
}

/// The files of a folder, with their contents.
fn folder(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// A fake secret, split so that scanners of this repository do not report it.
fn secret() -> String {
    ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}
