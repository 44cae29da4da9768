//! The reader: a push parser, because bytes arrive as the host sends them.

use serde_json::{Map, Number, Value};
use thiserror::Error;

use super::find::find_any;
use super::private::PrivateTags;
use super::string::BoundedString;

/// Upper limits for the memory of one value, regardless of its size on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes kept of a string's beginning and end. Far more than is ever stored, so that redaction sees every secret
    /// whole before the final cut.
    pub head: usize,
    pub tail: usize,
    /// Bytes kept of all nested strings together.
    pub text: usize,
    /// Values kept below the top level.
    pub nodes: usize,
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head: 96 << 10, tail: 48 << 10, text: 2 << 20, nodes: 20_000, depth: 96 }
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum IntakeError {
    #[error("the input is empty")]
    Empty,
    #[error("the input ends in the middle of a value, after {0} bytes")]
    Truncated(u64),
    #[error("unexpected byte 0x{byte:02x} at offset {at}")]
    Unexpected { byte: u8, at: u64 },
    #[error("values are nested more than {0} deep")]
    TooDeep(usize),
}

/// Whether more bytes are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    Complete,
}

/// The value, with findings about it.
#[derive(Debug, Default)]
pub struct Document {
    pub value: Value,
    /// Members of the top-level object from which private text was removed.
    pub private_in: Vec<String>,
}

/// Reads one JSON value from bytes in chunks of any size.
#[derive(Debug)]
pub struct Intake {
    limits: Limits,
    state: State,
    stack: Vec<Frame>,
    /// Levels below the depth limit, whose contents are dropped: `true` for an object.
    deep: Vec<bool>,
    root: Option<Value>,
    /// A number or literal in progress.
    bare: Vec<u8>,
    string: BoundedString,
    is_key: bool,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
    tags: PrivateTags,
    private_in: Vec<String>,
    kept_text: usize,
    kept_nodes: usize,
    offset: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    AfterItem,
    InString,
    Escape,
    Unicode { digits: u8, code: u16 },
    Bare,
    Done,
}

#[derive(Debug)]
enum Frame {
    Object { members: Map<String, Value>, key: String },
    Array { items: Vec<Value>, left_out: usize },
}

const MAX_BARE_LEN: usize = 128;
/// Deeper nesting is an error. No real program sends it.
const MAX_DEPTH: usize = 1 << 20;
const TOO_DEEP: &str = "[… nested too deep, cut …]";
/// Minimum bytes kept of a string, even if the other strings have used up the shared limit.
const MIN_TEXT: usize = 256;

