//! A minimal shell parser: names the commands of a line, and finds the one whose exit code the line returns.

/// A command line: steps that run one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) steps: Vec<ShellStep>,
    /// Contains loops, conditions or groups, which are not parsed.
    pub(super) is_script: bool,
}

/// A pipeline, and the operator after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellStep {
    pub(super) stages: Vec<Command>,
    pub(super) then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;`, a new line, or nothing more
    Next,
    /// `&`
    Background,
}

/// A program and its arguments, without assignments, redirections and wrappers such as `time`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
}

/// Programs that look around, move files or print. Their exit codes prove nothing about the work.
const INERT_PROGRAMS: &[&str] = &[
    ".", ":", "[", "[[", "alias", "awk", "basename", "bat", "cat", "cd", "chmod", "clear", "command", "cp",
    "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "exit", "export", "false", "fd", "file",
    "find", "git", "grep", "head", "jobs", "jq", "kill", "killall", "less", "ln", "ls", "lsof", "mkdir",
    "mktemp", "mv", "open", "pgrep", "pkill", "popd", "printf", "ps", "pushd", "pwd", "read", "readlink",
    "realpath", "rg", "rm", "rmdir", "sed", "set", "shopt", "sleep", "sort", "source", "stat", "tail", "tee",
    "test", "touch", "tr", "tree", "true", "type", "umask", "unalias", "uniq", "unset", "wait", "wc",
    "which",
];

const KEYWORDS: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select",
    "then", "until", "while",
];

impl Line {
    pub(super) fn parse(text: &str) -> Self {
        let mut reader = ShellReader { rest: text, ..ShellReader::default() };
        reader.run();
        reader.line
    }

    /// Whether an earlier `set` makes the line stop at the first failure.
    pub(super) fn stops_at_failures(&self) -> bool {
        self.sets(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
    }

    /// Whether an earlier `set` makes a pipeline fail if any of its commands fails.
    pub(super) fn fails_with_its_pipes(&self) -> bool {
        self.sets(|word| word == "pipefail")
    }

    fn sets(&self, option: fn(&str) -> bool) -> bool {
        let commands = self.steps.iter().filter_map(|step| step.stages.first());
        commands
            .filter(|command| command.program() == "set")
            .any(|set| set.words.iter().any(|word| option(word)))
    }

    /// The directory that the line changes to first.
    pub(super) fn directory(&self) -> Option<&str> {
        let first = self.steps.first()?.stages.first()?;
        (first.program() == "cd").then(|| first.words.get(1)).flatten().map(String::as_str)
    }
}

impl Command {
    fn new(mut words: Vec<String>) -> Self {
        loop {
            let assigned = words.iter().take_while(|word| is_assignment(word)).count();
            let skipped = match words.get(assigned).map(String::as_str) {
                Some("time" | "env" | "exec" | "nohup" | "nice") => assigned + 1,
                // Skips its options and the duration.
                Some("timeout") => {
                    let is_its_own =
                        |word: &&String| word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                    assigned + 1 + words[assigned + 1..].iter().take_while(is_its_own).count()
                }
                _ if assigned > 0 => assigned,
                _ => return Self { words },
            };
            words.drain(..skipped.min(words.len()));
        }
    }

    /// The name of the program without its directory.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.words.is_empty() || INERT_PROGRAMS.contains(&self.program())
    }

    /// The words that are not options.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// The command as a user would type it, with backticks replaced for use in Markdown.
    pub(super) fn text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        words.join(" ").replace('`', "'")
    }
}

/// A word with quotes if a shell would read it differently without.
fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "|&;<>()".contains(c)) {
        return format!("'{word}'");
    }
    word.to_owned()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[derive(Default)]
struct ShellReader<'a> {
    rest: &'a str,
    line: Line,
    stages: Vec<Command>,
    words: Vec<String>,
    word: Option<String>,
    /// Whether the next word is the target of a redirection.
    redirects: bool,
    /// End markers of here-documents that begin on the next line.
    documents: Vec<String>,
}

