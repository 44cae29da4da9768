//! Markdown notes of a vault: front matter, tags, sections and excerpts.

/// Limit for the tags of a note.
const MAX_TAGS: usize = 100;
/// Size limit for front matter, in bytes. Real front matter is short.
const MAX_FRONT_MATTER_LEN: usize = 16 << 10;
/// Size limits for the parts of a note that are indexed separately: short sections are joined up to the first limit,
/// long ones are cut at the second.
const SHORT_PART: usize = 800;
const LONG_PART: usize = 2_000;
const MAX_PARTS: usize = 40;

/// A parsed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The title in the front matter.
    pub title: Option<String>,
    /// Without `#`, from front matter and text.
    pub tags: Vec<String>,
    /// The text after the front matter.
    pub body: &'a str,
}

/// A part of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The heading above it, if any.
    pub heading: String,
    pub text: String,
}

/// Parses a note. Front matter that is not closed or not valid is treated as text.
pub fn parse(text: &str) -> Parsed<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split_front_matter(text).unwrap_or(("", text));
    let mut tags = listed(front, &["tags", "tag"]);
    tags.extend(inline_tags(body));
    let mut known = Vec::new();
    for tag in tags {
        let tag = tag.trim_start_matches('#').trim_end_matches('/').to_owned();
        if !tag.is_empty() && tag.chars().all(is_in_tag) && !known.contains(&tag) && known.len() < MAX_TAGS {
            known.push(tag);
        }
    }
    let title = listed_value(front, "title").map(|title| unquoted(title).to_owned());
    Parsed { title: title.filter(|title| !title.is_empty()), tags: known, body }
}

fn split_front_matter(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n"))?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&rest[..end], &rest[end + line.len()..]));
        }
        end += line.len();
        if end > MAX_FRONT_MATTER_LEN {
            return None;
        }
    }
    None
}

/// The values of the first of `keys`: `[a, b]`, `a, b`, `a b`, or one `- a` per line.
fn listed(front: &str, keys: &[&str]) -> Vec<String> {
    let mut lines = front.lines();
    let value = lines.find_map(|line| keys.iter().find_map(|key| value_of(line, key)));
    let Some(value) = value else { return Vec::new() };
    let value = value.trim_start_matches('[').trim_end_matches(']');
    if !value.trim().is_empty() {
        let words = value.split(|c: char| c == ',' || c.is_whitespace());
        return words.map(|word| unquoted(word).to_owned()).collect();
    }
    let items = lines.map(str::trim).skip_while(|line| line.is_empty());
    items.map_while(|line| line.strip_prefix('-').map(|item| unquoted(item).to_owned())).collect()
}

fn listed_value<'a>(front: &'a str, key: &str) -> Option<&'a str> {
    front.lines().find_map(|line| value_of(line, key))
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case(key).then(|| value.trim())
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Whether a character is allowed in a tag.
pub fn is_in_tag(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '-' | '/')
        || !c.is_ascii() && !c.is_whitespace() && !c.is_control()
}

/// Tags in the text, outside of code.
fn inline_tags(body: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for line in outside_fences(body) {
        let mut is_code = false;
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            if c == '`' {
                is_code = !is_code;
            } else if c == '#' && !is_code && before.is_whitespace() {
                let rest = &line[at + 1..];
                let end = rest.find(|c| !is_in_tag(c)).unwrap_or(rest.len());
                // `#12` is a number, not a tag.
                if rest[..end].contains(|c: char| !c.is_ascii_digit()) && tags.len() < MAX_TAGS {
                    tags.push(rest[..end].to_owned());
                }
            }
            before = c;
        }
    }
    tags
}

/// The lines outside fenced code blocks.
fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut fence = Fence::default();
    text.lines().filter(move |line| !fence.holds(line))
}

/// Tracks code blocks line by line.
#[derive(Default)]
struct Fence<'a> {
    mark: Option<&'a str>,
}

