//! A frame: a head of [`HEAD_BYTES`] bytes, then the packed text of a sample.
//!
//! All numbers are little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 3 | [`MAGIC`] |
//! | 4 to 7 | frames since the last one that stands alone; 0: this one does |
//! | 8 to 15 | when: milliseconds since 1970-01-01 UTC, signed |
//! | 16 to 23 | the monotonic clock, nanoseconds |
//! | 24 to 27 | bytes of the packed text, which follows the head |
//! | 28 to 31 | bytes of the text |
//! | 32 to 35 | CRC-32 of the packed text |
//! | 36 to 39 | CRC-32 of the text |
//! | 40 to 43 | CRC-32 of the text of the frame before, its dictionary; 0 where it stands alone |
//! | 44 to 47 | CRC-32 of the 44 bytes before |

use hugewise_base::format::Format;

/// Bytes of a head.
pub const HEAD_BYTES: usize = 48;
/// How every frame begins. The last letter is the version of the format.
pub const MAGIC: [u8; 4] = *b"HWF1";
/// The format of a history, and of a file of samples.
pub const FORMAT: Format = Format { what: "the history", version: 1 };

/// The version of a file that begins like this; `None`: it is no file of frames.
pub fn version_of(start: [u8; 4]) -> Option<u32> {
    let [name @ .., version] = start;
    let digit = char::from(version).to_digit(10)?;
    (MAGIC.starts_with(&name) && digit > 0).then_some(digit)
}
/// Most frames of a chain: what a jump has to unpack at most. At 5 s between samples 5 minutes,
/// and an eighth of a file are frames that stand alone (`docs/figures.md#history`).
pub const CHAIN_MAX: u32 = 60;
/// Largest text, of which two are in memory: the largest sample has 76 MiB (sockets of 400,000
/// connections and 4,096 processes).
pub const TEXT_BYTES_MAX: u32 = 80 << 20;

/// What stands before a packed sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Frames since the last one that stands alone; 0: this one does.
    pub number: u32,
    /// When: milliseconds since 1970-01-01 UTC.
    pub at_ms: i64,
    /// The machine's monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// Bytes of the packed text.
    pub packed_bytes: u32,
    /// Bytes of the text.
    pub text_bytes: u32,
    /// CRC-32 of the packed text.
    pub packed_crc: u32,
    /// CRC-32 of the text.
    pub text_crc: u32,
    /// CRC-32 of the text of the frame before; 0 where this one stands alone.
    pub before_crc: u32,
}

impl Head {
    /// The bytes of the head.
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        let numbers = [self.packed_bytes, self.text_bytes];
        let sums = [self.packed_crc, self.text_crc, self.before_crc];
        let mut all = [0; HEAD_BYTES];
        let parts = MAGIC
            .into_iter()
            .chain(self.number.to_le_bytes())
            .chain(self.at_ms.to_le_bytes())
            .chain(self.monotonic_ns.to_le_bytes())
            .chain(numbers.into_iter().chain(sums).flat_map(u32::to_le_bytes));
        for (place, byte) in all.iter_mut().zip(parts) {
            *place = byte;
        }
        let sum = crc(&all[..HEAD_BYTES - 4]);
        all[HEAD_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        all
    }

    /// Reads a head; `None` where the bytes are none, or are damaged.
    pub fn parse(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (body, sum) = bytes.split_at(HEAD_BYTES - 4);
        if !body.starts_with(&MAGIC) || crc(body).to_le_bytes() != sum {
            return None;
        }
        let mut rest = body.get(MAGIC.len()..)?;
        let head = Self {
            number: u32::from_le_bytes(take(&mut rest)?),
            at_ms: i64::from_le_bytes(take(&mut rest)?),
            monotonic_ns: u64::from_le_bytes(take(&mut rest)?),
            packed_bytes: u32::from_le_bytes(take(&mut rest)?),
            text_bytes: u32::from_le_bytes(take(&mut rest)?),
            packed_crc: u32::from_le_bytes(take(&mut rest)?),
            text_crc: u32::from_le_bytes(take(&mut rest)?),
            before_crc: u32::from_le_bytes(take(&mut rest)?),
        };
        let fits = head.text_bytes <= TEXT_BYTES_MAX && head.packed_bytes <= TEXT_BYTES_MAX;
        (fits && head.number < CHAIN_MAX).then_some(head)
    }

    /// Whether the packed text is the one that was written.
    pub fn is_of_packed(&self, packed: &[u8]) -> bool {
        packed.len() as u64 == u64::from(self.packed_bytes) && crc(packed) == self.packed_crc
    }

    /// Whether the text is the one that was packed.
    pub fn is_of_text(&self, text: &[u8]) -> bool {
        text.len() as u64 == u64::from(self.text_bytes) && crc(text) == self.text_crc
    }

    /// Whether this frame follows that one in a chain.
    pub const fn follows(&self, before: &Self) -> bool {
        self.number == before.number + 1 && self.before_crc == before.text_crc
    }
}

/// CRC-32 as in zip and Ethernet (IEEE 802.3).
pub fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Where in these bytes the first head begins that is whole.
pub fn find(bytes: &[u8]) -> Option<usize> {
    let starts = bytes.windows(HEAD_BYTES).enumerate();
    let mut heads = starts.filter(|(_, window)| window.starts_with(&MAGIC));
    heads.find_map(|(at, window)| {
        let head: &[u8; HEAD_BYTES] = window.try_into().ok()?;
        Head::parse(head).map(|_| at)
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::history) fn head(number: u32, at_ms: i64) -> Head {
        Head {
            number,
            at_ms,
            monotonic_ns: 5,
            packed_bytes: 10,
            text_bytes: 20,
            packed_crc: 30,
            text_crc: 40,
            before_crc: if number == 0 { 0 } else { 40 },
        }
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = head(3, -7);
        assert_eq!(Head::parse(&head.bytes()), Some(head));
        assert!(head.follows(&super::tests::head(2, 0)));
        assert!(!head.follows(&super::tests::head(1, 0)), "one is missing");
        assert!(!head.follows(&Head { text_crc: 41, ..super::tests::head(2, 0) }), "another one");
    }

    #[test]
    fn the_next_whole_head_is_found() {
        let whole = head(0, 1).bytes();
        let mut torn = whole;
        torn[9] ^= 1;
        let all = [&b"xxHWF1"[..], &torn, b"HWF", &whole, b"rest"].concat();
        assert_eq!(find(&all), Some(6 + HEAD_BYTES + 3));
        assert_eq!(find(&all[..all.len() - 5]), None, "a head without its end");
        assert_eq!(find(b""), None);
    }

    proptest! {
        #[test]
        fn any_change_of_a_head_is_seen(byte in 0..HEAD_BYTES, bit in 0..8_u8) {
            let mut bytes = head(1, 1_795_305_600_123).bytes();
            bytes[byte] ^= 1 << bit;
            prop_assert_eq!(Head::parse(&bytes), None);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(at) = find(&bytes) {
                prop_assert!(at + HEAD_BYTES <= bytes.len());
            }
        }
    }
}
