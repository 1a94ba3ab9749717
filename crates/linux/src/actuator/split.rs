//! Demotion: `MADV_COLD` on one base page splits the huge page, or the block, that it belongs to.
//!
//! In a region that is not huge one call for each larger folio that holds pages which nobody wrote
//! splits it, and these come back (`docs/measurements.md#multi-size-faults`).
//!
//! The kernel reports success whether it split or not
//! (`docs/measurements.md#splitting-a-huge-page`), so the outcome is what the page tables show
//! afterwards.

use super::Actuator;
use crate::address_space;
use crate::machine::{self, Folios};
use crate::pages::{Counts, Detail, Frames, PageReader};
use crate::root::Root;
use crate::target::Target;
use hugewise_base::units::Ns;
use hugewise_manager::decision::{Call, Decision, FailureClass, Motive, Outcome};
use hugewise_manager::reason::SkipReason;
use hugewise_sys::madvise::RemoteAdvice;
use hugewise_sys::{Errno, cpu};
use std::os::fd::BorrowedFd;

/// What the page tables showed before the call.
struct Before {
    counts: Counts,
    detail: Detail,
    /// Of the whole machine; read only where page frames are hidden.
    splits: Option<u64>,
    /// The same of folios of multi-size THP, where they are to be split.
    folios: Folios,
    /// Addresses of pages that are named to the kernel: one after the other until it has split, or
    /// at once where each names another folio.
    named: Vec<Vec<u64>>,
}

impl Actuator {
    /// Splits what `decision` names.
    pub(super) fn demote(
        &self,
        root: &Root,
        pages: &mut PageReader,
        target: &mut Target,
        decision: &Decision,
    ) -> Outcome {
        let began = cpu::thread_cpu_time_ns();
        let spent = || Ns(cpu::thread_cpu_time_ns().saturating_sub(began));
        let skipped = |reason| Outcome::Skipped { reason, warm: None, cpu: spent() };
        let mut before = match self.check_split(root, pages, target, decision) {
            Ok(before) => before,
            Err(reason) => return skipped(reason),
        };
        if !self.acts() {
            let populated = u16::try_from(before.counts.populated()).unwrap_or(u16::MAX);
            return Outcome::Withheld { populated };
        }
        let mut call = Call { took: Ns(0), asleep: true };
        let failed = |class: FailureClass, reason, errno, call| Outcome::Failed {
            class,
            reason,
            errno,
            warm: None,
            call,
            cpu: spent(),
        };
        // Where frames are hidden, a page may be one that came after the block's was dropped.
        for stretch in std::mem::take(&mut before.named) {
            let (base, cold) = (self.geometry.base.0, RemoteAdvice::Cold);
            let advise = |pidfd: BorrowedFd<'_>| {
                stretch.iter().try_for_each(|page| {
                    address_space::advise(pidfd, *page, base, cold).map(|_| ())
                })
            };
            let (answer, one) = target.timed(advise);
            call = Call { took: call.took + one.took, asleep: call.asleep && one.asleep };
            match answer {
                Ok(()) => {}
                // The page was unmapped, or the process ended, meanwhile.
                Err(errno) if matches!(errno, Errno::SRCH | Errno::NOMEM) => {
                    let class = FailureClass::Transient;
                    return failed(class, SkipReason::NoLongerHuge, Some(errno.0), call);
                }
                Err(errno) => {
                    let class = FailureClass::of_errno(errno.0);
                    return failed(class, class.reason(), Some(errno.0), call);
                }
            }
            match self.given_back(root, pages, target, decision, &before) {
                Ok(Some(freed)) => return Outcome::Demoted { freed, call, cpu: spent() },
                Ok(None) if before.splits.is_some() => {}
                Ok(None) => break,
                Err(reason) => return failed(FailureClass::Transient, reason, None, call),
            }
        }
        failed(FailureClass::Transient, SkipReason::NotSplit, None, call)
    }

    fn check_split(
        &self,
        root: &Root,
        pages: &mut PageReader,
        target: &mut Target,
        decision: &Decision,
    ) -> Result<Before, SkipReason> {
        target.renew(root)?;
        let (counts, detail) = target.look(pages, decision.region, Frames::Wanted)?;
        if detail.file > 0 {
            return Err(SkipReason::SharedMapping);
        }
        if detail.shared > 0 {
            return Err(SkipReason::SharedPages);
        }
        let partial = decision.motive == Motive::PartiallyMapped;
        if partial && counts.huge {
            return Err(SkipReason::AlreadyHuge);
        }
        if partial && (detail.held == Some(0) || counts.present == counts.zero) {
            return Err(SkipReason::NothingHeld);
        }
        if decision.motive == Motive::Unwritten {
            if counts.huge {
                return Err(SkipReason::AlreadyHuge);
            }
            let region = decision.region;
            let folios = machine::folios(root);
            let largest = folios.largest;
            let pieces = target.unwritten_pieces(root, pages, region, self.geometry, largest)?;
            if pieces.is_empty() {
                return Err(SkipReason::NothingHeld);
            }
            let address = |page: u32| region.0 + self.geometry.bytes(page.into()).0;
            let named = vec![pieces.into_iter().map(address).collect()];
            return Ok(Before { counts, splits: None, folios, detail, named });
        }
        if !partial && !counts.huge {
            return Err(SkipReason::NoLongerHuge);
        }
        let hidden = partial && detail.held.is_none();
        // Without frames and without a counter nothing could be verified.
        let count = || machine::splits(root, self.geometry).ok_or(SkipReason::NoMechanism);
        let splits = hidden.then(count).transpose()?;
        let named = detail.named.into_iter().flatten().map(|page| vec![page]).collect();
        Ok(Before { counts, detail, splits, folios: Folios::default(), named })
    }

    /// Base pages that came back, if the block is split now.
    fn given_back(
        &self,
        root: &Root,
        pages: &mut PageReader,
        target: &Target,
        decision: &Decision,
        before: &Before,
    ) -> Result<Option<u16>, SkipReason> {
        let (counts, detail) = target.look(pages, decision.region, Frames::Wanted)?;
        let small = |pages: u32| u16::try_from(pages).unwrap_or(u16::MAX);
        if before.counts.huge {
            let freed = before.counts.populated().saturating_sub(counts.populated());
            return Ok((!counts.huge).then(|| small(freed)));
        }
        if decision.motive == Motive::Unwritten {
            let freed = before.counts.populated().saturating_sub(counts.populated());
            // What was dropped before is not among these pages: the folios that are whole now less
            // what is left of them, and no more than is missing.
            let now = machine::folios(root);
            let whole = before.folios.in_pieces.saturating_sub(now.in_pieces);
            let whole = u32::try_from(whole.0 / self.geometry.base.0).unwrap_or(u32::MAX);
            let missing = self.geometry.pages_per_huge().saturating_sub(before.counts.present);
            let dropped = whole.saturating_sub(before.counts.present).min(missing);
            let split = freed > 0 || now.splits > before.folios.splits;
            return Ok(split.then(|| small(freed + dropped)));
        }
        let missing = self.geometry.pages_per_huge().saturating_sub(before.counts.present);
        Ok(match before.splits {
            Some(splits) => {
                let split = machine::splits(root, self.geometry).is_some_and(|now| now > splits);
                split.then(|| small(missing))
            }
            None => (detail.held == Some(0)).then(|| before.detail.held.unwrap_or(0)),
        })
    }
}
