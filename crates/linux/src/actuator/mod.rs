//! Carries decisions out: re-check, warm, act, verify.

mod ahead;
mod config;
mod nodes;
mod split;

pub use self::config::ActuatorConfig;

use self::ahead::{Ahead, Block};
use self::nodes::Nodes;
use crate::address_space;
use crate::content::SAMPLE;
use crate::machine;
use crate::pages::{Frames, PageReader};
use crate::room;
use crate::root::Root;
use crate::target::Target;
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::decision::{Action, Call, Decision, FailureClass, Motive, Outcome};
use hugewise_manager::gate::{self, Asked, CheckFacts};
use hugewise_manager::reason::SkipReason;
use hugewise_sys::Errno;
use hugewise_sys::cpu::{self, CpuPin};
use hugewise_sys::madvise::RemoteAdvice;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::fs::File;
use std::time::Instant;

/// How a failed allocation of a page of one node is classed: the kernel looked there only
/// (`alloc_charge_folio`), and a block may be free there that its reserve keeps from us, so no
/// other node is short.
const LACKS_ON_NODE: (FailureClass, SkipReason) =
    (FailureClass::Transient, SkipReason::NoFreeHugePageOnNode);

/// Where a promotion's free block comes from.
struct Destination {
    /// A warmed block goes back to this CPU's free list, and is taken from there: stay here.
    pin: Option<CpuPin>,
    /// What its warm-up took, if it had one.
    warm: Option<Ns>,
    /// It was warmed just now, not ahead.
    fresh: bool,
}

/// What a re-check found of a region that may become huge.
struct Checked {
    /// Populated base pages, without those that a sample shows to hold only zeros.
    written: u16,
    /// The NUMA node that its huge page would come from; `None`: it does not matter, or is unknown.
    node: Option<u32>,
}

/// How far an actuator goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// Does it.
    Act,
    /// Everything but the last step: `--dry-run`.
    Rehearse,
}

/// The only part of hugewise that changes memory of other processes.
#[derive(Debug)]
pub struct Actuator {
    reach: Reach,
    geometry: Geometry,
    /// Own memory through which destinations are warmed, and the file that shows its pages;
    /// `None` where that cannot be had.
    block: Option<(Block, File)>,
    /// Blocks warmed ahead, from the first decision on that wants one; `None` where they cannot be.
    ahead: OnceCell<Option<Ahead>>,
    config: ActuatorConfig,
    nodes: Nodes,
    /// [`machine::failed_allocations`] when it was last read.
    failed_allocations: Option<u64>,
}

impl Actuator {
    /// An actuator on the machine below `root`.
    pub fn new(root: &Root, reach: Reach, geometry: Geometry, config: ActuatorConfig) -> Self {
        let failed_allocations = machine::failed_allocations(root);
        let own_pages = || File::open("/proc/self/pagemap");
        let block = Block::new(geometry).and_then(|block| Ok((block, own_pages()?))).ok();
        let (ahead, nodes) = (OnceCell::new(), Nodes::new(root, config));
        Self { reach, geometry, block, ahead, config, nodes, failed_allocations }
    }

    /// CPU time of the thread that warms ahead so far.
    pub fn ahead_cpu(&self) -> Ns {
        self.ahead.get().and_then(Option::as_ref).map(Ahead::cpu_time).unwrap_or_default()
    }

    /// Carries out `decision` on `target`.
    pub fn act(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        target: &mut Target,
        decision: &Decision,
    ) -> Outcome {
        if decision.motive == Motive::Pressure
            && let Some(ahead) = self.ahead.get().and_then(Option::as_ref)
        {
            ahead.release();
        }
        match decision.action {
            Action::Promote => self.promote(root, pages, target, decision),
            Action::Demote => self.demote(root, pages, target, decision),
        }
    }

