//! Cleaning of notes from the user's vault.

use super::clean_text;
use crate::intake::public_text;
use crate::privacy::MAX_TITLE_LEN;
use crate::text::{Excerpt, one_line, prefix};
use crate::vault;

/// Bytes read of a note. Far more than is kept, so that the cut cannot split a secret in the part that is kept.
pub const MAX_READ: usize = 256 << 10;
/// Bytes kept of its text.
const MAX_KEPT: usize = 64 << 10;
/// Bytes dropped at the end of a note that was not read to its end: a secret cut there is no longer recognised.
const UNSURE: usize = 4 << 10;
/// Approximate length of the excerpt that is injected, in characters.
const EXCERPT: usize = 500;
const MAX_PATH_LEN: usize = 1024;

/// A note that may be stored: without private parts and secrets, and bounded. Only [`VaultNote::new`] creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultNote {
    path: String,
    title: String,
    tags: Vec<String>,
    excerpt: String,
    text: String,
}

impl VaultNote {
    /// `content` is the file, or its first [`MAX_READ`] bytes.
    pub fn new(path: &str, content: &str) -> Self {
        let is_cut = content.len() >= MAX_READ;
        // Control characters could paint a terminal, or hide a secret from the rules.
        let mut content = public_text(prefix(content, MAX_READ));
        content.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        let mut clean = clean_text(&Excerpt::whole(&content));
        if is_cut {
            clean.truncate(clean.floor_char_boundary(clean.len().saturating_sub(UNSURE)));
        }
        let parsed = vault::parse(&clean);
        let text = prefix(parsed.body, MAX_KEPT).trim().to_owned();
        let path = Self::clean_path(path);
        let name = path.rsplit('/').next().unwrap_or(&path);
        let name = vault::without_extension(name);
        let title = one_line(parsed.title.as_deref().unwrap_or(name), MAX_TITLE_LEN);
        let excerpt = vault::excerpt(vault::without_heading(&text, &title), EXCERPT);
        Self { title, tags: parsed.tags, excerpt, text, path }
    }

    /// Cleans a note's path, because a file name may also contain a secret.
    pub fn clean_path(path: &str) -> String {
        let shown: String = path.chars().filter(|c| !c.is_control()).collect();
        prefix(&clean_text(&Excerpt::whole(&shown)), MAX_PATH_LEN).to_owned()
    }

    /// Relative to the vault.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// Without `#`.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The beginning of the text, in one line.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }

    /// The text without its front matter.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_private_or_secret_is_left_anywhere() {
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let content = format!(
            "---\ntitle: Key {secret}\ntags: [a, {secret}]\n---\nThe <private>merger</private> key is {secret}."
        );
        let note = VaultNote::new(&format!("keys/{secret}.md"), &content);
        let all = format!("{note:?}");
        assert!(!all.contains(&secret) && !all.contains("merger"), "{all}");
        assert!(note.text().starts_with("The  key is [redacted:"), "{all}");
        assert_eq!(VaultNote::clean_path("a\u{1b}[31m\n/b.md"), "a[31m/b.md");
    }

    #[test]
    fn a_huge_note_is_kept_in_part_and_no_secret_is_halved() {
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        // Private text fills most of it, so that the cut comes early in the kept part.
        let beginning = format!("Begin. <private>{}</private> ", "x".repeat(MAX_READ - 45));
        let half = prefix(&format!("{beginning}{secret}"), MAX_READ).to_owned();
        assert!(half.ends_with("ghp_16C7e42F292c69"), "{}", crate::text::suffix(&half, 40));
        assert!(!VaultNote::new("a.md", &half).text().contains("16C7"));
        let huge = VaultNote::new("a.md", &"word ".repeat(1 << 20));
        assert_eq!(huge.text().len(), MAX_KEPT);
        assert!(huge.excerpt().chars().count() <= EXCERPT);
    }

    #[test]
    fn a_note_is_named_after_its_title_or_its_file() {
        let title = |path: &str, content: &str| VaultNote::new(path, content).title().to_owned();
        assert_eq!(title("會議/週報.md", "text"), "週報");
        assert_eq!(title("a.md", "---\ntitle: \"The plan\"\n---\n"), "The plan");
        assert_eq!(VaultNote::new("Plan.md", "# Plan\n\nWe ship.").excerpt(), "We ship.");
    }
}
