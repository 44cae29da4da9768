//! What somebody typed, read as words or, where it has operators, as an expression.
//!
//! Quotes, parentheses, `title:` and upper-case AND, OR and NOT switch the syntax on; what does not parse is plain text.
//! Everything a user wrote reaches the index between quotes, so that no text can be an error there.

use std::fmt::Write as _;

use crate::words::{fold, is_stop_word, is_unspaced, words};

/// More than this nobody means.
const MOST_WORDS: usize = 48;
const MOST_TERMS: usize = 32;
const DEEPEST: usize = 12;
/// Fields of a document that can be asked for by name.
const FIELDS: [&str; 5] = ["title", "body", "prompt", "before", "after"];

/// A question, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Question {
    /// Words that mean something, each once, in order.
    pub(crate) terms: Vec<Term>,
    /// Names of several words, to be found as phrases: `src/auth.rs` is `src auth rs`.
    pub(crate) names: Vec<String>,
    /// Strings to look for inside words: scripts without spaces, names, parts of paths.
    pub(crate) pieces: Vec<String>,
    /// What the operators say, as an FTS5 expression.
    pub(crate) expression: Option<String>,
    /// What no part of an answer may contain, as an FTS5 expression.
    pub(crate) unwanted: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// As it was written, folded.
    pub(crate) word: String,
    pub(crate) stem: String,
}

impl Question {
    pub(crate) fn read(text: &str) -> Self {
        let expression = parse(text);
        let plain = expression.as_ref().map_or_else(|| text.to_owned(), Tree::wanted_words);
        let unwanted = match &expression {
            Some(Tree::Without(_, unwanted)) => Some(unwanted.sql()),
            _ => None,
        };
        let expression = expression.map(|tree| tree.sql());
        let mut question = Self { expression, unwanted, ..Self::default() };
        for chunk in plain.split_whitespace().take(MOST_WORDS) {
            question.add(chunk);
        }
        let has_meaning = question.terms.iter().any(|term| !is_stop_word(&term.word));
        if has_meaning {
            question.terms.retain(|term| !is_stop_word(&term.word));
        }
        question
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.pieces.is_empty()
    }

    fn add(&mut self, chunk: &str) {
        let chunk = chunk.trim_end_matches("'s").trim_end_matches("’s");
        let found = words(chunk);
        for word in &found {
            let written = &chunk[word.start..word.end];
            // A run of such a script is no word of the index, unless somebody wrote exactly that run.
            if written.chars().any(is_unspaced) {
                push_once(&mut self.pieces, written.to_owned());
            }
            let term = Term { word: fold(written), stem: word.stem.clone() };
            if self.terms.iter().all(|known| known.stem != term.stem) {
                self.terms.push(term);
            }
        }
        if looks_like_name(chunk, found.len()) {
            let piece = chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '.'));
            push_once(&mut self.pieces, piece.trim_end_matches('.').to_owned());
            if let ([first, .., last], true) = (found.as_slice(), found.len() <= 8) {
                push_once(&mut self.names, chunk[first.start..last.end].to_owned());
            }
        }
    }
}

fn push_once(list: &mut Vec<String>, text: String) {
    if !text.is_empty() && !list.contains(&text) && list.len() < 8 {
        list.push(text);
    }
}

/// `getUserById`, `user_id`, `src/auth`, `E0432`: what people search for by a part of it.
fn looks_like_name(chunk: &str, words: usize) -> bool {
    let inner = chunk.trim_matches(|c: char| !c.is_alphanumeric());
    let has_sign = words > 1 && inner.contains(['_', '/', '.', ':', '\\']);
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let has_digit =
        inner.contains(|c: char| c.is_ascii_digit()) && inner.contains(|c: char| c.is_alphabetic());
    has_sign || has_hump || has_digit
}

/// A text as FTS5 reads it literally.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\"").replace('\0', " "))
}

#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Text { text: String, prefix: bool },
    Field(&'static str, Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Without(Box<Tree>, Box<Tree>),
}

impl Tree {
    fn sql(&self) -> String {
        let list = |trees: &[Tree], between: &str| {
            let all: Vec<String> = trees.iter().map(Tree::sql).collect();
            format!("({})", all.join(between))
        };
        match self {
            Self::Text { text, prefix } => {
                let mut sql = quoted(text);
                if *prefix {
                    sql.push('*');
                }
                sql
            }
            Self::Field(field, tree) => format!("{{{field}}} : {}", tree.sql_in_parentheses()),
            Self::All(trees) => list(trees, " AND "),
            Self::Any(trees) => list(trees, " OR "),
            Self::Without(wanted, unwanted) => format!("({} NOT {})", wanted.sql(), unwanted.sql()),
        }
    }

