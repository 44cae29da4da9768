//! Search for the keywords of all rules.
//!
//! An Aho-Corasick automaton of these keywords takes 0.5 ms to build and 0.6 ms to run over 64 KiB, as long as a
//! whole hook may take. Here the tables (keywords by a hash of their first three bytes) are built at compile time, so
//! the cost at run time is one bit test for each byte of the text.

use std::ops::Range;

use crate::rules::{COUNT, RULES};

const BUCKETS: usize = 1 << 15;
const ENTRIES: usize = keyword_count();
const MAX_LEN: usize = 32;

/// One bit per bucket: whether it contains a keyword. 4 KiB, which stay in the cache.
static OCCUPIED: [u64; BUCKETS / 64] = occupied();

/// All keywords, sorted by bucket.
static KEYWORDS: [Keyword; ENTRIES] = keywords();

/// Index of the first keyword for each word of [`OCCUPIED`].
static FIRST: [u16; BUCKETS / 64] = first();

/// A keyword, without pointers, which would have to be relocated at every program start.
#[derive(Clone, Copy)]
struct Keyword {
    bucket: u16,
    rule: u16,
    length: u8,
    text: [u8; MAX_LEN],
}

/// Calls `found` with the rule and the range of each keyword, in text order.
pub(super) fn for_each_hit(text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
    let mut start = 0;
    while let Some((length, bucket)) = next_occupied(&text[start..]) {
        start += length;
        let fourth = text.get(start + 3).map_or(0, |byte| lower(*byte));
        let first = usize::from(FIRST[usize::from(bucket / 64)]);
        for keyword in KEYWORDS[first..].iter().take_while(|keyword| keyword.bucket <= bucket) {
            // Most texts that share three bytes with a keyword differ in the fourth.
            if keyword.bucket == bucket && (lower(keyword.text[3]) == fourth || keyword.length == 3) {
                let hit = start..start + usize::from(keyword.length);
                let whole = &keyword.text[..usize::from(keyword.length)];
                if text.get(hit.clone()).is_some_and(|here| here.eq_ignore_ascii_case(whole)) {
                    found(usize::from(keyword.rule), hit);
                }
            }
        }
        start += 1;
    }
}

/// The distance to the next three bytes that a keyword may begin with, and their bucket. Most of the time is spent in
/// this loop, so it is separate from the code for a hit.
#[inline(never)]
fn next_occupied(text: &[u8]) -> Option<(usize, u16)> {
    text.windows(3).enumerate().find_map(|(at, three)| {
        let bucket = bucket(three[0], three[1], three[2]);
        (OCCUPIED[usize::from(bucket / 64)] >> (bucket % 64) & 1 == 1).then_some((at, bucket))
    })
}

/// Approximate lower case, sufficient to choose a bucket: some punctuation collides.
const fn lower(byte: u8) -> u8 {
    byte | 0x20
}

/// Spreads three bytes over the buckets (Fibonacci hashing).
const fn bucket(a: u8, b: u8, c: u8) -> u16 {
    let three = u32::from_le_bytes([lower(a), lower(b), lower(c), 0]);
    (three.wrapping_mul(0x9e37_79b1) >> 17) as u16
}

const fn keyword_count() -> usize {
    let mut count = 0;
    let mut rule = 0;
    while rule < COUNT {
        count += RULES[rule].keywords.len();
        rule += 1;
    }
    count
}

const fn occupied() -> [u64; BUCKETS / 64] {
    let mut occupied = [0; BUCKETS / 64];
    let mut at = 0;
    while at < ENTRIES {
        let bucket = KEYWORDS[at].bucket;
        occupied[bucket as usize / 64] |= 1 << (bucket % 64);
        at += 1;
    }
    occupied
}

#[expect(clippy::cast_possible_truncation, reason = "there are some hundreds of keywords")]
const fn first() -> [u16; BUCKETS / 64] {
    let mut first = [0; BUCKETS / 64];
    let mut word = 0;
    let mut at = 0;
    while word < BUCKETS / 64 {
        while at < ENTRIES && (KEYWORDS[at].bucket as usize) < word * 64 {
            at += 1;
        }
        first[word] = at as u16;
        word += 1;
    }
    first
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "there are some hundreds of rules, and keywords are short"
)]
#[expect(clippy::large_stack_arrays, reason = "only the compiler runs this")]
const fn keywords() -> [Keyword; ENTRIES] {
    let mut sorted = [Keyword { bucket: 0, rule: 0, length: 0, text: [0; MAX_LEN] }; ENTRIES];
    let mut count = 0;
    let mut rule = 0;
    while rule < COUNT {
        let mut place = 0;
        while place < RULES[rule].keywords.len() {
            let keyword = RULES[rule].keywords[place].as_bytes();
            assert!(keyword.len() >= 3 && keyword.len() <= MAX_LEN, "the length of a keyword");
            let mut text = [0; MAX_LEN];
            text.split_at_mut(keyword.len()).0.copy_from_slice(keyword);
            let bucket = bucket(text[0], text[1], text[2]);
            // Insertion keeps the keywords sorted, and those of one bucket in table order.
            let mut at = count;
            while at > 0 && sorted[at - 1].bucket > bucket {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = Keyword { bucket, rule: rule as u16, length: keyword.len() as u8, text };
            count += 1;
            place += 1;
        }
        rule += 1;
    }
    sorted
}
