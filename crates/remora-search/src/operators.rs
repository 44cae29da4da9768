//! Parses quotes, parentheses, `title:`, `facts:` and upper-case AND, OR and NOT. Text that does not parse is
//! searched as plain text. All user text reaches the index inside quotes, so that no input can cause an error there.

use std::fmt::Write as _;

use remora_store::search::RecordText;

use crate::language::Language;
use crate::words::{fold, words};

const MAX_TERMS: usize = 32;
const MAX_DEPTH: usize = 12;
/// Fields that a query can name: columns of the index, and parts of records, which the index does not distinguish.
const FIELDS: [(&str, Field); 9] = [
    ("title", Field::Column("title")),
    ("body", Field::Column("body")),
    ("prompt", Field::Column("prompt")),
    ("before", Field::Column("before")),
    ("after", Field::Column("after")),
    ("narrative", Field::Part(Part::Narrative)),
    ("facts", Field::Part(Part::Facts)),
    ("concepts", Field::Part(Part::Concepts)),
    ("learned", Field::Part(Part::Learned)),
];
/// A document's own columns. Words are required or excluded there, not in the context stored with it.
const OWN: &str = "title body";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    Column(&'static str),
    Part(Part),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Narrative,
    Facts,
    /// Concepts have no document of their own; the narrative's document includes them.
    Concepts,
    Learned,
}

impl Part {
    /// Whether a document holds this part.
    fn is_in(self, document: &str) -> bool {
        match self {
            Self::Narrative | Self::Concepts => document == "narrative",
            Self::Facts => document.starts_with("fact"),
            Self::Learned => document == "learned",
        }
    }
}

/// The parsed operators of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operators {
    tree: Tree,
    /// Whether AND, OR, NOT or a field such as `title:word` were written. Then only matching documents are returned.
    /// Quotes, parentheses and `title: word` may come from a pasted text.
    pub(crate) is_explicit: bool,
}

impl Operators {
    /// `None` if the text has no operators or does not parse.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let terms = tokens.iter().filter(|token| matches!(token, Token::Text { .. })).count();
        if !tokens.iter().any(Token::is_syntax) || terms == 0 || terms > MAX_TERMS {
            return None;
        }
        let mut parser = Parser { tokens: &tokens, at: 0 };
        let tree = parser.any(0)?;
        let is_explicit = tokens.iter().any(Token::is_binding);
        (parser.at == tokens.len()).then_some(Self { tree, is_explicit })
    }

    /// Whether parts of records are named. Then the index only yields candidates, and [`Self::allow_record`] decides.
    pub(crate) fn name_parts(&self) -> bool {
        self.tree.leaves(None).iter().any(|field| matches!(field, Some(Field::Part(_))))
    }

    /// An FTS5 expression that at least one document of every matching record satisfies.
    pub(crate) fn candidates(&self) -> String {
        self.tree.candidates(OWN)
    }

    /// Whether the operators hold for a record as a whole.
    pub(crate) fn allow_record(&self, record: &RecordText) -> bool {
        self.tree.holds_for(None, record)
    }

    /// Whether a document of a matching record should be shown: if only parts were named, one of those.
    pub(crate) fn want_document(&self, document: &str) -> bool {
        self.tree.leaves(None).into_iter().any(|field| match field {
            Some(Field::Part(part)) => part.is_in(document),
            _ => true,
        })
    }

    /// The operators as an FTS5 expression. Not for operators that only exclude, because FTS5 has no "everything".
    pub(crate) fn expression(&self) -> String {
        self.tree.sql()
    }

    /// The excluded terms as an FTS5 expression. No part of a result may match it.
    pub(crate) fn unwanted(&self) -> Option<String> {
        match &self.tree {
            Tree::Without(_, unwanted) => Some(unwanted.sql()),
            _ => None,
        }
    }

    /// The wanted terms as plain text.
    pub(crate) fn wanted_words(&self) -> String {
        self.tree.wanted_words()
    }

    /// Whether the operators hold for a text that is not indexed.
    pub(crate) fn allow(&self, text: &str) -> bool {
        self.tree.holds(&stems(text))
    }
}

/// A text to be searched as words alone, such as a title. All its words stay, but none is an operator.
pub fn plain_words(text: &str) -> String {
    let mut plain = Vec::new();
    for chunk in text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"')) {
        let is_field = chunk.split_once(':').is_some_and(|(name, _)| field(name).is_some());
        // Other colons are part of a name, such as `std::fs`.
        let separator = if is_field { ':' } else { ' ' };
        for word in chunk.split(separator).map(|word| word.trim_end_matches('*')) {
            match word {
                "" => {}
                "AND" | "OR" | "NOT" => plain.push(word.to_lowercase()),
                _ => plain.push(word.to_owned()),
            }
        }
    }
    plain.join(" ")
}

