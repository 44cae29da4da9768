//! Shortening of long text, with a note on how much is missing.

use std::borrow::Cow;

use crate::prose::code_spans;

/// Head and tail of a text whose middle was cut.
///
/// Between intake and storage, a cut text is one `String` with the number of missing bytes between two Unicode
/// noncharacters. These exist for such use inside a process, and are replaced if they come from outside. So the same
/// code redacts and shortens every text, whether or not it was cut before.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    pub head: &'a str,
    pub cut: usize,
    pub tail: &'a str,
}

/// Length limit for a text, in bytes. A longer text keeps this much of its beginning and of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcerptLimit {
    pub head: usize,
    pub tail: usize,
}

const GAP_START: char = '\u{FDD0}';
const GAP_END: char = '\u{FDD1}';

impl<'a> Excerpt<'a> {
    /// A text with nothing missing.
    pub fn whole(text: &str) -> String {
        without_gap_marks(text)
    }

    /// A text with `cut` bytes missing between `head` and `tail`.
    pub fn cut(head: &str, cut: usize, tail: &str) -> String {
        format!("{}{GAP_START}{cut}{GAP_END}{}", without_gap_marks(head), without_gap_marks(tail))
    }

    pub fn of(text: &'a str) -> Self {
        let parts = text.split_once(GAP_START).and_then(|(head, rest)| {
            let (count, tail) = rest.split_once(GAP_END)?;
            Some(Self { head, cut: count.parse().ok()?, tail })
        });
        parts.unwrap_or(Self { head: text, cut: 0, tail: "" })
    }

    /// Applies `change` to head and tail separately.
    pub fn map(text: &str, change: impl Fn(&str) -> String) -> String {
        let excerpt = Excerpt::of(text);
        if excerpt.cut == 0 {
            return change(text);
        }
        Self::cut(&change(excerpt.head), excerpt.cut, &change(excerpt.tail))
    }

    /// Shortens `text` to the limit, with a note on how much is missing.
    pub fn shorten(text: &str, ExcerptLimit { head, tail }: ExcerptLimit) -> String {
        let parts = Excerpt::of(text);
        if parts.cut == 0 && text.len() <= head + tail {
            return text.to_owned();
        }
        let (kept_head, kept_tail) = if parts.cut == 0 {
            (prefix(text, head), suffix(text, tail))
        } else {
            (prefix(parts.head, head), suffix(parts.tail, tail))
        };
        let seen = if parts.cut == 0 { text.len() } else { parts.head.len() + parts.tail.len() };
        let missing = parts.cut + seen - kept_head.len() - kept_tail.len();
        format!("{kept_head}\n[… {missing} bytes cut …]\n{kept_tail}")
    }
}

/// The longest beginning of `text` of at most `limit` bytes.
pub fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest end of `text` of at most `limit` bytes.
pub fn suffix(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// Whether a character belongs to a script that writes words without spaces: Chinese, Japanese, Korean, Thai and a
/// few more. A run of such letters is not a word, and each of them is about one token.
pub fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF01..=0xFF9F | 0x20000..=0x3FFFF)
}

/// Text as a reader sees it, for all output: without characters that hide or reverse text, and without terminal
/// control sequences. Colours are kept.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) || !text.contains(|c| is_hidden(c) || c == '\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let is_shown = match c {
            '\u{1b}' => is_colour(&text[at + 1..]),
            // Scripts such as Persian and joined emoji need these; between Latin letters they only hide text.
            '\u{200c}' | '\u{200d}' => shown.chars().next_back().is_some_and(|before| !before.is_ascii()),
            c => !is_hidden(c),
        };
        if is_shown {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Invisible characters and terminal controls: they can hide text, reverse it or paint over it.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}')
}

/// Whether the text after an escape character only changes a colour.
fn is_colour(rest: &str) -> bool {
    let parameters =
        rest.strip_prefix('[').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    parameters.is_some_and(|rest| rest.starts_with('m'))
}

/// One line of at most `limit` characters, for display. Spaces in code stay as they are.
pub fn one_line(text: &str, limit: usize) -> String {
    if let Some(line) = plain_line(text, limit) {
        return line;
    }
    let mut line = String::new();
    let mut length = 0;
    for word in words(text, limit) {
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word.chars().count();
        if length > limit {
            let mut short: String = line.chars().take(limit.saturating_sub(1)).collect();
            short.truncate(short.trim_end().len());
            short.push('…');
            return short;
        }
    }
    line
}

