//! A free block that the host backs, warmed ahead of the call that needs it.
//!
//! Where a host backs a guest's memory lazily, the first touch of a free block takes milliseconds
//! (`docs/measurements.md#lazily-backed-memory`), and a collapse takes them inside the target's
//! lock. A thread of the idle scheduling class touches the next block and holds it. A promotion
//! gives it back to its CPU's free list just before its call, which then gets that block.
//!
//! One block and no more: the free list gives out what was given back last only if nothing else
//! was taken or given back meanwhile. Of a store of four, a third of the calls got another block
//! (`docs/measurements.md#lazily-backed-memory`).
//!
//! Nobody waits for the thread: it may not run for seconds on a busy machine. Where no block is
//! ready, the caller warms one itself, on its own budget.

use crate::machine;
use crate::pages::PageReader;
use crate::root::Root;
use hugewise_base::parse::proc_stat;
use hugewise_base::units::{Geometry, Ns};
use hugewise_sys::cpu::{self, CpuPin};
use hugewise_sys::memory::{Arena, LocalAdvice};
use hugewise_sys::numa;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After the last promotion a block is held so long.
const HELD: Duration = Duration::from_secs(2);
/// Free blocks that the machine must have before one is taken: others come first.
const SPARE: u64 = 16;
/// How often the thread looks whether the CPUs have time for it, or a block can be had at all.
const LOOK: Duration = Duration::from_millis(250);

/// Own memory of one huge page, through which a free block is touched.
#[derive(Debug)]
pub(super) struct Block(Arena);

impl Block {
    /// # Errors
    /// As [`Arena::new`], or without THP in the kernel.
    pub(super) fn new(geometry: Geometry) -> std::io::Result<Self> {
        let huge = usize::try_from(geometry.huge.0).unwrap_or(0);
        let mut arena = Arena::new(huge, huge)?;
        arena.advise(0..huge, LocalAdvice::HugePage)?;
        Ok(Self(arena))
    }

    /// Takes a free block, of this NUMA node if one is named, and has the host back it. False where
    /// this process got base pages: THP is `never`, or no block was free.
    pub(super) fn touch(
        &mut self,
        pages: &mut PageReader,
        own_pages: &File,
        node: Option<u32>,
    ) -> bool {
        // A node that is not to be had is no reason to warm none: another block does no harm.
        let _turns = node.map(|node| numa::take_turns(&[node]));
        self.0.set(0, 1);
        self.0.set(self.0.len() - 1, 1);
        pages.region(own_pages, self.0.addr()).is_ok_and(|counts| counts.huge)
    }

    /// Gives it back, to the head of this CPU's free list.
    pub(super) fn free(&mut self) -> bool {
        self.0.advise(0..self.0.len(), LocalAdvice::DontNeed).is_ok()
    }
}

/// A block warmed ahead. Dropping it ends the thread and gives the block back.
#[derive(Debug)]
pub(super) struct Ahead(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
    /// CPU time of the thread so far.
    cpu_ns: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    /// `None` while the thread has it.
    block: Option<Block>,
    ready: Option<Ready>,
    /// A block is wanted until then, ...
    until: Option<Instant>,
    /// ... of this NUMA node, if one is named.
    node: Option<u32>,
    /// Blocks that were warmed and not wanted after all.
    unused: u64,
    ended: bool,
}

/// How the block was warmed.
#[derive(Debug, Clone, Copy)]
struct Ready {
    /// On this CPU, from whose free list it came.
    cpu: u32,
    /// As it was asked for.
    node: Option<u32>,
    /// CPU time that it took.
    took: Ns,
}

