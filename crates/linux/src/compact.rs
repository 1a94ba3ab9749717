//! Has the kernel compact a NUMA node, in a child that can be ended at any moment.
//!
//! Writing to a node's `compact` file works until all of the node was gone through, in the caller's
//! own time. The kernel ends it early for one reason only: a fatal signal (Linux 6.18 and earlier,
//! `mm/compaction.c`). So a child writes, and a thread looks after it: it kills the child when its
//! time is over, when there are blocks enough, or when it is told to. The kernel kills the child
//! together with that thread, and so with this process, however that ends. Nothing stays that would
//! have to be put back.
//!
//! The child has the scheduling class of its parent. A lower one would be in everybody's way: while
//! a page is moved, whoever touches it waits.

use crate::priority;
use crate::root::Root;
use hugewise_base::parse::{buddyinfo, pagetypeinfo, vmstat};
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::compaction::{Compact, CompactAsk, CompactEnd, CompactReport};
use hugewise_manager::reason::SkipReason;
use hugewise_sys::fork::{Ended, WritingChild, writing_child};
use std::fs::{File, OpenOptions};
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// How often it is looked whether there are blocks enough: that takes 6 us
/// (`docs/measurements.md#fmfi`).
const LOOK: Duration = Duration::from_millis(5);

/// How long the end of a child is waited for.
const END: Duration = Duration::from_millis(500);

/// Folder of the NUMA nodes.
const NODES: &str = "sys/devices/system/node";
/// The only file of kernels without NUMA.
const WHOLE_MACHINE: &str = "proc/sys/vm/compact_memory";

/// The file that has a node compacted.
pub fn file_of(root: &Root, node: u32) -> String {
    if root.has(NODES) { format!("{NODES}/node{node}/compact") } else { WHOLE_MACHINE.to_owned() }
}

/// Carries out one run after the other.
#[derive(Debug)]
pub struct Compactor {
    root: Root,
    geometry: Geometry,
    running: Option<Running>,
}

/// A run under way.
#[derive(Debug)]
struct Running {
    ask: CompactAsk,
    stop: Sender<SkipReason>,
    report: Receiver<CompactReport>,
}

impl Compactor {
    /// One for the machine below `root`.
    pub fn new(root: &Root, geometry: Geometry) -> Self {
        Self { root: root.clone(), geometry, running: None }
    }

    /// Begins a run, or ends the one under way. Returns at once.
    pub fn order(&mut self, order: &Compact) {
        match order {
            Compact::Start(ask) => self.start(*ask),
            Compact::Stop(reason) => {
                if let Some(running) = &self.running {
                    // Where it is over already nobody listens.
                    let _ = running.stop.send(*reason);
                }
            }
        }
    }

    fn start(&mut self, ask: CompactAsk) {
        let ((stop, told), (tell, report)) = (mpsc::channel(), mpsc::channel());
        let node = Node { root: self.root.clone(), geometry: self.geometry, number: ask.node };
        let work = move || {
            priority::as_others();
            let _ = tell.send(node.compact(&ask, &told));
        };
        // Without a thread its end of the channel is gone, which `report` takes for a refusal.
        let _ = std::thread::Builder::new().name("compact".to_owned()).spawn(work);
        self.running = Some(Running { ask, stop, report });
    }

    /// What became of the run, once it is over.
    pub fn report(&mut self) -> Option<CompactReport> {
        let running = self.running.as_ref()?;
        let report = match running.report.try_recv() {
            Ok(report) => report,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => refused(&running.ask, SkipReason::NoMechanism),
        };
        self.running = None;
        Some(report)
    }

