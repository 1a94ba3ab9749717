//! The readers: one a format, found by content.
//!
//! A reader takes lines as long as they are its own. It never panics, keeps no more than a header
//! and what the next line needs, and puts what it understands into the [`Builder`].

mod atop;
mod atop_json;
mod atop_screen;
mod atop_text;
mod atopsar;
pub mod audit;
mod buddyinfo;
pub mod capture;
mod cgroup_memory;
#[cfg(test)]
mod check;
pub mod clocks;
pub mod controller;
mod dstat;
pub mod ethtool;
pub mod failures;
mod free;
mod gc;
mod grepped;
mod iftop;
pub mod interrupts;
mod iotop;
mod ipcs;
mod json;
mod jstat;
pub mod kernel_log;
mod machine_facts;
pub mod mdstat;
mod meminfo;
mod multipath;
mod nfsiostat;
mod numa;
mod perf;
mod php_fpm;
mod prelude;
mod prompt;
mod ps;
mod psql;
mod reader;
mod redis;
mod schedstat;
mod served;
mod shell;
mod smaps;
mod socket_counts;
mod sockets;
mod softnet;
pub mod storage;
mod stub_status;
mod syscalls;
mod sysstat;
mod task_stacks;
mod tcp_counts;
mod thread_dump;
mod top;
mod top_words;
mod vmstat;
mod vmstat_counts;
mod words;
mod zoneinfo;

pub(super) use prompt::is_tool;
pub use reader::{LINES_AROUND, Lines, Reader, Taken};

use super::Builder;

/// Tells whether a format begins at a place. Such a function has called [`Builder::begin`] when
/// it gives a reader, and changed nothing when it does not. `shell`, whose lines are mostly no
/// data, leaves it to its reader.
type Begins = fn(&Lines<'_>, &mut Builder) -> Option<Box<dyn Reader>>;

/// The formats, the more particular ones first.
const FORMATS: &[Begins] = &[
    thread_dump::begins,
    thread_dump::go::begins,
    redis::begins,
    redis::info::begins,
    redis::slow_log::begins,
    redis::latency::begins,
    php_fpm::begins,
    php_fpm::begins_json,
    stub_status::begins,
    psql::begins,
    atop_text::begins,
    atop_screen::begins,
    atopsar::begins,
    shell::begins,
    smaps::begins,
    grepped::begins,
    failures::begins,
    audit::begins,
    perf::begins,
    kernel_log::begins,
    sysstat::timed::begins,
    sysstat::csv::begins,
    sysstat::iostat::begins,
    dstat::begins,
    top::begins,
    storage::begins_df,
    storage::begins_mounts,
    ethtool::begins,
    ps::begins,
    machine_facts::begins,
    clocks::begins,
    numa::begins,
    mdstat::begins,
    multipath::begins,
    nfsiostat::begins,
    jstat::begins,
    controller::begins,
    zoneinfo::begins,
    task_stacks::begins,
    ipcs::begins,
    iotop::begins,
    iftop::begins,
    tcp_counts::begins,
    socket_counts::begins,
    sockets::begins,
    free::begins,
    meminfo::begins,
    interrupts::begins,
    softnet::begins,
    schedstat::begins,
    syscalls::begins,
    buddyinfo::begins,
    vmstat::begins,
    vmstat_counts::begins,
    gc::begins,
];

/// Reads a text that is JSON of one tool; `false`, and nothing changed, when it is another's.
type ReadsJson = fn(&[u8], &mut Builder) -> bool;

/// The tools with JSON.
const JSON_FORMATS: &[ReadsJson] =
    &[sysstat::sadf::read, atop_json::read, php_fpm::read, thread_dump::read_json];

/// The reader of the format that begins here.
pub(super) fn find(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    FORMATS.iter().find_map(|begins| begins(lines, out))
}

/// Reads a text that is JSON of a known tool; `false` when it is not.
pub(super) fn read_json(bytes: &[u8], out: &mut Builder) -> bool {
    let object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    object && JSON_FORMATS.iter().any(|reads| reads(bytes, out))
}
