//! The table of secrets, from specific to general: if two rules find the same range of text, the first one names it.
//!
//! The formats are those that providers document and that public scanners search for; patterns and samples are our
//! own. Lengths are lower bounds wherever the prefix is distinctive enough, because providers change them. The
//! samples are concatenated from parts so that nothing in this repository looks like a leaked secret.

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

/// The fields of a rule that are needed after a keyword was found. The loader relocates every pointer in a table,
/// which costs a hook time before it starts, so [`RULES`] is left out of programs that do not use it.
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

/// Concatenates the tables of all areas.
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
