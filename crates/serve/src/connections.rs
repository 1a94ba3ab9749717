//! Which connections stay: as many as there is room for. Whoever comes anew gets in; of those that
//! are there, one that has not shown the token goes first, and of these the oldest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::AbortHandle;

/// Whether a connection has shown the token.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<AtomicBool>);

impl Known {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Open {
    known: Known,
    task: AbortHandle,
}

/// The connections that are open, the oldest first.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    open: Vec<Open>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Vec::new() }
    }

    /// Makes room for one more.
    pub(crate) fn make_room(&mut self) {
        if self.open.len() < self.most {
            return;
        }
        self.open.retain(|open| !open.task.is_finished());
        while self.open.len() >= self.most {
            let known: Vec<bool> = self.open.iter().map(|open| open.known.get()).collect();
            self.open.remove(leaves(&known)).task.abort();
        }
    }

    pub(crate) fn add(&mut self, known: Known, task: AbortHandle) {
        self.open.push(Open { known, task });
    }

    pub(crate) fn close_all(&mut self) {
        self.open.drain(..).for_each(|open| open.task.abort());
    }
}

/// Which of these has to go, by whether each has shown the token, the oldest first.
fn leaves(known: &[bool]) -> usize {
    known.iter().position(|known| !known).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_go_first_and_the_oldest_of_them() {
        assert_eq!(leaves(&[true, false, false]), 1);
        assert_eq!(leaves(&[false, true]), 0);
        assert_eq!(leaves(&[true, true]), 0);
        assert_eq!(leaves(&[]), 0);
    }
}
