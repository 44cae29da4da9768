//! Reads answers in XML, or something similar.
//!
//! The difficulty is to distinguish structure from text: a narrative about a parser mentions `<title>`, and models
//! forget to close tags. A field extends to the closing tag that balances it. Only if there is none before the end of
//! the observation does it extend to the next tag that could follow it.

use super::draft::Draft;
use super::tag::{Form, Tag, Token, in_code, tokens};
use super::text::Markup;
use super::{Gathered, Problem};

/// How many tags ahead the closing tag of a field is searched.
const LOOKAHEAD: usize = 256;
/// How much text around a tag is examined, in bytes.
const NEAR: usize = 200;

/// The memory found, and the text after the last thought, in case it holds an answer in another format.
pub(super) fn read(text: &str) -> (Gathered, &str) {
    let (tokens, complete) = tokens(text);
    let mut reader = Reader { text, tokens, at: 0, plain_from: 0, body: 0, found: Gathered::default() };
    if !complete {
        reader.found.note(Problem::TooManyTags);
    }
    reader.read();
    (reader.found, &text[reader.body..])
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// Index of the next token.
    at: usize,
    /// Start of the text between elements.
    plain_from: usize,
    /// End of the last thought.
    body: usize,
    found: Gathered,
}

/// The range of a field.
struct Extent {
    start: usize,
    end: usize,
    /// End of the tokens inside it.
    inner: usize,
    next: usize,
    ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Closed,
    /// By a tag that can only follow it.
    Implied,
    /// By the end of the answer.
    CutOff,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(token) = self.tokens.get(self.at).cloned() {
            if in_code(self.text, self.plain_from, &token) {
                self.at += 1;
                continue;
            }
            match (token.tag, token.form) {
                (Tag::Observation | Tag::Summary | Tag::Statement, Form::Open) => {
                    self.at += 1;
                    self.container(&token);
                }
                (Tag::Observation | Tag::Summary | Tag::Statement, Form::Empty) => {
                    self.at += 1;
                    self.found.note(Problem::Empty(token.tag.name()));
                }
                (Tag::Think, _) => self.thought(&token),
                (Tag::Skip, _) => {
                    self.at += 1;
                    self.found.skip = true;
                }
                (Tag::Observations, _) => self.wrapper(&token),
                (tag, Form::Open) if tag.container().is_some() => self.unwrapped(tag),
                _ => self.at += 1,
            }
            self.plain_from = self.tokens[..self.at].last().map_or(0, |last| last.end);
        }
    }

    /// Skips a thought. Also discards everything before the end of a thought whose beginning the provider left out.
    fn thought(&mut self, token: &Token) {
        self.at += 1;
        match token.form {
            Form::Empty => {}
            Form::Close if self.text[token.end..].trim_start().is_empty() => {}
            Form::Close => {
                self.body = token.end;
                self.found = Gathered::default();
            }
            Form::Open => {
                let end = self.tokens[self.at..].iter().position(|token| token.closes(Tag::Think));
                self.at = end.map_or(self.tokens.len(), |offset| self.at + offset + 1);
                if end.is_some() {
                    self.body = self.tokens[self.at - 1].end;
                } else {
                    self.body = self.text.len();
                    self.found.note(Problem::UnfinishedThought);
                }
            }
        }
    }

    /// Treats `<observations></observations>` like `<skip/>`.
    fn wrapper(&mut self, token: &Token) {
        self.at += 1;
        let closed_at_once = self.tokens.get(self.at).is_some_and(|next| {
            token.form == Form::Open && next.closes(Tag::Observations) && self.is_blank(token.end, next.start)
        });
        if token.form == Form::Empty || closed_at_once {
            self.found.empty_list = true;
        }
    }

    /// Reads the fields of an observation or a summary.
    fn container(&mut self, open: &Token) {
        let mut draft = Draft::new();
        if let Some(kind) = open.attribute(self.text, "type").filter(|_| open.tag == Tag::Observation) {
            draft.set(Tag::Type, kind, Markup::Xml, &mut self.found);
        }
        let mut skip = false;
        let mut last_list = None;
        let closed = loop {
            let Some(token) = self.tokens.get(self.at).cloned() else { break false };
            match (token.tag, token.form) {
                (tag, Form::Close) if tag.is_container() => {
                    self.at += 1;
                    break tag == open.tag;
                }
                (Tag::Observation | Tag::Summary | Tag::Statement | Tag::Observations, _)
                | (Tag::Think, Form::Close) => {
                    break false;
                }
                (Tag::Think, _) => self.thought(&token),
                (Tag::Skip, _) => {
                    self.at += 1;
                    skip = true;
                }
                (tag, Form::Open | Form::Empty) if tag.container() == Some(open.tag) => {
                    last_list = tag.is_list().then_some(tag).or(last_list);
                    self.field(&mut draft, &token);
                }
                (tag, Form::Open | Form::Empty) if tag.is_item() && open.tag == Tag::Observation => {
                    self.stray_item(&mut draft, &token, last_list);
                }
                _ => self.at += 1,
            }
        };
        if !closed {
            self.found.note(Problem::Unclosed(open.tag.name()));
        }
        self.found.skip |= skip;
        if open.tag == Tag::Summary {
            draft.finish_summary(&mut self.found);
        } else if open.tag == Tag::Statement {
            draft.finish_statement(&mut self.found);
        } else if !skip || draft.has(Tag::Title) || draft.has(Tag::Narrative) {
            draft.finish_observation(&mut self.found);
        }
    }

    /// Reads fields without an element around them. There must be several closed ones, to distinguish them from prose
    /// about tags.
    fn unwrapped(&mut self, first: Tag) {
        let Some(container) = first.container() else { return };
        let mut draft = Draft::new();
        let mut fields: Vec<Tag> = Vec::new();
        while let Some(token) = self.tokens.get(self.at).cloned() {
            let field = token.tag;
            let again = matches!(field, Tag::Type | Tag::Title | Tag::Request) && fields.contains(&field);
            if token.form != Form::Open || field.container() != Some(container) || again {
                break;
            }
            if self.extent(self.at).ending != Ending::Closed {
                break;
            }
            fields.push(field);
            self.field(&mut draft, &token);
        }
        if fields.is_empty() {
            self.at += 1;
        } else if container == Tag::Summary && fields.len() > 1 {
            self.found.note(Problem::Unwrapped(container.name()));
            draft.finish_summary(&mut self.found);
        } else if container == Tag::Statement {
            // `key` and `value` are common in many formats; without their element they are not a statement.
        } else if draft.has(Tag::Title) && draft.has(Tag::Narrative) {
            self.found.note(Problem::Unwrapped(container.name()));
            draft.finish_observation(&mut self.found);
        }
    }

    fn field(&mut self, draft: &mut Draft, open: &Token) {
        let tag = open.tag;
        if open.form == Form::Empty {
            self.at += 1;
            let value = open.first_value(self.text).unwrap_or_default();
            draft.set(tag, value, Markup::Xml, &mut self.found);
            return;
        }
        let extent = self.extent(self.at);
        self.note_ending(tag, extent.ending);
        if tag.is_list() {
            self.list(draft, tag, &extent);
        } else if extent.ending != Ending::CutOff || !matches!(tag, Tag::Type | Tag::Title | Tag::Subtitle) {
            // Half a narrative is still informative, half a title misleads.
            draft.set(tag, &self.text[extent.start..extent.end], Markup::Xml, &mut self.found);
        }
        self.at = extent.next;
    }

    fn list(&mut self, draft: &mut Draft, list: Tag, extent: &Extent) {
        let mut at = self.at + 1;
        let mut items = false;
        let mut plain_from = extent.start;
        while at < extent.inner {
            let token = &self.tokens[at];
            let structure = token.form != Form::Close && token.tag.is_item_of(list);
            if !structure || in_code(self.text, plain_from, token) {
                at += 1;
                continue;
            }
            items = true;
            at = self.item(draft, list, at, extent);
            plain_from = self.tokens[at - 1].end;
        }
        if !items {
            draft.add_all(list, &self.text[extent.start..extent.end], Markup::Xml, &mut self.found);
        }
    }

    /// Adds the item at this token, and returns the index of the next token.
    fn item(&mut self, draft: &mut Draft, list: Tag, at: usize, within: &Extent) -> usize {
        let open = self.tokens[at].clone();
        if open.form == Form::Empty {
            let value = open.first_value(self.text).unwrap_or_default();
            draft.add(list, value, Markup::Xml, &mut self.found);
            return at + 1;
        }
        let next = (at + 1..within.inner).find(|next| {
            let next = &self.tokens[*next];
            next.tag == open.tag && (next.form == Form::Close || !in_code(self.text, open.end, next))
        });
        let (end, next) = match next {
            Some(next) if self.tokens[next].form == Form::Close => {
                let close = self.last_close(next, within.inner);
                (self.tokens[close].start, close + 1)
            }
            Some(next) => (self.tokens[next].start, next),
            // The answer ended first, and an incomplete item may say the opposite of what it meant.
            None if within.ending == Ending::CutOff => return within.inner,
            None => (within.end.max(open.end), within.inner),
        };
        draft.add(list, &self.text[open.end..end], Markup::Xml, &mut self.found);
        next
    }

    /// Reads an item outside of a list, in most cases because the list was closed too early.
    fn stray_item(&mut self, draft: &mut Draft, token: &Token, last_list: Option<Tag>) {
        let list = match token.tag {
            Tag::Fact => Some(Tag::Facts),
            Tag::Concept => Some(Tag::Concepts),
            Tag::File => last_list.filter(|list| token.tag.is_item_of(*list)).or(Some(Tag::FilesRead)),
            _ => last_list,
        };
        let Some(list) = list else {
            self.at += 1;
            return;
        };
        let siblings = self.tokens[self.at..].iter().take(LOOKAHEAD);
        let count = siblings.take_while(|token| token.tag.is_item()).count();
        let inner = self.at + count;
        let (end, ending) = match self.tokens.get(inner) {
            Some(next) => (next.start, Ending::Implied),
            None => (self.text.len(), Ending::CutOff),
        };
        let extent = Extent { start: token.end, end, inner, next: inner, ending };
        self.at = self.item(draft, list, self.at, &extent);
    }

    /// The range of the field whose tag is at `at`.
    fn extent(&self, at: usize) -> Extent {
        let field = self.tokens[at].tag;
        let container = field.container();
        let last = self.tokens.len().min(at + 1 + LOOKAHEAD);
        let (mut open, mut nested) = (1, 0);
        let (mut close, mut sibling, mut boundary) = (None, None, None);
        for next in at + 1..last {
            let token = &self.tokens[next];
            if token.closes(field) {
                open -= 1;
                if open == 0 {
                    return self.closed(at, self.last_close(next, last));
                }
                if boundary.is_none() {
                    close = Some(next);
                }
                continue;
            }
            if token.in_code {
                continue;
            }
            if token.opens(field) {
                open += 1;
                sibling = sibling.or(Some(next));
            } else if token.tag.is_container() && token.form == Form::Open {
                nested += usize::from(Some(token.tag) == container);
                boundary = boundary.or(self.begins_element(next).then_some(next));
            } else if Some(token.tag) == container {
                if nested == 0 && !self.is_mentioned(next, field) {
                    boundary = boundary.or(Some(next));
                    break;
                }
                nested = nested.saturating_sub(1);
            } else if token.tag.container() == container {
                sibling = sibling.or(Some(next));
            }
        }
        if let Some(close) = close {
            return self.closed(at, close);
        }
        let stop = sibling.into_iter().chain(boundary).min().or((last < self.tokens.len()).then_some(last));
        self.unclosed(at, stop)
    }

    fn closed(&self, at: usize, close: usize) -> Extent {
        let (start, end) = (self.tokens[at].end, self.tokens[close].start);
        Extent { start, end, inner: close, next: close + 1, ending: Ending::Closed }
    }

    fn unclosed(&self, at: usize, stop: Option<usize>) -> Extent {
        let start = self.tokens[at].end;
        let (text, inner, ending) = match stop {
            Some(stop) => {
                (without_last_tag(&self.text[start..self.tokens[stop].start]), stop, Ending::Implied)
            }
            None => (without_loose_end(&self.text[start..]), self.tokens.len(), Ending::CutOff),
        };
        Extent { start, end: start + text.len(), inner, next: inner, ending }
    }

    /// `<title>Handle a missing </title> tag</title>`: the text extends to the last closing tag.
    fn last_close(&self, mut close: usize, limit: usize) -> usize {
        let tag = self.tokens[close].tag;
        while close + 1 < limit
            && self.tokens[close + 1].closes(tag)
            && !self.is_blank(self.tokens[close].end, self.tokens[close + 1].start)
        {
            close += 1;
        }
        close
    }

    /// Whether an opening tag begins an element and is not just mentioned in a sentence.
    fn begins_element(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        let bytes = self.text.as_bytes();
        let near = &bytes[token.start.saturating_sub(NEAR)..token.start];
        let before = near.trim_ascii_end();
        let own_line = near[before.len()..].contains(&b'\n') || before.is_empty();
        let after = bytes[token.end..bytes.len().min(token.end + NEAR)].trim_ascii_start();
        (own_line || before.ends_with(b">")) && after.starts_with(b"<")
    }

    /// Whether there are only blanks between two positions. Only the beginning is checked, so that a run of blanks is
    /// not read repeatedly.
    fn is_blank(&self, from: usize, to: usize) -> bool {
        self.text.as_bytes()[from..to.min(from + NEAR)].trim_ascii().is_empty()
    }

    /// Whether the element's closing tag is only mentioned within the field, which continues and is closed right
    /// after it.
    fn is_mentioned(&self, at: usize, field: Tag) -> bool {
        let token = &self.tokens[at];
        self.tokens
            .get(at + 1)
            .is_some_and(|next| next.closes(field) && !self.is_blank(token.end, next.start))
    }

    fn note_ending(&mut self, tag: Tag, ending: Ending) {
        match ending {
            Ending::Closed => {}
            Ending::Implied => self.found.note(Problem::Unclosed(tag.name())),
            Ending::CutOff => self.found.note(Problem::CutOff(tag.name())),
        }
    }
}

