//! Removal of private parts from a text that is complete in memory.

use super::private::{PrivateTags, PublicText};

/// The public part of `text`: everything outside `<private>` tags.
pub fn public_text(text: &str) -> String {
    let mut kept = PublicPart::default();
    let mut tags = PrivateTags::default();
    tags.push(text.as_bytes(), &mut kept);
    tags.end_of_text(&mut kept);
    String::from_utf8_lossy(&kept.bytes).into_owned()
}

#[derive(Default)]
struct PublicPart {
    bytes: Vec<u8>,
}

impl PublicText for PublicPart {
    fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn forget(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::public_text;

    #[test]
    fn only_text_outside_private_tags_remains() {
        assert_eq!(public_text("a <private>b</private> c"), "a  c");
        assert_eq!(public_text("a <PRIVATE>never closed"), "a ");
        assert_eq!(public_text("opened elsewhere</private> é"), " é");
        assert_eq!(public_text("a < b & c"), "a < b & c");
    }
}
