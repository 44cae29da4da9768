//! Edits JSON text in place: unchanged parts keep their bytes, including comments and order.
//!
//! Hosts accept comments and trailing commas in JSON, so both are accepted here. A path is a list of keys; an array can
//! only be at its end.

use std::ops::Range;

use serde_json::{Map, Value};

/// Why and where a text is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("it is not valid JSON: line {line}, column {column}: {reason}")]
    Syntax { line: usize, column: usize, reason: &'static str },
    #[error("it is not an object, as the agent expects")]
    NotAnObject,
    #[error("`{0}` is not {1}")]
    WrongKind(String, &'static str),
}

/// Deeper nesting is refused: no configuration needs it, and the parser recurses.
const MAX_DEPTH: usize = 128;

#[derive(Debug)]
struct Node {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

#[derive(Debug)]
struct Member {
    key: String,
    /// From the key to the end of the value.
    span: Range<usize>,
    value: Node,
}

/// Parses a text; `None` if it is empty.
pub(crate) fn value(text: &str) -> Result<Option<Value>, JsonError> {
    Ok(document(text)?.map(|node| node.value()))
}

/// The value at a path.
pub(crate) fn get(text: &str, at: &[String]) -> Result<Option<Value>, JsonError> {
    let Some(root) = document(text)? else { return Ok(None) };
    let (node, depth) = descend(&root, at)?;
    Ok((depth == at.len()).then(|| node.value()))
}

/// Sets the member at a path and creates the objects above it.
pub(crate) fn set(text: &str, at: &[String], value: &Value) -> Result<String, JsonError> {
    let root = root(text)?;
    let (node, depth) = descend(&root, at)?;
    if depth == at.len() {
        let indent = Style::indent_at(text, node.span.start);
        let rendered = Style::of(text).render(value, &indent, Layout::like(text, &node.span));
        return Ok(splice(text, node.span.clone(), &rendered));
    }
    create(text, &root, node, depth, at, value, 0)
}

/// Appends an element to the array at a path, which is created if missing.
pub(crate) fn append(text: &str, at: &[String], element: &Value) -> Result<String, JsonError> {
    let root = root(text)?;
    let (node, depth) = descend(&root, at)?;
    if depth < at.len() {
        return create(text, &root, node, depth, at, &Value::Array(vec![element.clone()]), 1);
    }
    add(text, &root, node, None, element, at, Layout::Lines(0))
}

/// Sets a missing member and creates the objects above it. They and `open` levels of the value are written on separate
/// lines.
fn create(
    text: &str,
    root: &Node,
    node: &Node,
    depth: usize,
    at: &[String],
    value: &Value,
    open: usize,
) -> Result<String, JsonError> {
    let missing = &at[depth + 1..];
    let value = missing
        .iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(Map::from_iter([(key.clone(), value)])));
    let layout = Layout::Lines(missing.len() + open);
    add(text, root, node, Some(&at[depth]), &value, &at[..depth], layout)
}

/// Removes the member at a path. Without such a member, the text is returned unchanged.
pub(crate) fn remove(text: &str, at: &[String]) -> Result<String, JsonError> {
    let Some(root) = document(text)? else { return Ok(text.to_owned()) };
    let Some((last, above)) = at.split_last() else { return Ok(text.to_owned()) };
    let (node, depth) = descend(&root, above)?;
    let Kind::Object(members) = &node.kind else { return Ok(text.to_owned()) };
    if depth < above.len() {
        return Ok(text.to_owned());
    }
    let spans: Vec<Range<usize>> = members.iter().map(|member| member.span.clone()).collect();
    match members.iter().position(|member| member.key == *last) {
        Some(index) => Ok(without(text, &node.span, &spans, index)),
        None => Ok(text.to_owned()),
    }
}

/// Removes the elements that `gone` selects from the array at a path.
pub(crate) fn remove_elements(
    text: &str,
    at: &[String],
    gone: &dyn Fn(&Value) -> bool,
) -> Result<String, JsonError> {
    let mut text = text.to_owned();
    loop {
        let Some(root) = document(&text)? else { return Ok(text) };
        let (node, depth) = descend(&root, at)?;
        let Kind::Array(elements) = &node.kind else { return Ok(text) };
        if depth < at.len() {
            return Ok(text);
        }
        let Some(index) = elements.iter().position(|element| gone(&element.value())) else {
            return Ok(text);
        };
        let spans: Vec<Range<usize>> = elements.iter().map(|element| element.span.clone()).collect();
        text = without(&text, &node.span, &spans, index);
    }
}

/// Replaces the elements of the array at a path for which `new` returns another value.
pub(crate) fn replace_elements(
    text: &str,
    at: &[String],
    new: &dyn Fn(&Value) -> Option<Value>,
) -> Result<String, JsonError> {
    let Some(root) = document(text)? else { return Ok(text.to_owned()) };
    let (node, depth) = descend(&root, at)?;
    let Kind::Array(elements) = &node.kind else { return Ok(text.to_owned()) };
    if depth < at.len() {
        return Ok(text.to_owned());
    }
    let style = Style::of(text);
    let mut changed = text.to_owned();
    for element in elements.iter().rev() {
        if let Some(value) = new(&element.value()) {
            let indent = Style::indent_at(text, element.span.start);
            let rendered = style.render(&value, &indent, Layout::like(text, &element.span));
            changed = splice(&changed, element.span.clone(), &rendered);
        }
    }
    Ok(changed)
}

fn splice(text: &str, span: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// The root, which must be an object.
fn root(text: &str) -> Result<Node, JsonError> {
    match document(text)? {
        Some(node @ Node { kind: Kind::Object(_), .. }) => Ok(node),
        Some(_) => Err(JsonError::NotAnObject),
        None => Err(JsonError::Syntax { line: 1, column: 1, reason: "the file is empty" }),
    }
}

/// The deepest existing node on a path, and its depth.
fn descend<'a>(root: &'a Node, at: &[String]) -> Result<(&'a Node, usize), JsonError> {
    let mut node = root;
    for (depth, key) in at.iter().enumerate() {
        let Kind::Object(members) = &node.kind else {
            return Err(match depth {
                0 => JsonError::NotAnObject,
                _ => JsonError::WrongKind(at[..depth].join("."), "an object"),
            });
        };
        match members.iter().find(|member| member.key == *key) {
            Some(member) => node = &member.value,
            None => return Ok((node, depth)),
        }
    }
    Ok((node, at.len()))
}

/// Adds a member or an element at the end of a container.
fn add(
    text: &str,
    root: &Node,
    container: &Node,
    key: Option<&String>,
    value: &Value,
    at: &[String],
    layout: Layout,
) -> Result<String, JsonError> {
    let spans: Vec<Range<usize>> = match (&container.kind, key) {
        (Kind::Object(members), Some(_)) => members.iter().map(|member| member.span.clone()).collect(),
        (Kind::Array(elements), None) => elements.iter().map(|element| element.span.clone()).collect(),
        (_, Some(_)) => return Err(JsonError::WrongKind(at.join("."), "an object")),
        (_, None) => return Err(JsonError::WrongKind(at.join("."), "a list")),
    };
    let style = Style::of(text);
    let label = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key.as_str())));
    let (open, close) = (container.span.start, container.span.end - 1);
    let Some(last) = spans.last() else {
        let inside = &text[open + 1..close];
        let indent = Style::indent_at(text, open);
        // A text on one line stays on one line, unless it is empty.
        let whole = &text[root.span.clone()];
        if inside.trim().is_empty() && !whole.contains('\n') && container.span != root.span {
            return Ok(splice(
                text,
                open + 1..close,
                &format!("{label}{}", style.render(value, "", Layout::OneLine)),
            ));
        }
        let inner = format!("{indent}{}", style.unit);
        let new = format!("{label}{}", style.render(value, &inner, layout));
        let kept = inside.trim_end();
        let newline = style.newline;
        return Ok(splice(text, open + 1..close, &format!("{kept}{newline}{inner}{new}{newline}{indent}")));
    };
    let comma = comma_after(text, last.end);
    let line_end = same_line_trivia(text, comma.map_or(last.end, |comma| comma + 1));
    let is_flat = !text[open..spans[0].start].contains('\n');
    let mut new = text.to_owned();
    if is_flat {
        let rendered = format!(" {label}{}", style.render(value, "", Layout::OneLine));
        new.insert_str(comma.map_or(line_end, |comma| comma + 1), &rendered);
    } else {
        let indent = Style::indent_at(text, last.start);
        let rendered = format!("{}{indent}{label}{}", style.newline, style.render(value, &indent, layout));
        new.insert_str(line_end, &rendered);
    }
    if comma.is_none() {
        new.insert(last.end, ',');
    }
    Ok(new)
}

