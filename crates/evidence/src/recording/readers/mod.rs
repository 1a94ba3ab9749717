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
pub(crate) mod awr;
mod buddyinfo;
pub mod capture;
mod cgroup_memory;
#[cfg(test)]
mod check;
pub mod clocks;
mod conntrack;
pub mod controller;
mod diskstats;
mod docker;
mod dstat;
mod error_chain;
pub mod ethtool;
pub mod failures;
mod free;
mod gc;
mod glance;
mod grepped;
mod histogram;
mod htop;
mod iftop;
mod innodb;
pub mod interrupts;
mod iotop;
mod json;
mod jstat;
pub mod kernel_log;
mod kube;
mod links;
mod listing;
mod log_prefix;
mod lsof;
mod machine_facts;
pub mod mdstat;
mod meminfo;
mod metrics;
mod multipath;
mod mysql;
mod nfsiostat;
mod numa;
mod oracle;
mod perf_stat;
mod php_fpm;
mod prelude;
pub(crate) mod profile;
mod prompt;
mod ps;
mod psql;
pub(crate) mod queries;
mod reader;
mod redis;
mod schedstat;
mod served;
mod shell;
mod smaps;
mod smart;
mod socket_counts;
mod sockets;
mod softnet;
mod statement;
mod statements;
pub mod storage;
mod strace;
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
mod zpool;

pub(super) use prompt::is_tool;
pub use reader::{LINES_AROUND, Lines, Reader, Taken};
pub(crate) use shell::RED_HAT_THP;

use self::glance::Glance;
use super::Builder;