    /// Blocks that were warmed ahead and not wanted after all.
    pub fn ahead_unused(&self) -> u64 {
        let ahead = self.ahead.get().and_then(Option::as_ref);
        ahead.and_then(Ahead::unused).unwrap_or(0)
    }

    /// Whether it does what it is told, and not only rehearses it.
    pub fn acts(&self) -> bool {
        self.reach == Reach::Act
    }

    fn promote(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        target: &mut Target,
        decision: &Decision,
    ) -> Outcome {
        let began = cpu::thread_cpu_time_ns();
        let spent = || Ns(cpu::thread_cpu_time_ns().saturating_sub(began));
        let skipped = |reason, warm| Outcome::Skipped { reason, warm, cpu: spent() };
        let Checked { written, node } =
            match self.recheck(root, pages, target, decision, decision.sample) {
                Ok(checked) => checked,
                Err(reason) => return skipped(reason, None),
            };
        if !self.acts() {
            return Outcome::Withheld { populated: written };
        }
        let Destination { pin, warm, fresh } = self.destination(root, pages, decision, node);
        let waited = decision.unhurried && target.await_sleep();
        // Both may take milliseconds, time enough for a fork or an exec: check again.
        if (fresh || waited)
            && let Err(reason) = self.recheck(root, pages, target, decision, false)
        {
            return skipped(reason, warm);
        }
        let (answer, call) = self.collapse(target, decision);
        drop(pin);
        if decision.warm
            && let Some(ahead) = self.ahead(root)
        {
            if decision.another { ahead.ask(node) } else { ahead.release() }
        }
        let failed = |class: FailureClass, reason, errno| Outcome::Failed {
            class,
            reason,
            errno,
            warm,
            call,
            cpu: spent(),
        };
        match answer {
            Ok(_) => match target.look(pages, decision.region, Frames::Ignored) {
                Ok((counts, _)) if counts.huge => {
                    Outcome::Promoted { populated: written, warm, call, cpu: spent() }
                }
                Ok(_) => failed(FailureClass::Transient, SkipReason::RetryLater, None),
                Err(reason) => skipped(reason, warm),
            },
            Err(Errno::SRCH) => skipped(SkipReason::Gone, warm),
            Err(errno) => {
                let class = FailureClass::of_errno(errno.0);
                if class == FailureClass::Allocation && !self.allocation_failed(root) {
                    return match self.recheck(root, pages, target, decision, false) {
                        Err(reason) => skipped(reason, warm),
                        Ok(_) => failed(FailureClass::Refused, SkipReason::Hole, Some(errno.0)),
                    };
                }
                let on_node = node.is_some() && class == FailureClass::Allocation;
                let (class, reason) = match class {
                    FailureClass::Refused => (class, target.refusal(root, decision.mapping)),
                    _ if on_node => LACKS_ON_NODE,
                    _ => (class, class.reason()),
                };
                failed(class, reason, Some(errno.0))
            }
        }
    }

    fn collapse(&self, target: &mut Target, decision: &Decision) -> (Result<u64, Errno>, Call) {
        let (region, huge) = (decision.region.0, self.geometry.huge.0);
        target.timed(|fd| address_space::advise(fd, region, huge, RemoteAdvice::Collapse))
    }

    /// Whether the kernel counted a failed allocation since this was last asked; where it does not
    /// say, it did. ENOMEM also says that a part of the range is not mapped, which any program can
    /// arrange, and for which nobody else should wait.
    fn allocation_failed(&mut self, root: &Root) -> bool {
        let now = machine::failed_allocations(root);
        let before = std::mem::replace(&mut self.failed_allocations, now);
        now.zip(before).is_none_or(|(now, before)| now > before)
    }

