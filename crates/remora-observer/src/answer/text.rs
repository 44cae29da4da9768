//! The text of a field: entities, CDATA, control characters, and lists written as lines or JSON.

use serde_json::Value;

/// Language names after the backticks that open a fence.
const LANGUAGES: &[&str] =
    &["xml", "json", "html", "text", "txt", "markdown", "md", "plaintext", "XML", "JSON"];

/// Size limit for a list, in bytes. Longer lists are cut before they are parsed.
const MAX_LIST_LEN: usize = 256 * 1024;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markup {
    /// With entities and CDATA.
    Xml,
    /// Unescaped, from a JSON string.
    Plain,
}

/// The text of a field, and whether it was cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cleaned {
    pub(super) text: String,
    pub(super) cut: bool,
}

/// The text without escapes and control characters, at most `limit` characters long.
pub(super) fn clean(raw: &str, markup: Markup, limit: usize) -> Cleaned {
    let mut sink = Sink { text: String::new(), left: limit, cut: false };
    match markup {
        Markup::Plain => sink.plain(raw.trim()),
        Markup::Xml => sink.xml(raw.trim()),
    }
    let Sink { mut text, cut, .. } = sink;
    if cut {
        let word = text.rfind(char::is_whitespace).filter(|at| text.len() - at < 80);
        text.truncate(word.unwrap_or(text.len()));
    }
    let mut text = text.trim().to_owned();
    if cut {
        text.push('…');
    }
    Cleaned { text, cut }
}

/// The beginning of a text, without control characters.
pub(super) fn plain(raw: &str, limit: usize) -> String {
    let mut sink = Sink { text: String::new(), left: limit, cut: false };
    sink.plain(raw.trim());
    sink.text
}

struct Sink {
    text: String,
    left: usize,
    cut: bool,
}

impl Sink {
    fn push(&mut self, c: char) {
        let c = match c {
            '\r' => '\n',
            '\u{feff}' => return,
            c if c.is_control() && !matches!(c, '\n' | '\t') => return,
            c => c,
        };
        if self.left == 0 {
            self.cut = true;
        } else {
            self.left -= 1;
            self.text.push(c);
        }
    }

    fn plain(&mut self, raw: &str) {
        let mut rest = raw.chars().peekable();
        while let Some(c) = rest.next().filter(|_| !self.cut) {
            if c != '\r' || rest.peek() != Some(&'\n') {
                self.push(c);
            }
        }
    }

    fn xml(&mut self, mut raw: &str) {
        while let Some((before, section)) = raw.split_once("<![CDATA[") {
            self.escaped(before);
            let Some((literal, after)) = section.split_once("]]>") else {
                raw = section;
                break;
            };
            self.plain(literal);
            raw = after;
            if self.cut {
                return;
            }
        }
        self.escaped(raw);
    }

    /// Decodes one level of entities: `&amp;lt;` means `&lt;`.
    fn escaped(&mut self, mut raw: &str) {
        while let Some(at) = raw.find('&').filter(|_| !self.cut) {
            self.plain(&raw[..at]);
            let length = if let Some((c, length)) = entity(&raw[at..]) {
                self.push(c);
                length
            } else {
                self.push('&');
                1
            };
            raw = &raw[at + length..];
        }
        self.plain(raw);
    }
}

/// The character of the entity at the start of the text, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let c = match &text[1..end] {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        number => {
            let number = number.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).map(|c| if c == '\u{a0}' { ' ' } else { c })?
        }
    };
    Some((c, end + 1))
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text has only blanks, control characters and an empty fence.
pub(super) fn is_blank(text: &str) -> bool {
    let nothing = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
    unfenced(text.trim_matches(nothing)).trim_matches(nothing).is_empty()
}

/// The answer without a fence or backticks around it.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix("```") {
        let inner = inner.trim_start_matches('`');
        let word = inner.bytes().take_while(u8::is_ascii_alphabetic).count();
        let inner = if LANGUAGES.contains(&&inner[..word]) { &inner[word..] } else { inner };
        return inner.trim_end_matches('`').trim();
    }
    let quoted = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    quoted.filter(|inner| !inner.contains('`')).unwrap_or(text)
}

/// Whether a text begins like a refusal.
pub(super) fn is_refusal(text: &str) -> bool {
    let beginning: String = text.trim_start().chars().take(40).collect();
    let beginning = beginning.to_lowercase().replace('’', "'");
    let openings = [
        "i'm sorry",
        "i am sorry",
        "sorry,",
        "i can't",
        "i cannot",
        "i'm unable",
        "i am unable",
        "i won't",
        "as an ai",
    ];
    openings.iter().any(|opening| beginning.starts_with(opening))
}

/// The items of a list without item tags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Items {
    pub(super) items: Vec<String>,
    /// The list looked like JSON but was not valid.
    pub(super) malformed: bool,
}

/// Reads a list written as JSON, bullets, lines, or words separated by commas.
pub(super) fn items(raw: &str, markup: Markup, commas: Commas) -> Items {
    let raw = raw.trim();
    let raw = &raw[..raw.floor_char_boundary(MAX_LIST_LEN)];
    let unescaped = |text: &str| clean(text, markup, MAX_LIST_LEN).text;
    if raw.starts_with('[')
        && let Ok(values) = serde_json::from_str::<Vec<Value>>(raw)
    {
        return Items { items: strings(&values).map(|text| unescaped(&text)).collect(), malformed: false };
    }
    let text = unescaped(raw);
    let Some(inner) = text.strip_prefix('[').filter(|inner| inner.ends_with(']') || inner.contains('"'))
    else {
        return Items { items: lines(&text, commas), malformed: false };
    };
    if let Ok(values) = serde_json::from_str::<Vec<Value>>(&text) {
        return Items { items: strings(&values).collect(), malformed: false };
    }
    Items { items: loose_array(inner), malformed: true }
}

