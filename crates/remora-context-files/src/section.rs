//! Inserts a section between two marks and removes it again, without touching anything else.
//!
//! The first mark holds what is needed to remove the section: whether the file was created for it, and whether a line
//! break was inserted because the last line had none. So a file can be restored even if everything else is lost.

use std::ops::Range;

/// The format of the two marks in one kind of file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The unmistakable start of the first mark's line.
    begin: String,
    /// The rest of that line. `{}` stands for [`Insertion::word`].
    rest: &'static str,
    end: String,
}

/// The marks are damaged or duplicated, so the text is left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its marks are not exactly one pair, so the section cannot be found")]
pub(crate) struct OddMarks;

/// How a section was inserted into its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Insertion {
    Added,
    /// Added after a last line without a line break, so one was inserted.
    Joined,
    /// The file was created for the section.
    Made,
}

impl Insertion {
    fn word(self) -> &'static str {
        match self {
            Self::Added => "",
            Self::Joined => " (joined)",
            Self::Made => " (new file)",
        }
    }
}

struct Located {
    /// From the first mark to the last, inclusive.
    place: Range<usize>,
    came: Insertion,
    ending: &'static str,
}

/// The text that remains without the section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remainder {
    pub(crate) text: String,
    /// Whether the file was created for the section.
    pub(crate) made: bool,
}

impl Marks {
    /// For Markdown.
    pub(crate) fn markdown() -> Self {
        Self {
            begin: "<!-- remora:begin".to_owned(),
            rest: "{}: kept by `remora context-files`, what you write in here is lost -->",
            end: "<!-- remora:end -->".to_owned(),
        }
    }

    /// For files with `#` comments. One file may hold a section for each `owner`.
    pub(crate) fn hash(owner: &str) -> Self {
        Self {
            begin: format!("# remora:begin {owner:?}"),
            rest: "{}, kept by `remora context-files`",
            end: format!("# remora:end {owner:?}"),
        }
    }

    /// The owner of the section that begins with this line, if one does.
    pub(crate) fn hash_owner(line: &str) -> Option<&str> {
        line.strip_prefix("# remora:begin \"")?.split_once('"').map(|(owner, _)| owner)
    }

    /// A new file that holds only `preamble` and the section.
    pub(crate) fn new_file(&self, preamble: &str, section: &str) -> String {
        format!("{preamble}{}\n", self.block(section, Insertion::Made, "\n"))
    }

    /// The text with the section, which replaces an existing one or is appended.
    pub(crate) fn with(&self, text: &str, section: &str) -> Result<String, OddMarks> {
        if let Some(found) = self.find(text)? {
            let block = self.block(section, found.came, found.ending);
            return Ok(format!("{}{block}{}", &text[..found.place.start], &text[found.place.end..]));
        }
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let is_joined = !text.is_empty() && text != BYTE_ORDER_MARK && !text.ends_with('\n');
        let (gap, came) = if is_joined { (ending, Insertion::Joined) } else { ("", Insertion::Added) };
        Ok(format!("{text}{gap}{}{ending}", self.block(section, came, ending)))
    }

    /// The text as it was without the section. `None` if it has none.
    pub(crate) fn without(&self, text: &str) -> Result<Option<Remainder>, OddMarks> {
        let Some(found) = self.find(text)? else { return Ok(None) };
        let mut before = &text[..found.place.start];
        let mut after = &text[found.place.end..];
        after = after.strip_prefix(found.ending).unwrap_or(after);
        // Text added after the section since still needs the line break before it.
        if found.came == Insertion::Joined && after.is_empty() {
            before = before.strip_suffix(found.ending).unwrap_or(before);
        }
        Ok(Some(Remainder { text: format!("{before}{after}"), made: found.came == Insertion::Made }))
    }

    fn block(&self, section: &str, came: Insertion, ending: &str) -> String {
        let block = format!("{}\n{section}{}", self.first_line(came), self.end);
        if ending == "\n" { block } else { block.replace('\n', ending) }
    }

    fn first_line(&self, came: Insertion) -> String {
        format!("{}{}", self.begin, self.rest.replacen("{}", came.word(), 1))
    }

