//! A text of any length of which only head and tail are kept.

use super::private::PublicText;
use crate::text::Excerpt;

#[derive(Debug, Default)]
pub(super) struct BoundedString {
    head: Vec<u8>,
    tail: Vec<u8>,
    head_limit: usize,
    tail_limit: usize,
    cut: usize,
}

impl BoundedString {
    /// Clears it for the next text and keeps its allocations.
    pub(super) fn start(&mut self, head_limit: usize, tail_limit: usize) {
        self.forget();
        self.head_limit = head_limit;
        self.tail_limit = tail_limit;
    }

    /// Replaces malformed UTF-8, which also covers characters halved by the cut.
    pub(super) fn finish(&mut self) -> String {
        self.shorten_tail();
        if self.cut == 0 {
            self.head.append(&mut self.tail);
            return Excerpt::whole(&String::from_utf8_lossy(&self.head));
        }
        Excerpt::cut(
            &String::from_utf8_lossy(without_halved_end(&self.head)),
            self.cut,
            &String::from_utf8_lossy(without_halved_start(&self.tail)),
        )
    }

    fn shorten_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.cut += excess;
    }
}

impl PublicText for BoundedString {
    fn keep(&mut self, bytes: &[u8]) {
        let room = self.head_limit.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let (passed_over, tail) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        if !passed_over.is_empty() {
            self.cut += self.tail.len() + passed_over.len();
            self.tail.clear();
        }
        self.tail.extend_from_slice(tail);
        // Moving the tail only occasionally keeps the cost of a long text linear.
        if self.tail.len() > 2 * self.tail_limit {
            self.shorten_tail();
        }
    }

    fn forget(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.cut = 0;
    }
}

fn without_halved_end(bytes: &[u8]) -> &[u8] {
    let mut end = bytes.len();
    while end > 0 && bytes.len() - end < 3 && bytes[end - 1] & 0b1100_0000 == 0b1000_0000 {
        end -= 1;
    }
    let lead = end.checked_sub(1).map_or(0, |at| bytes[at]);
    let expected = match lead {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => return bytes,
    };
    if bytes.len() - (end - 1) < expected { &bytes[..end - 1] } else { bytes }
}

fn without_halved_start(bytes: &[u8]) -> &[u8] {
    let halved = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[halved..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(text: &str, piece: usize) -> String {
        let mut string = BoundedString::default();
        string.start(10, 6);
        for bytes in text.as_bytes().chunks(piece) {
            string.keep(bytes);
        }
        string.finish()
    }

    #[test]
    fn a_short_text_stays_whole() {
        assert_eq!(bounded("0123456789abcdef", 3), "0123456789abcdef");
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_for_any_piece_size() {
        let text: String = ('a'..='z').cycle().take(1000).collect();
        for piece in [1, 4, 16, 17, 400, 1000] {
            let kept = bounded(&text, piece);
            let excerpt = Excerpt::of(&kept);
            assert_eq!(
                (excerpt.head, excerpt.cut, excerpt.tail),
                (&text[..10], 984, &text[994..]),
                "{piece}"
            );
        }
    }

    #[test]
    fn characters_halved_by_the_cut_are_left_out() {
        let text = "é".repeat(50);
        let kept = bounded(&format!("x{text}"), 7);
        let excerpt = Excerpt::of(&kept);
        assert_eq!((excerpt.head, excerpt.tail), ("xéééé", "ééé"));
    }
}