/// Whether commas separate items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commas {
    Divide,
    Belong,
}

/// The texts of a JSON array; for an object, its first text.
pub(super) fn strings(values: &[Value]) -> impl Iterator<Item = String> {
    values.iter().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(map) => map.values().find_map(Value::as_str).map(str::to_owned),
        _ => None,
    })
}

/// `['a', 'b']`, `["a", "b",]`, `[a, b]`, and arrays that were cut off.
fn loose_array(inner: &str) -> Vec<String> {
    let inner = inner.trim_end().trim_end_matches(']');
    if inner.contains('"') {
        // The text between quotes; the last item counts only if its quote is closed.
        let closed = inner.rfind('"').unwrap_or(0);
        return inner[..closed].split('"').skip(1).step_by(2).map(str::to_owned).collect();
    }
    let divider = if inner.contains('\'') { "'," } else { "," };
    inner.split(divider).map(|item| unfenced(item.trim().trim_matches('\'')).to_owned()).collect()
}

fn lines(text: &str, commas: Commas) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.iter().any(|line| bullet(line).is_some()) {
        let mut items: Vec<String> = Vec::new();
        for line in lines {
            match (bullet(line), items.last_mut()) {
                (Some(item), _) => items.push(item.to_owned()),
                (None, Some(item)) => {
                    item.push(' ');
                    item.push_str(line);
                }
                // Text before the first bullet only introduces the list.
                (None, None) => {}
            }
        }
        return items;
    }
    if commas == Commas::Divide {
        return lines.iter().flat_map(|line| line.split(", ")).map(|item| item.trim().to_owned()).collect();
    }
    lines.into_iter().map(str::to_owned).collect()
}

/// The text after `-`, `*`, `•`, `1.` or `1)`.
fn bullet(line: &str) -> Option<&str> {
    if let Some(item) = line.strip_prefix(['-', '*', '•', '–', '+']) {
        return item.starts_with(' ').then(|| item.trim());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let item = line[digits..].strip_prefix(['.', ')']).filter(|_| (1..=3).contains(&digits))?;
    item.starts_with(' ').then(|| item.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xml(raw: &str) -> String {
        clean(raw, Markup::Xml, 1000).text
    }

    #[test]
    fn one_level_of_entities_is_decoded() {
        assert_eq!(xml("a &lt;b&gt; &amp;&quot;&#39;&#x27;&apos;c&nbsp;d&#160;e"), "a <b> &\"'''c d e");
        assert_eq!(xml("&amp;lt; &amp;amp;"), "&lt; &amp;");
        assert_eq!(xml("a & b; &unknown; &#xD800; &#; &"), "a & b; &unknown; &#xD800; &#; &");
        assert_eq!(clean("&lt;", Markup::Plain, 10).text, "&lt;");
    }

    #[test]
    fn cdata_is_taken_literally() {
        assert_eq!(xml("a &lt; <![CDATA[b &lt; <title>]]> c"), "a < b &lt; <title> c");
        assert_eq!(xml("<![CDATA[never &lt; closed"), "never < closed");
    }

    #[test]
    fn control_characters_are_dropped_and_line_ends_unified() {
        assert_eq!(xml("a\0b\u{7}c\u{9b}&#0;&#27;d\r\ne\rf\tg"), "abcd\ne\nf\tg");
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        assert_eq!(clean("one two three", Markup::Xml, 9), Cleaned { text: "one two…".into(), cut: true });
        assert_eq!(clean("one two", Markup::Xml, 7), Cleaned { text: "one two".into(), cut: false });
        assert_eq!(clean("ééééé", Markup::Xml, 3).text, "ééé…");
    }

    #[test]
    fn lists_come_in_many_shapes() {
        let facts = |raw| items(raw, Markup::Xml, Commas::Belong).items;
        let expected = ["a, b", "c < d"];
        assert_eq!(facts(r#"["a, b", "c &lt; d"]"#), expected);
        assert_eq!(facts("[&quot;a, b&quot;, &quot;c &lt; d&quot;]"), expected);
        assert_eq!(facts("<![CDATA[[\"a, b\", \"c < d\"]]]>"), expected);
        assert_eq!(facts(r#"["a, b", "c &lt; d",]"#), expected);
        assert_eq!(facts(r#"["a, b", "c &lt; d", "cut of"#), expected);
        assert_eq!(facts("['a, b', 'c &lt; d']"), expected);
        assert_eq!(facts("- a, b\n- c\n  &lt; d"), expected);
        assert_eq!(facts("The facts:\n1. a, b\n2) c &lt; d"), expected);
        assert_eq!(facts("a, b\n\nc &lt; d"), expected);
        assert_eq!(items("x, y-z\nw", Markup::Xml, Commas::Divide).items, ["x", "y-z", "w"]);
        assert_eq!(facts(""), Vec::<String>::new());
    }

    #[test]
    fn a_fence_around_the_answer_is_removed() {
        assert_eq!(unfenced("```xml\n<a>\n```"), "<a>");
        assert_eq!(unfenced("```<a>```\n"), "<a>");
        assert_eq!(unfenced("`<a>`"), "<a>");
        assert_eq!(unfenced("`a` and `b`"), "`a` and `b`");
        assert!(is_blank("\u{feff} ```xml\n\n``` \0\n"));
        assert!(!is_blank("-"));
        assert!(!is_blank("```sorry```"));
    }
}
