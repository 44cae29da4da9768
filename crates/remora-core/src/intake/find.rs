//! Search for the next relevant byte.

/// The position of the first of the `wanted` bytes, or the length of `bytes`.
///
/// Long input is searched with vector instructions. Detecting the processor's features on a virtual machine costs
/// more than scanning a short message byte by byte.
pub(super) fn find_any<const N: usize>(wanted: [u8; N], bytes: &[u8]) -> usize {
    const LONG: usize = 16 << 10;
    let found = match wanted.as_slice() {
        [a, b] if bytes.len() >= LONG => memchr::memchr2(*a, *b, bytes),
        // memchr searches for at most three bytes at once.
        [a, b, c, d] if bytes.len() >= LONG => {
            let first = memchr::memchr3(*a, *b, *c, bytes);
            memchr::memchr(*d, &bytes[..first.unwrap_or(bytes.len())]).or(first)
        }
        _ => bytes.iter().position(|byte| wanted.contains(byte)),
    };
    found.unwrap_or(bytes.len())
}
