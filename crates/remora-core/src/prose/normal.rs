//! A sentence reduced to its words, so that word lists match whole words only.

/// Words in lower case, with one blank around each. Commas, colons and question marks are separate words, and a code
/// span is the word `` ` ``, because its content is not prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normal {
    text: String,
    /// The position of the blank before each word.
    starts: Vec<usize>,
    /// One bit for the first two letters of each word, see [`beginning`].
    beginnings: [u64; 4],
    /// Whether there are words of a script without spaces.
    has_unspaced: bool,
}

impl Normal {
    pub fn new(sentence: &str) -> Self {
        let mut out = String::with_capacity(sentence.len() + 8);
        out.push(' ');
        let mut word = String::new();
        let mut chars = sentence.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '`' if chars.clone().any(|c| c == '`') => {
                    end(&mut word, &mut out);
                    while chars.next().is_some_and(|c| c != '`') {}
                    out.push_str("` ");
                }
                '’' | '\'' if !word.is_empty() => word.push('\''),
                '-' if !word.is_empty() && chars.peek().is_some_and(|c| c.is_alphanumeric()) => {
                    word.push('-');
                }
                ',' | ':' | '?' => {
                    end(&mut word, &mut out);
                    out.push(c);
                    out.push(' ');
                }
                c if c.is_ascii_alphanumeric() => word.push(c.to_ascii_lowercase()),
                c if c.is_alphanumeric() => word.extend(c.to_lowercase()),
                _ => end(&mut word, &mut out),
            }
        }
        end(&mut word, &mut out);
        let mut starts = Vec::with_capacity(32);
        let mut beginnings = [0; 4];
        for (at, bytes) in out.as_bytes().windows(3).enumerate().filter(|(_, bytes)| bytes[0] == b' ') {
            starts.push(at);
            let (part, bit) = beginning(bytes[1], bytes[2]);
            beginnings[part] |= 1 << bit;
        }
        let has_unspaced = !out.is_ascii() && out.chars().any(is_unspaced);
        Self { text: out, starts, beginnings, has_unspaced }
    }

    /// Whether one of these phrases occurs, as whole words. A phrase that ends with `*` matches any ending of its
    /// last word.
    pub fn has(&self, phrases: &[&str]) -> bool {
        // Hooks check hundreds of sentences against hundreds of phrases, so most phrases are ruled out by their first
        // two letters.
        phrases.iter().any(|phrase| match *phrase.as_bytes() {
            [first, second, ..] if first.is_ascii() && second != b'*' && !self.begins(first, second) => false,
            _ => self.contains(phrase),
        })
    }

    fn contains(&self, phrase: &str) -> bool {
        if phrase.starts_with(is_unspaced) {
            return self.has_unspaced && self.text.contains(phrase);
        }
        self.may_have(phrase) && self.places(phrase).any(|at| self.matches(at, phrase))
    }

    /// Whether a word may begin with these letters.
    fn begins(&self, first: u8, second: u8) -> bool {
        let (part, bit) = beginning(first, second);
        self.beginnings[part] >> bit & 1 == 1
    }

    /// Whether the sentence starts with one of these phrases.
    pub fn starts(&self, phrases: &[&str]) -> bool {
        let first = self.text.as_bytes().get(1);
        let may_start = |phrase: &&&str| phrase.as_bytes().first() == first;
        phrases.iter().filter(may_start).any(|phrase| {
            if phrase.starts_with(is_unspaced) {
                self.text[1..].starts_with(phrase)
            } else {
                self.matches(0, phrase)
            }
        })
    }

    fn may_have(&self, phrase: &str) -> bool {
        match *phrase.as_bytes() {
            [] => false,
            [_, b'*', ..] => true,
            [only] => self.begins(only, b' '),
            [first, second, ..] => self.begins(first, second),
        }
    }

    /// Positions of the blanks before words with the same first letter.
    fn places(&self, phrase: &str) -> impl Iterator<Item = usize> {
        let first = phrase.bytes().next().unwrap_or_default();
        self.starts.iter().copied().filter(move |at| self.text.as_bytes()[at + 1] == first)
    }

    /// The words, without punctuation.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split(' ').filter(|word| !matches!(*word, "" | "," | ":" | "?"))
    }

    pub fn count(&self) -> usize {
        self.words().count()
    }

    /// Whether the words after the blank at `at` match this phrase.
    fn matches(&self, at: usize, phrase: &str) -> bool {
        let rest = &self.text.as_bytes()[at + 1..];
        match phrase.strip_suffix('*') {
            Some(beginning) => rest.starts_with(beginning.as_bytes()),
            None => rest.strip_prefix(phrase.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' ')),
        }
    }
}

/// One of 256 bits for the first two bytes of a word: which part, and which bit of it.
fn beginning(first: u8, second: u8) -> (usize, u32) {
    let place = first.wrapping_mul(31).wrapping_add(second);
    (usize::from(place / 64), u32::from(place % 64))
}

/// Scripts without spaces between words have no whole words to match.
fn is_unspaced(c: char) -> bool {
    c >= '\u{2e80}'
}

fn end(word: &mut String, out: &mut String) {
    let text = word.trim_end_matches('\'');
    if !text.is_empty() {
        out.push_str(text);
        out.push(' ');
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_whole_words_only() {
        let normal = Normal::new("The debug log is kept, so `never` isn’t a bug-like notebook?");
        assert!(normal.has(&[", so", "isn't", "notebook ?"]));
        assert!(normal.has(&["note*"]) && normal.starts(&["the debug"]));
        for part in ["bug", "note", "never", "log is ke", "debug log is kept so"] {
            assert!(!normal.has(&[part]), "{part}");
        }
        let unspaced = Normal::new("因为缓存过期");
        assert!(unspaced.has(&["缓存"]) && unspaced.starts(&["因为"]) && !unspaced.starts(&["缓存"]));
        assert!(!Normal::new("").has(&["a", "缓"]) && !Normal::new("").starts(&["a", "缓"]));
        assert_eq!(Normal::new("  ").count(), 0);
        assert_eq!(
            Normal::new("'quoted' l'été 把 `a").words().collect::<Vec<_>>(),
            ["quoted", "l'été", "把", "a"]
        );
    }
}
