//! Formatting for all pages: times, texts, numbers.

use askama::filters::Safe;
use pulldown_cmark::{CowStr, Event, Options, Tag, TagEnd, html};
use remora_core::context::safe_text;
use remora_core::prose::markdown_events;
use remora_core::text::{one_line, visible};
use remora_core::time::Time;

/// A point in time, for machines and for people. The script keeps `ago` current.
#[derive(Debug, Clone)]
pub(super) struct When {
    pub(super) iso: String,
    pub(super) clock: String,
    pub(super) ago: String,
}

impl When {
    pub(super) fn new(time: Time) -> Self {
        let ago = time.ago(Time::now());
        Self { iso: time.iso(), clock: time.format("%-d %b %Y, %H:%M"), ago }
    }
}

/// A shorter part is an abbreviation rather than a sentence.
const MIN_SENTENCE: usize = 12;

/// Stored text on one line.
pub(super) fn line(text: &str, most: usize) -> String {
    one_line(&visible(text), most)
}

/// Like [`line`], with text between backticks as code.
pub(super) fn title(text: &str, most: usize) -> Safe<String> {
    highlighted(text, most, &[])
}

/// Like [`title`], with the given words of a query highlighted.
pub(super) fn highlighted(text: &str, most: usize, words: &[String]) -> Safe<String> {
    let text = line(text, most);
    let mut out = String::new();
    // An unpaired backtick stays as it is.
    let pairs = text.matches('`').count() / 2 * 2;
    for (number, part) in text.splitn(pairs + 1, '`').enumerate() {
        let is_code = number % 2 == 1;
        out.push_str(if is_code { "<code>" } else { "" });
        if words.is_empty() {
            escape(part, &mut out);
        } else {
            out.push_str(&marked(part, &stretches(part, words)).0);
        }
        out.push_str(if is_code { "</code>" } else { "" });
    }
    Safe(out)
}

/// The byte ranges of words that begin like one of `words`: `bookings` for `booking`. Short ones must be equal.
fn stretches(text: &str, words: &[String]) -> Vec<(usize, usize)> {
    const MIN_LEN: usize = 4;
    let is_wanted = |own: &str| {
        words.iter().any(|word| {
            own == word
                || own.len().min(word.len()) >= MIN_LEN
                    && (own.starts_with(word.as_str()) || word.starts_with(own))
        })
    };
    let is_between = |c: char| !c.is_alphanumeric();
    let (mut found, mut start) = (Vec::new(), 0);
    for piece in text.split_inclusive(is_between) {
        let own = piece.trim_end_matches(is_between);
        if is_wanted(&own.to_lowercase()) {
            found.push((start, start + own.len()));
        }
        start += piece.len();
    }
    found
}

/// The first sentence of a text, for a heading.
pub(super) fn sentence(text: &str) -> &str {
    let text = text.trim().lines().next().unwrap_or_default();
    let end = text.match_indices(['.', '?', '!', ':']).map(|(at, _)| at + 1);
    let mut ends = end.filter(|at| *at >= MIN_SENTENCE && text[*at..].starts_with(' '));
    ends.next().map_or(text, |end| text[..end].trim_end_matches(['.', ':']))
}

/// Stored text with its line breaks and without other control characters.
pub(super) fn block(text: &str, most: usize) -> String {
    let acts = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    visible(text).chars().filter(|c| !acts(c)).take(most).collect()
}

/// Stored Markdown as HTML: without raw HTML or images, and with web links only.
pub(super) fn markdown(text: &str) -> Safe<String> {
    let text = safe_text(text);
    let mut depth: usize = 0;
    let events =
        markdown_events(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).filter_map(|event| {
            Some(match event {
                Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
                Event::Start(Tag::HtmlBlock | Tag::Image { .. })
                | Event::End(TagEnd::HtmlBlock | TagEnd::Image) => return None,
                Event::Start(Tag::Link { ref dest_url, .. }) if !is_web(dest_url) => {
                    depth += 1;
                    return None;
                }
                Event::End(TagEnd::Link) if depth > 0 => {
                    depth -= 1;
                    return None;
                }
                // Headings become paragraphs, because the page has its own.
                Event::Start(Tag::Heading { .. }) => Event::Start(Tag::Paragraph),
                Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Paragraph),
                other => other,
            })
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    Safe(out)
}

/// The beginning of a text, so that a megabyte of text does not slow down the page.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    if end < text.len() { format!("{}…", text[..end].trim_end()) } else { text.to_owned() }
}

