//! What happened in each stretch of time, in bounded memory: the stretches become longer as a log
//! does.

use super::keys::KeyId;
use super::part::Parts;
use super::sketch::Sketch;

/// Most stretches of time. With about 3 KiB each for the times of their requests, a log of any
/// length takes some 20 MiB.
const CELLS_MAX: usize = 4096;

/// How long a stretch may be, in seconds; each divides the next.
const WIDTHS_S: [i64; 12] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14_400, 86_400];

/// Requests and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// How many with a time.
    pub(super) requests: u64,
    /// The sum of their times, in microseconds.
    pub(super) sum_us: u64,
}

impl Load {
    /// Adds others.
    pub(super) const fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }
}

/// Loads by key, in order of their number.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads(Vec<(KeyId, Load)>);

impl Loads {
    /// Adds to one key.
    pub(super) fn add(&mut self, id: KeyId, load: Load) {
        match self.0.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => {
                if let Some((_, own)) = self.0.get_mut(at) {
                    own.merge(load);
                }
            }
            Err(at) => self.0.insert(at, (id, load)),
        }
    }

    /// Adds all of another.
    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(id, load)| self.add(*id, *load));
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (KeyId, Load)> + '_ {
        self.0.iter().copied()
    }

    /// One of them.
    pub(super) fn get(&self, id: KeyId) -> Load {
        let at = self.0.binary_search_by_key(&id, |(id, _)| *id).ok();
        at.and_then(|at| self.0.get(at)).map_or_else(Load::default, |(_, load)| *load)
    }
}

/// What happened in a stretch of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Times of requests that ended in it.
    pub(super) times: Sketch,
    /// Their parts.
    pub(super) parts: Parts,
    /// Requests that ended in it, also those without a time.
    pub(super) ended: u64,
    /// Requests that came in it; of those with a time.
    pub(super) came: u64,
    /// Ended with a status from 500 on.
    pub(super) errors: u64,
    /// Ended by the client: nginx's 499, or none at all.
    pub(super) given_up: u64,
    /// Time of requests under way in it, microseconds.
    busy_us: u64,
    /// Requests that are under way in all of it from this cell on, more than in the one before.
    through: i64,
    /// By service.
    pub(super) services: Loads,
    /// By server of a service.
    pub(super) servers: Loads,
    /// By endpoint.
    pub(super) endpoints: Loads,
}

impl Cell {
    /// Adds all that another one counted.
    pub(super) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.parts.merge(&other.parts);
        self.ended += other.ended;
        self.came += other.came;
        self.errors += other.errors;
        self.given_up += other.given_up;
        self.busy_us = self.busy_us.saturating_add(other.busy_us);
        self.services.merge(&other.services);
        self.servers.merge(&other.servers);
        self.endpoints.merge(&other.endpoints);
    }

    /// Mean number of requests under way in a stretch of this length.
    pub(super) fn in_flight(&self, length_ms: i64) -> f64 {
        self.busy_us as f64 / 1000.0 / length_ms.max(1) as f64
    }
}

/// Stretches of time without a gap.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    /// Index into [`WIDTHS_S`].
    width: usize,
    /// Number of the first one, in widths since 1970.
    first: i64,
    all: Vec<Cell>,
}

impl Cells {
    /// How long each is.
    pub(super) fn width_ms(&self) -> i64 {
        WIDTHS_S.get(self.width).copied().unwrap_or(1) * 1000
    }

    /// When the first one begins.
    pub(super) fn start_ms(&self) -> i64 {
        self.first * self.width_ms()
    }

    /// The cell of a time, which is made if it must; `None`: it is too far from the others.
    pub(super) fn at(&mut self, ms: i64) -> Option<&mut Cell> {
        let place = loop {
            let number = ms.div_euclid(self.width_ms());
            if self.all.is_empty() {
                self.first = number;
            }
            let last = self.first + i64::try_from(self.all.len()).ok()?.max(1) - 1;
            let (from, to) = (self.first.min(number), last.max(number));
            let needed = usize::try_from(to.checked_sub(from)?.checked_add(1)?).ok()?;
            if needed <= CELLS_MAX {
                let before = usize::try_from(self.first - from).ok()?;
                self.all.splice(0..0, std::iter::repeat_with(Cell::default).take(before));
                self.first = from;
                self.all.resize_with(needed, Cell::default);
                break usize::try_from(number - from).ok()?;
            }
            let wider = WIDTHS_S.get(self.width + 1).copied()?;
            let span_s = (to - from + 1).checked_mul(self.width_ms() / 1000)?;
            // Nothing is made wider for a time that has no room in the widest, either.
            let widest = WIDTHS_S.last().copied()?;
            if span_s / widest > i64::try_from(CELLS_MAX).ok()? - 2 {
                return None;
            }
            self.widen(wider);
        };
        self.all.get_mut(place)
    }