impl Ahead {
    /// Starts the thread, which takes at most `cpu_percent` of a core; `None` where that is 0, or
    /// where a thread of the idle class cannot be had.
    pub(super) fn start(root: &Root, geometry: Geometry, cpu_percent: f64) -> Option<Self> {
        if cpu_percent <= 0.0 {
            return None;
        }
        let block = Some(Block::new(geometry).ok()?);
        let slot = Slot { block, ready: None, until: None, node: None, unused: 0, ended: false };
        let slot = Mutex::new(slot);
        let shared = Arc::new(Shared { slot, changed: Condvar::new(), cpu_ns: AtomicU64::new(0) });
        let mut warmer = Warmer {
            shared: shared.clone(),
            pages: PageReader::new(geometry).ok()?,
            own_pages: File::open("/proc/self/pagemap").ok()?,
            idle: Idle::new(root.clone(), cpu_percent),
            geometry,
            cpu_percent,
        };
        let thread = std::thread::Builder::new().name("warm".to_owned());
        thread.spawn(move || cpu::enter_idle_class().map(|()| warmer.run())).ok()?;
        Some(Self(shared))
    }

    /// Gives the warmed block back to the free list of the CPU that it came from, and keeps this
    /// thread there while the pin lives: the next block taken there is this one. With the CPU time
    /// that the warm-up took; `None` when none of this NUMA node is ready.
    pub(super) fn hand_over(&self, node: Option<u32>) -> Option<(CpuPin, Ns)> {
        // Held by a thread that does not run, the lock may be taken for long.
        let mut slot = self.0.slot.try_lock().ok()?;
        let Ready { cpu, took, .. } = slot.ready.take_if(|ready| ready.node == node)?;
        let pin = cpu::pin_current_thread(cpu);
        let freed = slot.block.as_mut().is_some_and(Block::free);
        pin.ok().filter(|_| freed).map(|pin| (pin, took))
    }

    /// Asks for the next block, of the node that the last promotion took one of: the next is mostly
    /// the same program's. Not before a call has ended: a CPU that takes a host fault answers
    /// nobody for milliseconds, and the call would wait for it with the target's lock in hand.
    pub(super) fn ask(&self, node: Option<u32>) {
        if let Ok(mut slot) = self.0.slot.try_lock() {
            if slot.ready.is_some_and(|ready| ready.node != node) {
                slot.release();
            }
            (slot.until, slot.node) = (Some(Instant::now() + HELD), node);
            self.0.changed.notify_one();
        }
    }

    /// Gives the block back: memory is short, or nothing is left to promote.
    pub(super) fn release(&self) {
        if let Ok(mut slot) = self.0.slot.try_lock() {
            slot.release();
        }
    }

    /// Blocks that were warmed and not wanted after all; `None` while the thread looks at them.
    pub(super) fn unused(&self) -> Option<u64> {
        self.0.slot.try_lock().ok().map(|slot| slot.unused)
    }

    /// CPU time of the thread so far.
    pub(super) fn cpu_time(&self) -> Ns {
        Ns(self.0.cpu_ns.load(Ordering::Relaxed))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.slot.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        // Not waited for: it may not run for long, and owns what it needs.
        self.0.changed.notify_one();
    }
}

impl Slot {
    fn release(&mut self) {
        self.until = None;
        if self.ready.take().is_some() {
            self.unused += 1;
            self.block.as_mut().map(Block::free);
        }
    }
}

