//! What stands in the workload's memory: every word says where it belongs and how often its page
//! was rewritten, so that a lost, stale, moved or flipped word shows.

/// The low bits of a word depend on its place; those above are the generation of its page.
const PLACE_BITS: u32 = 48;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// A well-mixed function of a number (the finaliser of splitmix64).
pub(crate) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// What belongs at `address`, rewritten `generation` times.
pub(crate) const fn word(address: u64, generation: u16) -> u64 {
    // The generation is mixed in as well: a word torn between two generations fits neither.
    let place = mix(address ^ ((generation as u64) << PLACE_BITS)) & PLACE_MASK;
    place | ((generation as u64) << PLACE_BITS)
}

/// Whether a word belongs at `address`, whatever its generation: needs no second memory access.
pub(crate) const fn fits(address: u64, value: u64) -> bool {
    let generation = value >> PLACE_BITS;
    value & PLACE_MASK == mix(address ^ (generation << PLACE_BITS)) & PLACE_MASK
}

/// Writes a whole page that starts at `address`.
pub(crate) fn fill(page: &mut [u8], address: u64, generation: u16) {
    for (at, bytes) in (address..).step_by(8).zip(page.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word(at, generation).to_ne_bytes());
    }
}

/// Words of a page that are not what [`fill`] wrote.
pub(crate) fn mismatches(page: &[u8], address: u64, generation: u16) -> u64 {
    let words = (address..).step_by(8).zip(page.chunks_exact(8));
    words.filter(|(at, bytes)| **bytes != word(*at, generation).to_ne_bytes()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a base page.
    const PAGE_WORDS: usize = 512;

    #[test]
    fn a_flipped_bit_anywhere_is_found() {
        let mut page = vec![0u8; PAGE_WORDS * 8];
        fill(&mut page, 0x7f00_0000, 3);
        assert_eq!(mismatches(&page, 0x7f00_0000, 3), 0);
        for bit in 0..64 {
            for word in [0, 100, PAGE_WORDS - 1] {
                page[word * 8 + bit / 8] ^= 1 << (bit % 8);
                assert_eq!(mismatches(&page, 0x7f00_0000, 3), 1, "bit {bit} of word {word}");
                let at = 0x7f00_0000 + 8 * word as u64;
                let value = page[word * 8..][..8].try_into().map(u64::from_ne_bytes);
                assert!(!fits(at, value.expect("eight bytes")), "bit {bit} of word {word}");
                page[word * 8 + bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn a_stale_page_a_moved_page_and_a_zero_page_are_found() {
        let mut page = vec![0u8; PAGE_WORDS * 8];
        assert_eq!(mismatches(&page, 0x1000, 0), PAGE_WORDS as u64);
        fill(&mut page, 0x1000, 1);
        assert_eq!(mismatches(&page, 0x1000, 2), PAGE_WORDS as u64);
        assert_eq!(mismatches(&page, 0x2000, 1), PAGE_WORDS as u64);
        assert!(fits(0x1008, word(0x1008, 9)) && !fits(0x1010, word(0x1008, 9)));
    }
}
