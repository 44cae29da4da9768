//! Finding the next byte that matters.

/// Where the first of `wanted` stands in `bytes`, or their length.
///
/// Long input is searched with vector instructions. Which of those a processor has must be asked first, and on a
/// virtual machine that question alone costs more than looking through a short message byte by byte.
pub(super) fn find_any<const N: usize>(wanted: [u8; N], bytes: &[u8]) -> usize {
    const LONG: usize = 16 << 10;
    let found = match wanted.as_slice() {
        [a, b] if bytes.len() >= LONG => memchr::memchr2(*a, *b, bytes),
        // More than three bytes at once have no such search.
        [a, b, c, d] if bytes.len() >= LONG => {
            let first = memchr::memchr3(*a, *b, *c, bytes);
            memchr::memchr(*d, &bytes[..first.unwrap_or(bytes.len())]).or(first)
        }
        _ => bytes.iter().position(|byte| wanted.contains(byte)),
    };
    found.unwrap_or(bytes.len())
}
