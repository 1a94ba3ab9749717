//! Experiments: what is compared, in which order, what each run gave, and what follows from it.
//!
//! An experiment is a file ([`spec`]). It names a kind of workload ([`kind`]) and the variants that
//! are compared. [`schedule`] says which run comes next, [`record`] is what a run leaves on disk,
//! [`compare`] says what differs. [`tools`] reads what programs of others print.
//!
//! A [`ledger`] is an experiment on a live service: hypotheses instead of variants, and a
//! [`verdict`] on each. A [`limit`] is the rate at which a server is full, and what fills.
//!
//! A [`suite`] is many workloads under the same variants; [`regret`] says where one of hugewise's
//! modes is behind the best of the others.
//!
//! Pure: nothing here touches files, the clock, the environment, threads or random hash order
//! (`clippy.toml`).

#![warn(missing_docs)]

pub mod across;
pub mod chains;
pub mod check;
pub mod compare;
pub mod counters;
pub mod enough;
pub mod kind;
pub mod kinds;
pub mod ledger;
pub mod limit;
pub mod load;
pub mod machine;
pub mod metric;
pub mod propose;
pub mod quiet;
pub mod record;
pub mod regret;
pub mod schedule;
pub mod settings;
pub mod spec;
pub mod stages;
pub mod suite;
pub mod summary;
pub mod tools;
pub mod verdict;
