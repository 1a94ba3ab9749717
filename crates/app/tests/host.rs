//! The program as a user meets it, where nothing but the program is needed. One test program for
//! all: each is linked anew whenever a crate changes.

#![allow(clippy::disallowed_types, reason = "tests speak to servers over TCP")]

extern crate self as libfuzzer_sys;

mod advise;
mod follow;
mod fuzz;
mod hugetlb;
mod install;
mod lab;
mod lab_protocol;
mod output;
mod placement;
mod record;
mod reference;
mod replays;
mod response;
mod schemas;
