//! Makes the excerpt that shows why a text was found, and finds the query's terms in a text.

use crate::hit::Snippet;
use crate::language::Root;
use crate::lexical::Weighed;
use crate::stem::stem;
use crate::syntax::Form;
use crate::words::{fold, spans};

/// Length of an excerpt in bytes, about two lines of a terminal.
const LENGTH: usize = 200;
/// A shorter excerpt continues with the next line.
const MIN_LEN: usize = 60;
/// Only this many bytes of a text are examined.
const MAX_BYTES: usize = 64 << 10;

/// The part of `text` with the rarest words of the query, with these marked.
pub(crate) fn snippet(text: &str, weighed: &[Weighed], pieces: &[String]) -> Snippet {
    let text = remora_core::text::prefix(text, MAX_BYTES);
    let marks = marks(text, weighed, pieces);
    let start = best_start(&marks);
    let start = word_start(text, start.saturating_sub(40));
    let mut shown = Snippet::default();
    if start > 0 {
        shown.text.push('…');
    }
    let end = text.floor_char_boundary(start + LENGTH);
    let line_end = last_line(text, start, end, &marks);
    let (end, is_cut) = line_end.map_or((end, end < text.len()), |line_end| (line_end, false));
    let shift = shown.text.len();
    // Control characters become spaces of the same length, so that the marks stay valid.
    shown.text.extend(text[start..end].chars().map(|c| if c.is_ascii_control() { ' ' } else { c }));
    if is_cut {
        shown.text.push('…');
    }
    for mark in marks.iter().filter(|mark| mark.start >= start && mark.end <= end) {
        shown.highlights.push((mark.start - start + shift, mark.end - start + shift));
    }
    shown.highlights.sort_unstable();
    shown.highlights.dedup_by(|next, previous| next.0 < previous.1);
    shown
}

/// The end of the last line with a mark, if enough is left. The words that describe a record stand on lines behind its text;
/// they help to find it, and say nothing to a reader.
fn last_line(text: &str, start: usize, end: usize, marks: &[Mark]) -> Option<usize> {
    let last = marks.iter().map(|mark| mark.end).filter(|mark| (start..=end).contains(mark)).max();
    let from = last.unwrap_or(start).max(text.ceil_char_boundary(start + MIN_LEN));
    let line_end = from + text.get(from..end)?.find('\n')?;
    Some(line_end)
}

struct Mark {
    start: usize,
    end: usize,
    worth: f64,
}

fn marks(text: &str, weighed: &[Weighed], pieces: &[String]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let first = FirstLetters::of(weighed);
    for (start, end) in spans(text).filter(|(start, _)| first.may_begin(text.as_bytes()[*start])) {
        if let Some(term) = term_of(&text[start..end], weighed) {
            marks.push(Mark { start, end, worth: weighed[term].weight() });
        }
    }
    let pairs = weighed.iter().filter(|term| term.term.is_pair());
    let pairs = pairs.map(|pair| (pair.term.word.as_str(), pair.weight()));
    for (piece, worth) in pieces.iter().map(|piece| (piece.as_str(), 5.0)).chain(pairs) {
        for (start, found) in text.match_indices(piece).take(50) {
            marks.push(Mark { start, end: start + found.len(), worth });
        }
    }
    marks.sort_by_key(|mark| mark.start);
    marks
}

