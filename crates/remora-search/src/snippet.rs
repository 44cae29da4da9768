//! The piece of a text that shows why it was found, and which words of the question a text contains.

use crate::hit::Snippet;
use crate::lexical::Weighed;
use crate::words::{fold, words};

/// About two lines of a terminal.
const LENGTH: usize = 200;
/// Longer texts are looked at up to here.
const MOST_BYTES: usize = 64 << 10;

/// The stretch of `text` with the rarest words of the question, those marked.
pub(crate) fn snippet(text: &str, weighed: &[Weighed], pieces: &[String]) -> Snippet {
    let text = remora_core::text::prefix(text, MOST_BYTES);
    let marks = marks(text, weighed, pieces);
    let start = best_start(&marks);
    let start = word_start(text, start.saturating_sub(40));
    let mut shown = Snippet::default();
    if start > 0 {
        shown.text.push('…');
    }
    let end = text.floor_char_boundary(start + LENGTH);
    let shift = shown.text.len();
    // Line breaks become spaces of the same length, so that marks stay where they are.
    shown.text.extend(text[start..end].chars().map(|c| if c.is_ascii_control() { ' ' } else { c }));
    if end < text.len() {
        shown.text.push('…');
    }
    for mark in marks.iter().filter(|mark| mark.start >= start && mark.end <= end) {
        shown.highlights.push((mark.start - start + shift, mark.end - start + shift));
    }
    shown.highlights.sort_unstable();
    shown.highlights.dedup_by(|next, previous| next.0 < previous.1);
    shown
}

struct Mark {
    start: usize,
    end: usize,
    worth: f64,
}

fn marks(text: &str, weighed: &[Weighed], pieces: &[String]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for word in words(text) {
        if let Some(term) = weighed.iter().find(|weighed| weighed.term.stem == word.stem) {
            marks.push(Mark { start: word.start, end: word.end, worth: term.idf });
        }
    }
    for piece in pieces {
        for (start, found) in text.match_indices(piece.as_str()).take(50) {
            marks.push(Mark { start, end: start + found.len(), worth: 5.0 });
        }
    }
    marks.sort_by_key(|mark| mark.start);
    marks
}

/// The mark from which on most of worth follows within the length.
fn best_start(marks: &[Mark]) -> usize {
    let worth_from = |first: usize| -> f64 {
        let end = marks[first].start + LENGTH - 40;
        marks[first..].iter().take_while(|mark| mark.end <= end).take(60).map(|mark| mark.worth).sum()
    };
    let mut best = (0.0, 0);
    for (first, mark) in marks.iter().enumerate().take(500) {
        let worth = worth_from(first);
        if worth > best.0 {
            best = (worth, mark.start);
        }
    }
    best.1
}

fn word_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 {
        return 0;
    }
    text[at..].find(char::is_whitespace).map_or(at, |space| {
        let start = at + space + 1;
        if space < 40 { text.ceil_char_boundary(start) } else { at }
    })
}

/// Which terms of the question a text contains.
pub(crate) fn matched<'a>(texts: &[&str], weighed: &'a [Weighed], pieces: &[String]) -> Vec<&'a Weighed> {
    let mut stems: Vec<String> = Vec::new();
    for text in texts {
        let text = remora_core::text::prefix(text, MOST_BYTES);
        stems.extend(words(text).into_iter().map(|word| word.stem));
    }
    stems.sort_unstable();
    let inside = |term: &Weighed| {
        let wanted = pieces.iter().any(|piece| fold(piece).contains(&term.term.word));
        wanted && texts.iter().any(|text| fold(text).contains(&term.term.word))
    };
    weighed.iter().filter(|term| stems.binary_search(&term.term.stem).is_ok() || inside(term)).collect()
}
