//! Word pairs, by which a statement is recognised in another text.

use super::fingerprint;
use crate::text::is_unspaced;

/// The words of a text. Each character of a script without spaces is one.
pub fn split_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        if run.contains(is_unspaced) {
            words.extend(run.char_indices().map(|(at, c)| &run[at..at + c.len_utf8()]));
        } else {
            words.push(run);
        }
    }
    words
}

/// Hashes of the pairs of neighbouring words, in their order. Case makes no difference.
pub fn pair_hashes(words: &[&str]) -> Vec<u64> {
    let hashes: Vec<u64> = words.iter().map(|word| fingerprint(word)).collect();
    hashes.windows(2).map(|pair| pair[0].wrapping_mul(31).wrapping_add(pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_depend_on_words_and_their_order_alone() {
        let pairs = |text| pair_hashes(&split_words(text));
        assert_eq!(pairs("The port, is **8080**."), pairs("the Port is 8080"));
        assert_ne!(pairs("port is"), pairs("is port"));
        assert!(pairs("port").is_empty());
        assert_eq!(split_words("端口是 8080"), ["端", "口", "是", "8080"]);
    }
}
