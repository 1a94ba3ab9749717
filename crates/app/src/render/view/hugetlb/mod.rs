//! `hugewise hugetlb` in a terminal.

pub(crate) mod apply;
pub(crate) mod plan;
pub(crate) mod verify;

#[cfg(test)]
mod tests;

use hugewise_base::size::Size;
use hugewise_base::units::Bytes;

/// A page size, exactly: `2 MiB`.
fn page(bytes: Bytes) -> String {
    Size(bytes.0).to_string()
}