/// The text without one child of a container, its comma, and the empty line it would leave.
fn without(text: &str, container: &Range<usize>, children: &[Range<usize>], index: usize) -> String {
    let child = &children[index];
    if children.len() == 1 {
        let mut inside = format!(
            "{}{}",
            &text[container.start + 1..child.start],
            &text[comma_after(text, child.end).map_or(child.end, |comma| comma + 1)..container.end - 1]
        );
        if inside.trim().is_empty() {
            inside.clear();
        }
        return splice(text, container.start + 1..container.end - 1, &inside);
    }
    if let Some(comma) = comma_after(text, child.end) {
        let start = child.start;
        let mut end = comma + 1;
        let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let is_first_on_line = text[line..start].trim().is_empty();
        let rest = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        if is_first_on_line && text[end..rest].trim().is_empty() {
            return splice(text, line..rest, "");
        }
        while text[end..].starts_with([' ', '\t']) {
            end += 1;
        }
        return splice(text, start..end, "");
    }
    // For the last child, the comma before it and the white space in between are removed.
    let before = &children[index - 1];
    let comma = comma_after(text, before.end).unwrap_or(before.end);
    let between = &text[comma + 1..child.start];
    let kept = if between.trim().is_empty() { "" } else { between.trim_end() };
    format!("{}{kept}{}", &text[..comma], &text[child.end..])
}

