//! Distinguishes emphasis from operators, globs and names. Markdown reads `2**10 and 2**20`, `src/**/*.rs` and
//! `__init__` as emphasis and would take their marks away.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::text::is_unspaced;

/// The characters that Markdown reads as emphasis.
const MARKS: &[char] = &['*', '_', '~'];
/// Punctuation around emphasis and at its edges. Anything else there belongs to code: `a.*b`, `src/*`, `f(x)*g(y)`.
const BEFORE: &str = "([{<>\"'-:;,|";
const AFTER: &str = ")]}>\"'-.,:;!?|";
const FIRST: &str = "([{<\"'`$@#&+-=";
const LAST: &str = ")]}>\"'`.,:;!?%+";

/// The events of a Markdown text, with the marks of code as text.
pub fn markdown_events(markdown: &str, options: Options) -> impl Iterator<Item = Event<'_>> {
    // The marks of each open element, if they are text.
    let mut open: Vec<Option<CowStr<'_>>> = Vec::new();
    Parser::new_ext(markdown, options).into_offset_iter().map(move |(event, range)| match &event {
        Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough) => {
            let marks = marks(&markdown[range.clone()], &event);
            let text = (!is_emphasis(markdown, &range, marks)).then_some(CowStr::Borrowed(marks));
            open.push(text.clone());
            text.map_or(event, Event::Text)
        }
        Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {
            open.pop().flatten().map_or(event, Event::Text)
        }
        _ => event,
    })
}

fn marks<'a>(element: &'a str, start: &Event<'_>) -> &'a str {
    let is_double = match start {
        Event::Start(Tag::Strong) => true,
        Event::Start(Tag::Strikethrough) => element.starts_with("~~"),
        _ => false,
    };
    &element[..if is_double { 2 } else { 1 }]
}

/// Whether an element that Markdown reads as emphasis stands like a word or a phrase: apart from the text around it, and
/// with words at both ends. In doubt the marks stay, because a mark too many hurts less than `1024**2` without its own.
fn is_emphasis(text: &str, range: &Range<usize>, marks: &str) -> bool {
    let before = text[..range.start].trim_end_matches(MARKS);
    let after = text[range.end..].trim_start_matches(MARKS);
    let inside = &text[range.start + marks.len()..range.end - marks.len()];
    // `__init__`, `_snake_case_`.
    let is_word = inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word && (marks == "__" || (marks == "_" && inside.contains('_'))) {
        return false;
    }
    let inside = inside.trim_matches(MARKS);
    let (first, last) = (before.chars().next_back(), after.chars().next());
    let is_apart = first.is_none_or(|c| is_edge(c, BEFORE)) && last.is_none_or(|c| is_edge(c, AFTER));
    // A bracket that is closed inside was opened by a call: `f(*args) or g(x*)`.
    let is_in_brackets = first.is_some_and(|c| "([{".contains(c)) && !is_balanced(inside);
    is_apart
        && !is_in_brackets
        && has_words_at_its_ends(inside, marks)
        && !is_between_digits(before, inside, after)
}

fn is_edge(c: char, punctuation: &str) -> bool {
    c.is_whitespace() || is_unspaced(c) || punctuation.contains(c) || (!c.is_ascii() && !c.is_alphanumeric())
}

fn has_words_at_its_ends(inside: &str, marks: &str) -> bool {
    let start = inside.trim_start_matches(|c| FIRST.contains(c));
    // `**.env**` and `**/users**` are names in bold, `*.rs*` is a glob.
    let start = if marks.len() == 2 { start.trim_start_matches(['.', '/']) } else { start };
    let end = inside.trim_end_matches(|c| LAST.contains(c));
    start.starts_with(is_of_word) && end.ends_with(is_of_word)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace())
}

const DIGITS: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// `2 **3 and 4** 5` is arithmetic; "Chapter **3**" is not.
fn is_between_digits(before: &str, inside: &str, after: &str) -> bool {
    let starts = before.trim_end_matches(' ').ends_with(DIGITS) && inside.starts_with(DIGITS);
    let ends = inside.ends_with(DIGITS) && after.trim_start_matches(' ').starts_with(DIGITS);
    starts || ends
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    for c in text.chars() {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}
