//! The tags of the contract, and their positions in an answer.
//!
//! Only these names are tags. Everything else in angle brackets (`Vec<String>`, `<div>`) is text.

use std::ops::Range;

/// Limit for the tags read of an answer. Fifty full observations have a tenth of that.
const MAX_TAGS: usize = 20_000;
/// Length limit for a tag's attributes, in bytes.
const MAX_ATTRIBUTES: usize = 512;
/// Search range for an inline code span, in bytes to each side.
const CODE_SPAN: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// A wrapper outside the contract. It distinguishes an empty answer from a missing one.
    Observations,
    Observation,
    Summary,
    /// A fact: kind, key and value.
    Statement,
    Skip,
    Think,
    Type,
    Title,
    Subtitle,
    Narrative,
    Facts,
    Concepts,
    FilesRead,
    FilesModified,
    Fact,
    Concept,
    File,
    Item,
    Request,
    Investigated,
    Learned,
    Completed,
    NextSteps,
    Notes,
    Kind,
    Key,
    Value,
}

/// Names without case, `_` and `-`. The first name of a tag is the one in the contract.
const NAMES: &[(&str, Tag)] = &[
    ("observations", Tag::Observations),
    ("observation", Tag::Observation),
    ("summary", Tag::Summary),
    ("sessionsummary", Tag::Summary),
    ("statement", Tag::Statement),
    ("factstatement", Tag::Statement),
    ("skip", Tag::Skip),
    ("think", Tag::Think),
    ("thinking", Tag::Think),
    ("thought", Tag::Think),
    ("reasoning", Tag::Think),
    ("type", Tag::Type),
    ("title", Tag::Title),
    ("subtitle", Tag::Subtitle),
    ("narrative", Tag::Narrative),
    ("facts", Tag::Facts),
    ("concepts", Tag::Concepts),
    ("filesread", Tag::FilesRead),
    ("filesmodified", Tag::FilesModified),
    ("filesedited", Tag::FilesModified),
    ("fact", Tag::Fact),
    ("concept", Tag::Concept),
    ("file", Tag::File),
    ("item", Tag::Item),
    ("li", Tag::Item),
    ("request", Tag::Request),
    ("investigated", Tag::Investigated),
    ("learned", Tag::Learned),
    ("completed", Tag::Completed),
    ("nextsteps", Tag::NextSteps),
    ("notes", Tag::Notes),
    ("kind", Tag::Kind),
    ("key", Tag::Key),
    ("value", Tag::Value),
];

const MAX_NAME_LEN: usize = 20;

impl Tag {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > MAX_NAME_LEN {
            return None;
        }
        let mut plain = [0; MAX_NAME_LEN];
        let mut length = 0;
        for byte in name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')) {
            plain[length] = byte.to_ascii_lowercase();
            length += 1;
        }
        let plain = &plain[..length];
        NAMES.iter().find(|(known, _)| known.as_bytes() == plain).map(|(_, tag)| *tag)
    }

    /// Its name in the contract.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FilesRead => "files_read",
            Self::FilesModified => "files_modified",
            Self::NextSteps => "next_steps",
            _ => NAMES.iter().find(|(_, tag)| *tag == self).map_or("", |(name, _)| name),
        }
    }

    pub(super) fn is_container(self) -> bool {
        matches!(self, Self::Observation | Self::Summary | Self::Statement)
    }

    /// The element that a field belongs to.
    pub(super) fn container(self) -> Option<Self> {
        let of_observation = matches!(self, Self::Type | Self::Title | Self::Subtitle | Self::Narrative);
        let of_summary = matches!(self, Self::Request | Self::Investigated | Self::Learned)
            || matches!(self, Self::Completed | Self::NextSteps | Self::Notes);
        if of_summary {
            return Some(Self::Summary);
        }
        if matches!(self, Self::Kind | Self::Key | Self::Value) {
            return Some(Self::Statement);
        }
        (of_observation || self.is_list()).then_some(Self::Observation)
    }

    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Facts | Self::Concepts | Self::FilesRead | Self::FilesModified)
    }

    pub(super) fn is_item(self) -> bool {
        matches!(self, Self::Fact | Self::Concept | Self::File | Self::Item)
    }

    pub(super) fn is_item_of(self, list: Self) -> bool {
        match self {
            Self::Fact => list == Self::Facts,
            Self::Concept => list == Self::Concepts,
            Self::File => matches!(list, Self::FilesRead | Self::FilesModified),
            Self::Item => list.is_list(),
            _ => false,
        }
    }

    /// Whether one of our tags could have been cut to this at the end of an answer.
    pub(super) fn begins_with(start: &str) -> bool {
        let start: String = start.to_ascii_lowercase().replace(['_', '-'], "");
        NAMES.iter().any(|(name, _)| name.starts_with(&start))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Open,
    Close,
    Empty,
}