/// `<title>Streaks</titel>`: a misspelt closing tag is not part of the text.
fn without_last_tag(text: &str) -> &str {
    let trimmed = text.trim_end();
    let tag = trimmed.rfind("</").filter(|at| {
        let name = trimmed[at + 2..].strip_suffix('>');
        name.is_some_and(|name| {
            name.len() < 20 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    });
    tag.map_or(text, |at| &trimmed[..at])
}

/// The end of an answer that was cut off, without an unfinished tag, a misspelt one, or the fence around the answer.
fn without_loose_end(text: &str) -> &str {
    let mut text = text.trim_end();
    if let Some(inner) = text.strip_suffix("```")
        && inner.matches("```").count().is_multiple_of(2)
    {
        text = inner.trim_end();
    }
    let text = without_last_tag(text);
    let begun = text.rfind('<').filter(|at| {
        let tag = &text[at + 1..];
        let name = tag.strip_prefix('/').unwrap_or(tag);
        tag.len() < 20 && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_') && Tag::begins_with(name)
    });
    begun.map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_ends_are_removed() {
        for text in [
            "a b",
            "a b</narr",
            "a b<",
            "a b</",
            "a b<file",
            "a b\n```",
            "a b</narratve>",
            "a b</narrativ>\n```",
        ] {
            assert_eq!(without_loose_end(text).trim_end(), "a b", "{text}");
        }
        for text in ["a < b", "see ```x```", "Vec<String"] {
            assert_eq!(without_loose_end(text), text);
        }
    }
}
