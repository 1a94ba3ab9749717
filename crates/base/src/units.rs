//! Newtypes, so that pages, bytes, addresses and times cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `self - other`, or zero bytes where `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This share of the amount, in percent; negative percentages count as zero.
    pub fn percent(self, percent: f64) -> Self {
        Self(saturating_u64(self.0 as f64 * percent.max(0.0) / 100.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    /// IEC units with one decimal from KiB on: `640 B`, `2.0 MiB`, `1.5 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&crate::size::Size(self.0).rounded())
    }
}

/// Nanoseconds: a duration, or a point on the world's monotonic clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Ns(pub u64);

impl Ns {
    /// `n` microseconds.
    pub const fn us(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn ms(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn s(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Seconds as a float, for rates and for people.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds as a float, for people.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// A duration from seconds; negative and NaN count as zero.
    pub fn from_s(seconds: f64) -> Self {
        Self(saturating_u64(seconds * 1e9))
    }

    /// Time from `earlier` to `self`; zero when the clock went backwards.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Ns {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Ns {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.since(other)
    }
}

/// Nearest integer at or below a non-negative float; NaN and negatives become 0.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float to integer casts saturate, which is what is wanted here"
)]
pub fn saturating_u64(value: f64) -> u64 {
    value as u64
}

/// A process, named so that a reused pid is a different one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcId {
    /// Process id in the namespace of the root that was read.
    pub pid: u32,
    /// Start time in clock ticks after boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

impl fmt::Display for ProcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)
    }
}

/// A virtual address of some process.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Addr(pub u64);

/// Sizes of a base page and of a huge page (one PMD entry) on the observed machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Base page: `getconf PAGESIZE`.
    pub base: Bytes,
    /// Huge page: `/sys/kernel/mm/transparent_hugepage/hpage_pmd_size`.
    pub huge: Bytes,
}

impl Geometry {
    /// 4 KiB and 2 MiB, as on x86-64: for the simulator and for tests only.
    pub const X86_64: Self = Self { base: Bytes::kib(4), huge: Bytes::mib(2) };

    /// The sizes of kernels with base pages of `base`, which is the size of a page table, too: a
    /// huge page is what one table of entries of 8 bytes maps. So on x86-64, arm64 and riscv64.
    pub const fn of_base(base: Bytes) -> Self {
        Self { base, huge: Bytes(base.0.saturating_mul(base.0 / 8)) }
    }

    /// Whether a kernel has such pages: Linux has base pages from 4 to 256 KiB and PMD entries of
    /// up to 16 GiB.
    pub const fn is_real(self) -> bool {
        let (base, huge) = (self.base.0, self.huge.0);
        let powers = base.is_power_of_two() && huge.is_power_of_two();
        powers && base >= 4 << 10 && base <= 256 << 10 && huge > base && huge <= 16 << 30
    }

    /// Base pages in a huge page (512 on x86-64).
    pub fn pages_per_huge(self) -> u32 {
        u32::try_from(self.huge.0 / self.base.0.max(1)).unwrap_or(u32::MAX)
    }

    /// Buddy order of a huge page (9 on x86-64).
    pub fn huge_order(self) -> u32 {
        self.pages_per_huge().max(1).ilog2()
    }

    /// `pages` base pages in bytes.
    pub fn bytes(self, pages: u64) -> Bytes {
        Bytes(pages.saturating_mul(self.base.0))
    }

    /// `regions` whole regions in bytes.
    pub fn regions(self, regions: u64) -> Bytes {
        Bytes(regions.saturating_mul(self.huge.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_as_people_write_them() {
        assert_eq!(Bytes(640).to_string(), "640 B");
        assert_eq!(Bytes::mib(2).to_string(), "2.0 MiB");
        assert_eq!(Bytes::mib(1536).to_string(), "1.5 GiB");
        assert_eq!(format!("{:>10}", Bytes::mib(2)), "   2.0 MiB");
    }

    #[test]
    fn a_clock_that_goes_backwards_gives_zero() {
        assert_eq!(Ns::s(1).since(Ns::s(2)), Ns(0));
        assert_eq!(Ns::from_s(-1.0), Ns(0));
        assert_eq!(Ns::from_s(f64::NAN), Ns(0));
    }

    #[test]
    fn a_huge_page_is_order_nine_on_x86_64() {
        assert_eq!(Geometry::X86_64.pages_per_huge(), 512);
        assert_eq!(Geometry::X86_64.huge_order(), 9);
    }

    #[test]
    fn a_huge_page_is_what_a_table_maps() {
        assert_eq!(Geometry::of_base(Bytes::kib(4)), Geometry::X86_64);
        assert_eq!(Geometry::of_base(Bytes::kib(16)).huge, Bytes::mib(32));
        assert_eq!(Geometry::of_base(Bytes::kib(64)).huge, Bytes::mib(512));
    }
}
