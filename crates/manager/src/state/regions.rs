//! The regions of one target, packed: there may be half a million of them.
//!
//! A region takes 32 bytes; what few of them have (waits, a block that is partially mapped) lies
//! beside. Callers see a plain [`Region`] by value and change one through [`Regions::change`], so
//! that sums are kept where they change.

use super::region::{Before, Inspected, Maker, Region};
use crate::limits::waits::Waits;
use hugewise_base::units::{Addr, Ns};
use std::collections::BTreeMap;

/// Bits of an address that differ within one piece: pieces are moved as a whole when a region is
/// put in.
const PIECE_BITS: u32 = 30;
/// Low bits of an address that are free for flags: pages are 4 KiB at the least.
const FLAG_BITS: u32 = 12;
/// Resolution of the time of an inspection; 32 bits of it last for 16 months.
const INSPECTED_UNIT: u64 = 10_000_000;

/// What a flag says.
mod flag {
    pub(super) const HUGE: u32 = 1;
    pub(super) const BEFORE: u32 = 1 << 1;
    pub(super) const BY_US: u32 = 1 << 2;
    pub(super) const HELD: u32 = 1 << 3;
    pub(super) const ZEROS: u32 = 1 << 4;
    pub(super) const INSPECTED: u32 = 1 << 5;
    pub(super) const RARE: u32 = 1 << 6;
    /// Two bits: 3 stands for more, too.
    pub(super) const SAMPLES_SHIFT: u32 = 7;
    pub(super) const SAMPLES_MOST: u32 = 3;
    pub(super) const SHARED_MEMORY: u32 = 1 << 9;
}

/// A region in 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packed {
    /// Address within its piece, and flags in the low bits.
    at: u32,
    inspected_at: u32,
    mapping: Addr,
    inspected_populated: u16,
    populated: u16,
    swapped: u16,
    zero_page: u16,
    /// What it was before while it is huge, else what its program dropped.
    before_or_dropped: u16,
    held: u16,
    zeros: u16,
    steady: u8,
    pass: u8,
}

const _: () = assert!(size_of::<Packed>() == 32, "as ARCHITECTURE promises");

/// What few regions have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rare {
    partially_mapped_since: Option<Ns>,
    waits: Waits,
}

/// Regions by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Regions {
    /// By the high bits of the address; each ascending.
    pieces: BTreeMap<u64, Vec<Packed>>,
    rare: BTreeMap<Addr, Rare>,
    len: usize,
    huge: usize,
}

impl Packed {
    const fn offset(&self) -> u32 {
        self.at >> FLAG_BITS
    }

    const fn has(&self, flag: u32) -> bool {
        self.at & flag != 0
    }

    fn pack(offset: u32, region: &Region, rare: bool) -> Self {
        let Region { before, inspected, .. } = region;
        let flags = [
            (region.huge, flag::HUGE),
            (region.huge && before.is_some(), flag::BEFORE),
            (region.huge && before.is_some_and(|before| before.by == Maker::Us), flag::BY_US),
            (region.held.is_some(), flag::HELD),
            (region.zeros.is_some(), flag::ZEROS),
            (inspected.is_some(), flag::INSPECTED),
            (rare, flag::RARE),
            (region.shared_memory, flag::SHARED_MEMORY),
        ];
        let set = flags.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
        let samples = u32::from(region.samples).min(flag::SAMPLES_MOST) << flag::SAMPLES_SHIFT;
        let when = inspected.map_or(0, |inspected| inspected.at.0 / INSPECTED_UNIT);
        Self {
            at: offset << FLAG_BITS | set | samples,
            inspected_at: u32::try_from(when).unwrap_or(u32::MAX),
            mapping: region.mapping,
            inspected_populated: inspected.map_or(0, |inspected| inspected.populated),
            populated: region.populated,
            swapped: region.swapped,
            zero_page: region.zero_page,
            before_or_dropped: match region.huge {
                true => before.map_or(0, |before| before.populated),
                false => region.dropped,
            },
            held: region.held.unwrap_or(0),
            zeros: region.zeros.unwrap_or(0),
            steady: region.steady,
            pass: region.pass,
        }
    }

