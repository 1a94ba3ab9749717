//! HugeTLB pools: how many pages, for whom, at which price for everybody else; and whether what
//! was granted does what was planned.
//!
//! ```text
//! Facts (a live machine, a capture, a pasted text) --+
//!                                                    +-> plan -> Plan -> grow, files -> verify
//! Inputs (--sga 10G --headroom 2G ...) --------------+
//! ```
//!
//! Everything here is pure. [`facts`] is what was seen, [`demand`] who needs how many pages and
//! why, [`plan`] the sum with its warnings, [`grow`] how a pool is grown step by step, [`files`]
//! what stands in configuration files, [`verify`] expected against actual, [`tables`] what page
//! tables cost, which `diagnose` uses, too.

pub mod facts;
pub mod pools;
pub mod recorded;
