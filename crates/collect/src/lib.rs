//! What a live machine says as evidence: captures of its files ([`capture`]), the kernel's log
//! ([`kernel_log`]), probes that notice freezes ([`freeze`]), HugeTLB pools with their users, and
//! the way they are changed ([`hugetlb`]). Decides nothing: that is `hugewise-evidence`.

#![warn(missing_docs)]

pub mod advice;
pub mod capture;
mod clocks;
pub mod freeze;
pub mod hugetlb;
pub mod kernel_log;
mod sampling;