    fn unpack(&self, rare: Option<&Rare>) -> Region {
        let by = if self.has(flag::BY_US) { Maker::Us } else { Maker::Somebody };
        let inspected_at = Ns(u64::from(self.inspected_at) * INSPECTED_UNIT);
        let inspected = Inspected { at: inspected_at, populated: self.inspected_populated };
        let samples = self.at >> flag::SAMPLES_SHIFT & flag::SAMPLES_MOST;
        Region {
            populated: self.populated,
            swapped: self.swapped,
            zero_page: self.zero_page,
            huge: self.has(flag::HUGE),
            shared_memory: self.has(flag::SHARED_MEMORY),
            mapping: self.mapping,
            before: self
                .has(flag::BEFORE)
                .then_some(Before { populated: self.before_or_dropped, by }),
            partially_mapped_since: rare.and_then(|rare| rare.partially_mapped_since),
            held: self.has(flag::HELD).then_some(self.held),
            zeros: self.has(flag::ZEROS).then_some(self.zeros),
            samples: u8::try_from(samples).unwrap_or(u8::MAX),
            dropped: if self.has(flag::HUGE) { 0 } else { self.before_or_dropped },
            steady: self.steady,
            inspected: self.has(flag::INSPECTED).then_some(inspected),
            waits: rare.map(|rare| rare.waits.clone()).unwrap_or_default(),
            pass: self.pass,
        }
    }
}

/// The piece of an address, and the place in it, in base pages of 4 KiB.
const fn place(at: Addr) -> (u64, u32) {
    let offset = (at.0 & ((1 << PIECE_BITS) - 1)) >> FLAG_BITS;
    (at.0 >> PIECE_BITS, offset as u32)
}

const fn address(piece: u64, packed: &Packed) -> Addr {
    Addr(piece << PIECE_BITS | (packed.offset() as u64) << FLAG_BITS)
}

impl Regions {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are huge.
    pub const fn huge(&self) -> usize {
        self.huge
    }

    /// One region.
    pub fn get(&self, at: Addr) -> Option<Region> {
        let (piece, offset) = place(at);
        let piece = self.pieces.get(&piece)?;
        let index = piece.binary_search_by_key(&offset, Packed::offset).ok()?;
        piece.get(index).map(|packed| packed.unpack(self.rare_of(at, packed)))
    }

