//! How large a machine's base pages are, as far as its texts tell, and what was counted in them.
//!
//! x86 has pages of 4 KiB only; arm64, LoongArch, MIPS and POWER are built with 4, 16 or 64 KiB.
//! What tells may stand behind what counts: readers therefore take counts of pages to be of
//! [`ASSUMED`] size, and `counted.rs` corrects them when all is read.

use hugewise_base::parse::decimal;
use hugewise_base::units::{Bytes, Geometry};

/// The size that readers assume: that of x86 and of most arm64 kernels.
pub const ASSUMED: Geometry = Geometry::X86_64;

/// The same, in bytes.
pub(crate) const ASSUMED_BYTES: f64 = ASSUMED.base.0 as f64;

/// Sizes of the base pages of Linux on machines of 64 bits.
pub(super) const SIZES: [Bytes; 3] = [Bytes::kib(4), Bytes::kib(16), Bytes::kib(64)];

/// What tells the size, the less certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SizeSource {
    /// The size of pages of HugeTLB: that of a huge page, unless somebody chose another.
    HugetlbPage,
    /// The number of orders in `/proc/buddyinfo`.
    Orders,
    /// khugepaged's default for the pages that a huge page may lack: all but one.
    PtesNone,
    /// The architecture has one size only.
    Machine,
    /// The name of the kernel's release, as distributions give it: `6.12.0-arm64-16k`.
    Release,
    /// A size that the kernel states: of a huge page, or of the base page itself.
    Stated,
}

/// The smallest pages that have this as huge page: what one page of entries of 8 bytes maps.
pub(super) fn of_huge_page(text: &str) -> Option<Bytes> {
    let huge: u64 = decimal(text)?;
    SIZES.into_iter().find(|base| Geometry::of_base(*base).huge.0 == huge)
}

pub(super) fn of_ptes_none(text: &str) -> Option<Bytes> {
    let pages: u32 = decimal(text)?;
    SIZES
        .into_iter()
        .find(|base| Geometry::of_base(*base).pages_per_huge().checked_sub(1) == Some(pages))
}

/// Distributions name kernels after the size where it is not the usual one, as in
/// `5.14.0-427.el9.aarch64+64k` and `6.8.0-31-generic-64k`; others name the architecture.
pub(super) fn of_release(text: &str) -> Option<Bytes> {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric());
    let size = |word: &str| {
        let kib = word.strip_suffix(['k', 'K'])?;
        SIZES.into_iter().find(|size| decimal(kib) == Some(size.0 >> 10))
    };
    words().find_map(size).or_else(|| of_machine(text))
}

/// `x86_64`, `amd64`, `i686`: one size. Others have several.
pub(crate) fn of_machine(text: &str) -> Option<Bytes> {
    const ONE_SIZE: [&str; 5] = ["x86_64", "amd64", "i686", "i586", "i386"];
    ONE_SIZE.iter().any(|name| text.contains(name)).then_some(ASSUMED.base)
}

/// Whether a machine or kernel of that name may have pages of several sizes.
pub(crate) fn varies(text: &str) -> bool {
    const SEVERAL: [&str; 6] = ["aarch64", "arm64", "ppc64", "loongarch", "mips64", "ia64"];
    SEVERAL.iter().any(|name| text.contains(name))
}

/// The kernel's lists of free blocks end at the order of a huge page or above: with 10 on x86 and
/// on arm64 with pages of 4 KiB, with 11 and 13 where they have 16 and 64 (`ARCH_FORCE_MAX_ORDER`).
pub(crate) fn of_orders(orders: usize) -> Option<Bytes> {
    const ORDERS: [usize; 3] = [11, 12, 14];
    ORDERS.into_iter().zip(SIZES).find(|(known, _)| *known == orders).map(|(_, size)| size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_tell() {
        let kib = |release: &str| of_release(release).map(|bytes| bytes.0 >> 10);
        for release in ["6.12.0+deb13-arm64-16k", "6.11.8-400.asahi.fc41.aarch64+16k"] {
            assert_eq!(kib(release), Some(16), "{release}");
        }
        for release in
            ["5.14.0-503.el9.aarch64+64k", "4.18.0-553.el8.aarch64_64k", "6.8.0-49-generic-64k"]
        {
            assert_eq!(kib(release), Some(64), "{release}");
        }
        assert_eq!(kib("5.14.0-503.el9.x86_64"), Some(4));
        assert_eq!(kib("6.1.0-28-cloud-amd64"), Some(4));
        // Nothing but the architecture, or not even that.
        for release in ["6.1.0-28-arm64", "5.14.0-503.el9.ppc64le", "6.8.0-49-generic", "6k.4"] {
            assert_eq!(kib(release), None, "{release}");
        }
    }

    #[test]
    fn huge_pages_and_their_parts_tell() {
        assert_eq!(of_huge_page("33554432"), Some(Bytes::kib(16)));
        assert_eq!(of_huge_page("536870912"), Some(Bytes::kib(64)));
        assert_eq!(of_huge_page("1073741824"), None);
        assert_eq!(of_ptes_none("8191"), Some(Bytes::kib(64)));
        assert_eq!((of_ptes_none("511"), of_ptes_none("51")), (Some(Bytes::kib(4)), None));
        assert_eq!(of_orders(12), Some(Bytes::kib(16)));
        assert_eq!(of_orders(9), None);
    }
}
