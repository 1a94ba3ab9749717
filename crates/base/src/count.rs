//! Counts in sentences.

use std::fmt::Display;

/// `1 region`, `2 regions`: a count with its noun, and whatever else depends on it.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// `once`, `2 times`: how often something happened.
pub fn times<N: Copy + Display + PartialEq + From<u8>>(count: N) -> String {
    if count == N::from(1) { "once".to_owned() } else { format!("{count} times") }
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

    #[test]
    fn only_one_time_is_once() {
        let all = [1_u64, 2, 11, 21, 101].map(times);
        assert_eq!(all, ["once", "2 times", "11 times", "21 times", "101 times"]);
    }
}
