//! Reads what an agent wrote: sentences, and what each of them is for.

mod words;

/// What a sentence does in a closing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// "Done!", "Great question."
    Courtesy,
    /// "Let me know if…"
    Offer,
    /// Why something was as it was.
    Cause,
    /// What was settled, and against what.
    Decision,
    /// What is left to do.
    Next,
    /// What to watch out for.
    Caveat,
    /// Everything else: what was changed, what came of it.
    Account,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub text: String,
    pub role: Role,
}

/// The sentences of a Markdown text, without its code blocks, tables and headings; a heading colours what
/// stands below it.
pub fn sentences(markdown: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut section = Section::None;
    for block in blocks(markdown) {
        match block {
            Block::Heading(text) => section = Section::named(&text),
            Block::Text(text) => {
                for sentence in split(&text) {
                    let role = section.role(&sentence).unwrap_or_else(|| role(&sentence));
                    found.push(Sentence { text: sentence, role });
                }
            }
        }
    }
    found
}

impl Role {
    /// Whether it is knowledge by itself: why something is so, what was settled, what to watch out for.
    pub fn is_knowledge(self) -> bool {
        matches!(self, Self::Cause | Self::Decision | Self::Caveat)
    }

    /// Whether it says nothing to anybody who was not there.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Courtesy | Self::Offer)
    }
}

/// The sentences of a text that say most, in their order, up to this many characters: knowledge first, then the rest.
pub fn substance(text: &str, most: usize) -> Vec<String> {
    let all: Vec<Sentence> =
        sentences(text).into_iter().filter(|sentence| !sentence.role.is_idle()).collect();
    let (knowledge, rest): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|place| all[*place].role.is_knowledge());
    let mut chosen = Vec::new();
    let mut length = 0;
    for place in knowledge.into_iter().chain(rest) {
        let cost = all[place].text.chars().count() + 1;
        if length + cost <= most {
            length += cost;
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|place| all[place].text.clone()).collect()
}

/// Names what a text says: case, marks and spaces make no difference. FNV-1a, because it is stored.
pub fn fingerprint(text: &str) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = START;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        for byte in word.to_lowercase().bytes().chain([b' ']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    hash
}

#[derive(Clone, Copy)]
enum Section {
    None,
    Cause,
    Next,
    Caveat,
}

impl Section {
    fn named(heading: &str) -> Self {
        let heading = heading.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        if has(&["next", "remaining", "follow-up", "todo", "to do", "nächste", "offen", "prochaine", "suite"])
        {
            Self::Next
        } else if has(&[
            "cause",
            "why",
            "problem",
            "reason",
            "diagnos",
            "what went wrong",
            "ursache",
            "warum",
        ]) {
            Self::Cause
        } else if has(&["note", "caveat", "gotcha", "watch out", "limitation", "hinweis", "remarque"]) {
            Self::Caveat
        } else {
            Self::None
        }
    }

    fn role(self, sentence: &str) -> Option<Role> {
        let own = role(sentence);
        if matches!(own, Role::Courtesy | Role::Offer) {
            return Some(own);
        }
        match self {
            Self::None => None,
            Self::Cause => Some(Role::Cause),
            Self::Next => Some(Role::Next),
            Self::Caveat => Some(Role::Caveat),
        }
    }
}

enum Block {
    Heading(String),
    Text(String),
}

/// Paragraphs, list items and headings, each on one line. What a short list after a colon names belongs to its
/// sentence.
fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut paragraph = String::new();
    let mut in_code = false;
    for line in markdown.lines().map(str::trim) {
        let line = line.trim_start_matches("> ");
        let is_rule = line.chars().all(|c| matches!(c, '-' | '*' | '=' | '_' | '>'));
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            end_paragraph(&mut paragraph, &mut blocks);
        } else if in_code || line.starts_with('|') || is_rule {
            end_paragraph(&mut paragraph, &mut blocks);
        } else if let Some(heading) = heading(line) {
            end_paragraph(&mut paragraph, &mut blocks);
            blocks.push(Block::Heading(heading));
        } else if let Some(item) = list_item(line) {
            end_paragraph(&mut paragraph, &mut blocks);
            match blocks.last_mut() {
                Some(Block::Text(text)) if text.ends_with(':') && text.len() + item.len() < 300 => {
                    // The next item joins it the same way.
                    *text = format!("{text} {};:", plain(item).trim_end_matches(['.', ',', ';']));
                }
                _ => paragraph.push_str(&plain(item)),
            }
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(&plain(line));
        }
    }
    end_paragraph(&mut paragraph, &mut blocks);
    for block in &mut blocks {
        if let Block::Text(text) = block
            && text.ends_with(";:")
        {
            *text = format!("{}.", text.trim_end_matches(";:").replace(";: ", "; "));
        }
    }
    blocks
}

fn end_paragraph(paragraph: &mut String, blocks: &mut Vec<Block>) {
    let text = std::mem::take(paragraph);
    if !text.is_empty() {
        blocks.push(Block::Text(text));
    }
}