    /// Ends the run under way. With what became of it.
    pub fn finish(&mut self) -> Option<CompactReport> {
        let Running { stop, report, .. } = self.running.take()?;
        drop(stop);
        // Milliseconds, after which no child is left. One that waits for a disk is not waited for:
        // it ends with this process.
        report.recv_timeout(END).ok()
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn refused(ask: &CompactAsk, reason: SkipReason) -> CompactReport {
    CompactReport::not_begun(ask, CompactEnd::Refused, Some(reason))
}

/// One node, as seen from the thread.
struct Node {
    root: Root,
    geometry: Geometry,
    number: u32,
}

/// Free memory of the node, and what the machine gave out so far.
#[derive(Debug, Clone, Copy, Default)]
struct Free {
    blocks: Option<u64>,
    fmfi: Option<f64>,
    given_out: Option<u64>,
}

impl Node {
    fn compact(&self, ask: &CompactAsk, told: &Receiver<SkipReason>) -> CompactReport {
        let unmovable_percent = self.unmovable_percent();
        if unmovable_percent.is_some_and(|percent| percent > ask.most_unmovable_percent) {
            let refused = refused(ask, SkipReason::UnmovableMemory);
            return CompactReport { unmovable_percent, ..refused };
        }
        let (began, before) = (Instant::now(), self.free());
        let child = self.open().and_then(|file| {
            writing_child(&file, b"1").map_err(|errno| io::Error::from_raw_os_error(errno.0))
        });
        let ended = child.and_then(|child| self.watch(child, ask, told, before, began));
        let Ok((end, reason, ended, most)) = ended else {
            return refused(ask, SkipReason::NoMechanism);
        };
        let after = self.free();
        CompactReport {
            node: self.number,
            end,
            reason,
            took: Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            cpu: Ns(ended.cpu_ns),
            free_before: before.blocks,
            free_after: after.blocks,
            taken: self.taken(before, after, most),
            fmfi_before: before.fmfi,
            fmfi_after: after.fmfi,
            unmovable_percent,
        }
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.root.path(file_of(&self.root, self.number)))
    }

    /// Waits for the child's end, and brings it about when it is due. Says what ended it, and how
    /// many blocks were free at most meanwhile.
    fn watch(
        &self,
        mut child: WritingChild,
        ask: &CompactAsk,
        told: &Receiver<SkipReason>,
        before: Free,
        began: Instant,
    ) -> io::Result<(CompactEnd, Option<SkipReason>, Ended, Option<u64>)> {
        let time = Duration::from_nanos(ask.time.0);
        let mut most = before.blocks;
        let (end, reason) = loop {
            if let Some(ended) = child.ended()? {
                let answer = if ended.written { CompactEnd::Complete } else { CompactEnd::Refused };
                let reason = (!ended.written).then_some(SkipReason::NoMechanism);
                return Ok((answer, reason, ended, most));
            }
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break (CompactEnd::TimeOver, None);
            }
            match told.recv_timeout(left.min(LOOK)) {
                Ok(reason) => break (CompactEnd::Stopped, Some(reason)),
                // The manager ends.
                Err(RecvTimeoutError::Disconnected) => break (CompactEnd::Stopped, None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.blocks();
            most = most.max(now);
            let more = now.zip(before.blocks).map(|(now, then)| now.saturating_sub(then));
            if more >= Some(ask.blocks) {
                break (CompactEnd::Enough, None);
            }
        };
        let ended = child.kill()?.ok_or_else(|| io::Error::other("no child"))?;
        Ok((end, reason, ended, most))
    }

    /// Blocks that programs took from the node during a run. `most`: that were free at most.
    fn taken(&self, before: Free, after: Free, most: Option<u64>) -> Option<u64> {
        let (from, to) = match self.is_alone() {
            true => (after.given_out, before.given_out),
            // The kernel counts for all nodes together: what others give out was not made here.
            false => (most.max(after.blocks), after.blocks),
        };
        from.zip(to).map(|(from, to)| from.saturating_sub(to))
    }

    /// Whether the machine has no other node.
    fn is_alone(&self) -> bool {
        let text = self.root.read_text("proc/buddyinfo").unwrap_or_default();
        buddyinfo::parse(&text).value.iter().all(|zone| zone.node == self.number)
    }

    fn zones(&self) -> Vec<buddyinfo::ZoneFree> {
        let text = self.root.read_text("proc/buddyinfo").unwrap_or_default();
        let mut zones = buddyinfo::parse(&text).value;
        zones.retain(|zone| zone.node == self.number);
        zones
    }

    fn order(&self) -> usize {
        usize::try_from(self.geometry.huge_order()).unwrap_or(9)
    }

    fn blocks(&self) -> Option<u64> {
        let zones = self.zones();
        (!zones.is_empty()).then(|| buddyinfo::free_blocks_at_or_above(&zones, self.order()))
    }

    fn free(&self) -> Free {
        let fmfi = buddyinfo::fmfi_total(&self.zones(), self.order());
        let text = self.root.read_text("proc/vmstat").ok();
        let given_out = text.and_then(|text| {
            let counters = vmstat::parse(&text).value.0;
            let count = |name: &str| counters.get(name).copied();
            Some(count("thp_fault_alloc")?.saturating_add(count("thp_collapse_alloc")?))
        });
        Free { blocks: self.blocks(), fmfi, given_out }
    }

    /// Takes milliseconds (`docs/measurements.md#compaction`), which are the thread's.
    fn unmovable_percent(&self) -> Option<f64> {
        let text = self.root.read_text("proc/pagetypeinfo").ok()?;
        pagetypeinfo::unmovable_percent(&pagetypeinfo::parse(&text).value, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    const BUDDYINFO: &str = "Node 0, zone Normal 9 0 0 0 0 0 0 0 0 7 1\n\
                             Node 1, zone Normal 9 0 0 0 0 0 0 0 0 3 0\n";
    const TYPES: &str = "Number of blocks type Unmovable Movable Reclaimable\n\
                         Node 0, zone Normal 10 80 10\nNode 1, zone Normal 60 20 20\n";

    fn root(scratch: &Scratch, node: u32) -> Root {
        let files = [
            ("proc/buddyinfo", BUDDYINFO),
            ("proc/pagetypeinfo", TYPES),
            ("proc/vmstat", "thp_fault_alloc 5\nthp_collapse_alloc 2\n"),
            (&format!("{NODES}/node{node}/compact"), ""),
        ];
        for (file, text) in files {
            let path = scratch.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        Root::at(scratch.path())
    }

    fn run(root: &Root, node: u32) -> CompactReport {
        let mut compactor = Compactor::new(root, Geometry::X86_64);
        assert_eq!(compactor.report(), None);
        compactor.order(&Compact::Start(CompactAsk { node, ..CompactAsk::EXAMPLE }));
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < Duration::from_secs(30), "no report");
            if let Some(report) = compactor.report() {
                return report;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_run_writes_to_its_node_and_tells_what_it_saw() {
        let scratch = Scratch::new();
        let report = run(&root(&scratch, 0), 0);
        let text = fs::read_to_string(scratch.join(format!("{NODES}/node0/compact")));
        assert_eq!(text.expect("there"), "1");
        assert_eq!((report.end, report.reason), (CompactEnd::Complete, None));
        assert_eq!((report.free_before, report.free_after), (Some(9), Some(9)));
        assert_eq!((report.taken, report.won()), (Some(0), Some(0)));
        assert_eq!(report.unmovable_percent, Some(20.0));
        assert!(report.fmfi_before.is_some_and(|fmfi| fmfi > 0.0 && fmfi < 0.01), "{report:?}");
    }

    #[test]
    fn where_most_cannot_be_moved_nothing_is_begun() {
        let scratch = Scratch::new();
        let report = run(&root(&scratch, 1), 1);
        let text = fs::read_to_string(scratch.join(format!("{NODES}/node1/compact")));
        assert_eq!(text.expect("there"), "");
        let refused = (CompactEnd::Refused, Some(SkipReason::UnmovableMemory));
        assert_eq!((report.end, report.reason), refused);
        assert_eq!((report.unmovable_percent, report.cpu), (Some(80.0), Ns(0)));
    }

    #[test]
    fn what_other_nodes_give_out_was_not_made_here() {
        let free = |blocks, given_out| Free { blocks, fmfi: None, given_out };
        let (before, after) = (free(Some(2), Some(100)), free(Some(6), Some(140)));
        let scratch = Scratch::new();
        let of_two = |number| {
            let root = root(&scratch, number);
            Node { root, geometry: Geometry::X86_64, number }
        };
        for node in [of_two(0), of_two(1)] {
            assert_eq!(node.taken(before, after, Some(9)), Some(3));
            // More were free in the end than whenever it was looked before.
            assert_eq!(node.taken(before, after, Some(4)), Some(0));
        }
        let alone = of_two(0);
        let first = BUDDYINFO.lines().next().expect("node 0");
        fs::write(scratch.join("proc/buddyinfo"), first).expect("written");
        assert_eq!(alone.taken(before, after, Some(9)), Some(40));
        assert_eq!(alone.taken(before, free(Some(6), None), Some(9)), None);
    }

    #[test]
    fn without_the_file_it_is_refused() {
        let scratch = Scratch::new();
        let report = run(&root(&scratch, 0), 5);
        assert_eq!(report.reason, Some(SkipReason::NoMechanism));
        assert_eq!(file_of(&Root::at(Scratch::new().path()), 0), WHOLE_MACHINE);
    }
}
