//! Memory that is free and not given back counts as the daemon's all the same.

/// Gives back to the system what is free. The allocator does so by itself only at the end of what it holds, and the pages
/// that a search read lie between others.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it is a function of the C library")]
pub(crate) fn give_back() {
    // SAFETY: it takes the allocator's own locks and touches nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
