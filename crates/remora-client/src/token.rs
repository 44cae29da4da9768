//! The token that authenticates a client: a secret in a file that only the user can read.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use remora_store::{DataDir, hex};
use remora_sys::file::{read_small, replace};
use subtle::ConstantTimeEq as _;

const BYTES: usize = 32;

#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time, so that timing reveals nothing about the token.
    pub fn is(&self, offered: &str) -> bool {
        self.0.as_bytes().ct_eq(offered.as_bytes()).into()
    }
}

/// Reads the token of this data directory, for a client. `None` if no daemon has run here.
pub fn read(dir: &DataDir) -> io::Result<Option<Token>> {
    match read_small(&dir.token()) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the existing token, or creates one. Only the daemon calls this; its lock makes it the only writer.
pub fn read_or_make(dir: &DataDir) -> io::Result<Token> {
    let path = dir.token();
    // A token that others could have read is replaced.
    let private =
        fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.mode() & 0o777 == 0o600);
    if private && let Some(token) = read(dir)? {
        return Ok(token);
    }
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let token = Token(hex(&bytes));
    replace(&path, token.0.as_bytes())?;
    Ok(token)
}

fn parse(text: &str) -> Option<Token> {
    let text = text.trim();
    let whole = text.len() == 2 * BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then(|| Token(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_lasts_until_others_could_have_read_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temp.path());
        assert_eq!(read(&dir).unwrap(), None);
        let token = read_or_make(&dir).unwrap();
        assert_eq!(fs::metadata(dir.token()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read_or_make(&dir).unwrap(), token);
        assert_eq!(read(&dir).unwrap(), Some(token.clone()));
        fs::set_permissions(dir.token(), fs::Permissions::from_mode(0o644)).unwrap();
        let second = read_or_make(&dir).unwrap();
        assert_ne!(second, token);
        fs::write(dir.token(), "short").unwrap();
        assert_ne!(read_or_make(&dir).unwrap(), second);
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token("ab".repeat(BYTES));
        assert!(token.is(&"ab".repeat(BYTES)));
        for wrong in [String::new(), "ab".repeat(BYTES - 1), "ab".repeat(BYTES + 1), "ac".repeat(BYTES)] {
            assert!(!token.is(&wrong), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
