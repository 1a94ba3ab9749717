//! Counts in sentences.

use std::fmt::Display;

/// `1 region`, `2 regions`: a count with its noun, and whatever else depends on it.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(0_u64, "region", "regions"), "0 regions");
        assert_eq!(counted(1_usize, "region is", "regions are"), "1 region is");
        assert_eq!(counted(2_u32, "region is", "regions are"), "2 regions are");
    }
}
