//! The frames of a flame graph: of chains of calls the largest pieces, so that no profile makes a
//! picture of any size.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most that all chains have together: of whole numbers up to here each is exact, and sums of
/// strangers' stay within it.
pub(super) const ALL_MAX: f64 = 1e15;

/// What a chain has, and what it is compared with. Both are of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Value {
    /// What is drawn as a width.
    pub(super) drawn: f64,
    /// The same of the other side of a comparison.
    pub(super) other: f64,
}

impl Value {
    /// What a chain has that is compared with nothing.
    pub(super) fn of(drawn: f64) -> Self {
        Self { drawn, other: 0.0 }
    }

    fn add(&mut self, more: Self) {
        self.drawn += more.drawn;
        self.other += more.other;
    }
}

/// Chains of calls with what each has.
pub(super) type Chains<'a> = Vec<(&'a str, Value)>;

/// A function on its way from the outermost one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame<'a> {
    /// The way: names, parted by semicolons. Its own is the last.
    pub(super) chain: &'a str,
    /// How many functions are around it.
    pub(super) depth: usize,
    /// What is drawn before it.
    pub(super) start: f64,
    /// With what it called.
    pub(super) total: Value,
    /// Without the frames that are drawn within it.
    pub(super) own: Value,
}

impl<'a> Frame<'a> {
    /// Its name.
    pub(super) fn name(&self) -> &'a str {
        self.chain.rsplit(';').next().unwrap_or(self.chain)
    }
}

/// Frames for which there is room.
#[derive(Debug, Default)]
pub(super) struct Frames<'a> {
    /// By depth, then from the left.
    pub(super) frames: Vec<Frame<'a>>,
    /// What all chains have.
    pub(super) all: Value,
    /// How many frames are left out: those that are not larger than any that is there.
    pub(super) left_out: usize,
}

/// The largest frames of these chains, `most` at most. None is there without those around it.
pub(super) fn largest<'a>(mut chains: Chains<'a>, most: usize) -> Frames<'a> {
    // As a tree has them: a semicolon before any other letter.
    let letter = |byte: u8| if byte == b';' { 0 } else { byte };
    chains.sort_by(|(a, _), (b, _)| a.bytes().map(letter).cmp(b.bytes().map(letter)));
    chains.retain_mut(|(_, value)| {
        // NaN is nothing.
        value.drawn = value.drawn.clamp(0.0, ALL_MAX).max(0.0);
        value.other = value.other.clamp(0.0, ALL_MAX).max(0.0);
        value.drawn > 0.0
    });
    let sum: f64 = chains.iter().map(|(_, value)| value.drawn.max(value.other)).sum();
    if sum > ALL_MAX {
        for (_, value) in &mut chains {
            value.drawn *= ALL_MAX / sum;
            value.other *= ALL_MAX / sum;
        }
    }
    let mut out = Frames::default();
    let mut sizes = BinaryHeap::new();
    walk(&chains, |frame, _| {
        out.left_out += 1;
        // Of numbers that are not negative the bits are in their order.
        sizes.push(Reverse(frame.total.drawn.to_bits()));
        if sizes.len() > most + 1 {
            sizes.pop();
        }
    });
    let limit = sizes.peek().filter(|_| sizes.len() > most).map(|Reverse(bits)| *bits);
    walk(&chains, |frame, around| {
        if limit.is_some_and(|limit| frame.total.drawn.to_bits() <= limit) {
            return;
        }
        if let Some(around) = around {
            around.own.drawn -= frame.total.drawn;
            around.own.other -= frame.total.other;
        }
        let Value { drawn, other } = frame.total;
        let own = Value { drawn: drawn + frame.own.drawn, other: other + frame.own.other };
        out.frames.push(Frame { own, ..*frame });
    });
    chains.iter().for_each(|(_, value)| out.all.add(*value));
    out.left_out -= out.frames.len();
    out.frames.sort_by(|a, b| a.depth.cmp(&b.depth).then(a.start.total_cmp(&b.start)));
    out
}

