//! Reads a file that another program appends lines to: regular files only, in bounded memory, without blocking.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::small_file::open_regular;

/// Whole lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Offset of the first line: the requested position, or a later one if there was too much to read.
    pub from: u64,
    /// Ends with a line break, unless it is empty.
    pub bytes: Vec<u8>,
}

impl Lines {
    /// The offset of the next line.
    pub fn end(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// Reads the whole lines after position `from`, at most the last `most` bytes of them. A line without its line break
/// is still being written and is left for the next call. If the file is shorter than `from`, it was replaced, and
/// nothing in it counts as new.
pub fn read_lines(path: &Path, from: u64, most: u64) -> io::Result<Lines> {
    let (mut file, length) = open_regular(path)?;
    if length <= from {
        return Ok(Lines { from: length, bytes: Vec::new() });
    }
    // Starts one byte earlier, to see whether a line begins there.
    let skips = length - from > most;
    let start = if skips { length - most - 1 } else { from };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    // The file may grow while it is being read.
    file.take(length - start).read_to_end(&mut bytes)?;
    let whole = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(whole(&bytes));
    let begun =
        if skips { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |first| first + 1) } else { 0 };
    bytes.drain(..begun);
    Ok(Lines { from: start + begun as u64, bytes })
}

/// Reads the whole lines after position `from`, at most the first `most` bytes of them: for a complete file that is
/// read in pieces.
pub fn read_next_lines(path: &Path, from: u64, most: u64) -> io::Result<Lines> {
    let (mut file, length) = open_regular(path)?;
    if length <= from {
        return Ok(Lines { from: length, bytes: Vec::new() });
    }
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most.min(length - from)).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(whole);
    Ok(Lines { from, bytes })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn text(lines: &Lines) -> &str {
        std::str::from_utf8(&lines.bytes).unwrap()
    }

    #[test]
    fn a_complete_file_is_read_piece_by_piece() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "one\ntwo\nthree\nhalf").unwrap();
        let first = read_next_lines(file.path(), 0, 9).unwrap();
        assert_eq!(text(&first), "one\ntwo\n");
        let rest = read_next_lines(file.path(), first.end(), 99).unwrap();
        assert_eq!((text(&rest), rest.end()), ("three\n", 14));
        assert_eq!(text(&read_next_lines(file.path(), 99, 9).unwrap()), "");
    }

    #[test]
    fn only_whole_lines_after_the_position_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        fs::write(&path, "one\ntwo\nthr").unwrap();
        let first = read_lines(&path, 0, 100).unwrap();
        assert_eq!((text(&first), first.from, first.end()), ("one\ntwo\n", 0, 8));
        assert_eq!(text(&read_lines(&path, 8, 100).unwrap()), "", "the third is not finished");
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(text(&read_lines(&path, 8, 100).unwrap()), "three\n");
    }

    #[test]
    fn beyond_the_limit_only_the_last_whole_lines_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        for (most, expected) in
            [(14, "one\ntwo\nthree\n"), (13, "two\nthree\n"), (10, "two\nthree\n"), (9, "three\n"), (3, "")]
        {
            let lines = read_lines(&path, 0, most).unwrap();
            assert_eq!((text(&lines), lines.end()), (expected, 14), "{most}");
        }
    }

    #[test]
    fn a_file_that_was_replaced_by_a_shorter_one_has_nothing_new() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        fs::write(&path, "one\n").unwrap();
        assert_eq!(read_lines(&path, 100, 100).unwrap(), Lines { from: 4, bytes: Vec::new() });
    }

    #[test]
    fn pipes_and_devices_are_refused_without_waiting() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, Path::new("/dev/zero"), temp.path()] {
            assert_eq!(read_lines(path, 0, 100).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }
}
