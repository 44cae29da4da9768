//! Follows `<private>` tags through text that arrives in pieces.
//!
//! Tags count in any case, with blanks, line breaks or attributes, nested, and also if the text is itself escaped,
//! even more than once: as JSON (`\u003cprivate\u003e`, `<private\n>`), HTML (`&lt;private&gt;`, `&#60;private&#62;`,
//! `&amp;lt;private&amp;gt;`), or in a URL (`%3Cprivate%3E`). A tag that is never closed makes everything after it
//! private. A closing tag that was never opened makes everything before it private: the opening tag may be in a part
//! of the file that the tool did not show.

use super::find::find_any;

const NAME: &[u8] = b"private";
/// The brackets and the slash of a tag, plain and escaped.
const OPENINGS: &[&[u8]] = &[
    b"<",
    b"\\u003c",
    b"\\\\u003c",
    b"\\x3c",
    b"&lt;",
    b"&#60;",
    b"&#x3c;",
    b"&amp;lt;",
    b"&amp;#60;",
    b"%3c",
    b"%253c",
];
const ENDS: &[&[u8]] = &[
    b">",
    b"\\u003e",
    b"\\\\u003e",
    b"\\x3e",
    b"&gt;",
    b"&#62;",
    b"&#x3e;",
    b"&amp;gt;",
    b"&amp;#62;",
    b"%3e",
    b"%253e",
];
const SLASHES: &[&[u8]] = &[b"/", b"\\/", b"\\\\/", b"\\u002f", b"&#47;", b"&#x2f;", b"%2f", b"%252f"];
/// Longer than any recognised tag. Bytes that are not a tag by then are text.
const MAX_TAG_LEN: usize = 64;

/// Receives the public part of a text.
pub(super) trait PublicText {
    fn keep(&mut self, bytes: &[u8]);
    /// Discards everything kept so far: it turned out to be private.
    fn forget(&mut self);
}

#[derive(Debug, Default)]
pub(super) struct PrivateTags {
    depth: usize,
    /// The beginning of a possible tag, held back until it is decided.
    pending: Vec<u8>,
    /// Whether anything private was seen since the last reset.
    seen: bool,
}

impl PrivateTags {
    /// Starts over. Returns whether anything private was seen since the last reset.
    pub(super) fn reset(&mut self) -> bool {
        self.depth = 0;
        self.pending.clear();
        std::mem::take(&mut self.seen)
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], out: &mut impl PublicText) {
        while !bytes.is_empty() {
            if self.pending.is_empty() {
                let start = find_start(bytes);
                self.emit(&bytes[..start], out);
                bytes = &bytes[start..];
                if bytes.is_empty() {
                    return;
                }
                // Most of the time it is not a tag and the next bytes show it, so nothing needs to be held back.
                let ahead = &bytes[..bytes.len().min(MAX_TAG_LEN + 1)];
                if matches!(classify(ahead, Unfinished::MayFollow), ReadState::Text) {
                    self.emit(&bytes[..1], out);
                    bytes = &bytes[1..];
                    continue;
                }
            }
            self.pending.push(bytes[0]);
            bytes = &bytes[1..];
            self.decide(Unfinished::MayFollow, out);
        }
    }

    /// Ends a text. An open tag stays open for the following texts of the same member.
    pub(super) fn end_of_text(&mut self, out: &mut impl PublicText) {
        while !self.pending.is_empty() {
            self.decide(Unfinished::Never, out);
        }
    }

    fn decide(&mut self, more: Unfinished, out: &mut impl PublicText) {
        loop {
            match classify(&self.pending, more) {
                ReadState::Undecided => return,
                ReadState::Text => {
                    let held = std::mem::take(&mut self.pending);
                    self.emit(&held[..1], out);
                    // Another tag may begin inside the bytes that were held back.
                    let rest = &held[1..];
                    let start = find_start(rest);
                    self.emit(&rest[..start], out);
                    self.pending.extend_from_slice(&rest[start..]);
                }
                ReadState::Tag(tag, length) => {
                    let held = std::mem::take(&mut self.pending);
                    self.apply(tag, out);
                    self.push(&held[length..], out);
                    return;
                }
            }
            if self.pending.is_empty() {
                return;
            }
        }
    }

    fn apply(&mut self, tag: Tag, out: &mut impl PublicText) {
        match tag {
            Tag::Empty => {}
            Tag::Open => {
                self.seen = true;
                self.depth += 1;
            }
            Tag::Close if self.depth == 0 => {
                self.seen = true;
                out.forget();
            }
            Tag::Close => self.depth -= 1,
        }
    }

    fn emit(&self, bytes: &[u8], out: &mut impl PublicText) {
        if self.depth == 0 && !bytes.is_empty() {
            out.keep(bytes);
        }
    }
}

