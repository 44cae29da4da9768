//! Code spans in a line of text. Nothing changes what stands in them.

use std::ops::Range;

/// The code spans of a text, with their backticks. As in Markdown, a span ends at the next run of as many backticks; a
/// run without such a partner is text.
pub fn code_spans(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find('`')?;
            let run = run_at(text, start);
            at = start + run;
            let mut rest = at;
            while let Some(found) = text[rest..].find('`') {
                let close = run_at(text, rest + found);
                rest += found + close;
                if close == run {
                    at = rest;
                    return Some(start..rest);
                }
            }
        }
    })
}

/// The number of backticks from `start` on.
fn run_at(text: &str, start: usize) -> usize {
    text[start..].bytes().take_while(|byte| *byte == b'`').count()
}

/// A span for this code, with more backticks around it than it has inside.
pub(super) fn code_span(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(if longest == 0 { 1 } else { longest + 1 });
    // Markdown takes one space away from both ends.
    let is_blank = code.trim().is_empty();
    let is_spaced = code.starts_with(' ') && code.ends_with(' ') && !is_blank;
    let pad = if is_spaced || code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{code}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_end_at_as_many_backticks() {
        let spans = |text| code_spans(text).map(|span| text[span].to_owned()).collect::<Vec<String>>();
        assert_eq!(spans("a `b` ``c`d`` `` ` `` e"), ["`b`", "``c`d``", "`` ` ``"]);
        assert_eq!(spans("`` a ` b `c` ```"), ["` b `"]);
        assert_eq!(spans("`"), [""; 0]);
        for (code, span) in
            [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), (" a ", "`  a  `"), (" a", "` a`")]
        {
            assert_eq!(code_span(code), span);
        }
    }
}
