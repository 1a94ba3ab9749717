//! `/proc/sysvipc/shm` (`ipc/shm.c`): shared memory segments, under a line of column names.

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// One segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// `shmid`: its number.
    pub id: u32,
    /// `size`: in bytes, as asked for.
    pub bytes: u64,
    /// `nattch`: how often it is attached.
    pub attached: u64,
    /// `key`: the bits of its `key_t`, as `/proc/PID/maps` shows them; 0 for `IPC_PRIVATE`.
    pub key: Option<u32>,
    /// `cuid`: the user who made it.
    pub creator_uid: Option<u32>,
    /// `cpid`: the process that made it.
    pub creator_pid: Option<u32>,
    /// `rss`: what is in memory of it; on HugeTLB pages not to be taken as bytes, see
    /// [`Segment::hugetlb_page`].
    pub rss_bytes: Option<u64>,
}

impl Segment {
    /// Size of its HugeTLB pages, in bytes, as far as `rss` betrays it; `None` where it does not.
    ///
    /// Newer kernels (seen on 6.18 with pages of 2 MiB and 1 GiB) count a touched page of `page`
    /// bytes as `page / base` base pages in the page cache, and `shm_add_rss_swap` of `ipc/shm.c`
    /// multiplies that by `page / base` once more. A number above the segment's size that is whole
    /// pages times that factor tells the page size. Other kernels give plain bytes, which tell
    /// nothing.
    pub fn hugetlb_page(&self, base_bytes: u64, pages: &[u64]) -> Option<u64> {
        let rss = self.rss_bytes.filter(|rss| *rss > 0)?;
        if rss <= self.bytes.checked_next_multiple_of(base_bytes)? {
            return None;
        }
        let fits = |page: &&u64| {
            let unit = page.checked_div(base_bytes).and_then(|times| times.checked_mul(**page));
            let count = unit.filter(|unit| *unit > 0 && rss.is_multiple_of(*unit));
            let count = count.and_then(|unit| rss.checked_div(unit));
            count.is_some_and(|count| count <= self.bytes.div_ceil(**page))
        };
        let mut fitting = pages.iter().filter(|page| **page > base_bytes).filter(fits);
        let page = fitting.next()?;
        fitting.next().is_none().then_some(*page)
    }
}

/// Columns of the table.
struct Columns {
    id: usize,
    bytes: usize,
    attached: usize,
    key: Option<usize>,
    creator_uid: Option<usize>,
    creator_pid: Option<usize>,
    rss: Option<usize>,
}

impl Columns {
    fn new(head: &str) -> Option<Self> {
        let column = |name: &str| head.split_ascii_whitespace().position(|word| word == name);
        Some(Self {
            id: column("shmid")?,
            bytes: column("size")?,
            attached: column("nattch")?,
            key: column("key"),
            creator_uid: column("cuid"),
            creator_pid: column("cpid"),
            rss: column("rss"),
        })
    }

    fn segment(&self, line: &str) -> Option<Segment> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let word = |column: usize| words.get(column).copied().unwrap_or_default();
        let small = |column: Option<usize>| decimal::<u32>(word(column?));
        Some(Segment {
            id: decimal(word(self.id))?,
            bytes: decimal(word(self.bytes))?,
            attached: decimal(word(self.attached))?,
            key: self
                .key
                .and_then(|column| word(column).parse::<i32>().ok())
                .map(i32::cast_unsigned),
            creator_uid: small(self.creator_uid),
            creator_pid: small(self.creator_pid),
            rss_bytes: self.rss.and_then(|column| decimal(word(column))),
        })
    }
}

/// Reads the file.
pub fn parse(text: &str) -> Parsed<Vec<Segment>> {
    let mut parsed = Parsed::<Vec<Segment>>::empty();
    let mut lines = numbered_lines(text.as_bytes());
    let Some((number, head)) = lines.next() else { return parsed };
    let head = std::str::from_utf8(head).unwrap_or_default();
    let Some(columns) = Columns::new(head) else {
        parsed.note(ParseError::new("sysvipc/shm", number, head, "shmid, size and nattch"));
        return parsed;
    };
    for (number, line) in lines {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match columns.segment(line) {
            Some(segment) => parsed.keep(segment, "sysvipc/shm", number, line),
            None => parsed.note(ParseError::new("sysvipc/shm", number, line, "numbers")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_segments() {
        let text = "       key      shmid perms                  size  cpid  lpid nattch   uid\n\
                    \x20   12345          7   600             536870912   811   900     12     0\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let (key, creator_pid) = (Some(12345), Some(811));
        let wanted = Segment {
            id: 7,
            bytes: 512 << 20,
            attached: 12,
            key,
            creator_pid,
            ..Segment::default()
        };
        assert_eq!(parsed.value, [wanted]);
        assert_eq!(parse("a b\n").problems.len(), 1);
        assert_eq!(parse("shmid size nattch\n1 2\n-1 2 3\n").problems.len(), 2);
    }

    #[test]
    fn reads_who_made_it() {
        let text = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss \
                    swap\n-1 1212451 600 8388608 15453 15453 1 5 5 4321 1 1 0 1 2147483648 0\n";
        let segment = parse(text).value[0];
        assert_eq!(segment.key, Some(u32::MAX));
        assert_eq!((segment.creator_uid, segment.rss_bytes), (Some(4321), Some(2 << 30)));
    }

    #[test]
    fn an_impossible_rss_tells_huge_pages() {
        const POOLS: [u64; 2] = [2 << 20, 1 << 30];
        let page = |bytes: u64, rss: u64| {
            let segment = Segment { bytes, rss_bytes: Some(rss), ..Segment::default() };
            segment.hugetlb_page(4096, &POOLS)
        };
        // Half and all of 8 MiB touched, and all of 7 MiB, which is four pages, too.
        assert_eq!(page(8 << 20, 2 << 30), Some(2 << 20));
        assert_eq!(page(8 << 20, 4 << 30), Some(2 << 20));
        assert_eq!(page(7 << 20, 4 << 30), Some(2 << 20));
        assert_eq!(page(3 << 30, 2 << 48), Some(1 << 30));
        // Base pages, nothing touched, older kernels, numbers that make no sense.
        for rss in [0, 4096, 8 << 20, 5 << 30, (2 << 30) + 4096, u64::MAX] {
            assert_eq!(page(8 << 20, rss), None, "{rss}");
        }
        assert_eq!(page(u64::MAX, u64::MAX), None);
        assert_eq!(Segment::default().hugetlb_page(0, &POOLS), None);
        let odd = Segment { bytes: 1, rss_bytes: Some(5), ..Segment::default() };
        assert_eq!(odd.hugetlb_page(0, &[0, 1]), None);
    }
}