/// Position of the comma after a child, if there is one.
fn comma_after(text: &str, end: usize) -> Option<usize> {
    let mut reader = Reader { text, at: end };
    // The text was parsed before, so all comments are closed.
    reader.skip_trivia().ok()?;
    text[reader.at..].starts_with(',').then_some(reader.at)
}

/// The end of the comments on the same line.
fn same_line_trivia(text: &str, start: usize) -> usize {
    let line = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line = if text[..line].ends_with('\r') { line - 1 } else { line };
    let rest = text[start..line].trim();
    let is_comment =
        rest.starts_with("//") || (rest.starts_with("/*") && rest.find("*/") == Some(rest.len() - 2));
    if is_comment { start + text[start..line].trim_end().len() } else { start }
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    OneLine,
    /// This many levels have separate lines; deeper ones only if they are long.
    Lines(usize),
}

/// Longer objects and lists are not written on one line, in bytes.
const MAX_LINE_LEN: usize = 140;

impl Layout {
    /// The layout of the existing value.
    fn like(text: &str, span: &Range<usize>) -> Self {
        let text = &text[span.clone()];
        let is_flat = text.len() > 2 && text.starts_with(['{', '[']) && !text.contains('\n');
        if is_flat { Self::OneLine } else { Self::Lines(0) }
    }

    fn below(self) -> Self {
        match self {
            Self::OneLine => Self::OneLine,
            Self::Lines(levels) => Self::Lines(levels.saturating_sub(1)),
        }
    }
}