impl Fence<'_> {
    /// Whether a line belongs to a code block, including its fences.
    fn holds(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (self.mark, mark) {
            (None, Some(mark)) => self.mark = Some(mark),
            (Some(open), Some(mark)) if open == mark => self.mark = None,
            (None, None) => return false,
            _ => {}
        }
        true
    }
}

/// Whether one of `tags` is `wanted` or nested below it, as `remora/rust` is below `remora`.
pub fn has_tag(tags: &[String], wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    !wanted.is_empty()
        && tags.iter().any(|tag| {
            let tag = tag.to_lowercase();
            tag.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// The parts of a note that are indexed separately: its sections, with short ones joined.
pub fn parts(body: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for section in sections(body) {
        match parts.last_mut() {
            Some(last) if last.text.len() + section.text.len() <= SHORT_PART => {
                last.text.push('\n');
                last.text.push_str(&joined(&section));
            }
            _ => parts.extend(cut(section)),
        }
        if parts.len() >= MAX_PARTS {
            parts.truncate(MAX_PARTS);
            break;
        }
    }
    parts
}

fn joined(section: &Part) -> String {
    [section.heading.as_str(), section.text.as_str()].join("\n").trim().to_owned()
}

/// Splits at headings. Sections without text are skipped.
fn sections(body: &str) -> Vec<Part> {
    let mut sections = vec![Part { heading: String::new(), text: String::new() }];
    let mut fence = Fence::default();
    for line in body.lines() {
        let is_code = fence.holds(line);
        match heading(line).filter(|_| !is_code) {
            Some(heading) => sections.push(Part { heading: heading.to_owned(), text: String::new() }),
            None => {
                if let Some(section) = sections.last_mut() {
                    section.text.push_str(line);
                    section.text.push('\n');
                }
            }
        }
    }
    for section in &mut sections {
        section.text = section.text.trim().to_owned();
    }
    sections.retain(|section| !section.text.is_empty());
    sections
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then(|| rest.trim())
}

/// Cuts a long section at the end of a paragraph, a line or a word.
fn cut(section: Part) -> Vec<Part> {
    let Part { heading, text } = section;
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while rest.len() > LONG_PART {
        let most = &rest[..rest.floor_char_boundary(LONG_PART)];
        let end = ["\n\n", "\n", " "].iter().find_map(|end| most.rfind(end).filter(|at| *at > LONG_PART / 2));
        let (part, after) = rest.split_at(end.unwrap_or(most.len()));
        parts.push(Part { heading: heading.clone(), text: part.trim().to_owned() });
        rest = after.trim_start();
    }
    parts.push(Part { heading, text: rest.trim().to_owned() });
    parts
}

/// The text without a first heading that repeats the title.
pub fn without_heading<'a>(text: &'a str, title: &str) -> &'a str {
    match text.split_once('\n').unwrap_or((text, "")) {
        (line, rest) if heading(line).is_some_and(|heading| heading.eq_ignore_ascii_case(title)) => rest,
        _ => text,
    }
}

/// The beginning of a text as one line of whole words, at most `most` characters long.
pub fn excerpt(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let word = if word.bytes().all(|byte| byte == b'#') { continue } else { word };
        let length = word.chars().count();
        let space = usize::from(count > 0);
        if count + space + length > most.saturating_sub(1) {
            let room = most.saturating_sub(1 + count + space);
            // Text in scripts without spaces is one long word.
            if length > room && length > 40 {
                line.push_str(if space > 0 { " " } else { "" });
                line.extend(word.chars().take(room));
            }
            line.push('…');
            return line;
        }
        if space > 0 {
            line.push(' ');
        }
        line.push_str(word);
        count += space + length;
    }
    line
}

/// Like [`excerpt`], for the words around a position in the text.
pub fn excerpt_around(text: &str, at: usize, most: usize) -> String {
    let at = text.floor_char_boundary(at);
    if text.chars().count() <= most || text[..at].chars().count() <= most / 2 {
        return excerpt(text, most);
    }
    let back = text[..at].char_indices().rev().nth(most / 3).map_or(0, |(start, _)| start);
    // Starts at a word boundary if there is one.
    let start = text[back..at].find(char::is_whitespace).map_or(back, |space| back + space);
    format!("…{}", excerpt(&text[start..], most.saturating_sub(1)))
}

