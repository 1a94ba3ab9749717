//! Checks within the kernel that failed, by the reports that it writes then.

use super::prelude::*;
use crate::diagnose::nodes::log::warnings;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::KernelWarned,
    severity: Severity::Note,
    title: "A check within the kernel failed: a bug of it or of a driver, and no failure yet",
    id: "log.kernel_warnings",
    question: "Did a check within the kernel fail?",
    how: "Reports in the kernel's log: WARNING, and those of lockdep and RCU about locks.",
    limits: &[T::LogOld],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whether it is known: the function and the file of its first line",
            "dmesg -T | grep -A40 -E 'WARNING:|INFO:'",
            "a fix names the function",
        ),
        Remedy::new(
            Reach::Machine,
            "take a newer kernel or driver, where it comes again",
            "uname -r; cat /proc/sys/kernel/tainted",
            "no new reports",
        ),
    ],
    judge: warnings,
};
