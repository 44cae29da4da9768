//! Where a sentence ends.

/// Splits at the ends of sentences, not at the dots of `main.rs`, `3.5` or `e.g.`.
pub(super) fn split(text: &str) -> Vec<String> {
    const ABBREVIATIONS: &[&str] = &[
        "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "z.B.", "bzw.", "d.h.", "ca.", "Nr.", "p.ex.",
    ];
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    for (at, c) in text.char_indices() {
        if c == '`' {
            in_code = !in_code;
        }
        if in_code || !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let after = &text[at + c.len_utf8()..];
        let ends = after.is_empty()
            || (after.starts_with(' ') && !after.trim_start().starts_with(|c: char| c.is_lowercase()));
        let word = text[start..=at].rsplit(' ').next().unwrap_or_default();
        if ends && !ABBREVIATIONS.contains(&word) {
            sentences.push(text[start..=at].trim().to_owned());
            start = at + 1;
        }
    }
    sentences.push(text[start..].trim().to_owned());
    // "When you're ready:" only leads to code that is not told.
    sentences.retain(|sentence| {
        let words = sentence.split_whitespace().count();
        sentence.chars().filter(|c| c.is_alphanumeric()).count() > 2
            && !(sentence.ends_with(':') && words <= 4)
    });
    sentences
}
