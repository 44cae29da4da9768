//! Every text has a vector of length 1.

use proptest::prelude::*;
use remora_embed::{Embedder, MAX_TOKENS, Vector, tokens};

fn length(vector: &Vector) -> f64 {
    vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

fn assert_usable(text: &str, max_tokens: usize) {
    let vector = Embedder::new().embed(text, max_tokens);
    assert!((length(&vector) - 1.0).abs() < 1e-5, "{} long: {:?}", length(&vector), text.get(..100));
}

#[test]
fn texts_without_a_word_have_a_vector() {
    let everything: String = (0..=0x10_FFFF).filter_map(char::from_u32).collect();
    for text in
        ["", " ", "\t\r\n\u{a0}\u{3000}", "\0\u{1}\u{7f}\u{85}", "\u{200b}\u{feff}", "\u{301}", &everything]
    {
        assert_usable(text, MAX_TOKENS);
    }
}

#[test]
fn long_texts_have_a_vector() {
    for piece in ["word ", "x", "e\u{301}", "\u{301}", "界", "\u{200d}", ". ", "😀", "ﷺ"] {
        let text = piece.repeat(100_000 / piece.len());
        assert_usable(&text, usize::MAX);
        assert!(tokens(&text).len() <= text.len() + 2);
    }
}

#[test]
fn start_and_end_tokens_are_kept_for_any_limit() {
    let mut embedder = Embedder::new();
    let empty = embedder.embed("", MAX_TOKENS);
    for max_tokens in [0, 1, 2] {
        assert_eq!(embedder.embed("three little words", max_tokens), empty);
    }
    assert_ne!(embedder.embed("three little words", 3), empty);
}

#[test]
fn only_the_requested_tokens_count() {
    let mut embedder = Embedder::new();
    assert_eq!(embedder.embed("one two three four", 5), embedder.embed("one two three", MAX_TOKENS));
    let long = "many ".repeat(1000);
    assert_eq!(embedder.embed(&long, usize::MAX), embedder.embed(&long, MAX_TOKENS));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_has_a_vector(text in any::<String>(), max_tokens in 0_usize..300) {
        assert_usable(&text, max_tokens);
    }
}
