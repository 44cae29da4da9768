//! Text that is filled line by line up to a limit.

use super::Length;

/// A heading and as many whole lines as fit.
#[derive(Debug)]
pub(super) struct Lines {
    heading: &'static str,
    text: String,
    length: Length,
    limit: u64,
}

impl Lines {
    pub(super) fn new(heading: &'static str, limit: u64) -> Self {
        Self { heading, text: heading.to_owned(), length: Length::of(heading), limit }
    }

    /// Adds a line if it fits, and returns whether it did.
    pub(super) fn add(&mut self, line: &str) -> bool {
        let length = Length::of(line);
        let fits = self.length.tokens() + length.tokens() <= self.limit;
        if fits {
            self.text.push_str(line);
            self.length += length;
        }
        fits
    }

    /// The heading with its lines; empty if no line fitted.
    pub(super) fn into_text(self) -> String {
        if self.text == self.heading { String::new() } else { self.text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tokens;

    #[test]
    fn whole_lines_are_added_while_they_fit() {
        let mut lines = Lines::new("# A\n", 7);
        assert!(
            !lines.add("much too long for the limit\n") && lines.add("12345678901\n") && lines.add("缓存\n")
        );
        assert!(!lines.add("x\n"), "the limit is reached");
        let text = lines.into_text();
        assert_eq!(text, "# A\n12345678901\n缓存\n");
        assert_eq!(tokens(&text), 7);
        assert_eq!(Lines::new("# A\n", 6).into_text(), "");
    }
}
