//! Searches for bytes in files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use remora_sys::file::is_absent;

const CHUNK: usize = 1 << 20;

/// Whether a file contains the text, as it is written or in lower case.
pub(super) fn has(path: &Path, text: &str) -> io::Result<bool> {
    let needles = [text.as_bytes().to_vec(), text.to_lowercase().into_bytes()];
    let longest = needles.iter().map(Vec::len).max().unwrap_or_default();
    let mut file = match File::open(path) {
        Err(error) if is_absent(&error) => return Ok(false),
        other => other?,
    };
    let mut window: Vec<u8> = Vec::with_capacity(CHUNK + longest);
    loop {
        let kept = window.len().min(longest.saturating_sub(1));
        window.drain(..window.len() - kept);
        if file.by_ref().take(CHUNK as u64).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if needles.iter().any(|needle| contains(&window, needle)) {
            return Ok(true);
        }
    }
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    let Some((first, rest)) = needle.split_first() else { return false };
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        from += at + 1;
        if text[from..].starts_with(rest) {
            return true;
        }
    }
    false
}

/// The regular files below a directory. Links and sockets hold no data of ours.
pub(super) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())?),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_across_the_edges_of_chunks() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for at in [0, CHUNK - 3, CHUNK, 2 * CHUNK - 1] {
            let mut bytes = vec![b'N'; 2 * CHUNK + 100];
            bytes[at..at + 6].copy_from_slice(b"Needle");
            std::fs::write(&path, &bytes).unwrap();
            assert!(has(&path, "Needle").unwrap(), "{at}");
            assert!(!has(&path, "Noodle").unwrap());
        }
        assert!(!has(&temp.path().join("none"), "Needle").unwrap());
    }
}