fn field(name: &str) -> Option<Field> {
    FIELDS.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| field)
}

fn stems(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.stem).collect()
}

/// Quotes a text, so that FTS5 reads it literally.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\"").replace('\0', " "))
}

#[derive(Debug, Clone, PartialEq)]
enum Tree {
    /// Matches every document. Only as the wanted side of [`Tree::Without`].
    Everything,
    Text {
        text: String,
        prefix: bool,
    },
    Field(Field, Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Without(Box<Tree>, Box<Tree>),
}

impl Tree {
    fn sql(&self) -> String {
        self.sql_in(OWN)
    }

    fn sql_in(&self, fields: &str) -> String {
        let list = |trees: &[Tree], between: &str| {
            let all: Vec<String> = trees.iter().map(|tree| tree.sql_in(fields)).collect();
            format!("({})", all.join(between))
        };
        match self {
            Self::Everything => String::new(),
            Self::Text { text, prefix } => {
                let star = if *prefix { "*" } else { "" };
                format!("{{{fields}}} : {}{star}", quoted(text))
            }
            Self::Field(field, tree) => tree.sql_in(field.column()),
            Self::All(trees) => list(trees, " AND "),
            Self::Any(trees) => list(trees, " OR "),
            Self::Without(wanted, unwanted) => {
                format!("({} NOT {})", wanted.sql_in(fields), unwanted.sql_in(fields))
            }
        }
    }

    /// The wanted terms as plain text.
    fn wanted_words(&self) -> String {
        match self {
            Self::Everything => String::new(),
            Self::Text { text, .. } => text.clone(),
            Self::Field(_, tree) | Self::Without(tree, _) => tree.wanted_words(),
            Self::All(trees) | Self::Any(trees) => {
                let mut words = String::new();
                for tree in trees {
                    let _ = write!(words, "{} ", tree.wanted_words());
                }
                words
            }
        }
    }

    /// The field in which each wanted text has to be.
    fn leaves(&self, field: Option<Field>) -> Vec<Option<Field>> {
        match self {
            Self::Everything => Vec::new(),
            Self::Text { .. } => vec![field],
            Self::Field(field, tree) => tree.leaves(Some(*field)),
            Self::All(trees) | Self::Any(trees) => trees.iter().flat_map(|tree| tree.leaves(field)).collect(),
            Self::Without(wanted, _) => wanted.leaves(field),
        }
    }

    /// Matches any wanted term, because the terms of one record may be in different documents of it.
    fn candidates(&self, fields: &str) -> String {
        match self {
            Self::Everything | Self::Text { .. } => self.sql_in(fields),
            Self::Field(field, tree) => tree.candidates(field.column()),
            Self::Without(wanted, _) => wanted.candidates(fields),
            Self::All(trees) | Self::Any(trees) => {
                let any: Vec<String> = trees.iter().map(|tree| tree.candidates(fields)).collect();
                format!("({})", any.join(" OR "))
            }
        }
    }

    fn holds_for(&self, field: Option<Field>, record: &RecordText) -> bool {
        match self {
            Self::Everything => true,
            Self::Text { text, prefix } => {
                texts(field, record).any(|own| has_phrase(&stems(own), text, *prefix))
            }
            Self::Field(field, tree) => tree.holds_for(Some(*field), record),
            Self::All(trees) => trees.iter().all(|tree| tree.holds_for(field, record)),
            Self::Any(trees) => trees.iter().any(|tree| tree.holds_for(field, record)),
            Self::Without(wanted, unwanted) => {
                wanted.holds_for(field, record) && !unwanted.holds_for(field, record)
            }
        }
    }

    fn holds(&self, stems: &[String]) -> bool {
        match self {
            Self::Everything => true,
            Self::Text { text, prefix } => has_phrase(stems, text, *prefix),
            // A queued event has no title, no context and no parts.
            Self::Field(field, tree) => {
                matches!(field, Field::Column("body" | "prompt")) && tree.holds(stems)
            }
            Self::All(trees) => trees.iter().all(|tree| tree.holds(stems)),
            Self::Any(trees) => trees.iter().any(|tree| tree.holds(stems)),
            Self::Without(wanted, unwanted) => wanted.holds(stems) && !unwanted.holds(stems),
        }
    }
}

impl Field {
    /// The index column that holds it.
    fn column(self) -> &'static str {
        match self {
            Self::Column(column) => column,
            Self::Part(_) => "body",
        }
    }
}