/// `Plan.md` becomes `Plan`.
pub fn without_extension(path: &str) -> &str {
    let cut = path.len().saturating_sub(3);
    match path.get(cut..) {
        Some(end) if end.eq_ignore_ascii_case(".md") => &path[..cut],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Vec<String> {
        parse(text).tags
    }

    #[test]
    fn tags_are_read_however_they_are_written() {
        for front in [
            "tags: [remora, work/now]",
            "tags: remora, work/now",
            "Tags: remora work/now",
            "tags:\n  - remora\n  - \"#work/now\"\nother: 1",
            "tags:\n- '#remora'\n- work/now",
            "tag: \"remora\" work/now",
        ] {
            let text = format!("---\n{front}\n---\nText");
            assert_eq!(tags(&text), ["remora", "work/now"], "{front}");
            assert_eq!(tags(&text.replace('\n', "\r\n")), ["remora", "work/now"], "{front}");
        }
        assert_eq!(
            tags("A #remora note, #remora again (#no) a#no #12 `#no` #日本/語."),
            ["remora", "日本/語"]
        );
        assert_eq!(tags("# Heading\n```\n#no\n```\n~~~\n#no\n```\n~~~\n#yes"), ["yes"]);
        assert!(has_tag(&tags("#Remora/rust"), "remora") && has_tag(&tags("#x #remora"), "Remora"));
        assert!(!has_tag(&tags("#remoras"), "remora") && !has_tag(&tags("#remora"), ""));
    }

    #[test]
    fn broken_front_matter_is_text() {
        for broken in
            ["---\ntags: [remora\nnever closed", "--- \ntags: remora\n---\nx", "---", "----\n---\n", ""]
        {
            assert_eq!(parse(broken).body, broken);
            assert_eq!(tags(broken), [""; 0], "{broken}");
        }
        let odd = parse("---\n: :\n[[[\n\ttags\n---\nText");
        assert_eq!((odd.body, odd.title), ("Text", None));
        assert_eq!(parse("\u{feff}---\ntitle: 'It'\n---\nx").title.as_deref(), Some("It"));
        assert_eq!(parse(&format!("---\n{}---\nx", "a: b\n".repeat(10_000))).title, None);
    }

    #[test]
    fn a_note_is_found_by_its_sections() {
        let long = "word ".repeat(1_000);
        let body = format!("Intro.\n# One\nShort.\n## Empty\n# Two\n{long}\n```\n# no heading\n```");
        let parts = parts(&body);
        assert_eq!((parts[0].heading.as_str(), parts[0].text.as_str()), ("", "Intro.\nOne\nShort."));
        assert!(parts[1..].iter().all(|part| part.heading == "Two" && part.text.len() <= LONG_PART));
        assert!(parts.last().unwrap().text.ends_with("# no heading\n```"));
        assert_eq!(super::parts(&"x".repeat(1 << 20)).len(), MAX_PARTS);
        assert_eq!(super::parts(" \n"), []);
    }

    #[test]
    fn an_excerpt_has_whole_words() {
        assert_eq!(excerpt("# The  plan\n\nWe ship on Friday", 20), "The plan We ship on…");
        assert_eq!(excerpt("short", 20), "short");
        let japanese = "翻訳".repeat(400);
        assert_eq!(excerpt(&japanese, 100).chars().count(), 100);
        let text = format!("{}NEEDLE {}", "before ".repeat(100), "after ".repeat(200));
        let around = excerpt_around(&text, text.find("NEEDLE").unwrap(), 120);
        assert!(around.starts_with("…before") && around.contains("NEEDLE after"), "{around}");
        assert!(around.ends_with("after…") && around.chars().count() <= 120, "{around}");
        assert_eq!(excerpt_around("one two", 4, 100), "one two");
        assert!(excerpt_around(&japanese, 1_500, 100).chars().count() <= 100);
    }
}
