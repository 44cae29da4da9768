//! Porter's stemmer, as in SQLite's `porter` tokenizer, so that words have the same stems here as in the index.

/// The stem of a folded word. Words with other characters than ASCII letters are returned unchanged.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 3 || word.len() > 64 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = Stem(word.as_bytes().to_vec());
    stem.plural();
    stem.past();
    stem.final_y();
    stem.replace_first(STEP_2, 0);
    stem.replace_first(STEP_3, 0);
    stem.drop_suffix();
    stem.final_e();
    String::from_utf8(stem.0).unwrap_or_else(|_| word.to_owned())
}

struct Stem(Vec<u8>);

const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("logi", "log"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

const STEP_3: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const STEP_4: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
];

impl Stem {
    fn is_consonant(&self, at: usize) -> bool {
        match self.0[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    /// The number of times a vowel is followed by a consonant in the first `end` letters.
    fn measure(&self, end: usize) -> usize {
        (1..end).filter(|&at| self.is_consonant(at) && !self.is_consonant(at - 1)).count()
    }

    fn has_vowel(&self, end: usize) -> bool {
        (0..end).any(|at| !self.is_consonant(at))
    }

    fn ends(&self, suffix: &str) -> Option<usize> {
        self.0.ends_with(suffix.as_bytes()).then(|| self.0.len() - suffix.len())
    }

    fn replace(&mut self, start: usize, with: &str) {
        self.0.truncate(start);
        self.0.extend_from_slice(with.as_bytes());
    }

    fn ends_double_consonant(&self) -> bool {
        let end = self.0.len();
        end >= 2 && self.0[end - 1] == self.0[end - 2] && self.is_consonant(end - 1)
    }

    /// Whether it ends in consonant, vowel, consonant, and the last is not w, x or y.
    fn ends_short(&self, end: usize) -> bool {
        end >= 3
            && self.is_consonant(end - 1)
            && !self.is_consonant(end - 2)
            && self.is_consonant(end - 3)
            && !matches!(self.0[end - 1], b'w' | b'x' | b'y')
    }

    fn plural(&mut self) {
        if let Some(start) = self.ends("sses").or(self.ends("ies")) {
            self.0.truncate(start + if self.0.ends_with(b"sses") { 2 } else { 1 });
        } else if self.ends("ss").is_none() && self.ends("s").is_some() {
            self.0.pop();
        }
    }

    fn past(&mut self) {
        if let Some(start) = self.ends("eed") {
            if self.measure(start) > 0 {
                self.0.pop();
            }
            return;
        }
        let Some(start) = self.ends("ed").or(self.ends("ing")).filter(|&start| self.has_vowel(start)) else {
            return;
        };
        self.0.truncate(start);
        if self.ends("at").or(self.ends("bl")).or(self.ends("iz")).is_some() {
            self.0.push(b'e');
        } else if self.ends_double_consonant() && !matches!(self.0.last(), Some(b'l' | b's' | b'z')) {
            self.0.pop();
        } else if self.measure(self.0.len()) == 1 && self.ends_short(self.0.len()) {
            self.0.push(b'e');
        }
    }

    fn final_y(&mut self) {
        if let Some(start) = self.ends("y").filter(|&start| self.has_vowel(start)) {
            self.replace(start, "i");
        }
    }

    fn replace_first(&mut self, rules: &[(&str, &str)], least: usize) {
        for (suffix, with) in rules {
            if let Some(start) = self.ends(suffix) {
                if self.measure(start) > least {
                    self.replace(start, with);
                }
                return;
            }
        }
    }

    fn drop_suffix(&mut self) {
        let longest =
            STEP_4.iter().filter(|suffix| self.ends(suffix).is_some()).max_by_key(|suffix| suffix.len());
        let Some(start) = longest.and_then(|suffix| self.ends(suffix)) else { return };
        let after_ion =
            self.ends("ion") != Some(start) || (start > 0 && matches!(self.0[start - 1], b's' | b't'));
        if self.measure(start) > 1 && after_ion {
            self.0.truncate(start);
        }
    }

    fn final_e(&mut self) {
        if let Some(start) = self.ends("e") {
            let measure = self.measure(start);
            if measure > 1 || (measure == 1 && !self.ends_short(start)) {
                self.0.truncate(start);
            }
        }
        let end = self.0.len();
        if self.0.ends_with(b"ll") && self.measure(end) > 1 {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP_2, STEP_3, STEP_4, stem};
    use crate::snippet::begins_like;

    #[test]
    fn every_word_begins_like_its_stem() {
        let endings = STEP_2.iter().chain(STEP_3).map(|(ending, _)| *ending).chain(STEP_4.iter().copied());
        let endings: Vec<&str> =
            endings.chain(["", "s", "es", "ies", "sses", "eed", "ed", "ing", "y", "e", "ll"]).collect();
        for beginning in ["", "a", "b", "y", "ab", "ba", "by", "ya", "at", "bl", "iz", "all", "tree", "hopp"]
        {
            for ending in &endings {
                for last in ["", "s", "ed", "ing", "ly"] {
                    let word = format!("{beginning}{ending}{last}");
                    assert!(begins_like(&word, &stem(&word), 2), "{word}");
                }
            }
        }
    }

    #[test]
    fn words_are_stemmed_as_porter_described() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("failing", "fail"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("digitizer", "digit"),
            ("operator", "oper"),
            ("triplicate", "triplic"),
            ("hopeful", "hope"),
            ("goodness", "good"),
            ("revival", "reviv"),
            ("allowance", "allow"),
            ("adjustable", "adjust"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("effective", "effect"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controll", "control"),
            ("roll", "roll"),
            ("authentication", "authent"),
            ("tokens", "token"),
            ("é", "é"),
            ("v2", "v2"),
            ("is", "is"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }
}
