//! The chain of calls below a row of `perf report -g`.

use std::collections::BTreeSet;

use super::model::FRAMES_MAX;
use super::way::way;
use crate::recording::readers::words::percent;

/// How programs come into the kernel: what a chain has beyond is the program's own.
const ENTRIES: [&str; 9] = [
    "page_fault",
    "async_page_fault",
    "asm_exc_page_fault",
    "entry_SYSCALL_64_after_hwframe",
    "system_call_fastpath",
    "ret_from_fork",
    "ret_from_fork_asm",
    "el0_sync",
    "el0t_64_sync",
];

/// Parts of the names of functions that take a lock: who called them says which one it is.
const LOCKING: [&str; 6] = ["spin_lock", "rwsem", "osq_lock", "mutex", "down_read", "down_write"];

/// Most ways of one row.
const PATHS_MAX: usize = 200;

/// The chain of calls below a row: drawn as a straight line, or as branches with a share each.
pub(super) struct Chain {
    /// The row's own share.
    share: f64,
    pub(super) program: String,
    /// The row's function.
    function: String,
    /// Where branches begin, and their shares; the innermost last.
    branches: Vec<(usize, f64)>,
    /// Whether the rest of this branch is the program's own.
    left: bool,
    /// Functions that were counted, each with where its branch begins: the innermost last.
    seen: Vec<(usize, String)>,
    /// The same by name.
    names: BTreeSet<String>,
    /// Functions that were one too many.
    pub(super) left_out: usize,
    /// Whether a function was counted since a branch ended last.
    fresh: bool,
    /// The ways to the function, each with its share.
    pub(super) paths: Vec<(String, f64)>,
}

/// The share and the function of a branch: `12.50%--vfs_read`, or `12.50% vfs_read` on a screen.
pub(super) fn branch(rest: &str) -> Option<(f64, &str)> {
    let (share, name) = rest.split_once('%')?;
    let name = name.strip_prefix("--").or_else(|| name.strip_prefix(' '))?;
    Some((percent(rest.get(..=share.len())?)?, name.trim_start_matches(['-', ' '])))
}

impl Chain {
    pub(super) fn new(share: f64, program: String, function: &str) -> Self {
        Self {
            share,
            program,
            function: function.to_owned(),
            branches: Vec::new(),
            left: false,
            seen: Vec::new(),
            names: BTreeSet::new(),
            left_out: 0,
            fresh: false,
            paths: Vec::new(),
        }
    }

    /// The function of a line of the chain, with the share that came this way.
    pub(super) fn function<'a>(&mut self, line: &'a str) -> Option<(&'a str, f64)> {
        let drawn = |c: char| c.is_whitespace() || "|-+".contains(c);
        let rest = line.trim_start_matches(drawn);
        let at = line.len() - rest.len();
        let name = match branch(rest) {
            Some((share, name)) => {
                // A branch beside it, or beside one above it, ends the one before.
                if self.branches.last().is_some_and(|(before, _)| *before >= at) {
                    self.branch_ends();
                }
                while self.branches.pop_if(|(before, _)| *before >= at).is_some() {}
                while let Some((_, ended)) = self.seen.pop_if(|(before, _)| *before >= at) {
                    self.names.remove(&ended);
                }
                let above = self.branches.last().map_or(self.share, |(_, share)| *share);
                // Shares are of all samples, or with `-g fractal` of the branch above.
                let share = if share > above { above * share / 100.0 } else { share };
                self.branches.push((at, share));
                self.left = false;
                name
            }
            None => rest,
        };
        let name = name.split_whitespace().next()?;
        if self.left {
            return None;
        }
        self.left = ENTRIES.contains(&name);
        let (at, share) = self.branches.last().copied().unwrap_or((0, self.share));
        // One that calls itself is counted once.
        if self.names.contains(name) {
            return None;
        }
        if self.seen.len() >= FRAMES_MAX {
            self.left_out += 1;
            return None;
        }
        self.seen.push((at, name.to_owned()));
        self.names.insert(name.to_owned());
        self.fresh = true;
        Some((name, share))
    }

    /// Keeps the way that was drawn last. The row's function stands at one of its ends.
    pub(super) fn branch_ends(&mut self) {
        if !std::mem::take(&mut self.fresh) || self.paths.len() >= PATHS_MAX {
            return;
        }
        let mut frames: Vec<&str> = self.seen.iter().map(|(_, name)| name.as_str()).collect();
        if frames.first() == Some(&self.function.as_str()) {
            frames.reverse();
        } else if frames.last() != Some(&self.function.as_str()) {
            return;
        }
        // Of functions that take a lock the innermost says enough: who called them matters.
        let locking = |name: &str| LOCKING.iter().any(|part| name.contains(part));
        while let [.., one, last] = frames.as_slice()
            && locking(one)
            && locking(last)
        {
            frames.remove(frames.len() - 2);
        }
        if frames.len() > 1 {
            let share = self.branches.last().map_or(self.share, |(_, share)| *share);
            self.paths.push((way(&frames).1, share));
        }
    }
}