    fn widen(&mut self, wider_s: i64) {
        self.settle();
        let factor = wider_s * 1000 / self.width_ms();
        let first = self.first.div_euclid(factor);
        let mut all: Vec<Cell> = Vec::new();
        for (at, cell) in (self.first..).zip(&self.all) {
            let place = usize::try_from(at.div_euclid(factor) - first).unwrap_or(0);
            if place >= all.len() {
                all.push(cell.clone());
            } else if let Some(own) = all.get_mut(place) {
                own.merge(cell);
            }
        }
        (self.all, self.first, self.width) = (all, first, self.width + 1);
    }

    /// A request that was under way from one time to another, both inclusive of their cells. Before
    /// the first cell nothing is known of requests, so nothing is counted.
    pub(super) fn under_way(&mut self, from_ms: i64, to_ms: i64) {
        let width = self.width_ms();
        let start = self.start_ms();
        let from = from_ms.max(start);
        let place = |ms: i64| usize::try_from((ms - start).div_euclid(width)).ok();
        let (Some(first), Some(last)) = (place(from), place(to_ms)) else { return };
        if let Some(cell) = self.all.get_mut(first).filter(|_| from_ms >= start) {
            cell.came += 1;
        }
        let us = |ms: i64| u64::try_from(ms.max(0)).unwrap_or(0) * 1000;
        let begin_of = |at: usize| start + width * i64::try_from(at).unwrap_or(0);
        if first == last {
            self.busy(first, us(to_ms - from));
            return;
        }
        self.busy(first, us(begin_of(first + 1) - from));
        self.busy(last, us(to_ms - begin_of(last)));
        for (at, step) in [(first + 1, 1), (last, -1)] {
            if let Some(cell) = self.all.get_mut(at) {
                cell.through += step;
            }
        }
    }

    fn busy(&mut self, at: usize, us: u64) {
        if let Some(cell) = self.all.get_mut(at) {
            cell.busy_us = cell.busy_us.saturating_add(us);
        }
    }

    /// Adds the requests that were under way in the whole of cells.
    fn settle(&mut self) {
        let whole_us = u64::try_from(self.width_ms()).unwrap_or(0) * 1000;
        let mut through = 0_i64;
        for cell in &mut self.all {
            through += cell.through;
            let us = u64::try_from(through).unwrap_or(0).saturating_mul(whole_us);
            (cell.busy_us, cell.through) = (cell.busy_us.saturating_add(us), 0);
        }
    }

    /// All of them in order.
    pub(super) fn finish(&mut self) -> &[Cell] {
        self.settle();
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_too_far_away_changes_nothing() {
        let mut cells = Cells::default();
        let day = 86_400_000;
        assert!(cells.at(1_795_305_600_000).is_some());
        assert!(cells.at(i64::MAX / 2).is_none());
        assert!(cells.at(1_795_305_600_000 + 20_000 * day).is_none());
        assert_eq!((cells.width_ms(), cells.finish().len()), (1000, 1));
        assert!(cells.at(1_795_305_600_000 + 30 * day).is_some());
        assert_eq!(cells.width_ms(), 1_800_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_as_cells_become_wider(
            requests in prop::collection::vec((0_i64..400_000_000, 0_i64..50_000), 1..60),
        ) {
            let mut cells = Cells::default();
            for (end, length) in &requests {
                let cell = cells.at(*end).expect("near");
                cell.ended += 1;
                cell.times.record(length.unsigned_abs() * 1000);
                cells.under_way(end - length, *end);
            }
            let width = cells.width_ms();
            let all = cells.finish().to_vec();
            prop_assert!(all.len() <= CELLS_MAX);
            let ended: u64 = all.iter().map(|cell| cell.ended).sum();
            prop_assert_eq!(ended, requests.len() as u64);
            // In order of their ends all that came before the first end is cut off, and no more.
            let busy: f64 = all.iter().map(|cell| cell.in_flight(width) * width as f64).sum();
            let whole: i64 = requests.iter().map(|(_, length)| length).sum();
            prop_assert!(busy <= whole as f64 + 1e-6 * whole as f64 + 1.0, "{busy} of {whole}");
        }
    }

    #[test]
    fn requests_under_way_are_counted_where_they_are() {
        let mut cells = Cells::default();
        for (end, length) in [(500, 100), (3500, 3000), (3600, 100)] {
            cells.at(end).expect("near").ended += 1;
            cells.under_way(end - length, end);
        }
        let all: Vec<f64> = cells.finish().iter().map(|cell| cell.in_flight(1000)).collect();
        let wanted = [0.6, 1.0, 1.0, 0.6];
        assert!(all.iter().zip(wanted).all(|(one, other)| (one - other).abs() < 1e-9), "{all:?}");
        let came: Vec<u64> = cells.finish().iter().map(|cell| cell.came).collect();
        assert_eq!(came, [2, 0, 0, 1]);
    }
}
