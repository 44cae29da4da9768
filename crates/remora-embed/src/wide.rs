//! Runs a loop with the widest vector instructions this processor has.
//!
//! Programs are built for any x86-64, which means vectors of four. A [`Kernel`] is ordinary Rust that the compiler
//! turns into vector code twice: as built, and for AVX2 with fused multiply-add. Which of the two runs is found out
//! when it runs.

/// A loop worth compiling twice. `run` and all it calls has to be `#[inline(always)]`: what is not inlined is
/// compiled once, for the oldest processor.
pub(crate) trait Kernel {
    type Output;

    /// `FUSED` says that `mul_add` is one instruction here, and not a slow function.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[expect(
            unsafe_code,
            reason = "the processor was asked; no other way to use more than its oldest half"
        )]
        // SAFETY: `avx2` needs nothing but the two features that were just found.
        return unsafe { avx2(kernel) };
    }
    plain(kernel)
}

/// The same without asking for anything: the twin that tests compare with.
pub(crate) fn plain<K: Kernel>(kernel: K) -> K::Output {
    // Every 64-bit ARM has the instruction; an x86-64 as built here has not.
    if cfg!(target_arch = "aarch64") { kernel.run::<true>() } else { kernel.run::<false>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

/// Says that what lies `ahead` bytes behind these will be read soon. Processors find out themselves, but only within a
/// page of memory, and that is ten vectors.
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
        // SAFETY: the address is a hint and may lie anywhere.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(ahead + line));
        }
    }
}

#[inline(always)]
pub(crate) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
