//! How the system divides memory: to scan many vectors takes a fifth less where fewer pages have to be looked up.

/// From here on the allocator asks the system for memory of its own, which can be advised and grows without a copy;
/// and rounding up to whole large pages no longer shows.
#[cfg(target_os = "linux")]
const WORTH: usize = 32 << 20;

/// Asks the system for large pages before memory is filled. It may not have any; then they stay small.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large(memory: &mut Vec<i8>) {
    use rustix::mm::{Advice, madvise};

    if memory.capacity() < WORTH {
        return;
    }
    // From the page it begins in, or what lies before it would become a mapping apart, and neither could grow.
    let before = memory.as_ptr().addr() % rustix::param::page_size();
    let start = memory.as_mut_ptr().wrapping_sub(before);
    #[expect(unsafe_code, reason = "it takes a pointer")]
    // SAFETY: only how the system keeps these pages changes, not what is in them.
    let asked = unsafe { madvise(start.cast(), before + memory.capacity(), Advice::LinuxHugepage) };
    // A system without large pages says so, and nothing depends on them.
    let _ = asked;
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large(_: &mut Vec<i8>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_hold_what_small_ones_held_and_grow() {
        let mut memory = Vec::new();
        for megabytes in [20, 40, 90] {
            memory.reserve_exact((megabytes << 20) - memory.len());
            prefer_large(&mut memory);
            while memory.len() < memory.capacity() - 100 {
                memory.extend(0..100_i8);
            }
        }
        assert!(memory.iter().zip((0..100_i8).cycle()).all(|(is, was)| *is == was));
    }
}
