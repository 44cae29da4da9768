//! What the kernel and the allocator are asked to do with memory.
//!
//! To scan many vectors takes a fifth less time on large pages, because fewer pages have to be looked up. Memory that is
//! free and not given back still counts as the daemon's.

/// From here on the allocator asks the system for memory of its own, which can be advised and grows without a copy;
/// and rounding up to whole large pages no longer shows.
#[cfg(target_os = "linux")]
const WORTH: usize = 32 << 20;

/// Asks the system for large pages before memory is filled. It may not have any; then they stay small.
#[cfg(target_os = "linux")]
pub fn prefer_large_pages(memory: &mut Vec<i8>) {
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
pub fn prefer_large_pages(_: &mut Vec<i8>) {}

/// Gives free memory back to the system. The allocator does so by itself only at the end of what it holds, and the pages
/// that a search read lie between others.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn give_back() {
    // SAFETY: it takes the allocator's own locks and touches nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}

/// All threads share one heap from here on. A second thread would get one of its own, which costs a short process more than
/// it wins: four calls of the kernel and pages that nobody else uses.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn share_one_heap() {
    // SAFETY: it sets a number in the allocator. A refusal changes nothing, so its answer is not read.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_one_heap() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_hold_what_small_ones_held_and_grow() {
        let part: Vec<i8> = (0..100).collect();
        let mut memory = Vec::new();
        for megabytes in [20, 40, 90] {
            memory.reserve_exact((megabytes << 20) - memory.len());
            prefer_large_pages(&mut memory);
            while memory.len() < memory.capacity() - part.len() {
                memory.extend_from_slice(&part);
            }
        }
        assert!(memory.chunks_exact(part.len()).all(|chunk| chunk == part));
    }
}
