//! HugeTLB pools: how many pages, for which program, at which price for all others; and whether
//! what was granted does what was planned.
//!
//! ```text
//! Facts (a live machine, a capture, a pasted text) --+
//!                                                    +-> plan -> grow, files -> verify
//! Inputs (--sga 10G --headroom 2G ...) --------------+
//! ```
//!
//! Everything here is pure. [`facts`] is what was seen ([`pools`] and [`recorded`] fill it),
//! [`demand`] who needs how many pages and
//! why ([`java`], [`product`]), [`plan`] the sum with its [`warning`]s, [`grow`] how a pool is
//! grown step by step, [`files`] what stands in configuration files, [`verify`] expected against
//! actual, [`verify_recorded`] the same from a recording, [`tables`] what page tables cost, which
//! `diagnose` uses, too.

mod attribute;
mod check;
pub mod demand;
pub mod facts;
pub mod files;
pub mod grow;
pub mod input;
pub mod java;
pub mod plan;
mod planned;
pub mod pools;
pub mod product;
pub mod recorded;
pub mod tables;
pub mod verify;
pub mod verify_recorded;
pub mod warning;