impl<'a> ShellReader<'a> {
    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            let begins_a_word = self.word.is_none();
            match c {
                '\\' => {
                    self.take(1);
                    match self.take(1) {
                        "\n" | "" => {}
                        escaped => self.push(escaped),
                    }
                }
                '\'' => {
                    self.take(1);
                    let text = self.take_until('\'');
                    self.push(text);
                }
                '"' => self.double_quoted(),
                '`' => {
                    self.take(1);
                    let text = self.take_until('`');
                    self.push(text);
                }
                '$' if self.rest.starts_with("$(") => {
                    let text = self.take(substitution(self.rest));
                    self.push(text);
                }
                '#' if begins_a_word => {
                    let comment = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[comment..];
                }
                '\n' => {
                    self.take(1);
                    self.end_step(Then::Next);
                    for end in std::mem::take(&mut self.documents) {
                        self.rest = &self.rest[document(self.rest, &end)..];
                    }
                }
                ';' => self.operator(1, Then::Next),
                '&' if self.rest.starts_with("&&") => self.operator(2, Then::And),
                '&' if self.rest.starts_with("&>") => self.redirection(),
                '&' => self.operator(1, Then::Background),
                '|' if self.rest.starts_with("||") => self.operator(2, Then::Or),
                '|' => {
                    self.take(if self.rest.starts_with("|&") { 2 } else { 1 });
                    self.end_command();
                }
                '<' | '>' => self.redirection(),
                '(' | ')' => {
                    self.line.is_script = true;
                    self.take(1);
                }
                c if c.is_whitespace() => {
                    self.take(1);
                    self.end_word();
                }
                c => {
                    let text = self.take(c.len_utf8());
                    self.push(text);
                }
            }
        }
        self.end_step(Then::Next);
    }

    /// Takes `bytes` bytes, rounded up to a whole character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(self.rest.ceil_char_boundary(bytes));
        self.rest = rest;
        taken
    }

    /// Takes the text up to and including `end`, and returns it without `end`.
    fn take_until(&mut self, end: char) -> &'a str {
        let (taken, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn double_quoted(&mut self) {
        self.take(1);
        self.push("");
        while let Some(c) = self.rest.chars().next() {
            let bytes = match c {
                '"' => {
                    self.take(1);
                    return;
                }
                '$' if self.rest.starts_with("$(") => substitution(self.rest),
                '\\' => {
                    self.take(1);
                    1
                }
                c => c.len_utf8(),
            };
            let text = self.take(bytes);
            self.push(text);
        }
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn redirection(&mut self) {
        // `2>` redirects the second stream; the number is not an argument.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if self.rest.starts_with("<<") && !self.rest.starts_with("<<<") {
            self.take(2);
            let end = self.rest.trim_start_matches('-').trim_start_matches(' ');
            let length = end.find(|c: char| c.is_whitespace() || ";|&)".contains(c)).unwrap_or(end.len());
            let name = end[..length].trim_matches(['\'', '"', '\\']).to_owned();
            self.rest = &end[length..];
            self.documents.push(name);
            return;
        }
        let operator = self.rest.find(|c| !"<>&|".contains(c)).unwrap_or(self.rest.len());
        self.take(operator);
        self.redirects = true;
    }

    fn operator(&mut self, bytes: usize, then: Then) {
        self.take(bytes);
        self.end_step(then);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.redirects {
            self.redirects = false;
        } else {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirects = false;
        let words = std::mem::take(&mut self.words);
        self.line.is_script |= words.first().is_some_and(|word| KEYWORDS.contains(&word.as_str()));
        let command = Command::new(words);
        if !command.words.is_empty() {
            self.stages.push(command);
        }
    }

    fn end_step(&mut self, then: Then) {
        self.end_command();
        if !self.stages.is_empty() {
            let stages = std::mem::take(&mut self.stages);
            self.line.steps.push(ShellStep { stages, then });
        }
    }
}

/// Length of the `$(…)` at the start of `text`.
fn substitution(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth = depth.saturating_sub(1),
            '\'' => at += text[at + 1..].find('\'').map_or(0, |end| end + 1),
            '\\' => at += 1,
            '<' if text[at..].starts_with("<<") && !text[at..].starts_with("<<<") => {
                let (line, rest) = text[at + 2..].split_once('\n').unwrap_or((&text[at + 2..], ""));
                let end =
                    line.trim_start_matches(['-', ' ']).split([' ', ')', ';']).next().unwrap_or_default();
                let body = text.len() - rest.len();
                at = body + document(rest, end.trim_matches(['\'', '"', '\\']));
                continue;
            }
            _ => {}
        }
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    text.len()
}