    /// Checks again right before acting: the decision may be seconds old. `sample`: also how many
    /// of the pages were written.
    fn recheck(
        &self,
        root: &Root,
        pages: &mut PageReader,
        target: &mut Target,
        decision: &Decision,
        sample: bool,
    ) -> Result<Checked, SkipReason> {
        target.renew(root)?;
        let thp = machine::thp_mode(root, self.geometry);
        let (counts, detail) = target.look(pages, decision.region, Frames::Ignored)?;
        let (populated, shared_memory) = (counts.populated(), decision.shared_memory);
        let zeros = match sample && !counts.huge {
            true => target.zero_pages(root, pages, decision.region, &counts, self.geometry)?,
            false => 0,
        };
        let written = populated.saturating_sub(zeros.into());
        // What the budget pays for was sampled before, and two samples differ.
        let paid = sample && decision.motive == Motive::BloatBudget;
        let error = if paid { 2 * self.geometry.pages_per_huge() / u32::from(SAMPLE) } else { 0 };
        let whole = self.geometry.pages_per_huge();
        // Private memory may lie there by now, which must not be taken for shared.
        let replaced = detail.file < counts.present;
        let is_whole = |target: &Target| {
            target.is_whole(root, decision.mapping, decision.region, self.geometry.huge)
        };
        let holes = shared_memory && (replaced || (counts.present < whole && !is_whole(target)));
        let free = machine::free_of(root, self.geometry, None).huge;
        let facts = CheckFacts {
            thp,
            under_never: self.config.allow_under_never,
            huge: counts.huge,
            swapped: counts.swapped,
            holes,
            shared: if shared_memory { 0 } else { detail.shared },
            file: if shared_memory { 0 } else { detail.file },
            write_protected: detail.write_protected,
            populated: if shared_memory { decision.populated.into() } else { populated },
            written: if shared_memory { decision.populated.into() } else { written + error },
            min_populated: decision.min_populated,
            free_huge: room::obtainable(root, self.geometry, self.config.making, None, free),
        };
        closed(gate::check(&facts, Asked::Binding))?;
        let place = self.nodes.of(target, decision.region, self.geometry)?;
        let facts = self.nodes.facts(root, place, decision.motive, self.geometry);
        closed(gate::node(&facts, Asked::Binding))?;
        let node = place.node();
        let written = if shared_memory { whole } else { written };
        let written = u16::try_from(written).unwrap_or(u16::MAX);
        Ok(Checked { written, node })
    }

    /// Sees to it that the next free block of this CPU is warm, where that is wanted.
    fn destination(
        &mut self,
        root: &Root,
        pages: &mut PageReader,
        decision: &Decision,
        node: Option<u32>,
    ) -> Destination {
        let ready = decision.warm.then(|| self.ahead(root)?.hand_over(node)).flatten();
        if let Some((pin, took)) = ready {
            return Destination { pin: Some(pin), warm: Some(took), fresh: false };
        }
        let pin = cpu::pin_current_thread(cpu::current_cpu()).ok();
        let warm = decision.warm.then(|| self.warm(pages, node)).flatten();
        Destination { pin, warm, fresh: warm.is_some() }
    }

    fn ahead(&self, root: &Root) -> Option<&Ahead> {
        let start = || Ahead::start(root, self.geometry, self.config.warm_cpu_percent);
        self.ahead.get_or_init(start).as_ref()
    }

    /// Takes the next free block, has the host back it, and gives it back to the head of the free
    /// list (`docs/measurements.md#lazily-backed-memory`). `None` where this process cannot get a
    /// huge page by a fault.
    fn warm(&mut self, pages: &mut PageReader, node: Option<u32>) -> Option<Ns> {
        let (block, own_pages) = self.block.as_mut()?;
        let began = Instant::now();
        let warmed = block.touch(pages, own_pages, node);
        (block.free() && warmed).then(|| ns_since(began))
    }
}

/// An error where a gate is closed.
fn closed(reason: Option<SkipReason>) -> Result<(), SkipReason> {
    reason.map_or(Ok(()), Err)
}

fn ns_since(began: Instant) -> Ns {
    Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