fn heading(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return Some(plain(line.trim_start_matches('#')));
    }
    // A line that is bold from end to end, or one or two words with a colon, is a heading too.
    let bold = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let short =
        line.strip_suffix(':').filter(|rest| rest.split_whitespace().count() <= 2 && !rest.starts_with("I "));
    let text = bold.or(short)?.trim_end_matches(':');
    (!text.contains("**") && !text.is_empty()).then(|| plain(text))
}

fn list_item(line: &str) -> Option<&str> {
    for mark in ["- [x] ", "- [ ] ", "- ", "* ", "• ", "+ "] {
        if let Some(item) = line.strip_prefix(mark) {
            return Some(item);
        }
    }
    let digits = line.find(|c: char| !c.is_ascii_digit()).filter(|digits| (1..=2).contains(digits))?;
    line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "))
}

/// Text without emphasis and links; code marks stay, they tell names from words.
fn plain(text: &str) -> String {
    let text = without_stars(text);
    let mut out = String::new();
    let mut rest = text.trim();
    // `[words](target)` becomes `words`.
    while let Some(start) = rest.find('[') {
        let link = rest[start..].find("](").and_then(|middle| {
            let end = rest[start + middle..].find(')')?;
            Some((start + 1, start + middle, start + middle + end + 1))
        });
        let Some((from, to, after)) = link else { break };
        out.push_str(&rest[..start]);
        out.push_str(&rest[from..to]);
        rest = &rest[after..];
    }
    out.push_str(rest);
    out
}

/// Stars are emphasis, except in code and between blanks.
fn without_stars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        in_code ^= c == '`';
        let alone = before == ' ' && chars.peek() == Some(&' ');
        if c != '*' || in_code || alone {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Splits at the ends of sentences, not at the dots of `main.rs`, `3.5` or `e.g.`.
fn split(text: &str) -> Vec<String> {
    const ABBREVIATIONS: &[&str] = &[
        "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "z.B.", "bzw.", "d.h.", "ca.", "Nr.", "p.ex.",
    ];
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    for (at, c) in text.char_indices() {
        if c == '`' {
            in_code = !in_code;
        }
        if in_code || !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let after = &text[at + c.len_utf8()..];
        let ends = after.is_empty()
            || (after.starts_with(' ') && !after.trim_start().starts_with(|c: char| c.is_lowercase()));
        let word = text[start..=at].rsplit(' ').next().unwrap_or_default();
        if ends && !ABBREVIATIONS.contains(&word) {
            sentences.push(text[start..=at].trim().to_owned());
            start = at + 1;
        }
    }
    sentences.push(text[start..].trim().to_owned());
    // "When you're ready:" only leads to code that is not told.
    sentences.retain(|sentence| {
        let words = sentence.split_whitespace().count();
        sentence.chars().filter(|c| c.is_alphanumeric()).count() > 2
            && !(sentence.ends_with(':') && words <= 4)
    });
    sentences
}

fn role(sentence: &str) -> Role {
    let lower = format!(" {} ", sentence.to_lowercase());
    let starts = |words: &[&str]| words.iter().any(|word| lower[1..].starts_with(word));
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let words = sentence.split_whitespace().count();
    if has(words::OFFER) || (lower.trim_end().ends_with('?') && words < 14) {
        Role::Offer
    } else if (words <= 6 && starts(words::COURTESY)) || starts(&["sorry that", "sorry i "]) {
        Role::Courtesy
    } else if starts(words::DECISION_START) || has(words::DECISION) {
        Role::Decision
    } else if starts(words::NEXT_START) || has(words::NEXT) {
        Role::Next
    } else if has(words::CAUSE) {
        Role::Cause
    } else if starts(words::CAVEAT_START) || has(words::CAVEAT) {
        Role::Caveat
    } else {
        Role::Account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Vec<(String, Role)> {
        sentences(text).into_iter().map(|sentence| (sentence.text, sentence.role)).collect()
    }

    #[test]
    fn markdown_becomes_sentences_with_a_purpose() {
        let text = "Done!\n\nThe cache in `src/cache.rs` was stale because its key had no version, e.g. v2.5.\n\n\
            ```rust\nlet x = 1;\n```\n\n## What I changed\n- **Key**: it now holds the version.\n- See [the doc](a.md) for `a__b` and *why*.\n\n\
            I rejected:\n- a broker\n- a file.\n\n**Next steps:**\n1. Measure it.\n\nLet me know if you want more.";
        assert_eq!(
            roles(text),
            [
                ("Done!".to_owned(), Role::Courtesy),
                (
                    "The cache in `src/cache.rs` was stale because its key had no version, e.g. v2.5."
                        .to_owned(),
                    Role::Cause
                ),
                ("Key: it now holds the version.".to_owned(), Role::Account),
                ("See the doc for `a__b` and why.".to_owned(), Role::Account),
                ("I rejected: a broker; a file.".to_owned(), Role::Decision),
                ("Measure it.".to_owned(), Role::Next),
                ("Let me know if you want more.".to_owned(), Role::Offer),
            ]
        );
    }

    #[test]
    fn hostile_text_is_only_text() {
        for text in ["", "```", "[[](](", "](", "**", "# ", "1. ", "é. É. ß?", "|||", "`unclosed. Code"] {
            let _ = sentences(text);
        }
    }
}
