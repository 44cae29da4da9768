//! Splits text into tokens of the model's vocabulary: BERT's uncased `WordPiece`.
//!
//! Characters are cleaned, decomposed, stripped of accents and lower-cased; white space and punctuation separate
//! words; each word is cut into the longest pieces in the vocabulary. Everything is streamed, so a long text costs no
//! more than the tokens requested.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::vocabulary::Vocabulary;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::embedded);

const UNKNOWN: u16 = 100;
const START: u16 = 101;
const END: u16 = 102;
/// Longer words count as unknown.
const MAX_WORD_LEN: usize = 100;

/// The tokens of a text: the start token, the first `limit - 2` tokens of the text, and the end token.
pub(crate) fn tokenize(text: &str, limit: usize) -> Vec<u16> {
    let mut pieces =
        Pieces { tokens: vec![START], limit: limit.max(2) - 1, word: String::new(), characters: 0 };
    for character in normalised(text) {
        if pieces.full() {
            break;
        }
        if character.is_whitespace() {
            pieces.end_word();
        } else if is_punctuation(character) {
            pieces.end_word();
            pieces.push(character);
            pieces.end_word();
        } else {
            pieces.push(character);
        }
    }
    pieces.end_word();
    pieces.tokens.push(END);
    pieces.tokens
}

fn normalised(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|character| !is_dropped(*character))
        .flat_map(|character| {
            // An ideograph is a separate word.
            let space = is_ideograph(character).then_some(' ');
            space.into_iter().chain([character]).chain(space)
        })
        .nfd()
        .filter(|character| {
            character.is_ascii() || character.general_category() != GeneralCategory::NonspacingMark
        })
        .flat_map(char::to_lowercase)
}

fn is_dropped(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        _ if character.is_ascii() => character.is_ascii_control(),
        _ => matches!(
            character.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        ),
    }
}

fn is_ideograph(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B820..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    )
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    character.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The tokens so far, and the current word.
struct Pieces {
    tokens: Vec<u16>,
    limit: usize,
    word: String,
    characters: usize,
}

impl Pieces {
    fn full(&self) -> bool {
        self.tokens.len() >= self.limit
    }

    fn push(&mut self, character: char) {
        self.characters += 1;
        // Beyond the limit only the length matters.
        if self.characters <= MAX_WORD_LEN {
            self.word.push(character);
        }
    }

    fn end_word(&mut self) {
        if self.characters > 0 {
            let before = self.tokens.len();
            if self.characters > MAX_WORD_LEN || !self.cut() {
                self.tokens.truncate(before);
                self.tokens.push(UNKNOWN);
            }
            self.tokens.truncate(self.limit);
        }
        self.word.clear();
        self.characters = 0;
    }

    /// Cuts the word into pieces; `false` if that is not possible.
    fn cut(&mut self) -> bool {
        let mut rest = self.word.as_str();
        let mut first = true;
        while !rest.is_empty() {
            let found = ends(rest).find_map(|end| Some((end, VOCABULARY.find(&rest[..end], first)?)));
            let Some((end, token)) = found else { return false };
            self.tokens.push(token);
            rest = &rest[end..];
            first = false;
        }
        true
    }
}

/// Possible ends of a piece, longest first.
fn ends(rest: &str) -> impl Iterator<Item = usize> {
    let longest = VOCABULARY.longest().min(rest.len());
    (1..=longest).rev().filter(|end| rest.is_char_boundary(*end))
}