/// Tells whether a format begins at a place. Such a function has called [`Builder::begin`] when
/// it gives a reader, and changed nothing when it does not. `shell`, whose lines are mostly no
/// data, leaves it to its reader.
type Begins = fn(&Lines<'_>, &mut Builder) -> Option<Box<dyn Reader>>;

/// Whether a format may begin at a line that holds this: `false` only where it cannot.
type May = fn(&Glance<'_>) -> bool;

/// A table of formats, and which of them may begin at a line, as bits. All of that in one function:
/// a call for each format takes three times as long as what most of them look at.
macro_rules! formats {
    ($(($may:expr, $begins:expr $(,)?)),+ $(,)?) => {
        const FORMATS: &[(May, Begins)] = &[$(($may, $begins)),+];

        fn candidates(line: &Glance<'_>) -> u128 {
            const { assert!(FORMATS.len() <= 128) };
            if is_too_short(line) {
                return 0;
            }
            let (mut all, mut at) = (0, 0);
            $(
                all |= u128::from(may($may, line)) << at;
                at += 1;
            )+
            let _ = at;
            all
        }
    };
}

/// Whether a line is one word that is shorter than any at which a format begins.
fn is_too_short(line: &Glance<'_>) -> bool {
    let letters = line.only("") && !line.any("0123456789");
    letters && !line.foreign() && !line.awaited && line.length_max(2)
}

#[inline(always)]
fn may(may: impl Fn(&Glance<'_>) -> bool, line: &Glance<'_>) -> bool {
    may(line)
}

// The more particular ones come first.
// tidy: table
formats![
    (
        |line| {
            let number = line.ends_with_digit() || line.ends(":Z");
            line.begins("\"") || line.has("Fulthreadmp") || number && line.words_max(2)
        },
        thread_dump::begins,
    ),
    (|line| line.has("gorutine[]:") || line.has("SIGQUT:quit"), thread_dump::go::begins),
    (|line| line.begins("=*") || line.has("INODBMTRUP"), innodb::begins),
    (|line| line.any(">"), redis::begins),
    (|line| line.is_named(1) && line.begins_with_letter() || line.begins("#"), redis::info::begins),
    (
        |line| line.begins_with_digit() && (line.any(")") || line.words_max(1)),
        redis::slow_log::begins,
    ),
    (
        |line| {
            let listed = line.begins_with_digit() && (line.any(")") || line.has(".:("));
            let word = line.words_max(1) && line.begins("abcdefghijklmnopqrstuvwxyz");
            listed || word || line.has("Dave,")
        },
        redis::latency::begins,
    ),
    (|line| line.is_named(3) && line.begins("pmsalti"), php_fpm::begins),
    (|line| line.has("{\"pol:}"), php_fpm::begins_json),
    (|line| line.has("Activeons:") || line.has("servacpthndlqu"), stub_status::begins),
    (|line| line.foreign() || line.only("_?.,|+-=*[]") && line.any("|,+["), psql::begins),
    (
        |line| {
            let row = line.words_min(6) && line.any(":") && line.any("-/");
            row && !line.begins_with_digit() || line.has("SEP") || line.has("RESET")
        },
        atop_text::begins,
    ),
    (|line| line.has("ATOP-"), atop_screen::begins),
    (
        |line| {
            line.any("#")
                || line.has("analysidte:-")
                || line.begins_with_digit() && line.is_named(1)
        },
        atopsar::begins,
    ),
    (
        |line| {
            let prompt = line.any("$#%>") || line.foreign() || line.begins("=-");
            let file = line.any("/") && line.begins("/cghtes");
            let setting = line.has("=.") && line.begins("vknfsd") || line.has("[perfcod:");
            let in_loop = line.has("forshin") && line.text.contains("ssh");
            prompt || file || setting || in_loop || line.awaited
        },
        shell::begins,
    ),
    (|line| line.has("[rolup]-"), smaps::begins),
    (
        |line| line.any(":") && line.begins("/mcpi") || line.words_max(2) && line.ends_with_digit(),
        grepped::begins,
    ),
    (|line| line.begins("ML") || line.has("/procmas"), failures::begins),
    (
        |line| line.has("OMKiled")
            || line.has("containr(=")
            || line.begins("[{") && line.length_max(1),
        docker::begins,
    ),
    (
        |line| {
            let key = line.any(":") && (line.has("State") || line.has("Reson"));
            key || line.has("TREASON")
                || line.has("TypeRason")
                || line.has("NAMEDYSTU")
                || line.has("TypeStausLrbm")
                || line.has("Alocatedrsu:")
                || line.has("RestaCoun:")
                || line.awaited
        },
        kube::begins,
    ),
    (|line| line.begins("E") && line.any(":"), error_chain::begins),
    (statements::may, statements::begins),
    (
        |line| {
            let attribute = line.has("Sect_") || line.has("Reportd_Unc") || line.has("Ofline_U");
            let table = line.has("ATRIBUE_NM") || line.has("Pre-fail") || line.has("Old_age");
            attribute || table || line.has("Error:UNC")
        },
        smart::begins
    ),
    (
        |line| line.has("argePs")
            || line.has("Perocsmlk()")
            || line.has("EXPCTD_AGS")
            || line.has("SGA"),
        oracle::begins,
    ),
    (
        |line| {
            let memory = line.has("Mem(B):") || line.has("SGAus(MB):");
            let table = line.has("SGAregions") || line.has("ParmetNBginvlu");
            memory || table || line.has("Other") && line.words_min(10)
        },
        awr::begins,
    ),
    (|line| line.begins("eblA"), audit::begins),
    (
        |line| {
            let head = line.begins("#CO") || line.has("PerfTo:") || line.has("Samplesofvnt'");
            head || line.any("%") && (line.has("[]") || line.words_max(4))
        },
        profile::table::begins,
    ),
    (profile::may, profile::begins),
    (|line| line.begins("<["), gc::vendors::begins),
    (
        |line| {
            let named = line.holds("kernel:") || line.holds("kern:");
            let kernel = named || line.begins("[<") || line.awaited;
            let memory = line.holds("oom") || line.holds("emory");
            let killed = memory || line.holds("illed process") || line.holds("as a result of");
            let killed = killed && kernel_log::may_be_kill(line.text);
            let titled = kernel_log::untitled(line.text);
            let headed = line.any(": ") && kernel_log::is_headed(titled);
            let report = line.any(":=U") || line.has("[cuther]");
            kernel || killed || headed || report && kernel_log::may_be_report(line.text)
        },
        kernel_log::begins,
    ),
    (
        |line| {
            let averages = line.is_named(2) && line.begins_with_letter() || line.has("Linux(");
            let half = line.begins("AaPp") && line.any("0123456789");
            let timed = half || line.begins("#0123456789");
            averages || timed || line.foreign() || line.awaited
        },
        sysstat::timed::begins,
    ),
    (|line| line.any("\t") || line.has("#hostname;") || line.has("LINUX-;"), sysstat::csv::begins),
    (|line| line.begins("<") && (line.has("?xml") || line.has("=\"")), sysstat::xml::begins),
    (
        |line| {
            let timed = line.colons_min(2) || line.any(".") || line.foreign();
            let moment =
                timed && line.words_max(10) && line.length_max(sysstat::iostat::MOMENT_BYTES_MAX);
            moment || line.has("avg-cpu:") || line.has("Device") || line.has("Linux(")
        },
        sysstat::iostat::begins,
    ),
    (|line| line.begins("-") && line.ends("-") || line.begins("\""), dstat::begins,),
    (
        |line| {
            let named = line.is_named(2) && (line.begins_with_letter() || line.begins("%"));
            let summary = named || line.any(":") && line.begins("%CTM");
            summary || line.has("PID%CU") || line.has("top-ladverg")
        },
        top::begins,
    ),
    (queries::may, queries::begins),
    (|line| line.any("%"), storage::begins_df),
    (
        |line| line.any("/") && (line.has("ontype()") || line.words_min(6) && line.ends("012")),
        storage::begins_mounts,
    ),
    (|line| line.has("Setingsfor:") || line.has("NICstaisc:") || line.awaited, ethtool::begins,),
    (|line| line.has("<>") || line.has("Linkencp:") || line.has("Xpackets"), links::begins),
    (
        |line| {
            let columns = line.has("I") && (line.has("Time") || line.has("TIME"));
            line.begins("*") && line.has("row.") || line.begins("+") || columns
        },
        mysql::begins,
    ),
    (|line| line.has("[]%") || line.has("Mem[]/") || line.has("Swp[]/"), htop::begins),
    (|line| line.has("node_") || line.begins("#"), metrics::begins),
    (|line| line.has(":countdisrb") || line.begins("@"), histogram::begins),
    (|line| line.has("cpu=fond"), conntrack::begins),
    (|line| line.has("Perfomancutsi:") || line.any(","), perf_stat::begins),
    (
        |line| line.has("()=") || line.has("Proces") || line.has("IG") || line.any(">"),
        strace::begins
    ),
    (
        |line| {
            let device = line.words_min(14) && line.begins_with_digit();
            let of_vmstat = line.has("disk-reaw");
            device || of_vmstat || line.words_max(4) && line.any("0123456789")
        },
        diskstats::begins
    ),
    (listing::may, listing::begins),
    (listing::may_line, listing::begins_line),
    (|line| line.awaited, ps::begins),
    (|line| line.has("COMANDPIUSERF") || line.has("(delt)"), lsof::begins),
    (
        |line| {
            let load = line.has("/.") && line.words_min(5) && line.words_max(5);
            let up = line.begins_with_digit() && line.has("uploadverg");
            load || up
                || line.is_named_apart(1) && line.begins("CP")
                || line.any(":") && line.begins("A")
        },
        machine_facts::begins,
    ),
    (
        |line| {
            let cpuinfo =
                line.holds("cpu MHz") || line.holds("model name") || line.holds("nalyzing CPU");
            cpuinfo || line.has("Bzy_MH")
        },
        clocks::begins,
    ),
    (|line| line.has("ode") && line.begins("nNPa"), numa::begins),
    (
        |line| {
            let listed = line.holds(" : ") && line.begins("mM") || line.holds("Personalities :");
            listed || line.begins("/") && line.ends(":")
        },
        mdstat::begins
    ),
    (|line| line.has("pol:") && line.is_named(1) || line.has("state:"), zpool::begins),
    (
        |line| {
            let map = line.holds(" dm-") || line.holds("features=") || line.holds("policy=");
            map || line.colons_min(4) && line.words_min(4)
        },
        multipath::begins,
    ),
    (|line| line.has("mounted/:"), nfsiostat::begins),
    (|line| line.has("OFGCT"), jstat::begins),
    (|line| line.has("CurentachPoliy:") || line.awaited, controller::begins),
    (|line| line.has("Node,z"), zoneinfo::begins),
    (
        |line| line.any("=-#*>:[]|()") && (line.any("0123456789") || line.foreign()),
        task_stacks::begins,
    ),
    (|line| line.has("DISK"), iotop::begins),
    (
        |line| {
            line.has("=>")
                || line.begins_with_digit() && line.ends("bB")
                || line.has("#Hostnameculiv")
        },
        iftop::begins,
    ),
    (
        |line| {
            line.begins("ITUM#")
                || line.begins_with_digit() && (line.holds("segments ") || line.holds("times "))
        },
        tcp_counts::begins,
    ),
    (
        |line| line.begins("T") || line.begins_with_digit() && line.words_max(4) || line.awaited,
        socket_counts::begins,
    ),
    (
        |line| {
            let head = line.has("Recv-Q") || line.has("Active") || line.has("ProtRefCn");
            let row = line.begins("tuESCLTFNBU") || line.begins_with_digit();
            let ends = line.is_named_behind(2) || line.holds("::");
            let unix = line.begins("u") && line.has("u_s") && line.words_min(6);
            head || unix || row && ends && line.colons_min(2)
        },
        sockets::begins,
    ),
    (
        |line| line.words_min(3)
            && (line.holds("total")
                || line.words_min(6)
                    && line.words_max(14)
                    && (line.foreign() || !line.any("0123456789:"))),
        free::begins,
    ),
    (|line| line.is_named_apart(1) && line.begins_with_letter(), meminfo::begins),
    (
        |line| line.has("CPU") || line.is_named_apart(1) && line.any("0123456789"),
        interrupts::begins,
    ),
    (|line| line.words_min(9) && line.begins("0123456789abcdefABCDEF"), softnet::begins),
    (|line| line.begins("v") || line.begins("c") && line.awaited, schedstat::begins),
    (|line| line.holds("syscall") || line.holds("Process "), syscalls::begins),
    (|line| line.has("Nodezn"), buddyinfo::begins),
    (
        |line| {
            let groups = line.any("-") && line.words_min(5) && line.words_max(12);
            let columns = line.words_min(16) && line.words_max(24);
            groups || columns || line.holds("swpd") || line.holds("procs")
        },
        vmstat::begins,
    ),
    (
        |line| {
            let between = line.begins("-") || line.begins_with_digit() && line.any("c");
            let count = line.words_max(3) && line.ends_with_digit();
            between || count && line.begins("<nptcakow")
        },
        vmstat_counts::begins,
    ),
    (
        |line| {
            let timed = line.begins_with_digit() && line.any("[");
            let note = line.begins("{HADP-") || line.has("GC()");
            let head = line.begins("JO") && line.has("JRE(");
            timed || note || head || line.begins("[") || line.holds("pplication")
        },
        gc::begins,
    ),
    (|line| line.begins("[g") && line.has("ms"), gc::runtimes::begins),
    (
        |line| line.begins("<")
            && (line.any("?")
                || line.has("gcverbos")
                || line.has("id=")
                || line.has("exclusv-tar")),
        gc::openj9::begins
    ),
];

/// Reads a text that is JSON of one tool; `false`, and nothing changed, when it is another's.
type ReadsJson = fn(&[u8], &mut Builder) -> bool;

/// The tools with JSON.
const JSON_FORMATS: &[ReadsJson] =
    &[sysstat::sadf::read, atop_json::read, php_fpm::read, thread_dump::read_json];

/// The reader of the format that begins here.
pub(super) fn find(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = Glance::of(lines.ahead(0), out.awaits());
    // Tests try all of them.
    let mut left = if cfg!(test) { (1 << FORMATS.len()) - 1 } else { candidates(&line) };
    while left != 0 {
        let (may, begins) = FORMATS[left.trailing_zeros() as usize];
        left &= left - 1;
        if let Some(reader) = begins(lines, out) {
            let meant = may(&line) && !is_too_short(&line);
            debug_assert!(meant, "a format begins where it cannot: {:?}", lines.ahead(0));
            return Some(reader);
        }
    }
    None
}

pub(super) use profile::pprof::read as read_pprof;

/// Reads a text that is JSON of a known tool; `false` when it is not.
pub(super) fn read_json(bytes: &[u8], out: &mut Builder) -> bool {
    let object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    object && JSON_FORMATS.iter().any(|reads| reads(bytes, out))
}