/// Line ending and indentation of a file.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().filter(|line| !line.trim().is_empty());
        let unit = indents
            .map(|line| &line[..line.len() - line.trim_start().len()])
            .find(|indent| !indent.is_empty())
            .unwrap_or("  ");
        Self { newline, unit: if unit.len() > 8 { "  ".to_owned() } else { unit.to_owned() } }
    }

    /// The indentation of the line that contains a position.
    fn indent_at(text: &str, position: usize) -> String {
        let line = text[..position].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &text[line..position];
        rest[..rest.len() - rest.trim_start().len()].to_owned()
    }

    fn render(&self, value: &Value, indent: &str, layout: Layout) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (open, close, parts): (char, char, Vec<String>) = match value {
            Value::Object(members) => {
                let mut parts = Vec::new();
                for (key, value) in members {
                    let value = self.render(value, &inner, layout.below());
                    parts.push(format!("{}: {value}", Value::from(key.as_str())));
                }
                ('{', '}', parts)
            }
            Value::Array(elements) => {
                let parts = elements.iter().map(|element| self.render(element, &inner, layout.below()));
                ('[', ']', parts.collect())
            }
            other => return other.to_string(),
        };
        let line = format!("{open}{}{close}", parts.join(", "));
        let is_short = line.len() <= MAX_LINE_LEN && !line.contains('\n');
        if parts.is_empty() || layout == Layout::OneLine || (layout == Layout::Lines(0) && is_short) {
            return line;
        }
        let newline = self.newline;
        let parts = parts.join(&format!(",{newline}{inner}"));
        format!("{open}{newline}{inner}{parts}{newline}{indent}{close}")
    }
}

impl Node {
    fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => Value::Object(
                members.iter().map(|member| (member.key.clone(), member.value.value())).collect(),
            ),
            Kind::Array(elements) => Value::Array(elements.iter().map(Node::value).collect()),
            Kind::Scalar(value) => value.clone(),
        }
    }
}