    /// All regions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Addr, Region)> {
        self.pieces.iter().flat_map(move |(piece, packed)| {
            packed.iter().map(move |packed| {
                let at = address(*piece, packed);
                (at, packed.unpack(self.rare_of(at, packed)))
            })
        })
    }

    /// All regions without their addresses, ascending.
    pub fn values(&self) -> impl Iterator<Item = Region> {
        self.iter().map(|(_, region)| region)
    }

    fn rare_of(&self, at: Addr, packed: &Packed) -> Option<&Rare> {
        packed.has(flag::RARE).then(|| self.rare.get(&at)).flatten()
    }

    /// Changes a region that is known; `None` for any other.
    pub fn change<T>(&mut self, at: Addr, change: impl FnOnce(&mut Region) -> T) -> Option<T> {
        let mut region = self.get(at)?;
        let answer = change(&mut region);
        self.put(at, &region);
        Some(answer)
    }

    /// Puts a region in, or in the place of what was known of it.
    pub fn put(&mut self, at: Addr, region: &Region) {
        let (piece, offset) = place(at);
        let rare = Rare {
            partially_mapped_since: region.partially_mapped_since,
            waits: region.waits.clone(),
        };
        let is_rare = rare != Rare::default();
        let packed = Packed::pack(offset, region, is_rare);
        let piece = self.pieces.entry(piece).or_default();
        // Mostly they come in ascending order, each after the last one.
        let after_all = piece.last().is_none_or(|last| last.offset() < offset);
        let found = if after_all {
            Err(piece.len())
        } else {
            piece.binary_search_by_key(&offset, Packed::offset)
        };
        let before = match found {
            Ok(index) => piece.get_mut(index).map(|old| std::mem::replace(old, packed)),
            Err(index) => {
                piece.insert(index, packed);
                self.len += 1;
                None
            }
        };
        self.huge += usize::from(region.huge);
        self.huge -= usize::from(before.is_some_and(|before| before.has(flag::HUGE)));
        if is_rare {
            self.rare.insert(at, rare);
        } else if before.is_some_and(|before| before.has(flag::RARE)) {
            self.rare.remove(&at);
        }
    }

    /// Changes all that `which` names.
    pub fn change_all(&mut self, which: impl Fn(&Region) -> bool, change: impl Fn(&mut Region)) {
        let wanted: Vec<_> = self.iter().filter(|(_, region)| which(region)).collect();
        for (at, mut region) in wanted {
            change(&mut region);
            self.put(at, &region);
        }
    }

    /// Forgets what was not seen in `pass`.
    pub fn retain_pass(&mut self, pass: u8) {
        let (mut len, mut huge) = (0, 0);
        let rare = &mut self.rare;
        self.pieces.retain(|piece, packed| {
            packed.retain(|one| {
                let stays = one.pass == pass;
                if !stays && one.has(flag::RARE) {
                    rare.remove(&address(*piece, one));
                }
                len += usize::from(stays);
                huge += usize::from(stays && one.has(flag::HUGE));
                stays
            });
            // A pass over memory that was given back leaves little: so does this.
            if packed.capacity() > 2 * packed.len() {
                packed.shrink_to_fit();
            }
            !packed.is_empty()
        });
        (self.len, self.huge) = (len, huge);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::waits::Wait;
    use crate::reason::SkipReason;
    use proptest::prelude::*;

    fn region() -> impl Strategy<Value = Region> {
        let pages = 0..=512_u16;
        let some_pages = prop::option::of(pages.clone());
        let since = prop::option::of((1..1_000_u64).prop_map(Ns::s));
        let before = (prop::option::of((pages.clone(), any::<bool>())), pages.clone());
        let inspected = prop::option::of((0..1_000_u64, pages.clone()));
        let counts = (pages.clone(), pages.clone(), pages, any::<bool>());
        let rest = (some_pages.clone(), some_pages, 0..4_u8, any::<u8>(), 0..3_u8, any::<bool>());
        (counts, before, inspected, since.clone(), since, rest).prop_map(
            |(counts, before, inspected, partially, until, rest)| Region {
                populated: counts.0,
                swapped: counts.1,
                zero_page: counts.2,
                huge: counts.3,
                shared_memory: rest.5,
                dropped: if counts.3 { 0 } else { before.1 },
                mapping: Addr(0x7fff_1234_5000),
                before: before.0.filter(|_| counts.3).map(|(populated, us)| Before {
                    populated,
                    by: if us { Maker::Us } else { Maker::Somebody },
                }),
                partially_mapped_since: partially,
                held: rest.0,
                zeros: rest.1,
                samples: rest.2,
                steady: rest.3,
                inspected: inspected.map(|(s, populated)| Inspected { at: Ns::s(s), populated }),
                waits: Waits {
                    no_promote_until: until
                        .map(|until| Wait { until, reason: SkipReason::Cooldown }),
                    ..Waits::default()
                },
                pass: rest.4,
            },
        )
    }

    proptest! {
        /// Against a plain map of plain regions.
        #[test]
        fn it_is_a_map_whose_sums_are_right(
            steps in prop::collection::vec((0..2_000_u64, region(), 0..20_u8), 1..200),
        ) {
            let (mut packed, mut plain) = (Regions::default(), BTreeMap::new());
            for (number, region, what) in steps {
                let at = Addr(0x7f00_0000_0000 + number * (2 << 20));
                match what {
                    0 => {
                        packed.retain_pass(region.pass);
                        plain.retain(|_, one: &mut Region| one.pass == region.pass);
                    }
                    1 => {
                        let until = Some(Wait { until: Ns(9), reason: SkipReason::RetryLater });
                        let hold = |one: &mut Region| one.waits.no_promote_until = until;
                        packed.change_all(|one| !one.huge, hold);
                        plain.values_mut().filter(|one| !one.huge)
                            .for_each(|one| one.waits.no_promote_until = until);
                    }
                    2..5 => {
                        let turn = |one: &mut Region| {
                            (one.huge, one.before, one.dropped) = (!one.huge, None, 0);
                        };
                        let known = packed.change(at, turn);
                        let plain = plain.get_mut(&at).map(turn);
                        prop_assert_eq!(known, plain);
                    }
                    _ => {
                        packed.put(at, &region);
                        plain.insert(at, region);
                    }
                }
                prop_assert_eq!(packed.get(at), plain.get(&at).cloned());
                prop_assert_eq!(packed.len(), plain.len());
                prop_assert_eq!(packed.huge(), plain.values().filter(|one| one.huge).count());
            }
            let rare = plain.values().filter(|one| {
                one.partially_mapped_since.is_some() || one.waits != Waits::default()
            });
            prop_assert_eq!(packed.rare.len(), rare.count());
            let all: Vec<_> = packed.iter().collect();
            prop_assert_eq!(all, plain.into_iter().collect::<Vec<_>>());
        }
    }
}