/// The texts of a record in a field; without a field, all of its own texts.
fn texts(field: Option<Field>, record: &RecordText) -> impl Iterator<Item = &str> {
    let concepts = record.concepts.iter().filter(move |_| field == Some(Field::Part(Part::Concepts)));
    let documents = record.documents.iter().flat_map(move |document| {
        let [title, body, prompt, before, after] = document.columns.each_ref().map(String::as_str);
        match field {
            None => vec![title, body],
            Some(Field::Column("title")) => vec![title],
            Some(Field::Column("prompt")) => vec![prompt],
            Some(Field::Column("before")) => vec![before],
            Some(Field::Column("after")) => vec![after],
            Some(Field::Column(_)) => vec![body],
            Some(Field::Part(Part::Concepts)) => Vec::new(),
            Some(Field::Part(Part::Narrative)) if document.part == "narrative" => {
                vec![record.narrative.as_str()]
            }
            Some(Field::Part(part)) if part.is_in(&document.part) => vec![body],
            Some(Field::Part(_)) => Vec::new(),
        }
    });
    concepts.map(String::as_str).chain(documents)
}

/// Whether a text contains these words in sequence.
fn has_phrase(stems: &[String], phrase: &str, prefix: bool) -> bool {
    let wanted: Vec<String> = self::stems(phrase);
    stems.windows(wanted.len().max(1)).any(|some| {
        some.iter().enumerate().all(|(at, stem)| {
            let is_last = at + 1 == wanted.len();
            if prefix && is_last { stem.starts_with(&wanted[at]) } else { *stem == wanted[at] }
        })
    })
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    /// `attached`: without a space before what it applies to.
    Field {
        field: Field,
        attached: bool,
    },
    Text {
        text: String,
        phrase: bool,
        prefix: bool,
    },
}

impl Token {
    /// Whether it is more than a plain word.
    fn is_syntax(&self) -> bool {
        !matches!(self, Self::Text { phrase: false, prefix: false, .. })
    }

    /// Whether it can only be meant as an operator.
    fn is_binding(&self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Not | Self::Field { attached: true, .. })
    }
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        match first {
            '(' | ')' => {
                tokens.push(if first == '(' { Token::Open } else { Token::Close });
                rest = &rest[1..];
            }
            '"' => {
                let (phrase, after) = rest[1..].split_once('"')?;
                let prefix = after.starts_with('*');
                if !words(phrase).is_empty() {
                    tokens.push(Token::Text { text: phrase.to_owned(), phrase: true, prefix });
                }
                rest = if prefix { &after[1..] } else { after };
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'));
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                rest = after;
                token(word, rest.starts_with(['(', '"']), &mut tokens);
            }
        }
        rest = rest.trim_start();
    }
    Some(tokens)
}

