//! Runs a loop with the widest vector instructions of this processor.
//!
//! Programs are built for any x86-64, which means vectors of four. A [`Kernel`] is ordinary Rust that the compiler
//! vectorises twice: for the build target, and for AVX2 with fused multiply-add. The choice is made at run time.

/// A loop worth compiling twice. `run` and everything it calls must be `#[inline(always)]`: a function that is not
/// inlined is compiled once, for the oldest processor.
pub(crate) trait Kernel {
    type Output;

    /// `FUSED` means that `mul_add` is a single instruction here, and not a slow function.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[expect(
            unsafe_code,
            reason = "the processor was asked; no other way to use more than its oldest half"
        )]
        // SAFETY: `avx2` requires only the two features that were just detected.
        return unsafe { avx2(kernel) };
    }
    plain(kernel)
}

/// Runs the kernel without feature detection. Tests compare against this version.
pub(crate) fn plain<K: Kernel>(kernel: K) -> K::Output {
    // Every 64-bit ARM has the instruction; the x86-64 baseline does not.
    if cfg!(target_arch = "aarch64") { kernel.run::<true>() } else { kernel.run::<false>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

/// Prefetches the memory `ahead` bytes after these. The hardware prefetcher stops at a memory page, which holds ten
/// vectors.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "there is no stable way to say it")
)]
pub(crate) fn soon(bytes: &[i8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes.len()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "it takes a pointer")]
        // SAFETY: the address is only a hint and may be anywhere.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(ahead + line));
        }
    }
}

#[inline(always)]
pub(crate) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
