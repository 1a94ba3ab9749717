//! Names and words by which readers know what they read: `data/words.tsv`.

use std::sync::LazyLock;

use crate::table::{Row, lists, section, table};

static WORDS: LazyLock<Vec<Row>> = LazyLock::new(|| table!("words.tsv").rows());

/// Columns and keys of listings: `data/columns.tsv`.
pub(super) static LISTING_COLUMNS: LazyLock<Vec<Row>> =
    LazyLock::new(|| table!("columns.tsv").rows());

/// Words for the halves of the day: of the first and of the second one.
pub(super) static HALVES_OF_DAY: LazyLock<Vec<[&str; 2]>> =
    LazyLock::new(|| section(&WORDS, "halves_of_day"));

lists! {
    TOOLS WORDS "tools",
    QUICK_TOOLS WORDS "quick_tools",
    MEMINFO_OTHER_KEYS WORDS "meminfo_other_keys",
    REDIS_SECTIONS WORDS "redis_sections",
    REDIS_STARTS WORDS "redis_starts",
    REMOTE_FILE_SYSTEMS WORDS "remote_file_systems",
    OTHER_SOCKET_STATES WORDS "other_socket_states",
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::list;

    #[test]
    fn every_section_is_read_and_no_word_comes_twice() {
        for row in WORDS.iter() {
            let listed = LISTS.iter().any(|(_, name)| *name == row.section);
            assert!(listed || row.section == "halves_of_day", "{row:?}");
        }
        for (rows, name) in LISTS {
            let mut words = list(rows, name);
            let all = words.len();
            words.sort_unstable();
            words.dedup();
            assert!(all > 0 && words.len() == all, "{name}");
        }
        assert!(!HALVES_OF_DAY.is_empty());
    }
}