/// The start of the excerpt-sized range that contains the marks with the highest total weight.
fn best_start(marks: &[Mark]) -> usize {
    let mut best = (0.0, 0);
    for (first, mark) in marks.iter().enumerate().take(500) {
        let end = mark.start + LENGTH - 40;
        let within = marks[first..].iter().take_while(|mark| mark.end <= end).take(60);
        let worth: f64 = within.map(|mark| mark.worth).sum();
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

/// The first letters of the words that may match a query. They rule out most words of a text at once.
struct FirstLetters([bool; 256]);

impl FirstLetters {
    fn of(weighed: &[Weighed]) -> Self {
        let mut may_begin = [false; 256];
        for term in weighed {
            let Form::Word { stem, root } = &term.term.form else { continue };
            match stem.as_bytes().first() {
                // A word inside a compound is not at its beginning.
                Some(first) if first.is_ascii() && !root.as_ref().is_some_and(Root::is_in_compounds) => {
                    may_begin[usize::from(first.to_ascii_lowercase())] = true;
                    may_begin[usize::from(first.to_ascii_uppercase())] = true;
                    // Letters that may lose an accent.
                    may_begin[128..].fill(true);
                }
                _ => may_begin.fill(true),
            }
        }
        Self(may_begin)
    }

    fn may_begin(&self, first: u8) -> bool {
        self.0[usize::from(first)]
    }
}

/// The term of the query that a word matches.
fn term_of(word: &str, weighed: &[Weighed]) -> Option<usize> {
    if !weighed.iter().any(|term| may_be(word, &term.term.form)) {
        return None;
    }
    let folded = fold(word);
    let own = stem(&folded);
    let has_stem = |term: &Weighed| matches!(&term.term.form, Form::Word { stem, .. } if *stem == own);
    let is_form = |term: &Weighed| matches!(&term.term.form, Form::Word { root: Some(root), .. } if root.is_of(&folded));
    weighed.iter().position(has_stem).or_else(|| weighed.iter().position(is_form))
}

/// Whether a word may be a form of a term. Forms of a word share the first letter, except in compounds. A word and its
/// stem also share the second.
fn may_be(word: &str, form: &Form) -> bool {
    match form {
        Form::Word { root: Some(root), .. } if root.is_in_compounds() => true,
        Form::Word { stem, root } => begins_like(word, stem, if root.is_some() { 1 } else { 2 }),
        Form::Pair { .. } | Form::Call => false,
    }
}

/// Whether a word may begin like a stem. Letters that may lose an accent are not compared, and the stemmer makes a final
/// `y` an `i`.
pub(crate) fn begins_like(word: &str, stem: &str, letters: usize) -> bool {
    let pairs = word.bytes().zip(stem.bytes()).take(letters);
    let mut known = pairs.take_while(|(letter, of_stem)| letter.is_ascii() && of_stem.is_ascii());
    known.all(|(letter, of_stem)| {
        letter.eq_ignore_ascii_case(&of_stem) || (letter.eq_ignore_ascii_case(&b'y') && of_stem == b'i')
    })
}

/// The terms of the query that the texts contain.
pub(crate) fn matched<'a>(texts: &[&str], weighed: &'a [Weighed], pieces: &[String]) -> Vec<&'a Weighed> {
    places(texts, weighed, pieces).into_iter().map(|place| &weighed[place]).collect()
}

/// The same, as indexes into `weighed`.
pub(crate) fn places(texts: &[&str], weighed: &[Weighed], pieces: &[String]) -> Vec<usize> {
    let mut is_there = vec![false; weighed.len()];
    let first = FirstLetters::of(weighed);
    for text in texts {
        let text = remora_core::text::prefix(text, MAX_BYTES);
        for (start, end) in spans(text).filter(|(start, _)| first.may_begin(text.as_bytes()[*start])) {
            if let Some(term) = term_of(&text[start..end], weighed) {
                is_there[term] = true;
            }
        }
        for (term, is_there) in weighed.iter().zip(&mut is_there) {
            *is_there |= match term.term.form {
                Form::Word { .. } => false,
                Form::Pair { .. } => text.contains(&term.term.word),
                Form::Call => contains_folded(text, &term.term.word),
            };
        }
    }
    if !pieces.is_empty() && is_there.contains(&false) {
        let names: Vec<String> = pieces.iter().map(|piece| fold(piece)).collect();
        let folded: Vec<String> = texts.iter().map(|text| fold(text)).collect();
        for (term, is_there) in weighed.iter().zip(&mut is_there) {
            let is_in = |texts: &[String]| texts.iter().any(|text| text.contains(&term.term.word));
            *is_there |= is_in(&names) && is_in(&folded);
        }
    }
    (0..weighed.len()).filter(|place| is_there[*place]).collect()
}

/// Whether a text contains an ASCII string, ignoring case.
fn contains_folded(text: &str, wanted: &str) -> bool {
    text.as_bytes().windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}