/// Length of the here-document at the start of `text`, including its last line.
fn document(text: &str, end: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim() == end {
            return length;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        let line = Line::parse(text);
        let mut shown = String::new();
        for step in &line.steps {
            let stages: Vec<String> = step.stages.iter().map(Command::text).collect();
            shown.push_str(&stages.join(" | "));
            shown.push_str(match step.then {
                Then::And => " && ",
                Then::Or => " || ",
                Then::Next => " ; ",
                Then::Background => " & ",
            });
        }
        if line.is_script { format!("script: {shown}") } else { shown }
    }

    #[test]
    fn a_line_is_split_into_commands() {
        for (text, expected) in [
            ("cd app && A=1 cargo test 2>&1 | tail -3", "cd app && cargo test | tail -3 ; "),
            ("# Clean up test files\nrm a 2>/dev/null", "rm a ; "),
            ("a; b || c & d", "a ; b || c & d ; "),
            ("time timeout -k 5 60 make test >log 2>&1", "make test ; "),
            ("DEV=$(openssl rand -hex 32) && echo \"k=$DEV\"", "echo k=$DEV ; "),
            ("grep -nE 'test|build' a.yml", "grep -nE 'test|build' a.yml ; "),
            ("echo 'it'\\''s' \\\n  done", "echo it's done ; "),
            ("cat <<'EOF' > a.txt\nnpm test && exit\nEOF\nnpm run lint", "cat ; npm run lint ; "),
            (
                "git commit -m \"$(cat <<'EOF'\nDon't (ever) fail\nEOF\n)\" && npm test",
                "git commit -m '$(cat <<'EOF'\nDon't (ever) fail\nEOF\n)' && npm test ; ",
            ),
            ("a &> log; b >&2; c < in", "a ; b ; c ; "),
            ("if make; then echo é; fi", "script: if make ; then echo é ; fi ; "),
            ("(cd a && npm test)", "script: cd a && npm test ; "),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[\\\\\"'`$()#<>|&;EéA= \n-]{0,24}") {
            Line::parse(&text);
        }
    }

    #[test]
    fn no_text_that_ends_early_makes_the_reader_panic() {
        for text in
            ["", "'", "\"$(", "$(", "\\", "a <<", "a <<'é", "`", "\"\\", "2>", "é|é&&", "$(<<E\n", "$('"]
        {
            Line::parse(text);
        }
    }

    #[test]
    fn looking_around_is_idle() {
        let is_idle =
            |text| Line::parse(text).steps.iter().flat_map(|step| &step.stages).all(Command::is_idle);
        assert!(is_idle("ls -la && cat a.txt | grep x"));
        assert!(is_idle("test -f build/test && echo test"));
        assert!(is_idle("TEST=1"));
        assert!(!is_idle("cat a | python run.py"));
        assert_eq!(Line::parse("cd /p/app && make").directory(), Some("/p/app"));
        assert!(Line::parse("set -eo pipefail; make | tail").stops_at_failures());
        assert!(Line::parse("set -eo pipefail; make | tail").fails_with_its_pipes());
        assert!(!Line::parse("set -x; make").stops_at_failures());
    }
}
