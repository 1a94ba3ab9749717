//! `/proc/zoneinfo`: what the kernel keeps free in each zone (`zoneinfo_show_print` in
//! `mm/vmstat.c`).

use super::prelude::*;

/// The setting of which a zone's `min` is its part.
const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";

/// `Node 0, zone   Normal`, with no numbers behind it: `/proc/buddyinfo` has some.
fn zone(line: &str) -> bool {
    let words = words(line);
    matches!(words.as_slice(), ["Node", node, "zone", _]
        if node.strip_suffix(',').and_then(count).is_some())
}

/// Begins at a zone.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    zone(lines.ahead(0)).then(|| lines.begin(SourceKind::Zoneinfo, Zoneinfo::default(), out))
}

#[derive(Default)]
struct Zoneinfo {
    kept_pages: u64,
}

impl Reader for Zoneinfo {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if zone(line) || line.trim().is_empty() {
            return Taken::Yes;
        }
        // Its rows are set in, or `grep` shows them so.
        if !line.starts_with([' ', '\t']) {
            return Taken::No;
        }
        if let ["min", pages] = words(line).as_slice() {
            self.kept_pages = self.kept_pages.saturating_add(count(pages).unwrap_or(0));
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        if self.kept_pages > 0 {
            out.setting_in_pages(MIN_FREE, self.kept_pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read};
    use super::*;

    #[test]
    fn what_the_zones_keep() {
        let recording = read(
            "Node 0, zone      DMA\n  pages free     3968\n     min      12\n     low      15\n\
             Node 0, zone   Normal\n  pages free     43898\n        min      4000\n        \
             protection: (0, 0, 0)\n",
        );
        all_understood(&recording);
        assert_eq!(recording.hosts[0].settings[MIN_FREE].text, "16048");
    }
}