/// One tag in the text.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) tag: Tag,
    pub(super) form: Form,
    pub(super) start: usize,
    pub(super) end: usize,
    attributes: Range<usize>,
    /// Whether it is between backticks, and so probably a mention and not structure.
    pub(super) in_code: bool,
}

impl Token {
    pub(super) fn closes(&self, tag: Tag) -> bool {
        self.tag == tag && self.form == Form::Close
    }

    pub(super) fn opens(&self, tag: Tag) -> bool {
        self.tag == tag && self.form == Form::Open
    }

    /// The value of the attribute with this name.
    pub(super) fn attribute<'a>(&self, text: &'a str, wanted: &str) -> Option<&'a str> {
        attributes(&text[self.attributes.clone()])
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value)
    }

    /// The value of the first attribute, as in `<file path="a.rs"/>`.
    pub(super) fn first_value<'a>(&self, text: &'a str) -> Option<&'a str> {
        attributes(&text[self.attributes.clone()]).next().map(|(_, value)| value)
    }
}

/// `name="value" name='value' name=value`; anything else ends the list.
fn attributes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => after[1..].split_once(quote)?,
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        rest = after;
        Some((name.trim(), value))
    })
}

/// The tag that starts at `start`, the position of a `<`.
fn tag_at(text: &str, start: usize) -> Option<Token> {
    let bytes = text.as_bytes();
    // Most angle brackets are not our tags, and there may be millions of them.
    if !bytes.get(start + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || b"/ \t\r\n".contains(byte)) {
        return None;
    }
    let blank = |mut at: usize| {
        // A model's slip has at most a few blanks.
        let limit = at + 4;
        while at < limit && bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let mut at = blank(start + 1);
    let closing = bytes.get(at) == Some(&b'/');
    if closing {
        at = blank(at + 1);
    }
    let length = bytes[at.min(bytes.len())..]
        .iter()
        .take(MAX_NAME_LEN + 1)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    let tag = Tag::from_name(&text[at..at + length])?;
    at += length;
    let reach = bytes.len().min(at + MAX_ATTRIBUTES);
    // Stopping at the next `<` keeps the total time linear, even with many unfinished tags.
    let stop = at + bytes[at..reach].iter().position(|byte| matches!(byte, b'>' | b'<'))?;
    if bytes[stop] != b'>' || !matches!(bytes[at], b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n') {
        return None;
    }
    let inside = text[at..stop].trim_end();
    let empty = inside.ends_with('/');
    let form = match (closing, empty) {
        (true, _) => Form::Close,
        (false, true) => Form::Empty,
        (false, false) => Form::Open,
    };
    let attributes = at..at + inside.trim_end_matches('/').len();
    Some(Token { tag, form, start, end: stop + 1, attributes, in_code: false })
}

/// All tags of the text in order; `false` if there were too many to read them all.
pub(super) fn tokens(text: &str) -> (Vec<Token>, bool) {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    let mut plain_from = 0;
    let mut sections = Sections::default();
    while let Some(offset) = text[at..].find('<') {
        let start = at + offset;
        let in_field = tokens.last().is_some_and(|last| {
            last.form == Form::Open && (last.tag.container().is_some() || last.tag.is_item())
        });
        if let Some(end) = sections.skip(text, start, in_field) {
            at = end;
            continue;
        }
        let Some(mut token) = tag_at(text, start) else {
            at = start + 1;
            continue;
        };
        if tokens.len() == MAX_TAGS {
            return (tokens, false);
        }
        token.in_code = in_code(text, plain_from, &token);
        at = token.end;
        if !token.in_code {
            plain_from = token.end;
        }
        tokens.push(token);
    }
    (tokens, true)
}

/// CDATA sections within a field and comments outside of one contain no tags.
#[derive(Default)]
struct Sections {
    // If an end was not found once, it is not searched for again.
    no_more_cdata: bool,
    no_more_comments: bool,
}

impl Sections {
    fn skip(&mut self, text: &str, start: usize, in_field: bool) -> Option<usize> {
        let rest = &text[start..];
        let (end, missing) = if in_field && rest.starts_with("<![CDATA[") {
            ("]]>", &mut self.no_more_cdata)
        } else if !in_field && rest.starts_with("<!--") {
            ("-->", &mut self.no_more_comments)
        } else {
            return None;
        };
        if *missing {
            return None;
        }
        let found = rest.find(end).map(|offset| start + offset + end.len());
        *missing = found.is_none();
        found
    }
}

/// Whether the tag is in an inline code span of its line. Text before `from` is ignored.
pub(super) fn in_code(text: &str, from: usize, token: &Token) -> bool {
    let bytes = text.as_bytes();
    let before = &bytes[from.max(token.start.saturating_sub(CODE_SPAN)).min(token.start)..token.start];
    let before = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = &bytes[token.end..bytes.len().min(token.end + CODE_SPAN)];
    let after = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // Three in a row are a fence, which may enclose the whole answer.
    let inline = |side: &[u8]| {
        side.chunk_by(|a, b| a == b)
            .filter(|run| run[0] == b'`' && run.len() < 3)
            .map(<[u8]>::len)
            .sum::<usize>()
    };
    inline(before) % 2 == 1 && inline(after) > 0
}

/// The answer without its leading thoughts; `None` if a thought is never closed.
pub(super) fn after_thoughts(answer: &str) -> Option<&str> {
    let mut rest =
        answer.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
    while rest.starts_with('<')
        && let Some(thought) = tag_at(rest, 0).filter(|token| token.tag == Tag::Think)
    {
        let end = match thought.form {
            Form::Open => end_of_thought(rest, thought.end)?,
            Form::Close | Form::Empty => thought.end,
        };
        rest = rest[end..].trim_start();
    }
    Some(rest)
}

fn end_of_thought(text: &str, from: usize) -> Option<usize> {
    let brackets = text[from..].match_indices('<').map(|(offset, _)| from + offset);
    brackets
        .filter_map(|start| tag_at(text, start))
        .find(|token| token.closes(Tag::Think))
        .map(|token| token.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Tag, Form)> {
        tokens(text).0.iter().map(|token| (token.tag, token.form)).collect()
    }

    #[test]
    fn a_tag_is_recognised_in_any_case_with_blanks_and_attributes() {
        for text in ["<title>", "<TITLE>", "< title >", "<title lang=\"en\">", "<title\n>", "<Ti-tle>"] {
            assert_eq!(read(text), [(Tag::Title, Form::Open)], "{text}");
        }
        for text in ["</next_steps>", "</ nextSteps >", "< /next-steps>"] {
            assert_eq!(read(text), [(Tag::NextSteps, Form::Close)], "{text}");
        }
        for text in ["<skip/>", "<skip />", "<Skip reason=\"routine\" / >"] {
            assert_eq!(read(text), [(Tag::Skip, Form::Empty)], "{text}");
        }
    }

    #[test]
    fn other_angle_brackets_are_text() {
        for text in ["<titles>", "<", "</", "<>", "a < b", "Vec<String>", "<title", "<title <b", "<tïtle>"] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn every_contract_name_maps_to_its_tag() {
        for (_, tag) in NAMES {
            assert_eq!(Tag::from_name(tag.name()), Some(*tag));
        }
    }

    #[test]
    fn attributes_are_read_with_any_quotes_or_none() {
        for text in [
            "<observation type=\"bugfix\">",
            "<observation type='bugfix'>",
            "<observation id=1 TYPE = bugfix >",
            "<observation id=\"a b\" type=\"bugfix\"/>",
        ] {
            let (tokens, _) = tokens(text);
            assert_eq!(tokens[0].attribute(text, "type"), Some("bugfix"), "{text}");
        }
        let text = "<observation type>";
        assert_eq!(tokens(text).0[0].attribute(text, "type"), None);
    }

    #[test]
    fn a_tag_between_backticks_is_a_mention() {
        let mentioned = |text: &str| tokens(text).0.iter().map(|token| token.in_code).collect::<Vec<_>>();
        assert_eq!(mentioned("the `<title>` tag"), [true]);
        assert_eq!(mentioned("the `<facts><fact>` tags and <title>"), [true, true, false]);
        assert_eq!(mentioned("a ` and <title> and\n a ` more"), [false]);
        assert_eq!(mentioned("```xml <title> ```"), [false]);
    }

    #[test]
    fn thoughts_at_the_beginning_are_left_out() {
        assert_eq!(after_thoughts(" <think>hm <skip/> </think>\n<Thinking>a</thinking> b"), Some("b"));
        assert_eq!(after_thoughts("</think>b"), Some("b"));
        assert_eq!(after_thoughts("<think>never done <skip/>"), None);
        assert_eq!(after_thoughts("b <think>"), Some("b <think>"));
    }
}