fn is_web(url: &CowStr<'_>) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// Highlights ranges of a text. Backticks are removed, because an excerpt may end between two of them.
pub(super) fn marked(text: &str, stretches: &[(usize, usize)]) -> Safe<String> {
    let mut out = String::new();
    let mut at = 0;
    for &(start, end) in stretches {
        let (Some(before), Some(inside)) = (text.get(at..start), text.get(start..end)) else { continue };
        escape(&without_backticks(before), &mut out);
        out.push_str("<mark>");
        escape(&without_backticks(inside), &mut out);
        out.push_str("</mark>");
        at = end;
    }
    escape(&without_backticks(text.get(at..).unwrap_or_default()), &mut out);
    Safe(out)
}

fn without_backticks(text: &str) -> String {
    text.replace('`', "")
}

pub(super) fn escape(text: &str, out: &mut String) {
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// A number with separators: `1,234,567`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in bytes: `3.4 MiB`, `12 KiB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{}.{} MiB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20),
    }
}

/// An amount: `$12.30`, and below a dollar with four decimals: `$0.0042`.
pub(super) fn dollars(usd: f64) -> String {
    match usd {
        0.0 => "$0".to_owned(),
        ..0.000_1 => "less than $0.0001".to_owned(),
        ..1.0 => format!("${usd:.4}"),
        _ => format!("${usd:.2}"),
    }
}

/// A number with its noun: `1 event`, `2 events`.
pub(super) fn count(number: i64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_is_escaped() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[click](javascript:alert(1))",
            "![x](https://evil.example/track.png)",
            "<b>bold</b>\n\n<iframe src=//evil.example></iframe>",
            "[x](data:text/html;base64,PHNjcmlwdD4=)",
        ] {
            let shown = markdown(hostile).0;
            for sign in ["<script", "<img", "<iframe", "<b>", "href=\"javascript", "href=\"data"] {
                assert!(!shown.contains(sign), "{hostile}: {shown}");
            }
        }
        assert_eq!(markdown("**a** `b`").0.trim(), "<p><strong>a</strong> <code>b</code></p>");
    }

    #[test]
    fn operators_and_names_are_not_shown_as_emphasis() {
        for code in ["1024**2 or 2**10", "a*b*c", "__init__", "src/**/*.rs", "5~10 or 3~4"] {
            assert_eq!(markdown(code).0.trim(), format!("<p>{code}</p>"));
        }
    }

    #[test]
    fn code_in_a_title_looks_like_code() {
        assert_eq!(title("`a<b` and c`", 80).0, "<code>a&lt;b</code> and c`");
        assert_eq!(title("plain", 80).0, "plain");
    }

    #[test]
    fn words_of_the_query_are_highlighted_in_a_title() {
        let words = ["day".to_owned(), "booking".to_owned()];
        assert_eq!(
            highlighted("Days of `booking` <bookings>", 80, &words).0,
            "Days of <code><mark>booking</mark></code> &lt;<mark>bookings</mark>&gt;"
        );
    }

    #[test]
    fn a_heading_is_the_first_sentence() {
        assert_eq!(sentence("The report is a day off. Find out why"), "The report is a day off");
        assert_eq!(sentence("Why does it loop? And v1.2?"), "Why does it loop?");
        assert_eq!(sentence("\n one line\nand another"), "one line");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (thousands(7), thousands(1_234), thousands(1_000_000)),
            ("7".into(), "1,234".into(), "1,000,000".into())
        );
        assert_eq!(
            (size(12), size(2_048), size(3 << 20)),
            ("12 bytes".into(), "2 KiB".into(), "3.0 MiB".into())
        );
        assert_eq!(
            [0.0, 0.000_01, 0.004_2, 12.3].map(dollars),
            ["$0", "less than $0.0001", "$0.0042", "$12.30"]
        );
        assert_eq!((excerpt("ééé", 3), excerpt("abc", 3)), ("é…".into(), "abc".into()));
    }

    #[test]
    fn ranges_are_highlighted() {
        assert_eq!(marked("a <b> `c", &[(2, 5)]).0, "a <mark>&lt;b&gt;</mark> c");
        assert_eq!(marked("é", &[(1, 2)]).0, "é", "a range inside a character marks nothing");
    }
}
