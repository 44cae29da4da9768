//! Text that hosts and Remora itself insert. It was written neither by the user nor by the agent.

use std::borrow::Cow;

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
pub fn strip(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.contains('<') {
        return text;
    }
    for tag in ENCLOSED_BY_OTHERS {
        while let Some((start, end)) = enclosed(&text, tag) {
            let mut rest = text[..start].to_owned();
            rest.push_str(&text[end..]);
            text = Cow::Owned(rest);
        }
    }
    text
}

/// The range from the first closed `<tag …>` to its matching end.
fn enclosed(text: &str, tag: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + find_tag(&text[from..], "<", tag)?;
        let inside = start + 1 + tag.len();
        let end = inside + find_tag(&text[inside..], "</", tag)?;
        // If two openings precede one end, the end belongs to the inner one.
        if let Some(inner) = find_tag(&text[inside..end], "<", tag) {
            from = inside + inner;
            continue;
        }
        let close = text[end..].find('>').map_or(text.len(), |at| end + at + 1);
        return Some((start, close));
    }
}

fn find_tag(text: &str, bracket: &str, tag: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(bracket)?;
        let name = at + bracket.len();
        if starts_with_tag(&text[name..], tag) {
            return Some(at);
        }
        from = name;
    }
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
            (
                "</system-reminder> so is an end, <b>é</b> too",
                "</system-reminder> so is an end, <b>é</b> too",
            ),
        ] {
            assert_eq!(strip(text), kept, "{text}");
        }
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