/// The words of a text, as far as `limit` characters may reach. A code span on one line is part of a word.
fn words(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    const MAX_CHAR_BYTES: usize = 4;
    let beginning = prefix(text, MAX_CHAR_BYTES.saturating_mul(limit));
    let is_inline = |code: &str| !code.starts_with("```") && !code.contains(char::is_control);
    let spans = code_spans(beginning).filter(move |span| is_inline(&text[span.clone()]));
    let mut spans = spans.peekable();
    let mut at = 0;
    text.split(move |c: char| {
        let start = at;
        at += c.len_utf8();
        while spans.next_if(|span| span.end <= start).is_some() {}
        (c.is_whitespace() || c.is_control()) && !spans.peek().is_some_and(|span| span.contains(&start))
    })
    .filter(|word| !word.is_empty())
}

/// The result of [`one_line`] for most texts, which are ASCII in one line. A session start shows dozens of them.
fn plain_line(text: &str, limit: usize) -> Option<String> {
    let beginning = text.get(..=limit).unwrap_or(text);
    let is_plain = beginning.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_plain || beginning.contains("  ") || beginning.starts_with(' ') || beginning.ends_with(' ') {
        return None;
    }
    if beginning.len() <= limit {
        return Some(text.to_owned());
    }
    Some(format!("{}…", beginning[..limit.saturating_sub(1)].trim_end()))
}

fn without_gap_marks(text: &str) -> String {
    if text.contains([GAP_START, GAP_END]) {
        text.replace([GAP_START, GAP_END], "\u{FFFD}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_control_characters_are_removed() {
        let hidden = "user\u{202e}txt.exe\u{2066}a\u{200b}b\u{feff}\u{e0061}\u{85}\u{9b}2J\r\u{7}";
        assert_eq!(visible(hidden), "usertxt.exeab2J");
        assert_eq!(
            visible("\u{1b}[1;31mred\u{1b}[0m\u{1b}]0;title\u{7} \u{1b}[2J"),
            "\u{1b}[1;31mred\u{1b}[0m]0;title [2J"
        );
        assert_eq!(visible("می\u{200c}خواهم 👩\u{200d}💻 a\u{200d}b"), "می\u{200c}خواهم 👩\u{200d}💻 ab");
        assert!(matches!(visible("plain\ttext\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_is_the_same_whichever_way_it_is_made() {
        let slowly = |text: &str, limit: usize| one_line(&format!("\t{text}"), limit);
        for text in [
            "",
            " ",
            "a",
            "ab cd",
            "ab  cd",
            " ab",
            "ab ",
            "ab cd ",
            "ab\ncd",
            "ab cdé",
            "é",
            "ab c é",
            "ab\u{7f}cd",
            "a b c d e f",
            "`a  b`  c",
        ] {
            for limit in 0..=12 {
                assert_eq!(one_line(text, limit), slowly(text, limit), "{text:?} {limit}");
            }
        }
    }

    #[test]
    fn shortening_counts_what_was_cut_before_too() {
        let limit = ExcerptLimit { head: 4, tail: 2 };
        let text = Excerpt::cut("aaaaaaaaaa", 1000, "bbbbbbbbbb");
        assert_eq!(Excerpt::shorten(&text, limit), "aaaa\n[… 1014 bytes cut …]\nbb");
        assert_eq!(Excerpt::shorten("0123456789", limit), "0123\n[… 4 bytes cut …]\n89");
        assert_eq!(Excerpt::shorten("012345", limit), "012345");
    }

    #[test]
    fn input_cannot_forge_a_gap() {
        let forged = Excerpt::whole("a\u{FDD0}5\u{FDD1}b");
        assert_eq!(Excerpt::of(&forged).cut, 0);
    }

    #[test]
    fn a_cut_never_halves_a_character() {
        assert_eq!(prefix("ééé", 3), "é");
        assert_eq!(suffix("ééé", 3), "é");
        assert_eq!(one_line("a\nb\t\u{7}c  d", 80), "a b c d");
        assert_eq!(one_line("alpha beta gamma", 12), "alpha beta…");
        assert_eq!(one_line("a  `b  c`  ``d`  e``\n `f  g", 80), "a `b  c` ``d`  e`` `f g");
        assert_eq!(one_line("```\n  a\n  b\n```", 80), "``` a b ```");
    }
}