/// Hands each frame of sorted chains to `close` when its total is known, with the one around it;
/// `own` is what `close` made of it.
fn walk<'a>(
    chains: &[(&'a str, Value)],
    mut close: impl FnMut(&Frame<'a>, Option<&mut Frame<'a>>),
) {
    let mut open: Vec<Frame<'a>> = Vec::new();
    let (mut before, mut start) = ("", 0.0);
    let mut shut = |open: &mut Vec<Frame<'a>>, left: usize| {
        while open.len() > left {
            let Some(frame) = open.pop() else { break };
            if let Some(around) = open.last_mut() {
                around.total.add(frame.total);
            }
            close(&frame, open.last_mut());
        }
    };
    for &(chain, value) in chains {
        let pairs = before.bytes().zip(chain.bytes());
        let common = pairs.take_while(|(a, b)| a == b).count();
        let ends = chain.match_indices(';').map(|(end, _)| end).chain([chain.len()]);
        for (depth, end) in ends.enumerate() {
            let known =
                open.get(depth).is_some_and(|frame| frame.chain.len() == end && end <= common);
            if !known {
                shut(&mut open, depth);
                let (total, own) = (Value::default(), Value::default());
                open.push(Frame { chain: &chain[..end], depth, start, total, own });
            }
        }
        shut(&mut open, chain.matches(';').count() + 1);
        if let Some(innermost) = open.last_mut() {
            innermost.total.add(value);
        }
        start += value.drawn;
        before = chain;
    }
    shut(&mut open, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(chains: &[(&'a str, f64)], most: usize) -> Frames<'a> {
        largest(chains.iter().map(|(chain, value)| (*chain, Value::of(*value))).collect(), most)
    }

    fn told<'a>(frames: &Frames<'a>) -> Vec<(&'a str, f64, f64, f64)> {
        let all = frames.frames.iter();
        all.map(|f| (f.chain, f.start, f.total.drawn, f.own.drawn)).collect()
    }

    #[test]
    fn frames_stand_within_those_that_call_them() {
        // 'a0' lies between 'a' and 'a;x' where texts are sorted as they are.
        let chains = [("a;x;y", 3.0), ("a0;q", 2.0), ("a", 1.0), ("a;x", 4.0), ("a;z", 0.0)];
        let frames = read(&chains, 10);
        let wanted = [
            ("a", 0.0, 8.0, 1.0),
            ("a0", 8.0, 2.0, 0.0),
            ("a;x", 1.0, 7.0, 4.0),
            ("a0;q", 8.0, 2.0, 2.0),
            ("a;x;y", 5.0, 3.0, 3.0),
        ];
        assert_eq!(told(&frames), wanted);
        assert_eq!((frames.all.drawn, frames.left_out), (10.0, 0));
        assert_eq!(frames.frames[4].name(), "y");
    }

    #[test]
    fn small_frames_are_left_out_and_their_time_stays_with_those_around() {
        let chains = [("a;x;y", 3.0), ("a;x;z", 1.0), ("b", 2.0), ("a;w", 9.0)];
        let frames = read(&chains, 3);
        let wanted = [("a", 0.0, 13.0, 0.0), ("a;w", 0.0, 9.0, 9.0), ("a;x", 9.0, 4.0, 4.0)];
        assert_eq!(told(&frames), wanted);
        assert_eq!(frames.left_out, 3);
        // Of equal ones none is preferred.
        let many: Vec<String> = (0..50).map(|n| format!("p;f{n}")).collect();
        let chains: Vec<_> = many.iter().map(|chain| (chain.as_str(), 1.0)).collect();
        let frames = read(&chains, 10);
        assert_eq!((frames.frames.len(), frames.left_out), (1, 50));
        assert_eq!(frames.frames[0].own.drawn, 50.0);
    }

    #[test]
    fn values_that_are_none_draw_nothing() {
        let many = f64::INFINITY;
        let chains = [("a", f64::NAN), ("b", -1.0), ("c;d", many), ("c;e", many)];
        let frames = read(&chains, 10);
        assert_eq!(frames.frames.len(), 3);
        assert_eq!(frames.all.drawn, ALL_MAX);
        assert!(read(&[], 10).frames.is_empty());
    }
}
