//! Reads messages of an agent: sentences, and the purpose of each.

mod code;
mod emphasis;
mod markdown;
mod normal;
mod pairs;
mod plan;
mod role;
mod split;
mod words;

pub use code::code_spans;
pub use emphasis::markdown_events;
use markdown::{Block, blocks};
pub use normal::Normal;
pub use pairs::{pair_hashes, split_words};
pub use plan::{heading, plan_heading};
use role::Section;
pub use role::is_subject;
pub(crate) use split::split;

/// The purpose of a sentence in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// "Done!", "Great question."
    Courtesy,
    /// "Let me know if…", "Want me to push it?"
    Offer,
    /// "Let me look at the tests."
    Intent,
    /// "Here's what was fixed:"
    Lead,
    /// "All tests pass."
    Status,
    /// Why something happened.
    Cause,
    /// What was decided, and which alternative was rejected.
    Decision,
    /// What is left to do.
    Next,
    /// What to watch out for.
    Caveat,
    /// Everything else: what was changed, and the result.
    Account,
}

/// The place of a sentence in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    Prose,
    /// In a list.
    Item,
    /// A row of a table.
    Row,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub text: String,
    pub role: Role,
    pub form: Form,
}

/// The sentences of a Markdown text with the role of each. Headings and sentences that introduce a list set the
/// section of the text below them. Short tables and commands that a sentence announces count as sentences; other code
/// does not.
pub fn sentences(markdown: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut section = Section::None;
    let mut list = None;
    for block in blocks(markdown) {
        if !matches!(block, Block::Item { .. } | Block::Row(_)) {
            list = None;
        }
        match block {
            Block::Heading(text) => section = Section::named(&text),
            Block::Rule => section = Section::None,
            Block::Intro(text) => {
                list = Some(section.introduced(&text));
                found.extend(in_section(section, Form::Prose, &text));
            }
            Block::Paragraph(text) => found.extend(in_section(section, Form::Prose, &text)),
            Block::Item { text, is_open: true } => found.extend(in_section(Section::Next, Form::Item, &text)),
            Block::Item { text, .. } => found.extend(in_section(list.unwrap_or(section), Form::Item, &text)),
            // A row is one statement, regardless of its punctuation.
            Block::Row(text) => {
                let role = list.unwrap_or(section).role(&text);
                found.push(Sentence { text, role, form: Form::Row });
            }
        }
    }
    found
}

fn in_section(section: Section, form: Form, text: &str) -> Vec<Sentence> {
    split(text).into_iter().map(|text| Sentence { role: section.role(&text), text, form }).collect()
}

impl Role {
    /// Whether the sentence alone is knowledge: a cause, a decision, or a caveat.
    pub fn is_knowledge(self) -> bool {
        matches!(self, Self::Cause | Self::Decision | Self::Caveat)
    }

    /// Whether the sentence means nothing to a reader who was not there.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Courtesy | Self::Offer | Self::Intent | Self::Lead | Self::Status)
    }
}

/// A hash of the words of a text; case, punctuation and spaces make no difference. The value is stored and must stay the
/// same.
pub fn fingerprint(text: &str) -> u64 {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(FNV_START, |hash, word| {
        // Most words are ASCII, and then no copy is needed.
        let hash = if word.is_ascii() {
            fnv1a_from(hash, word.bytes().map(|byte| byte.to_ascii_lowercase()))
        } else {
            fnv1a_from(hash, word.to_lowercase().into_bytes())
        };
        fnv1a_from(hash, [b' '])
    })
}

