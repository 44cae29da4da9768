//! The vocabulary built into the program, and a hash table of its words.

static WORDS: &str = include_str!("../model/vocab.txt");

const SLOTS: usize = 1 << 16;
const CONTINUED: &str = "##";
/// Marks a free slot. No token has this number.
const FREE: u16 = u16::MAX;

/// Words are numbered in line order. `slots` holds these numbers by the hash of the word.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<&'static str>,
    slots: Vec<u16>,
    longest: usize,
}

impl Vocabulary {
    pub(crate) fn embedded() -> Self {
        let words: Vec<_> = WORDS.lines().collect();
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        let mut slots = vec![FREE; SLOTS];
        for (number, word) in (0..).zip(&words) {
            let mut slot = home(&["", word]);
            while slots[slot] != FREE {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = number;
        }
        Self { words, slots, longest }
    }

    /// The number of a piece that begins a word or continues one.
    pub(crate) fn find(&self, piece: &str, begins: bool) -> Option<u16> {
        let prefix = if begins { "" } else { CONTINUED };
        let mut slot = home(&[prefix, piece]);
        // Half of the slots stay free, so this loop ends.
        while self.slots[slot] != FREE {
            let number = self.slots[slot];
            if self.words[usize::from(number)].strip_prefix(prefix) == Some(piece) {
                return Some(number);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }

    /// Length of the longest word, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }
}

/// FNV-1a, folded to the size of the table. Words are short.
fn home(parts: &[&str]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    (hash ^ hash >> 16) as usize % SLOTS
}
