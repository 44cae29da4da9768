//! The blocks of a Markdown text, each on one line: headings, paragraphs, list items, short tables and short code.

use pulldown_cmark::{Event, Options, Tag, TagEnd};

use super::code::code_span;
use super::emphasis::markdown_events;
use super::role::role;

/// Length limit for code, in characters. Longer code is a listing, which says little out of context.
const MAX_CODE_LEN: usize = 160;
const MAX_LINES: usize = 2;
/// Longer tables are data and are skipped.
const MAX_ROWS: usize = 16;
const MAX_ROW_LEN: usize = 240;
/// A list is joined to its introductory sentence if both together are no longer than this.
const MAX_JOINED_LEN: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// Sets the section of the blocks after it, up to the next heading or rule.
    Heading(String),
    Rule,
    /// A paragraph that ends with a colon. It sets the section of the list, table or code below it.
    Intro(String),
    Paragraph(String),
    Item {
        text: String,
        /// An unticked task.
        is_open: bool,
    },
    /// `a: b; c`, a row of a short table.
    Row(String),
}

/// The blocks of a text, in order.
pub(super) fn blocks(markdown: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for event in markdown_events(markdown, options) {
        reader.read(event);
    }
    reader.flush();
    joined(reader.blocks)
}

#[derive(Debug, Default)]
struct Reader {
    blocks: Vec<Block>,
    line: MarkdownLine,
    /// Nesting depth of lists. Blocks are items only inside a list.
    lists: usize,
    in_heading: bool,
    code: Option<String>,
    table: Option<Table>,
}

/// Text that has not become a block yet.
#[derive(Debug, Default)]
struct MarkdownLine {
    text: String,
    strong: usize,
    /// Whether there is text that is not bold.
    has_plain: bool,
    is_open: bool,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.line.push(&text),
            },
            Event::Code(code) => self.line.push_code(&code),
            Event::InlineHtml(html) => self.line.push(&html),
            Event::SoftBreak | Event::HardBreak => self.line.push(" "),
            Event::TaskListMarker(done) => self.line.is_open = !done,
            Event::Rule => {
                self.flush();
                self.blocks.push(Block::Rule);
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.flush();
                self.in_heading = true;
            }
            Tag::List(_) => {
                self.flush();
                self.lists += 1;
            }
            Tag::Paragraph | Tag::Item => self.flush(),
            Tag::CodeBlock(_) => {
                self.flush();
                self.code = Some(String::new());
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Strong => self.line.strong += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let text = std::mem::take(&mut self.line).text;
                self.in_heading = false;
                self.blocks.push(Block::Heading(text.trim().to_owned()));
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.flush();
                self.lists = self.lists.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.add_code(&code);
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line).text.trim().to_owned();
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.blocks.extend(table.rows().into_iter().map(Block::Row));
            }
            TagEnd::Strong => self.line.strong = self.line.strong.saturating_sub(1),
            _ => {}
        }
    }

    fn flush(&mut self) {
        if self.in_heading || self.table.is_some() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let text = line.text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        let block = if line.is_heading(&text, self.lists > 0) {
            Block::Heading(text.trim_end_matches(':').to_owned())
        } else if text.ends_with([':', '：']) {
            Block::Intro(text)
        } else if self.lists > 0 {
            Block::Item { text, is_open: line.is_open }
        } else {
            Block::Paragraph(text)
        };
        self.blocks.push(block);
    }

    /// Appends a command or setting to the sentence that announces it, each line as it is.
    fn add_code(&mut self, code: &str) {
        let lines: Vec<&str> =
            code.lines().map(str::trim_end).filter(|line| is_statement(line.trim_start())).collect();
        let code = lines.iter().map(|line| code_span(line)).collect::<Vec<_>>().join("; ");
        if lines.is_empty() || lines.len() > MAX_LINES || code.chars().count() > MAX_CODE_LEN {
            return;
        }
        if let Some(Block::Intro(text)) = self.blocks.last_mut() {
            let text = format!("{text} {code}.");
            *self.blocks.last_mut().expect("an intro") = Block::Paragraph(text);
        }
    }
}

/// A line of code that is not a comment.
fn is_statement(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("# ") && !line.starts_with("//")
}

impl MarkdownLine {
    /// Appends text, with one space for each run of them.
    fn push(&mut self, text: &str) {
        self.has_plain |= self.strong == 0 && !text.trim().trim_matches(':').is_empty();
        for c in text.chars() {
            if !c.is_whitespace() {
                self.text.push(c);
            } else if !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }

    fn push_code(&mut self, code: &str) {
        self.has_plain |= self.strong == 0;
        self.text.push_str(&code_span(code));
    }

    /// Also treats a line that is bold from end to end, or one or two words with a colon, as a heading.
    fn is_heading(&self, text: &str, in_list: bool) -> bool {
        let words = text.split_whitespace().count();
        let is_bold = !self.has_plain && !text.ends_with('.') && words <= 12;
        let is_label = text.ends_with(':') && words <= 2 && !text.starts_with("I ");
        !in_list && (is_bold || is_label)
    }
}

impl Table {
    /// `key: value; value`. A first column of numbers is left out.
    fn rows(self) -> Vec<String> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.len() > MAX_ROWS {
            return Vec::new();
        }
        let is_numbered = rows.iter().all(|row| row.first().is_some_and(|cell| cell.parse::<u32>().is_ok()));
        let skipped = usize::from(is_numbered && head.len() > 1);
        let said = |row: &Vec<String>| {
            let cells: Vec<&str> =
                row.iter().skip(skipped).map(String::as_str).filter(|cell| !cell.is_empty()).collect();
            match cells.as_slice() {
                [] => None,
                [only] => Some((*only).to_owned()),
                [key, value] => Some(format!("{key}: {value}")),
                // With several columns, each value needs its column name.
                [key, ..] => {
                    let named = head.iter().zip(row).skip(skipped + 1).filter(|(_, cell)| !cell.is_empty());
                    let values: Vec<String> = named.map(|(name, cell)| format!("{name} {cell}")).collect();
                    Some(format!("{key}: {}", values.join("; ")))
                }
            }
        };
        rows.iter().filter_map(said).filter(|row| row.chars().count() <= MAX_ROW_LEN).collect()
    }
}

/// Joins a short list or table to the sentence before it that ends with a colon.
fn joined(blocks: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut rest = blocks.into_iter().peekable();
    while let Some(block) = rest.next() {
        let Block::Intro(intro) = block else {
            out.push(block);
            continue;
        };
        let mut parts: Vec<Block> = Vec::new();
        while let Some(part) = rest.next_if(|next| matches!(next, Block::Item { .. } | Block::Row(_))) {
            parts.push(part);
        }
        let texts: Vec<&str> = parts.iter().filter_map(Block::part).collect();
        let length = intro.chars().count() + texts.iter().map(|text| text.chars().count() + 2).sum::<usize>();
        let are_short = texts.iter().all(|text| !text.contains(". "));
        // "Here's what was fixed:" adds nothing to its list.
        let is_idle = role(&intro).is_idle();
        if !texts.is_empty() && are_short && !is_idle && length <= MAX_JOINED_LEN {
            let ended: Vec<&str> = texts.iter().map(|text| text.trim_end_matches(['.', ',', ';'])).collect();
            out.push(Block::Paragraph(format!("{intro} {}.", ended.join("; "))));
        } else {
            out.push(Block::Intro(intro));
            out.extend(parts);
        }
    }
    out
}

impl Block {
    fn part(&self) -> Option<&str> {
        match self {
            Block::Item { text, .. } | Block::Row(text) => Some(text),
            _ => None,
        }
    }
}
