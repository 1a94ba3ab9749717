//! Disposable processes in which everything happens that takes another process's locks.
//!
//! Problem: the kernel holds the lock of an address space, or `exec_update_lock`, for as long as
//! the process, or the server of a file that it maps, lets it; a collapse that waits for it cannot
//! even be killed. So no thread that answers anybody, holds a lock or keeps settings waits there.
//!
//! Approach: one worker carries out orders in turn. Each order has a deadline. A worker that misses
//! it is killed, the user whose process it was about is suspended ([`Suspensions`]), and the next
//! order starts another worker. A killed worker that cannot end is abandoned: at most one for each
//! user, because nobody who has one is served, and at most [`MOST_ABANDONED`] in all.
//!
//! Properties: whoever gives orders waits for at most one deadline in one series of orders, and for
//! less the more users are suspended; a worker holds nothing that another process needs; what it
//! had open is opened again by the next.

mod process;
mod wire;

pub use process::{COMMAND, left, run};

use crate::spaces::{Answer, Means, Order, Usage};
use hugewise_base::units::Ns;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::suspension::{Party, Suspensions};
use process::{Broken, Worker};
use std::collections::VecDeque;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Workers that were given up and cannot end, in all: one for each user, and the kernel frees their
/// memory. What stays of each, its stack in the kernel and its page tables, takes 0.1 MiB of the 64
/// of the service (`dist/hugewise.service`).
const MOST_ABANDONED: usize = 64;

/// Whether this program becomes a worker when it is started as one.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// From here on, address spaces of other processes are inspected and advised by workers. Said by a
/// program that calls [`run`] when it is started with [`COMMAND`].
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether [`enable`] was called.
pub(crate) fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// A worker, those before it that have not ended, and whom none is sent to.
#[derive(Debug)]
pub(crate) struct Workers {
    means: Means,
    current: Option<Worker>,
    abandoned: Vec<(Party, Child)>,
    suspensions: Suspensions,
    /// What those that were replaced had used.
    used: Usage,
    replaced: bool,
    began: Instant,
}

impl Workers {
    pub(crate) fn new(means: Means) -> Self {
        Self {
            means,
            current: None,
            abandoned: Vec::new(),
            suspensions: Suspensions::default(),
            used: Usage::default(),
            replaced: false,
            began: Instant::now(),
        }
    }

    /// Has orders carried out in turn; `party_of` says who stands for the process of one. After the
    /// first one that misses its deadline, or once `is_unwanted`, those that are left have to wait
    /// for the next call.
    pub(crate) fn carry_out(
        &mut self,
        orders: &[Order],
        party_of: &dyn Fn(&Order) -> Party,
        is_unwanted: &mut dyn FnMut() -> bool,
    ) -> Vec<Answer> {
        self.abandoned.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
        let now = self.now();
        self.suspensions.forgive(now);
        let all_served = self.suspensions.is_empty() && self.abandoned.is_empty();
        let mut answers: Vec<Option<Answer>> = vec![None; orders.len()];
        let mut left = VecDeque::new();
        for (index, order) in orders.iter().enumerate() {
            if all_served || !order.enters() || !self.leaves_alone(&party_of(order), now) {
                left.push_back(index);
            } else {
                answers[index] = Some(order.refused(SkipReason::NotAnswering));
            }
        }
        let why = self.serve(orders, party_of, is_unwanted, &mut left, &mut answers);
        let mut all = Vec::with_capacity(orders.len());
        for (answer, order) in answers.into_iter().zip(orders) {
            all.push(answer.unwrap_or_else(|| order.refused(why)));
        }
        all
    }

    /// Serves who is left; why some are still left afterwards.
    fn serve(
        &mut self,
        orders: &[Order],
        party_of: &dyn Fn(&Order) -> Party,
        is_unwanted: &mut dyn FnMut() -> bool,
        left: &mut VecDeque<usize>,
        answers: &mut [Option<Answer>],
    ) -> SkipReason {
        let mut ended_at = None;
        loop {
            let wanted: Vec<_> = left.iter().map(|index| &orders[*index]).collect();
            if wanted.is_empty() {
                return SkipReason::RetryLater;
            }
            let suspended = self.suspensions.suspended(self.now());
            let Some(mut worker) = self.take_worker() else { return SkipReason::NoMechanism };
            let (said, broken) = worker.converse(&wanted, suspended, is_unwanted);
            let served: Vec<_> = left.drain(..said.len()).collect();
            for (index, answer) in served.into_iter().zip(said) {
                answers[index] = Some(answer);
            }
            let Some(broken) = broken else {
                self.current = Some(worker);
                continue;
            };
            let Some(stuck) = left.front().copied() else { return SkipReason::RetryLater };
            let order = &orders[stuck];
            self.give_up(worker, &party_of(order), broken == Broken::Late && order.enters());
            // One that ended may have been ended by somebody: the next one tries once more.
            if broken == Broken::Ended && ended_at.replace(stuck) != Some(stuck) {
                continue;
            }
            if broken == Broken::Unwanted {
                return SkipReason::RetryLater;
            }
            left.pop_front();
            answers[stuck] = Some(order.refused(SkipReason::NotAnswering));
            if broken == Broken::Late {
                return SkipReason::RetryLater;
            }
        }
    }

    fn leaves_alone(&self, party: &Party, now: Ns) -> bool {
        self.suspensions.is_suspended(party, now)
            || self.abandoned.iter().any(|(abandoned, _)| abandoned == party)
    }

    /// The worker, or a new one; `None` where none can be had.
    fn take_worker(&mut self) -> Option<Worker> {
        if let Some(worker) = self.current.take() {
            return Some(worker);
        }
        if self.abandoned.len() >= MOST_ABANDONED {
            return None;
        }
        Worker::start(&self.means, self.replaced).ok()
    }

    fn give_up(&mut self, worker: Worker, party: &Party, missed: bool) {
        self.used = self.used.and(worker.usage);
        self.replaced = true;
        if missed {
            self.suspensions.missed(party, self.now());
        }
        if let Some(child) = worker.give_up() {
            self.abandoned.push((party.clone(), child));
        }
    }

    /// How many were given up and have not ended.
    pub(crate) fn abandoned(&self) -> usize {
        self.abandoned.len()
    }

    /// What all workers have used.
    pub(crate) fn usage(&self) -> Usage {
        self.current.as_ref().map_or(self.used, |worker| self.used.and(worker.usage))
    }

    fn now(&self) -> Ns {
        Ns(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Drop for Workers {
    /// What a worker took is given back. One that cannot end is left: it holds nothing, and ends
    /// with the call that it waits in.
    fn drop(&mut self) {
        if let Some(worker) = self.current.take() {
            let _ = worker.close();
        }
    }
}
