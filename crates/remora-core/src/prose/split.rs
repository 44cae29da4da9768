//! Sentence boundaries.

use super::code::code_spans;
use crate::text::is_unspaced;

/// Abbreviations in English, German, French and Spanish whose dot does not end a sentence, and titles before a name.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "z.B.", "bzw.", "d.h.", "ca.", "Nr.", "u.a.",
    "usw.", "ggf.", "p.ex.", "ex.", "p.ej.", "ej.", "env.", "Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "St.",
    "Sr.", "Sra.",
];
/// Closing marks. They belong to the sentence before them.
const CLOSING: &[char] = &['"', '\'', '”', '’', '»', ')', ']', '」', '』', '）', '】', '》'];
/// Limits for a lead-in to code, such as "When you're ready:": in words, or in letters of a script without spaces.
const LEAD_IN_WORDS: usize = 4;
const LEAD_IN_LETTERS: usize = 8;

/// Splits at the ends of sentences, not at the dots of `main.rs`, `3.5` or `e.g.`.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut spans = code_spans(text).peekable();
    for (at, c) in text.char_indices() {
        while spans.next_if(|span| span.end <= at).is_some() {}
        let is_code = spans.peek().is_some_and(|span| span.contains(&at));
        // A closing mark was already added to the sentence before.
        if is_code || at < start {
            continue;
        }
        let after = &text[at + c.len_utf8()..];
        let is_end = match c {
            '.' | '!' | '?' => ends_here(after) && !is_abbreviation(&text[start..=at]),
            // These are written without a space after them, and an ellipsis in these scripts comes in pairs.
            '。' | '｡' | '！' | '？' | '；' | '．' | '।' | '॥' | '؟' | '۔' => {
                !after.starts_with(['。', '！', '？', '.', '!', '?'])
            }
            _ => false,
        };
        if is_end {
            let end = text.len() - after_closing(after).len();
            sentences.push(text[start..end].trim().to_owned());
            start = end;
        }
    }
    sentences.push(text[start..].trim().to_owned());
    sentences.retain(|sentence| says_something(sentence));
    sentences
}

/// Whether a full stop followed by `after` ends a sentence: a space follows, and no lower-case letter.
fn ends_here(after: &str) -> bool {
    let after = after_closing(after);
    let next = after.trim_start();
    next.is_empty()
        || (after.len() > next.len() && !next.starts_with(char::is_lowercase))
        || next.starts_with(is_unspaced)
}

/// The text after the closing marks. In French there is a space before `»`.
fn after_closing(after: &str) -> &str {
    let after = after.trim_start_matches(CLOSING);
    after.trim_start_matches([' ', '\u{a0}', '\u{202f}']).strip_prefix('»').unwrap_or(after)
}

fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default();
    ABBREVIATIONS.contains(&word.trim_start_matches(['(', '«', '"', '„', '“']))
}

fn says_something(sentence: &str) -> bool {
    let has_letters = sentence.chars().filter(|c| c.is_alphanumeric()).nth(2).is_some();
    has_letters && !(sentence.ends_with([':', '：']) && is_short(sentence))
}

fn is_short(sentence: &str) -> bool {
    if sentence.contains(is_unspaced) {
        sentence.chars().filter(|c| c.is_alphanumeric()).count() <= LEAD_IN_LETTERS
    } else {
        sentence.split_whitespace().count() <= LEAD_IN_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn dots_in_names_numbers_and_abbreviations_do_not_end_a_sentence() {
        assert_eq!(
            split("See main.rs, e.g. v2.5. It works, z.B. Redis. Ready to go:"),
            ["See main.rs, e.g. v2.5.", "It works, z.B. Redis."]
        );
        assert_eq!(
            split("Il a dit « c'est lent. » Le cache (p.ex. Redis) était vide."),
            ["Il a dit « c'est lent. »", "Le cache (p.ex. Redis) était vide."]
        );
        assert_eq!(split("Dr. Weber moved it. Ask Mrs. Li."), ["Dr. Weber moved it.", "Ask Mrs. Li."]);
        assert_eq!(split("(It was slow.) The cache was cold."), ["(It was slow.)", "The cache was cold."]);
    }

    #[test]
    fn other_scripts_end_sentences_by_their_own_marks() {
        assert_eq!(
            split("缓存没有过期时间。所以返回旧值！“真的吗？”现在好了；请运行以下命令："),
            ["缓存没有过期时间。", "所以返回旧值！", "“真的吗？”", "现在好了；"]
        );
        assert_eq!(
            split("根本原因是连接池太小，所以请求排队等待：详见 `db.rs`。把 `a。b` 改了。"),
            ["根本原因是连接池太小，所以请求排队等待：详见 `db.rs`。", "把 `a。b` 改了。"]
        );
        assert_eq!(split("原因是时区. 现在用 UTC."), ["原因是时区.", "现在用 UTC."]);
        assert_eq!(split("キャッシュが古い。直した。"), ["キャッシュが古い。", "直した。"]);
        assert_eq!(
            split("لماذا فشل الاختبار؟ لأن الساعة متأخرة."),
            ["لماذا فشل الاختبار؟", "لأن الساعة متأخرة."]
        );
        assert_eq!(split("कैश पुराना था। अब ठीक है।"), ["कैश पुराना था।", "अब ठीक है।"]);
    }
}