    fn find(&self, text: &str) -> Result<Option<Located>, OddMarks> {
        let begins: Vec<usize> = text.match_indices(&self.begin).map(|(at, _)| at).take(2).collect();
        let ends: Vec<usize> = text.match_indices(&self.end).map(|(at, _)| at).take(2).collect();
        let (start, end) = match (begins.as_slice(), ends.as_slice()) {
            ([], []) => return Ok(None),
            ([begin], [end]) if begin < end => (*begin, *end),
            _ => return Err(OddMarks),
        };
        for came in [Insertion::Added, Insertion::Joined, Insertion::Made] {
            let Some(rest) = text[start..end].strip_prefix(&self.first_line(came)) else { continue };
            let ending = if rest.starts_with("\r\n") { "\r\n" } else { "\n" };
            if rest.starts_with(ending) {
                return Ok(Some(Located { place: start..end + self.end.len(), came, ending }));
            }
        }
        Err(OddMarks)
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECTION: &str = "## Recent Memory\n- one\n";

    fn both() -> [Marks; 2] {
        [Marks::markdown(), Marks::hash("/home/dev/a \"b\"")]
    }

    fn round(text: &str) {
        for marks in both() {
            let with = marks.with(text, SECTION).unwrap();
            assert!(with.starts_with(text), "nothing before it changes: {text:?}");
            let again = marks.with(&with, SECTION).unwrap();
            assert_eq!(again, with, "the same section changes nothing");
            let other = marks.with(&with, "- two\n- three\n").unwrap();
            for text_with in [with, other] {
                let left = marks.without(&text_with).unwrap().unwrap();
                assert_eq!((left.text.as_str(), left.made), (text, false));
            }
            assert_eq!(marks.without(text), Ok(None));
        }
    }

    #[test]
    fn a_text_comes_back_as_it_was() {
        for text in [
            "",
            "\n",
            "# A\n",
            "# A",
            "# A\r\nb\r\n",
            "# A\r\nb",
            "\u{feff}",
            "\u{feff}# A\r\n",
            "a\r",
            "a\r\nb\r",
            "```\nx\n```",
            "\n\n\n",
        ] {
            round(text);
        }
    }

    #[test]
    fn a_section_has_the_line_endings_of_its_file() {
        let with = Marks::markdown().with("a\r\n", SECTION).unwrap();
        assert!(!with.replace("\r\n", "").contains('\n'), "{with:?}");
    }

    #[test]
    fn text_around_a_section_stays() {
        let marks = Marks::markdown();
        let with = marks.with("top", SECTION).unwrap();
        let changed = format!("new {}bottom\n", with.replace("top", "top line"));
        let with = marks.with(&changed, "- two\n").unwrap();
        assert!(with.starts_with("new top line\n") && with.ends_with("bottom\n"), "{with}");
        assert_eq!(marks.without(&with).unwrap().unwrap().text, "new top line\nbottom\n");
        let made = marks.new_file("---\nx: 1\n---\n", SECTION);
        assert_eq!(marks.without(&made), Ok(Some(Remainder { text: "---\nx: 1\n---\n".into(), made: true })));
    }

    #[test]
    fn marks_that_are_not_one_pair_are_left_alone() {
        let marks = Marks::markdown();
        let whole = marks.with("a\n", SECTION).unwrap();
        let cut = whole.replace("<!-- remora:end -->", "");
        let twice = format!("{whole}{whole}");
        let turned = format!("<!-- remora:end -->\n{cut}");
        let forged = "<!-- remora:begin -->\nmine\n<!-- remora:end -->\n";
        for odd in [cut.as_str(), &twice, &turned, forged, "<!-- remora:end -->"] {
            assert_eq!(marks.with(odd, SECTION), Err(OddMarks), "{odd}");
            assert_eq!(marks.without(odd), Err(OddMarks), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back_as_it_was(text in "(.|[\r\n\u{feff} `#<>!-]){0,60}") {
            round(&text);
        }

        #[test]
        fn text_around_a_section_is_never_touched(before in "(.|[\r\n]){0,30}", after in "(.|[\r\n]){0,30}") {
            for marks in both() {
                let with = format!("{}{after}", marks.with(&before, SECTION).unwrap());
                let changed = marks.with(&with, "- other\n").unwrap();
                prop_assert!(changed.starts_with(&before) && changed.ends_with(&after));
                let left = marks.without(&changed).unwrap().unwrap().text;
                prop_assert!(left.starts_with(&before) && left.ends_with(&after));
                prop_assert!(left.len() - before.len() - after.len() <= 2, "at most a line break between them");
            }
        }
    }
}