/// Parses a text; `None` if it contains only white space and comments.
fn document(text: &str) -> Result<Option<Node>, JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_trivia()?;
    if reader.at == text.len() {
        return Ok(None);
    }
    let node = reader.node(0)?;
    reader.skip_trivia()?;
    if reader.at < text.len() { Err(reader.error("text after the end")) } else { Ok(Some(node)) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error(&self, reason: &'static str) -> JsonError {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        JsonError::Syntax { line, column, reason }
    }

    fn skip_trivia(&mut self) -> Result<(), JsonError> {
        loop {
            let rest = self.rest();
            let skipped = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            if skipped > 0 {
                self.at += skipped;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) if end >= 2 => self.at += end + 2,
                    _ => return Err(self.error("a comment without an end")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn eat(&mut self, character: char) -> bool {
        let found = self.rest().starts_with(character);
        self.at += if found { character.len_utf8() } else { 0 };
        found
    }

    fn node(&mut self, depth: usize) -> Result<Node, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        let start = self.at;
        let kind = match self.rest().bytes().next() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Scalar(Value::String(self.string()?)),
            _ => self.word()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, JsonError> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip_trivia()?;
            if self.eat('}') {
                return Ok(Kind::Object(members));
            }
            let start = self.at;
            if !self.rest().starts_with('"') {
                return Err(self.error("a name in double quotes is expected"));
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                self.at = start;
                return Err(self.error("this name appears twice"));
            }
            self.skip_trivia()?;
            if !self.eat(':') {
                return Err(self.error("a colon is expected"));
            }
            self.skip_trivia()?;
            let value = self.node(depth + 1)?;
            members.push(Member { key, span: start..self.at, value });
            self.skip_trivia()?;
            if !self.eat(',') && !self.rest().starts_with('}') {
                return Err(self.error("a comma or the end of the object is expected"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Kind, JsonError> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_trivia()?;
            if self.eat(']') {
                return Ok(Kind::Array(elements));
            }
            elements.push(self.node(depth + 1)?);
            self.skip_trivia()?;
            if !self.eat(',') && !self.rest().starts_with(']') {
                return Err(self.error("a comma or the end of the list is expected"));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'\\' => end += 2,
                b'"' => {
                    let written = &self.rest()[..=end];
                    // Half a surrogate pair is legal in JavaScript but has no value here, so the written text is used.
                    let string = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
                    self.at += end + 1;
                    return Ok(string);
                }
                b'\n' => return Err(self.error("a text without an end")),
                _ => end += 1,
            }
        }
        Err(self.error("a text without an end"))
    }

    fn word(&mut self) -> Result<Kind, JsonError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))
            .unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..end]).map_err(|_| self.error("no value"))?;
        self.at += end;
        Ok(Kind::Scalar(value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn path(at: &str) -> Vec<String> {
        at.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn unchanged_parts_keep_their_bytes() {
        let text = "{\n    // mine\n    \"model\" :\"opus\", /* why */\n    \"hooks\": {\n        \"Stop\": [{\"a\":1}] // last\n    }\n}\n";
        let added = append(text, &path("hooks.Stop"), &json!({"b": [1, 2]})).unwrap();
        assert_eq!(added, text.replace("{\"a\":1}]", "{\"a\":1}, {\"b\": [1, 2]}]"));
        let added = append(text, &path("hooks.Start"), &json!({"b": {"c": 1}})).unwrap();
        assert_eq!(
            added,
            text.replace(
                "}] // last\n",
                "}], // last\n        \"Start\": [\n            {\"b\": {\"c\": 1}}\n        ]\n"
            )
        );
        assert_eq!(remove(&added, &path("hooks.Start")).unwrap(), text);
        assert_eq!(set(text, &path("model"), &json!("x")).unwrap(), text.replace("\"opus\"", "\"x\""));
    }

    #[test]
    fn the_existing_layout_is_kept() {
        let cases = [
            ("{}", "{\n  \"a\": {\n    \"b\": 1\n  }\n}"),
            ("{}\n", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
            ("{\"x\":1}", "{\"x\":1, \"a\": {\"b\": 1}}"),
            ("{\"a\":{}}", "{\"a\":{\"b\": 1}}"),
            ("{\r\n\t\"x\": 1\r\n}\r\n", "{\r\n\t\"x\": 1,\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}\r\n"),
            ("{\n  \"x\": 1,\n}\n", "{\n  \"x\": 1,\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
            ("{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
        ];
        for (before, after) in cases {
            assert_eq!(set(before, &path("a.b"), &json!(1)).unwrap(), after, "{before}");
        }
    }

    #[test]
    fn invalid_json_is_refused_with_its_position() {
        for (text, place) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", (3, 3)),
            ("{\n  \"a\": tru\n}", (2, 8)),
            ("{\"a\": 1} x", (1, 10)),
            ("{\"a\": \"b", (1, 7)),
            ("{\"a\": 1, \"a\": 2}", (1, 10)),
            ("/* x", (1, 1)),
        ] {
            let Err(JsonError::Syntax { line, column, .. }) = set(text, &path("c"), &json!(1)) else {
                panic!("{text}")
            };
            assert_eq!((line, column), place, "{text}");
        }
        set(&"[".repeat(1 << 20), &path("c"), &json!(1)).unwrap_err();
        let wrong = append("{\"a\": {\"b\": 1}}", &path("a.b"), &json!(1)).unwrap_err();
        assert_eq!(wrong, JsonError::WrongKind("a.b".into(), "a list"));
    }

    #[test]
    fn removing_elements_keeps_comments() {
        let text = "{\"a\": [\n  1, // one\n  2,\n  /* three */ 3\n]}";
        let odd = |value: &Value| value == 1 || value == 3;
        assert_eq!(
            remove_elements(text, &path("a"), &odd).unwrap(),
            "{\"a\": [\n  // one\n  2\n  /* three */\n]}"
        );
        assert_eq!(remove_elements("{\"a\": [1, 3]}", &path("a"), &odd).unwrap(), "{\"a\": []}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\/é\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn added_and_removed_is_as_before(members in prop::collection::btree_map("[a-d]{1,2}", any_json(), 0..4), pretty: bool) {
            let before = Value::Object(members.into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&before).unwrap() } else { before.to_string() };
            let at = path("hooks.Stop");
            let added = append(&text, &at, &json!({"x": [{"y": 1}]})).unwrap();
            let mut expected = before.clone();
            expected["hooks"] = json!({"Stop": [{"x": [{"y": 1}]}]});
            prop_assert_eq!(value(&added).unwrap(), Some(expected));
            prop_assert_eq!(remove(&added, &path("hooks")).unwrap(), text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:/*a1 \n\\\\]{0,40}") {
            let _ = set(&text, &path("a.b"), &json!(1));
            let _ = remove(&text, &path("a"));
        }
    }
}