impl Shared {
    /// Waits until a block is wanted, and of which node; `None` at the end.
    fn wanted(&self) -> Option<(Block, Option<u32>)> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if slot.ended {
                return None;
            }
            let left = slot.until.map(|until| until.saturating_duration_since(Instant::now()));
            slot = match left {
                Some(left) if !left.is_zero() => {
                    if slot.ready.is_none() {
                        let node = slot.node;
                        return slot.block.take().map(|block| (block, node));
                    }
                    let waited = self.changed.wait_timeout(slot, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                _ => {
                    slot.release();
                    self.changed.wait(slot).unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    fn put(&self, mut block: Block, ready: Option<Ready>) {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.is_none() {
            block.free();
        }
        (slot.block, slot.ready) = (Some(block), ready);
        // Whoever wanted it may have said meanwhile that nobody does.
        if slot.until.is_none() {
            slot.release();
        }
    }
}

/// The thread.
struct Warmer {
    shared: Arc<Shared>,
    pages: PageReader,
    own_pages: File,
    idle: Idle,
    geometry: Geometry,
    cpu_percent: f64,
}

impl Warmer {
    fn run(&mut self) {
        while let Some((mut block, node)) = self.shared.wanted() {
            let began = cpu::thread_cpu_time_ns();
            let spare = machine::free_of(&self.idle.root, self.geometry, node).huge;
            let free = spare.is_none_or(|free| free >= SPARE) && self.idle.has_time();
            // The block goes back to this CPU's free list.
            let on = cpu::current_cpu();
            let pin = cpu::pin_current_thread(on);
            let warm = free && pin.is_ok() && block.touch(&mut self.pages, &self.own_pages, node);
            drop(pin);
            let now = cpu::thread_cpu_time_ns();
            let took = Ns(now.saturating_sub(began));
            self.shared.cpu_ns.store(now, Ordering::Relaxed);
            self.shared.put(block, warm.then_some(Ready { cpu: on, node, took }));
            let pause = took.as_s() * (100.0 / self.cpu_percent - 1.0).max(0.0);
            let pause = Duration::try_from_secs_f64(pause).unwrap_or(LOOK);
            std::thread::sleep(if warm { pause } else { pause.max(LOOK) });
        }
    }
}

/// Whether the CPUs have time that nobody wants. The scheduling class alone does not say so: it is
/// last within its control group or session only, and the group has a share like any other.
struct Idle {
    root: Root,
    cpu_percent: f64,
    /// When it was last read: idle CPU time of the machine, and this thread's own.
    last: Option<(Instant, f64)>,
    has_time: bool,
}

impl Idle {
    const fn new(root: Root, cpu_percent: f64) -> Self {
        Self { root, cpu_percent, last: None, has_time: true }
    }

    /// Whether the machine was idle lately for as long as the thread may run.
    fn has_time(&mut self) -> bool {
        let due = self.last.is_none_or(|(at, _)| at.elapsed() >= LOOK);
        let spare = if due { self.spare_s() } else { None };
        if let Some(spare) = spare {
            let now = Instant::now();
            if let Some((at, before)) = self.last.replace((now, spare)) {
                let passed = now.saturating_duration_since(at).as_secs_f64();
                self.has_time = spare - before >= passed * self.cpu_percent / 100.0;
            }
        }
        self.has_time
    }

    /// Seconds of CPU time that nobody used or that this thread did, since boot.
    fn spare_s(&self) -> Option<f64> {
        let text = self.root.read_text("proc/stat").ok()?;
        let all = proc_stat::parse(&text).value.all?;
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let own = Ns(cpu::thread_cpu_time_ns()).as_s();
        Some((all.idle.saturating_add(all.iowait)) as f64 / ticks + own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last promotion ends while the thread is at work: its block is given back and counted as
    /// soon as it is there, not when the thread comes round again, which may be seconds later.
    #[test]
    fn what_nobody_wants_any_more_is_given_back_at_once() {
        // What it is made of does not matter here.
        let block = Some(Block(Arena::new(4096, 4096).expect("memory")));
        let slot = Slot { block, ready: None, until: None, node: None, unused: 0, ended: false };
        let (changed, cpu_ns) = (Condvar::new(), AtomicU64::new(0));
        let shared = Arc::new(Shared { slot: Mutex::new(slot), changed, cpu_ns });
        let ahead = Ahead(Arc::clone(&shared));
        let warmed = Ready { cpu: cpu::current_cpu(), node: None, took: Ns(1) };
        for (released, unused) in [(false, 0), (true, 1)] {
            ahead.ask(None);
            // From the time before, when it was wanted.
            shared.slot.lock().expect("free").ready = None;
            let (block, _) = shared.wanted().expect("it is wanted");
            if released {
                ahead.release();
            }
            shared.put(block, Some(warmed));
            assert_eq!(ahead.unused(), Some(unused));
            assert_eq!(shared.slot.lock().expect("free").ready.is_none(), released);
        }
    }
}
