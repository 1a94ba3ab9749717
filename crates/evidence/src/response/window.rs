//! Windows: stretches of time, each with enough requests for its percentiles to say something.

use super::cells::Cell;

/// Lengths that people can read, in seconds.
const LENGTHS_S: [i64; 18] =
    [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/// Most rows that are shown.
pub(super) const ROWS_MAX: usize = 60;

/// Most windows in which slow ones are looked for: enough to see when something began, few enough
/// that chance makes none of them stand out.
pub(super) const WINDOWS_MAX: usize = 240;

/// Requests that a window should have: of 50, five make a tenth.
const REQUESTS: u64 = 50;

/// Windows that there should be, with fewer requests in each if they must: what is slow is known by
/// those that are not.
const WINDOWS: usize = 24;

/// A stretch of time.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// When it begins.
    pub(super) start_ms: i64,
    /// When it ends.
    pub(super) end_ms: i64,
    /// What happened in it.
    pub(super) cell: Cell,
}

impl Window {
    /// How long it is, in seconds.
    pub(super) fn length_s(&self) -> f64 {
        (self.end_ms - self.start_ms).max(1) as f64 / 1000.0
    }

    /// Requests in a second that ended in it.
    pub(super) fn rate(&self) -> f64 {
        self.cell.ended as f64 / self.length_s()
    }

    /// Mean number of requests under way.
    pub(super) fn in_flight(&self) -> f64 {
        self.cell.in_flight(self.end_ms - self.start_ms)
    }
}

/// Cells without a gap, and the first and last time at which a request ended in them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline<'a> {
    /// The cells.
    pub(super) cells: &'a [Cell],
    /// When the first one begins.
    pub(super) start_ms: i64,
    /// How long each is.
    pub(super) width_ms: i64,
    /// The first and the last end of a request.
    pub(super) range_ms: (i64, i64),
}

impl Timeline<'_> {
    /// Windows of this length, which is made a multiple of the cells' width.
    pub(super) fn windows(&self, length_ms: i64) -> Vec<Window> {
        let width = self.width_ms.max(1);
        let length_ms = (length_ms + width - 1).div_euclid(width).max(1) * width;
        let mut windows: Vec<Window> = Vec::new();
        for (at, cell) in (0..).zip(self.cells) {
            let start = (self.start_ms + at * width).div_euclid(length_ms) * length_ms;
            match windows.last_mut() {
                Some(last) if last.start_ms == start => last.cell.merge(cell),
                _ => windows.push(Window {
                    start_ms: start,
                    end_ms: start + length_ms,
                    cell: cell.clone(),
                }),
            }
        }
        // The log begins and ends within a window. A rate over less than a tenth of one would be
        // that of a few requests.
        let (first, last) = self.range_ms;
        let least = (length_ms / 10).max(1);
        if let Some(window) = windows.first_mut() {
            window.start_ms = window.start_ms.max(first.min(window.end_ms - least));
        }
        if let Some(window) = windows.last_mut() {
            window.end_ms = window.end_ms.min((last + 1).max(window.start_ms + least));
        }
        windows
    }

    /// The length of the rows that are shown.
    pub(super) fn row_ms(&self) -> i64 {
        self.shortest_ms(ROWS_MAX)
    }

    /// The length of the windows in which slow ones are looked for.
    pub(super) fn window_ms(&self) -> i64 {
        let requests: u64 = self.cells.iter().map(|cell| cell.times.count()).sum();
        let most = usize::try_from(requests / REQUESTS).unwrap_or(usize::MAX);
        self.shortest_ms(most.clamp(WINDOWS, WINDOWS_MAX))
    }

    /// The shortest length that gives no more than this number of windows.
    fn shortest_ms(&self, most: usize) -> i64 {
        let span_ms = self.width_ms * i64::try_from(self.cells.len()).unwrap_or(i64::MAX / 2);
        let fits = |length_ms: &i64| {
            let windows = usize::try_from(span_ms / *length_ms + 1).unwrap_or(usize::MAX);
            *length_ms % self.width_ms == 0 && windows <= most
        };
        let mut lengths = LENGTHS_S.iter().map(|length_s| length_s * 1000);
        let mut longer = (1..).map(|days| days * 86_400_000);
        let found = lengths.find(fits);
        found.or_else(|| longer.find(fits)).unwrap_or(86_400_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: usize, requests: u64) -> Vec<Cell> {
        let mut cell = Cell::default();
        cell.ended = requests;
        (0..requests).for_each(|_| cell.times.record(1000));
        vec![cell; count]
    }

    fn line(cells: &[Cell]) -> Timeline<'_> {
        let last = i64::try_from(cells.len()).expect("few") * 1000 - 1;
        Timeline { cells, start_ms: 0, width_ms: 1000, range_ms: (0, last) }
    }

    #[test]
    fn lengths_fit_the_log() {
        for (count, row_s, window_s) in [(30, 1, 2), (600, 15, 10), (3600, 120, 20)] {
            let cells = cells(count, 10);
            let line = line(&cells);
            assert_eq!((line.row_ms(), line.window_ms()), (row_s * 1000, window_s * 1000));
            let windows = line.windows(line.row_ms());
            assert!(windows.len() <= ROWS_MAX, "{}", windows.len());
            let ended: u64 = windows.iter().map(|window| window.cell.ended).sum();
            assert_eq!(ended, count as u64 * 10);
        }
    }

    #[test]
    fn the_rate_counts_the_time_that_the_log_has() {
        let cells = cells(4, 10);
        let line = Timeline { range_ms: (500, 3499), ..line(&cells) };
        let windows = line.windows(3000);
        assert_eq!((windows[0].start_ms, windows[1].end_ms), (500, 3500));
        assert!((windows[0].rate() - 12.0).abs() < 1e-9);
    }
}