/// The FNV-1a hash of some bytes: short to compute, and the same in every version.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv1a_from(FNV_START, bytes)
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of all bytes before and of these.
fn fnv1a_from(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
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
    fn a_stored_fingerprint_is_still_the_same() {
        assert_eq!(fingerprint("The CACHE of Σίσυφος (fails)!"), 0x02e9_a05a_41c8_3894);
        assert_eq!(fingerprint(" …"), fnv1a([]));
    }

    #[test]
    fn a_proposal_is_not_an_account() {
        let roles = roles(
            "A test of both commits is missing. It would:\n1. Document the expected behaviour of the commits\n2. Catch a relapse whatever the code looks like by then\n3. Not be tied to `PendingId`",
        );
        assert!(roles[1..].iter().all(|(_, role)| *role == Role::Offer), "{roles:?}");
    }

    fn text(markdown: &str) -> String {
        let all: Vec<String> = sentences(markdown).into_iter().map(|sentence| sentence.text).collect();
        all.join(" ")
    }

    #[test]
    fn emphasis_is_removed() {
        for (markdown, plain) in [
            ("**Fixed**: the cache is *not* stale, _really_.", "Fixed: the cache is not stale, really."),
            (
                "The **`main.rs`** file (**see above**) is ***very*** old.",
                "The `main.rs` file (see above) is very old.",
            ),
            ("It is __very important__ to keep **3** retries.", "It is very important to keep 3 retries."),
            ("~~The old way~~ The **.env** file—*yes*!", "The old way The .env file—yes!"),
            ("这是**重要**的，请注意。", "这是重要的，请注意。"),
            (
                "**/api/users** answers *\"no\"* to **read**-only users.",
                "/api/users answers \"no\" to read-only users.",
            ),
        ] {
            assert_eq!(text(markdown), plain);
        }
    }

    /// Code that Markdown alone would read as emphasis.
    const CODE: &[&str] = &[
        "2**10 or 1024**2",
        "1024**2",
        "a*b*c",
        "2*3*4",
        "2 **3 and 4** 5",
        "snake_case_name",
        "__dunder__",
        "__init__.py",
        "_a_private_name_",
        "**/*.rs",
        "src/**/*.ts",
        "src/*.rs or tests/*.rs",
        "*.test.*",
        "*/5 or (*/10)",
        "foo(**kwargs) or bar(**kwargs)",
        "f(*args, **kw)",
        "f(*args) or g(x*)",
        "5 * 3 * 2",
        "char **argv",
        "COUNT(*) or SUM(*)",
        "(\"*\" or \"*\")",
        "a.*, b.*",
        "use a::*; use b::*",
        "cp ~/a:~/b",
        "5~10 or 3~4",
        "/*a*/ or /*b*/",
        "x**y**z",
        "[*] or [*]",
        "2_000_000",
        "Vec<T>",
    ];

    #[test]
    fn operators_globs_and_names_are_no_emphasis() {
        for code in CODE {
            for markdown in [
                format!("The value is {code} now."),
                format!("{code} is the value."),
                format!("| a | b |\n|---|---|\n| of it | {code} |"),
            ] {
                assert!(text(&markdown).contains(code), "{markdown:?} {:?}", text(&markdown));
            }
            let both = format!("**Fixed**: it is {code}, *not* {code}.");
            assert_eq!(text(&both), format!("Fixed: it is {code}, not {code}."));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn code_comes_out_as_it_went_in(code in "([ -~]|[*_`~&;\\\\<>é]){0,40}[a-z!-~]") {
            let span = code::code_span(&code);
            let markdown = format!("**Fixed**: the *value* {span} is kept, _really_. It works.");
            let expected = format!("Fixed: the value {span} is kept, really. It works.");
            proptest::prop_assert_eq!(text(&markdown), expected.clone());
            proptest::prop_assert_eq!(text(&expected), expected, "also if it is read again");
            let fence = "`".repeat(code.len() + 3);
            let line = format!("x {code}");
            let block = text(&format!("Now run this command:\n\n{fence}\n    {line}\n{fence}\n"));
            proptest::prop_assert!(block.contains(&format!("    {}", line.trim_end())), "{}", block);
        }

        #[test]
        fn numbers_are_not_joined(numbers in proptest::collection::vec(0..10_000_u32, 2..6), mark in "\\*{1,2}|_|~{1,2}") {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            let code = numbers.join(&mark);
            let markdown = format!("The *product* {code} and **then** {code} were kept.");
            proptest::prop_assert_eq!(text(&markdown), format!("The product {code} and then {code} were kept."));
        }

        #[test]
        fn any_text_is_read(text in "([*_~`\\\\\\[\\]()<>|#: \n-]|[a-c0-9é中]){0,60}") {
            let _ = sentences(&text);
        }
    }

    #[test]
    fn both_lines_of_code_are_kept_as_they_are() {
        let markdown = "The check is now this one:\n\n```python\nif a  *b* c:\n    return __x__\n```";
        assert_eq!(text(markdown), "The check is now this one: `if a  *b* c:`; `    return __x__`.");
    }

    #[test]
    fn hostile_text_is_read_as_plain_text() {
        for text in ["", "```", "[[](](", "](", "**", "# ", "1. ", "é. É. ß?", "|||", "`unclosed. Code"] {
            let _ = sentences(text);
        }
    }
}
