//! Text that hosts and Remora itself insert. It was written neither by the user nor by the agent.

use std::borrow::Cow;
use std::ops::Range;

/// The tag around all injected text. If it comes back as input, it is not stored again.
pub const CONTEXT_TAG: &str = "remora-context";

const ENCLOSED_BY_OTHERS: &[&str] = &[
    CONTEXT_TAG,
    "system-reminder",
    "system_reminder",
    "system-instruction",
    "system_instruction",
    "persisted-output",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
];

/// Removes host reminders and our own context. A tag that is never closed stays as ordinary text, because, unlike
/// private text, it can do no harm.
///
/// Reads the text once, because it may come from a file written to make this slow.
pub fn strip(text: &str) -> Cow<'_, str> {
    // The openings that have no end yet, for each tag.
    let mut open: [Vec<usize>; ENCLOSED_BY_OTHERS.len()] = Default::default();
    let mut enclosed: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| from + at) {
        from = at + 1;
        let (is_end, name) = match text[from..].strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, &text[from..]),
        };
        let Some(tag) = ENCLOSED_BY_OTHERS.iter().position(|tag| starts_with_tag(name, tag)) else {
            continue;
        };
        if !is_end {
            open[tag].push(at);
            continue;
        }
        // If two openings precede one end, the end belongs to the inner one.
        let Some(start) = open[tag].pop() else { continue };
        from = text[at..].find('>').map_or(text.len(), |close| at + close + 1);
        // Whatever is inside is removed with it.
        for open in &mut open {
            open.truncate(open.partition_point(|inner| *inner < start));
        }
        enclosed.truncate(enclosed.partition_point(|inner| inner.start < start));
        enclosed.push(start..from);
    }
    if enclosed.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for Range { start, end } in enclosed {
        kept.push_str(&text[from..start]);
        from = end;
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// Whether `text` starts with the tag's full name. The name's length may fall inside a character of `text`.
fn starts_with_tag(text: &str, tag: &str) -> bool {
    text.split_at_checked(tag.len()).is_some_and(|(name, rest)| {
        name.eq_ignore_ascii_case(tag) && rest.starts_with(|c: char| c == '>' || c.is_ascii_whitespace())
    })
}

/// Makes tags harmless that a host or Remora would act on.
pub fn defused(text: &str) -> String {
    let acts = |at: usize| {
        let rest = text[at + 1..].trim_start_matches(['/', ' ']);
        ENCLOSED_BY_OTHERS
            .iter()
            .any(|tag| rest.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag)))
    };
    let mut defused = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices('<').filter(|(at, _)| acts(*at)) {
        defused.push_str(&text[copied..at]);
        defused.push('‹');
        copied = at + 1;
    }
    defused.push_str(&text[copied..]);
    defused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_and_our_own_context_go() {
        for (text, kept) in [
            ("a <system-reminder>x\ny</system-reminder>b", "a b"),
            ("<System-Reminder source=\"x\">x</SYSTEM-REMINDER >b", "b"),
            ("<remora-context>old memory</remora-context>\nfix it", "\nfix it"),
            ("<remora-context>a<remora-context>b</remora-context>c</remora-context>d", "d"),
            ("<system-reminder>1</system-reminder>a<system-reminder>2</system-reminder>", "a"),
            ("an open <system-reminder> is text", "an open <system-reminder> is text"),
            ("<system-reminder>a <remora-context></system-reminder>b</remora-context>", "b</remora-context>"),
            ("a<system-reminder>1<system-reminder>2</system-reminder>b", "a<system-reminder>1b"),
            (
                "a</system-reminder>b<system-reminder>c</system-reminder",
                "a</system-reminder>b<system-reminder>c</system-reminder",
            ),
            ("a<system-reminder>b</system-reminder \n", "a"),
            (
                "</system-reminder> so is an end, <b>é</b> too",
                "</system-reminder> so is an end, <b>é</b> too",
            ),
        ] {
            assert_eq!(strip(text), kept, "{text}");
        }
    }

    /// Removing one tag after the other took 14 s for 64 KB of this.
    #[test]
    fn deeply_nested_tags_are_read_once() {
        let nested = |times: usize| {
            let (begin, end) = ("<system-reminder>".repeat(times), "</system-reminder>".repeat(times));
            format!("a{begin}x{end}b")
        };
        assert_eq!(strip(&nested(100_000)), "ab");
        let open = format!("{}</system-reminder>", "<system-reminder>".repeat(100_000));
        assert_eq!(strip(&open).len(), 17 * 99_999, "only the innermost has an end");
    }

    #[test]
    fn a_bracket_before_text_of_any_script_stays_as_it_is() {
        for text in [
            "把 <Button>提交订单</Button> 改成蓝色",
            "сравни a<б и <b>жирный</b> текст",
            "if (prix < 3,50€) résumé",
            "<日本語>テキスト</日本語> < 🦀🦀🦀🦀🦀🦀🦀🦀",
        ] {
            assert_eq!(strip(text), text);
            assert_eq!(defused(text), text);
            let reminded = format!("<system-reminder>{text}</system-reminder>{text}");
            assert_eq!(strip(&reminded), text);
        }
    }
}
