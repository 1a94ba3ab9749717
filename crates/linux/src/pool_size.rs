//! How large a pool is, and what keeps it from shrinking.

use crate::root::Root;
use hugewise_base::parse::pool_path::is_size;
use std::io;

/// The last part of each pool's path.
const SIZE: &str = "/nr_hugepages";

/// Pages of a pool that are its own. Surplus ones, which the kernel counts in `nr_hugepages` of
/// sysfs and not in that of sysctl (measured on 6.18), go away when they are given back.
///
/// # Errors
/// When its files cannot be read, or hold no numbers.
pub fn size(root: &Root, file: &str) -> io::Result<u64> {
    let folder = file.strip_suffix(SIZE).unwrap_or(file);
    let read = |name: &str| {
        let text = root.read_line(format!("{folder}/{name}"))?;
        let bad = |_| io::Error::new(io::ErrorKind::InvalidData, format!("'{text}'"));
        text.parse::<u64>().map_err(bad)
    };
    Ok(read("nr_hugepages")?.saturating_sub(read("surplus_hugepages").unwrap_or(0)))
}

/// Pages of the pool that are in use or reserved; `None` for a file that is no pool's.
pub fn floor(root: &Root, file: &str) -> Option<u64> {
    if !is_size(file) {
        return None;
    }
    let folder = file.strip_suffix(SIZE)?;
    let read = |name: &str| -> Option<u64> {
        root.read_line(format!("{folder}/{name}")).ok()?.parse().ok()
    };
    let (total, free) = (read("nr_hugepages")?, read("free_hugepages")?);
    // A node's share has no count of reserved pages: the kernel keeps those where they are.
    Some(total.saturating_sub(free).saturating_add(read("resv_hugepages").unwrap_or(0)))
}
