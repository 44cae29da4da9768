//! The table of secrets, from the particular to the general: where two rules find the same stretch of text, it
//! is named after the first of them.
//!
//! The formats are those that the providers document and that public scanners look for; patterns and samples
//! are our own. Lengths are lower bounds wherever a prefix is telling enough, since providers change them. The
//! samples are put together from parts so that nothing in this repository looks like a leaked secret.

mod assigned;
mod clouds;
mod commands;
mod formats;
mod hosts;
mod messages;
mod models;
mod money;
mod services;

use crate::secrets::{Find, Rule};

const AREAS: [&[Rule]; 9] = [
    clouds::RULES,
    hosts::RULES,
    models::RULES,
    messages::RULES,
    money::RULES,
    services::RULES,
    formats::RULES,
    commands::RULES,
    assigned::RULES,
];

pub(crate) const COUNT: usize = count();

pub(crate) static RULES: [Rule; COUNT] = joined();

/// What is needed of a rule once a keyword was found. Every pointer in a table costs a hook time before it even
/// starts (the loader relocates it), so the whole of [`RULES`] is left out of a program that does not ask for it.
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) find: Find,
}

pub(crate) static SHAPES: [Shape; COUNT] = shapes();

const fn count() -> usize {
    let mut count = 0;
    let mut area = 0;
    while area < AREAS.len() {
        count += AREAS[area].len();
        area += 1;
    }
    count
}

/// One table of all areas.
#[expect(clippy::large_stack_arrays, reason = "only the compiler runs this")]
const fn joined() -> [Rule; COUNT] {
    let mut rules = [AREAS[0][0]; COUNT];
    let mut next = 0;
    let mut area = 0;
    while area < AREAS.len() {
        let mut rule = 0;
        while rule < AREAS[area].len() {
            rules[next] = AREAS[area][rule];
            next += 1;
            rule += 1;
        }
        area += 1;
    }
    rules
}

const fn shapes() -> [Shape; COUNT] {
    let mut shapes = [const { Shape { kind: "", pattern: "", find: Find::Text } }; COUNT];
    let mut rule = 0;
    while rule < COUNT {
        let Rule { kind, pattern, find, .. } = RULES[rule];
        shapes[rule] = Shape { kind, pattern, find };
        rule += 1;
    }
    shapes
}
