//! Compares the figures in README.md and SECURITY.md with the table in docs/claims.md.

use std::fs;
use std::path::Path;

use crate::support::World;

struct Claim {
    /// The claim as it is in the document, with its figure.
    text: String,
    figure: String,
    command: String,
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(path).unwrap()
}

/// A text without code blocks and images, on one line. What is left are sentences.
fn sentences(markdown: &str) -> String {
    let mut in_code = false;
    let mut text = Vec::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with("| ![") {
            text.push(line);
        }
    }
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn claims() -> Vec<Claim> {
    let table = document("docs/claims.md");
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [claim, figure, command] = cells[..] else { panic!("three cells: {row}") };
        let (before, after) =
            claim.split_once('…').unwrap_or_else(|| panic!("a place for the figure: {row}"));
        Claim {
            text: format!("{before}{figure}{after}"),
            figure: figure.to_owned(),
            command: command.to_owned(),
        }
    })
    .collect()
}

/// The numbers in a text: `2.2`, `500,000`. Digits inside names and code, and file modes, do not count.
fn numbers(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|start| at + start) {
        let rest = &text[start..];
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
        let number = rest[..length].trim_end_matches(['.', ',']);
        let before = text[..start].chars().next_back().unwrap_or(' ');
        let is_name = before.is_alphanumeric() || "_-/#.:".contains(before);
        let is_mode = number.len() == 4 && number.starts_with('0');
        if !is_name && !is_mode {
            found.push((start, number));
        }
        at = start + length;
    }
    found
}

/// The text with everything in backticks replaced by blanks.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(number, part)| if number % 2 == 1 { " ".repeat(part.len() + 2) } else { part.to_owned() })
        .collect()
}

#[test]
fn every_figure_of_the_readme_is_the_one_in_the_table_of_claims() {
    let readme = document("README.md");
    // The comments behind the first commands are claims, too.
    let first_commands: String = readme.lines().filter(|line| line.starts_with("$ ")).take(2).collect();
    let documents = [sentences(&readme), first_commands, sentences(&document("SECURITY.md"))];
    let claims = claims();
    for claim in &claims {
        assert!(documents.iter().any(|text| text.contains(&claim.text)), "not in a document: {}", claim.text);
    }
    for document in &documents {
        for (at, number) in numbers(&without_code(document)) {
            let is_claimed = claims.iter().any(|claim| {
                document
                    .match_indices(&claim.text)
                    .any(|(start, text)| (start..start + text.len()).contains(&at))
            });
            let around = &document[document.floor_char_boundary(at.saturating_sub(60))..];
            let around: String = around.chars().take(120).collect();
            assert!(is_claimed, "{number} has no row in docs/claims.md: … {around} …");
        }
    }
}

#[test]
fn figures_that_a_setting_has_are_its_default() {
    let world = World::new();
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let mut asked = 0;
    for Claim { figure, command, .. } in claims() {
        let Some(arguments) = command.trim_matches('`').strip_prefix("remora config get ") else { continue };
        let said = world.text(&["config", "get", arguments]);
        assert_eq!(digits(&said), digits(&figure), "{command}");
        asked += 1;
    }
    assert!(asked >= 3);
}