    fn sql_in_parentheses(&self) -> String {
        let sql = self.sql();
        if sql.starts_with('(') { sql } else { format!("({sql})") }
    }

    /// What is looked for, as plain text.
    fn wanted_words(&self) -> String {
        match self {
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
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Field(&'static str),
    Text { text: String, phrase: bool, prefix: bool },
}

/// `None` for text that has no operators, or whose operators make no sense.
fn parse(text: &str) -> Option<Tree> {
    let tokens = tokens(text)?;
    let is_syntax = |token: &Token| !matches!(token, Token::Text { phrase: false, prefix: false, .. });
    let terms = tokens.iter().filter(|token| matches!(token, Token::Text { .. })).count();
    if !tokens.iter().any(is_syntax) || terms == 0 || terms > MOST_TERMS {
        return None;
    }
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let tree = parser.any(0)?;
    (parser.at == tokens.len()).then_some(tree)
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
                token(word, &mut tokens);
            }
        }
        rest = rest.trim_start();
    }
    Some(tokens)
}

fn token(word: &str, tokens: &mut Vec<Token>) {
    match word {
        "AND" => return tokens.push(Token::And),
        "OR" => return tokens.push(Token::Or),
        "NOT" => return tokens.push(Token::Not),
        _ => {}
    }
    let mut word = word;
    if let Some((name, rest)) = word.split_once(':')
        && let Some(field) = FIELDS.into_iter().find(|field| *field == name)
    {
        tokens.push(Token::Field(field));
        word = rest;
    }
    let prefix = word.ends_with('*');
    let text = word.trim_end_matches('*');
    let is_noise = !prefix && is_stop_word(&fold(text));
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

    /// Words beside each other all have to be there, with or without AND between them.
    fn all(&mut self, depth: usize) -> Option<Tree> {
        let mut trees = vec![self.one(depth)?];
        let mut unwanted = Vec::new();
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
        let wanted = if trees.len() == 1 { trees.remove(0) } else { Tree::All(trees) };
        Some(match unwanted.len() {
            0 => wanted,
            1 => Tree::Without(Box::new(wanted), Box::new(unwanted.remove(0))),
            _ => Tree::Without(Box::new(wanted), Box::new(Tree::Any(unwanted))),
        })
    }

    fn one(&mut self, depth: usize) -> Option<Tree> {
        if depth >= DEEPEST {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match token {
            Token::Open => {
                let tree = self.any(depth + 1)?;
                self.take(&Token::Close).then_some(tree)
            }
            Token::Field(field) => Some(Tree::Field(field, Box::new(self.one(depth + 1)?))),
            Token::Text { text, prefix, .. } => Some(Tree::Text { text: text.clone(), prefix: *prefix }),
            Token::Close | Token::And | Token::Or | Token::Not => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> Option<String> {
        Question::read(text).expression
    }

    #[test]
    fn operators_become_an_expression() {
        for (text, expected) in [
            (
                r#""user auth" AND (JWT OR session) NOT deprecated"#,
                r#"(("user auth" AND ("JWT" OR "session")) NOT "deprecated")"#,
            ),
            ("auth*", r#""auth"*"#),
            ("title:login", r#"{title} : ("login")"#),
            (
                "title:(login OR logout) NOT a_b NOT c",
                r#"({title} : ("login" OR "logout") NOT ("a_b" OR "c"))"#,
            ),
            ("JWT OR \"say \" cheese", r#"("JWT" OR ("say " AND "cheese"))"#),
        ] {
            assert_eq!(expression(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_plain_text() {
        for text in [
            "how do tokens expire",
            "\"open",
            "(a",
            "a)",
            "AND",
            "NOT a",
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
    fn words_names_and_pieces_are_told_apart() {
        let question = Question::read("Where does getUserById in src/auth.rs fail with 認証エラー?");
        let stems: Vec<&str> = question.terms.iter().map(|term| term.stem.as_str()).collect();
        assert_eq!(stems, ["getuserbyid", "src", "auth", "rs", "fail", "認証エラー"]);
        assert_eq!(question.pieces, ["getUserById", "src/auth.rs", "認証エラー"]);
        assert_eq!(question.names, ["src/auth.rs"]);
        assert_eq!(Question::read("the who").terms.len(), 2, "nothing but stop words is better than nothing");
        assert!(Question::read(" !?* ").is_empty());
    }
}