/// `goes_on`: a parenthesis or a quote follows directly.
fn token(word: &str, goes_on: bool, tokens: &mut Vec<Token>) {
    match word {
        "AND" => return tokens.push(Token::And),
        "OR" => return tokens.push(Token::Or),
        "NOT" => return tokens.push(Token::Not),
        _ => {}
    }
    let mut word = word;
    if let Some((name, rest)) = word.split_once(':')
        && let Some(field) = field(name)
    {
        tokens.push(Token::Field { field, attached: goes_on || !rest.is_empty() });
        word = rest;
    }
    let prefix = word.ends_with('*');
    let text = word.trim_end_matches('*');
    let is_noise = !prefix && Language::English.is_stop_word(&fold(text));
    if !words(text).is_empty() && !is_noise {
        tokens.push(Token::Text { text: text.to_owned(), phrase: false, prefix });
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn next_is(&self, token: &Token) -> bool {
        self.tokens.get(self.at) == Some(token)
    }

    fn take(&mut self, token: &Token) -> bool {
        let taken = self.next_is(token);
        self.at += usize::from(taken);
        taken
    }

    fn any(&mut self, depth: usize) -> Option<Tree> {
        let mut trees = vec![self.all(depth)?];
        while self.take(&Token::Or) {
            trees.push(self.all(depth)?);
        }
        Some(if trees.len() == 1 { trees.remove(0) } else { Tree::Any(trees) })
    }

    /// Adjacent words are all required, with or without AND between them.
    fn all(&mut self, depth: usize) -> Option<Tree> {
        let start = self.at;
        let (mut trees, mut unwanted) = (Vec::new(), Vec::new());
        if !self.next_is(&Token::Not) {
            trees.push(self.one(depth)?);
        }
        while self.at < self.tokens.len() && !self.next_is(&Token::Or) && !self.next_is(&Token::Close) {
            let joined = self.take(&Token::And);
            if self.take(&Token::Not) {
                unwanted.push(self.one(depth)?);
            } else if joined || !self.next_is(&Token::And) {
                trees.push(self.one(depth)?);
            } else {
                return None;
            }
        }
        let wanted = match trees.len() {
            // "Everything except" is understood for a whole query only.
            0 if start > 0 || self.at < self.tokens.len() => return None,
            0 => Tree::Everything,
            1 => trees.remove(0),
            _ => Tree::All(trees),
        };
        Some(match unwanted.len() {
            0 => wanted,
            1 => Tree::Without(Box::new(wanted), Box::new(unwanted.remove(0))),
            _ => Tree::Without(Box::new(wanted), Box::new(Tree::Any(unwanted))),
        })
    }

    fn one(&mut self, depth: usize) -> Option<Tree> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token {
            Token::Open => {
                let tree = self.any(depth + 1)?;
                self.take(&Token::Close).then_some(tree)
            }
            Token::Field { field, .. } => Some(Tree::Field(*field, Box::new(self.one(depth + 1)?))),
            Token::Text { text, prefix, .. } => Some(Tree::Text { text: text.clone(), prefix: *prefix }),
            Token::Close | Token::And | Token::Or | Token::Not => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> Option<String> {
        Operators::read(text).map(|operators| operators.expression())
    }

    #[test]
    fn operators_become_an_expression() {
        for (text, expected) in [
            (
                r#""user auth" AND (JWT OR session) NOT deprecated"#,
                r#"((@"user auth" AND (@"JWT" OR @"session")) NOT @"deprecated")"#,
            ),
            ("auth*", r#"@"auth"*"#),
            ("title:login", r#"{title} : "login""#),
            ("Title:login", r#"{title} : "login""#),
            ("NOT cookie JWT", r#"(@"JWT" NOT @"cookie")"#),
            (
                "title:(login OR logout) NOT a_b NOT c",
                r#"(({title} : "login" OR {title} : "logout") NOT (@"a_b" OR @"c"))"#,
            ),
            ("JWT OR \"say \" cheese", r#"(@"JWT" OR (@"say " AND @"cheese"))"#),
        ] {
            let expected = expected.replace('@', "{title body} : ");
            assert_eq!(expression(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_that_does_not_parse_is_plain_text() {
        for text in [
            "how do tokens expire",
            "\"open",
            "(a",
            "a)",
            "AND",
            "NOT a OR b",
            "a OR NOT b",
            "a (NOT b)",
            "a OR",
            "a AND OR b",
            "()",
            "title:",
            "and or",
        ] {
            assert_eq!(expression(text), None, "{text}");
        }
        let deep = format!("{}a{}", "(".repeat(500), ")".repeat(500));
        assert_eq!(expression(&deep), None);
    }

    #[test]
    fn operators_are_binding_and_quotes_are_not() {
        let is_explicit = |text: &str| Operators::read(text).is_some_and(|operators| operators.is_explicit);
        assert!(is_explicit("JWT NOT cookie") && is_explicit("(JWT OR cookie) auth"));
        assert!(!is_explicit("thread 'main' panicked: \"disk full\" (os error 2)"));
        assert!(!is_explicit("what does \"x AND y\" mean"));
        assert!(!is_explicit("NOT"));
        assert!(
            is_explicit("title:login") && is_explicit("facts:\"two words\"") && is_explicit("title:(a b)")
        );
        assert!(!is_explicit("title: Login fails"), "a pasted heading");
    }

    #[test]
    fn plain_words_have_no_operators_and_keep_every_word() {
        for (text, plain) in [
            ("Do NOT deploy (on Fridays)", "Do not deploy on Fridays"),
            ("title:AND* std::fs is \"open\"", "title and std::fs is open"),
            ("facts: title:title:login", "facts title title login"),
            ("remora-core uses AND* OR NOT(x)", "remora-core uses and or not x"),
            ("(\"*", ""),
        ] {
            assert_eq!(plain_words(text), plain, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn plain_words_of_any_text_are_read_as_words(
            parts in proptest::collection::vec(r#"AND|OR|NOT|title:|[()":* ]|[a-z]{1,3}"#, 0..12),
        ) {
            let text = parts.concat();
            assert_eq!(Operators::read(&plain_words(&text)), None, "{text}");
        }
    }

    #[test]
    fn a_query_can_consist_of_what_is_not_wanted() {
        let operators = Operators::read("NOT cookie NOT old").unwrap();
        assert!(operators.is_explicit);
        assert_eq!(operators.unwanted().unwrap().matches("cookie").count(), 1);
        assert!(operators.allow("a session") && !operators.allow("an old session"));
    }

    #[test]
    fn operators_hold_for_a_text_as_in_the_index() {
        let golden =
            Operators::read(r#""user auth" AND (JWT OR sess*) NOT title:deprecated NOT old"#).unwrap();
        for (text, allowed) in [
            ("The user's auth", false),
            ("User auth: a session", true),
            ("a JWT for user auth", true),
            ("a JWT for the auth of users", false),
            ("a JWT for user auth, deprecated", true),
            ("a JWT for user auth, which is old", false),
            ("", false),
        ] {
            assert_eq!(golden.allow(text), allowed, "{text}");
        }
    }
}
