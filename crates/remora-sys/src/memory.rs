//! Memory advice for the kernel and the allocator.
//!
//! Scanning many vectors takes a fifth less time on large pages, because fewer pages have to be looked up. Free
//! memory that is not returned still counts as used by the daemon.

/// From this size on, the allocator maps memory separately, so that it can be advised and grows without a copy.
/// Rounding up to whole large pages is also negligible then.
#[cfg(target_os = "linux")]
const WORTH: usize = 32 << 20;

/// Requests large pages before memory is filled. If the system has none, the pages stay small.
#[cfg(target_os = "linux")]
pub fn prefer_large_pages(memory: &mut Vec<i8>) {
    use rustix::mm::{Advice, madvise};

    if memory.capacity() < WORTH {
        return;
    }
    // Starts at the page boundary. Otherwise the kernel would split the mapping there, and neither part could grow.
    let before = memory.as_ptr().addr() % rustix::param::page_size();
    let start = memory.as_mut_ptr().wrapping_sub(before);
    #[expect(unsafe_code, reason = "it takes a pointer")]
    // SAFETY: this changes only how the system keeps these pages, not their contents.
    let asked = unsafe { madvise(start.cast(), before + memory.capacity(), Advice::LinuxHugepage) };
    // A system without large pages returns an error, and nothing depends on them.
    let _ = asked;
}

#[cfg(not(target_os = "linux"))]
pub fn prefer_large_pages(_: &mut Vec<i8>) {}

/// Returns free memory to the system. The allocator only does this at the end of its heap, and the pages that a
/// search used lie between others.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn give_back() {
    // SAFETY: it takes the allocator's own locks and touches no memory in use.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}

/// Makes all threads share one heap. By default a second thread gets its own, which costs a short process more than
/// it gains: four system calls and pages that no other thread uses.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn share_one_heap() {
    // SAFETY: it sets a number in the allocator. A failure changes nothing, so the result is ignored.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_one_heap() {}

/// For a process that ends soon: keeps freed memory, which would otherwise be returned to the system and requested again
/// several times, and takes it in large steps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub fn keep_until_the_end() {
    const STEP: libc::c_int = 1 << 20;
    // SAFETY: it sets numbers in the allocator. A failure changes nothing, so the results are ignored.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_until_the_end() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_keep_their_contents_and_grow() {
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
