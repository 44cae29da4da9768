//! The blocks of a Markdown text: paragraphs, list items and headings.

pub(super) enum Block {
    Heading(String),
    Text(String),
}

/// Paragraphs, list items and headings, each on one line. What a short list after a colon names belongs to its
/// sentence.
pub(super) fn blocks(markdown: &str) -> Vec<Block> {
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