impl Default for Intake {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Intake {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Value,
            stack: Vec::new(),
            deep: Vec::new(),
            root: None,
            bare: Vec::new(),
            string: BoundedString::default(),
            is_key: false,
            high_surrogate: None,
            tags: PrivateTags::default(),
            private_in: Vec::new(),
            kept_text: 0,
            kept_nodes: 0,
            offset: 0,
        }
    }

    /// Takes the next bytes. Bytes after a complete value are ignored.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress, IntakeError> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::InString {
                let rest = &bytes[at..];
                let plain = find_any([b'"', b'\\'], rest);
                if plain > 0 {
                    self.flush_surrogate();
                    self.tags.push(&rest[..plain], &mut self.string);
                    at += plain;
                    continue;
                }
            }
            self.step(bytes[at], self.offset + at as u64)?;
            at += 1;
        }
        self.offset += bytes.len() as u64;
        Ok(if self.state == State::Done { Progress::Complete } else { Progress::More })
    }

    /// Ends the input.
    pub fn finish(mut self) -> Result<Document, IntakeError> {
        if self.state == State::Bare && self.stack.is_empty() {
            self.end_bare(0, self.offset)?;
        }
        match self.root.take() {
            Some(value) => Ok(Document { value, private_in: self.private_in }),
            None if self.stack.is_empty() && self.state == State::Value => Err(IntakeError::Empty),
            None => Err(IntakeError::Truncated(self.offset)),
        }
    }

    fn step(&mut self, byte: u8, at: u64) -> Result<(), IntakeError> {
        let unexpected = Err(IntakeError::Unexpected { byte, at });
        let blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        match self.state {
            State::InString => match byte {
                b'"' => {
                    self.flush_surrogate();
                    self.end_string();
                }
                _ => self.state = State::Escape,
            },
            State::Escape => return self.escape(byte, at),
            State::Unicode { digits, code } => {
                let Some(digit) = (byte as char).to_digit(16) else { return unexpected };
                let code = code << 4 | u16::try_from(digit).unwrap_or_default();
                self.state = State::Unicode { digits: digits + 1, code };
                if digits == 3 {
                    self.state = State::InString;
                    self.code_unit(code);
                }
            }
            State::Bare => match byte {
                b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.end_bare(byte, at)?;
                    if self.state != State::Done {
                        return self.step(byte, at);
                    }
                }
                _ if self.bare.len() >= MAX_BARE_LEN => return unexpected,
                _ => self.bare.push(byte),
            },
            // A byte order mark before the value is skipped like white space.
            State::Value if self.stack.is_empty() && at < 3 && [0xEF, 0xBB, 0xBF].contains(&byte) => {}
            _ if blank => {}
            State::Value | State::FirstItem => match byte {
                b']' if self.state == State::FirstItem => self.close(),
                b'{' => self.open(Frame::Object { members: Map::new(), key: String::new() })?,
                b'[' => self.open(Frame::Array { items: Vec::new(), left_out: 0 })?,
                b'"' => self.start_string(false),
                b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                    self.bare.clear();
                    self.bare.push(byte);
                    self.state = State::Bare;
                }
                _ => return unexpected,
            },
            State::FirstKey | State::Key => match byte {
                b'"' => self.start_string(true),
                b'}' if self.state == State::FirstKey => self.close(),
                _ => return unexpected,
            },
            State::Colon if byte == b':' => self.state = State::Value,
            State::AfterItem => match (byte, self.is_in_object()) {
                (b',', true) => self.state = State::Key,
                (b',', false) => self.state = State::Value,
                (b'}', true) | (b']', false) => self.close(),
                _ => return unexpected,
            },
            State::Colon | State::Done => return unexpected,
        }
        Ok(())
    }

    fn escape(&mut self, byte: u8, at: u64) -> Result<(), IntakeError> {
        let plain = match byte {
            b'u' => {
                self.state = State::Unicode { digits: 0, code: 0 };
                return Ok(());
            }
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            _ => return Err(IntakeError::Unexpected { byte, at }),
        };
        self.flush_surrogate();
        self.state = State::InString;
        self.tags.push(&[plain], &mut self.string);
        Ok(())
    }

    fn code_unit(&mut self, code: u16) {
        let high = match (self.high_surrogate.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => Some(high),
            (stale, _) => {
                self.high_surrogate = stale;
                self.flush_surrogate();
                None
            }
        };
        if (0xD800..=0xDBFF).contains(&code) {
            self.high_surrogate = Some(code);
            return;
        }
        let units = high.into_iter().chain([code]);
        for decoded in char::decode_utf16(units) {
            self.push_char(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }

    /// Replaces the first half of a surrogate pair if the second is missing: the host cut its text there.
    fn flush_surrogate(&mut self) {
        if self.high_surrogate.take().is_some() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
    }

    fn push_char(&mut self, c: char) {
        self.tags.push(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut self.string);
    }

    fn start_string(&mut self, is_key: bool) {
        let Limits { head, tail, text, .. } = self.limits;
        // Prompts and messages are at the top level, and nested tool output must not use up their share.
        let room = if self.stack.len() <= 1 { usize::MAX } else { text.saturating_sub(self.kept_text) };
        let room = room.max(MIN_TEXT);
        if is_key {
            self.string.start(1024, 0);
        } else {
            self.string.start(head.min(room), tail.min(room));
        }
        self.is_key = is_key;
        self.state = State::InString;
    }

    fn end_string(&mut self) {
        self.tags.end_of_text(&mut self.string);
        let text = self.string.finish();
        self.kept_text += text.len();
        if !self.is_key {
            return self.place(Value::String(text));
        }
        // A private part may span the strings of one member, such as the lines of a patch, but not two members.
        if self.stack.len() == 1 {
            self.tags.reset();
        }
        if self.deep.is_empty()
            && let Some(Frame::Object { key, .. }) = self.stack.last_mut()
        {
            *key = text;
        }
        self.state = State::Colon;
    }

    fn end_bare(&mut self, byte: u8, at: u64) -> Result<(), IntakeError> {
        let value = match self.bare.as_slice() {
            b"true" => Value::Bool(true),
            b"false" => Value::Bool(false),
            b"null" => Value::Null,
            digits => match serde_json::from_slice::<Number>(digits) {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(IntakeError::Unexpected { byte, at }),
            },
        };
        self.place(value);
        Ok(())
    }

    fn open(&mut self, frame: Frame) -> Result<(), IntakeError> {
        let is_object = matches!(frame, Frame::Object { .. });
        self.state = if is_object { State::FirstKey } else { State::FirstItem };
        if self.stack.len() < self.limits.depth {
            self.stack.push(frame);
        } else if self.deep.len() < MAX_DEPTH {
            self.deep.push(is_object);
        } else {
            return Err(IntakeError::TooDeep(MAX_DEPTH));
        }
        Ok(())
    }

    fn is_in_object(&self) -> bool {
        self.deep.last().copied().unwrap_or_else(|| matches!(self.stack.last(), Some(Frame::Object { .. })))
    }

    fn close(&mut self) {
        if self.deep.pop().is_some() {
            // `place` drops it while a level below the limit is still open.
            return self.place(Value::String(TOO_DEEP.to_owned()));
        }
        match self.stack.pop() {
            Some(Frame::Object { members, .. }) => self.place(Value::Object(members)),
            Some(Frame::Array { mut items, left_out }) => {
                if left_out > 0 {
                    items.push(Value::String(format!("[… {left_out} more items cut …]")));
                }
                self.place(Value::Array(items));
            }
            None => {}
        }
    }

    /// Adds a complete value to its parent.
    fn place(&mut self, value: Value) {
        if !self.deep.is_empty() {
            self.state = State::AfterItem;
            return;
        }
        let depth = self.stack.len();
        self.kept_nodes += 1;
        let kept = depth <= 1 || self.kept_nodes <= self.limits.nodes;
        self.state = State::AfterItem;
        match self.stack.last_mut() {
            None => {
                self.root = Some(value);
                self.state = State::Done;
            }
            Some(Frame::Object { members, key }) => {
                if depth == 1 && self.tags.reset() {
                    self.private_in.push(key.clone());
                }
                if kept {
                    members.insert(std::mem::take(key), value);
                }
            }
            Some(Frame::Array { items, .. }) if kept => items.push(value),
            Some(Frame::Array { left_out, .. }) => *left_out += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Excerpt;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(bytes: &[u8]) -> Result<Document, IntakeError> {
        let mut intake = Intake::default();
        intake.push(bytes)?;
        intake.finish()
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e12..1e12f64).prop_map(Value::from),
            "[^<&\\\\\u{FDD0}\u{FDD1}]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"é]*", inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_reads_in_any_portions(value in any_json(), portion in 1usize..40) {
            let text = serde_json::to_vec_pretty(&value).unwrap();
            let mut intake = Intake::default();
            for bytes in text.chunks(portion) {
                intake.push(bytes).unwrap();
            }
            let expected: Value = serde_json::from_slice(&text).unwrap();
            prop_assert_eq!(intake.finish().unwrap().value, expected);
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&bytes);
        }

        #[test]
        fn accepts_nothing_that_serde_json_refuses(text in "[\\[\\]{},:\"a1 tfn.eE+-]{0,24}") {
            if read(text.as_bytes()).is_ok() {
                let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
                prop_assert!(values.next().unwrap().is_ok(), "{}", text);
            }
        }
    }

    #[test]
    fn a_hundred_strings_of_any_size_fit_in_little_memory() {
        let mut intake = Intake::default();
        intake.push(br#"{"prompt":"p","tool_response":{"stdout":""#).unwrap();
        for _ in 0..1000 {
            intake.push(&[b'x'; 10_000]).unwrap();
        }
        intake.push(br#""},"tool_use_id":"t1"}"#).unwrap();
        let value = intake.finish().unwrap().value;
        assert_eq!(value["tool_use_id"], "t1");
        let stdout = value["tool_response"]["stdout"].as_str().unwrap();
        let excerpt = Excerpt::of(stdout);
        assert_eq!(excerpt.head.len() + excerpt.cut + excerpt.tail.len(), 10_000_000);
        assert!(stdout.len() < 200_000);
    }

    #[test]
    fn a_million_items_are_counted_not_kept() {
        let text = format!(r#"{{"tool_response":[{}1],"tool_use_id":"t1"}}"#, "1,".repeat(1_000_000));
        let value = read(text.as_bytes()).unwrap().value;
        assert_eq!(value["tool_use_id"], "t1");
        let items = value["tool_response"].as_array().unwrap();
        assert!(items.len() <= 20_001);
        assert!(items.last().unwrap().as_str().unwrap().contains("more items cut"));
    }

    #[test]
    fn a_tail_is_private_when_the_tag_opened_in_the_part_that_was_cut() {
        let mut text = String::from(r#"{"stdout":""#);
        text.push_str(&"a".repeat(200_000));
        text.push_str("<private>");
        text.push_str(&"SECRET ".repeat(100_000));
        text.push_str("\"}");
        let document = read(text.as_bytes()).unwrap();
        assert!(!document.value["stdout"].as_str().unwrap().contains("SECRET"));
        assert_eq!(document.private_in, ["stdout"]);
    }

    #[test]
    fn a_private_part_may_span_the_strings_of_one_member() {
        let text =
            r#"{"tool_response":{"lines":["a <private>","SECRET","</private> b"]},"tool_use_id":"t1"}"#;
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(document.value["tool_response"], json!({"lines": ["a ", "", " b"]}));
        assert_eq!(document.value["tool_use_id"], "t1");
        assert_eq!(document.private_in, ["tool_response"]);
        let open = read(br#"{"tool_input":{"a":"<private>x"},"session_id":"s"}"#).unwrap();
        assert_eq!(open.value["session_id"], "s");
    }

    #[test]
    fn escapes_and_halved_characters_are_read_as_a_host_meant_them() {
        let document =
            read(br#"["\u00e9\n\t\"\\\/\ud83d\ude00", "cut \ud83d", "\ud83dx", "\ude00"]"#).unwrap();
        assert_eq!(document.value, json!(["é\n\t\"\\/😀", "cut \u{FFFD}", "\u{FFFD}x", "\u{FFFD}"]));
        let lossy = read(b"{\"a\":\"x\xff\xfey\"}").unwrap();
        assert_eq!(lossy.value["a"], "x\u{FFFD}\u{FFFD}y");
        assert_eq!(read(b"\xef\xbb\xbf {\"a\":1} trailing").unwrap().value, json!({"a": 1}));
    }

    #[test]
    fn an_error_names_the_bad_input() {
        assert_eq!(read(b"").unwrap_err(), IntakeError::Empty);
        assert_eq!(read(b" \n").unwrap_err(), IntakeError::Empty);
        assert_eq!(read(br#"{"a":"#).unwrap_err(), IntakeError::Truncated(5));
        assert_eq!(read(br#"{"a" 1}"#).unwrap_err(), IntakeError::Unexpected { byte: b'1', at: 5 });
        assert_eq!(read(&b"[".repeat(10_000_000)).unwrap_err(), IntakeError::TooDeep(MAX_DEPTH));
    }

    #[test]
    fn values_nested_too_deep_are_cut_and_the_rest_is_kept() {
        let deep = format!(r#"{}{{"k":[1,{{}}]}}{}"#, r#"[{"k":"#.repeat(100), "}]".repeat(100));
        let text = format!(r#"{{"before": "kept", "tool": {deep}, "after": [1, 2]}}"#);
        let value = read(text.as_bytes()).unwrap().value;
        assert_eq!((&value["before"], &value["after"]), (&json!("kept"), &json!([1, 2])));
        assert!(value["tool"].to_string().contains(TOO_DEEP));
        for depth in [94, 95, 96, 97, 98] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let kept = read(text.as_bytes()).unwrap().value.to_string();
            assert_eq!(kept == text, depth <= 96, "{kept}");
        }
        let broken = format!("{}}}{}", "[".repeat(98), "]".repeat(97));
        assert_eq!(read(broken.as_bytes()).unwrap_err(), IntakeError::Unexpected { byte: b'}', at: 98 });
    }

    #[test]
    fn a_value_is_complete_without_the_end_of_the_stream() {
        let mut intake = Intake::default();
        assert_eq!(intake.push(br#"{"a":"#), Ok(Progress::More));
        assert_eq!(intake.push(b"1}"), Ok(Progress::Complete));
    }
}