/// The position of the next byte that may begin a tag, or the length.
fn find_start(bytes: &[u8]) -> usize {
    find_any([b'<', b'\\', b'&', b'%'], bytes)
}

#[derive(Clone, Copy, PartialEq)]
enum Unfinished {
    MayFollow,
    Never,
}

#[derive(Clone, Copy)]
enum Tag {
    Open,
    Close,
    /// `<private/>` encloses nothing.
    Empty,
}

enum ReadState {
    Undecided,
    Text,
    Tag(Tag, usize),
}

/// Whether `held` begins with a tag. It needs one character after the name to know that the name ended.
fn classify(held: &[u8], more: Unfinished) -> ReadState {
    let undecided = if more == Unfinished::Never || held.len() > MAX_TAG_LEN {
        ReadState::Text
    } else {
        ReadState::Undecided
    };
    let mut cursor = Cursor { bytes: held, at: 0 };
    match cursor.one_of(OPENINGS) {
        Step::Matched => {}
        Step::Differs => return ReadState::Text,
        Step::Short => return undecided,
    }
    cursor.skip_blanks();
    let closing = match cursor.one_of(SLASHES) {
        Step::Matched => true,
        Step::Differs => false,
        Step::Short => return undecided,
    };
    cursor.skip_blanks();
    match cursor.one_of(&[NAME]) {
        Step::Matched => {}
        Step::Differs => return ReadState::Text,
        Step::Short => return undecided,
    }
    let after_name = cursor.at;
    let tag = if closing { Tag::Close } else { Tag::Open };
    let may_wait = more == Unfinished::MayFollow && held.len() <= MAX_TAG_LEN;
    cursor.skip_blanks();
    let blanks = cursor.at > after_name;
    if !closing {
        match cursor.one_of(&[
            b"/>",
            b"/\\u003e",
            b"/\\\\u003e",
            b"/&gt;",
            b"/&#62;",
            b"/&#x3e;",
            b"/%3e",
            b"%2f%3e",
        ]) {
            Step::Matched => return ReadState::Tag(Tag::Empty, cursor.at),
            Step::Short if may_wait => return ReadState::Undecided,
            Step::Short | Step::Differs => {}
        }
    }
    match cursor.one_of(ENDS) {
        Step::Matched => ReadState::Tag(tag, cursor.at),
        Step::Short if may_wait => ReadState::Undecided,
        Step::Short => ReadState::Tag(tag, after_name),
        Step::Differs if blanks || cursor.peek() == Some(b'/') => ReadState::Tag(tag, after_name),
        Step::Differs => ReadState::Text,
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

enum Step {
    Matched,
    Differs,
    /// The bytes end before it is decided.
    Short,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space, also if escaped.
    fn skip_blanks(&mut self) {
        const BLANKS: &[&[u8]] = &[
            b"\\n", b"\\r", b"\\t", b"\\\\n", b"\\\\r", b"\\\\t", b"%20", b"%0a", b"%0d", b"%09", b"&#10;",
            b"&#32;", b"&nbsp;",
        ];
        loop {
            if self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
                self.at += 1;
            } else if !matches!(self.one_of(BLANKS), Step::Matched) {
                return;
            }
        }
    }

    /// Skips the first of `choices` that matches here, ignoring case.
    fn one_of(&mut self, choices: &[&[u8]]) -> Step {
        let rest = &self.bytes[self.at..];
        let mut step = Step::Differs;
        let Some(first) = rest.first() else { return Step::Short };
        for choice in choices.iter().filter(|choice| choice[0].eq_ignore_ascii_case(first)) {
            let shared = rest.len().min(choice.len());
            if !rest[..shared].eq_ignore_ascii_case(&choice[..shared]) {
                continue;
            }
            if shared == choice.len() {
                self.at += shared;
                return Step::Matched;
            }
            step = Step::Short;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<u8>);

    impl PublicText for Kept {
        fn keep(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
        fn forget(&mut self) {
            self.0.clear();
        }
    }

    fn public(text: &str) -> String {
        let whole = public_in_pieces(text, text.len().max(1));
        let long = format!("{text}{}", ".".repeat(2 * MAX_TAG_LEN));
        let whole_and_more = public_in_pieces(&long, long.len());
        for size in [1, 2, 3, 7] {
            assert_eq!(public_in_pieces(text, size), whole, "pieces of {size} bytes");
            assert_eq!(public_in_pieces(&long, size), whole_and_more, "pieces of {size} bytes");
        }
        whole
    }

    fn public_in_pieces(text: &str, size: usize) -> String {
        let mut tags = PrivateTags::default();
        let mut kept = Kept::default();
        for piece in text.as_bytes().chunks(size) {
            tags.push(piece, &mut kept);
        }
        tags.end_of_text(&mut kept);
        String::from_utf8(kept.0).unwrap()
    }

    #[test]
    fn private_parts_are_removed_for_every_spelling_of_the_tag() {
        for text in [
            "a <private>SECRET</private>b",
            "a <PRIVATE>SECRET</Private>b",
            "a <private reason=\"x\">SECRET</private>b",
            "a < private >SECRET< / private >b",
            "a <private\n>SECRET</private\n>b",
            "a <private>x<private>SECRET</private>SECRET</private>b",
            "a \\u003cprivate\\u003eSECRET\\u003c/private\\u003eb",
            "a \\u003Cprivate\\u003ESECRET\\u003C\\/private\\u003Eb",
            "a &lt;private&gt;SECRET&lt;/private&gt;b",
            "a <private>SECRET<\\/private>b",
            "a <private>SECRET <b> </private>b",
            "a <private></private><private>SECRET</private>b",
            "a <private/ SECRET</private>b",
            "a <private\\n>SECRET</private\\n>b",
            "a <private\\r\\n  >SECRET</private>b",
            "a \\\\u003cprivate\\\\u003eSECRET\\\\u003c/private\\\\u003eb",
            "a \\u003cprivate\\n\\u003eSECRET\\u003c\\u002fprivate\\u003eb",
            "a &#60;private&#62;SECRET&#60;/private&#62;b",
            "a &#x3C;private&#x3E;SECRET&#x3C;&#x2F;private&#x3E;b",
            "a &amp;lt;private&amp;gt;SECRET&amp;lt;/private&amp;gt;b",
            "a %3Cprivate%3ESECRET%3C%2Fprivate%3Eb",
        ] {
            assert_eq!(public(text), "a b", "{text}");
        }
    }

    #[test]
    fn an_unclosed_tag_takes_everything_after_it() {
        for text in ["a <private>SECRET", "a <private", "a <private SECRET", "a <private>x</privateSECRET"] {
            assert_eq!(public(text), "a ", "{text}");
        }
    }

    #[test]
    fn a_closing_tag_alone_takes_everything_before_it() {
        assert_eq!(public("SECRET</private> b"), " b");
        assert_eq!(public("SECRET</private"), "");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "<privateer>",
            "<private_key>",
            "a < b && c > d \\u003 \\u003cdiv",
            "<private/>x",
            "<privat",
            "<<<<<&&&&\\\\\\<",
            "visibility: <private|public>",
        ] {
            let expected = text.replace("<private/>", "");
            assert_eq!(public(text), expected, "{text}");
        }
    }
}
