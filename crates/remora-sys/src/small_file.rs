//! The only way a hook reads files it did not write: regular files, in bounded memory, without blocking.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::file::private_file;

/// Larger files are refused. Git's own files and a user's settings have a few kilobytes; the `config` of a repository
/// with thousands of branches has several hundred.
const MAX_BYTES: u64 = 4 << 20;
/// Initial buffer size in bytes. Most files that hooks read are shorter.
const FEW: usize = 1023;

/// The text of a small regular file. A pipe, a device or a huge file is an error and never blocks.
pub fn read_small(path: &Path) -> io::Result<String> {
    String::from_utf8(read_small_bytes(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

pub(crate) fn read_small_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let (file, length) = open_regular(path)?;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {MAX_BYTES} bytes"));
    if length > MAX_BYTES {
        return Err(too_large());
    }
    // Files in `/proc` report no length. With this capacity, one read is enough for them.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default().max(FEW) + 1);
    // The file may grow while it is being read.
    let length = file.take(MAX_BYTES + 1).read_to_end(&mut bytes)? as u64;
    if length > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Opens a regular file and returns its length. Anything else is an error.
pub fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    // Without this flag, `open` would block on a pipe until another process writes to it.
    let file =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let length = regular_length(&file)?;
    Ok((file, length))
}

/// Opens a private file for appending, and creates it if it is missing. A link, or anything but a regular file, is an
/// error and never blocks.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = private_file().create(true).append(true).custom_flags(flags).open(path)?;
    regular_length(&file)?;
    Ok(file)
}

pub(crate) fn regular_length(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if metadata.is_file() { Ok(metadata.len()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let small = temp.path().join("small");
        fs::write(&small, "gitdir: ../x").unwrap();
        assert_eq!(read_small(&small).unwrap(), "gitdir: ../x");

        let pipe = temp.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read_small(&pipe).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        open_to_append(&pipe).unwrap_err();
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert_eq!(open_to_append(&pipe).unwrap_err().kind(), io::ErrorKind::InvalidInput);

        let zero = temp.path().join("zero");
        std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
        assert_eq!(read_small(&zero).unwrap_err().kind(), io::ErrorKind::InvalidInput);

        let large = temp.path().join("large");
        fs::File::create(&large).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(read_small(&large).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        fs::File::create(&large).unwrap().set_len(MAX_BYTES).unwrap();
        assert_eq!(read_small(&large).unwrap().len() as u64, MAX_BYTES);
    }
}
