//! What no reader of texts gives yet: values put as a live capture or a profile gives them.

use hugewise_evidence::diagnose::{Diagnosis, Severity, Thresholds, Verdict, diagnose};
use hugewise_evidence::recording::{Builder, Field, Recording, SourceKind, Stamp, Subject};

use super::{assert_says, chain, found, suffers, verdict};

/// A value of a quantity, and whose it is.
type Value = (Field, Subject, f64);

/// A machine of 4 CPUs whose kernel takes 45 %, in six samples of 10 s with these values.
fn machine(more: &[Value]) -> Recording {
    let mut builder = Builder::new();
    builder.input("put");
    builder.begin(SourceKind::Capture, 1);
    let states = [(Field::CpuSystem, 45.0), (Field::CpuUser, 25.0), (Field::CpuIdle, 30.0)];
    let states = states.map(|(field, value)| (field, Subject::Machine, value));
    let count = [(Field::CpuCount, Subject::Machine, 4.0)];
    for sample in 1..=6_i64 {
        for (field, subject, value) in states.iter().chain(&count).chain(more) {
            builder.put(*field, subject, Some(Stamp(1_795_341_600 + 10 * sample)), *value);
        }
    }
    builder.finish()
}

fn of_machine(field: Field, value: f64) -> Value {
    (field, Subject::Machine, value)
}

/// 45 % of 4 CPUs are 1.8: 5,000 huge-page faults at 200 us are 1.0 of them.
fn huge_faults(a_second: f64) -> Recording {
    let others = [(Field::Faults, 9000.0), (Field::ContextSwitches, 4000.0)];
    let others = others.map(|(field, value)| of_machine(field, value));
    machine(&[of_machine(Field::ThpFaultAlloc, a_second), others[0].clone(), others[1].clone()])
}

fn throttled(percent: f64) -> Recording {
    let cgroup = Subject::Cgroup("/system.slice/web.service".to_owned());
    machine(&[(Field::CgroupThrottled, cgroup, percent)])
}

fn profile(percent: f64) -> Recording {
    let symbol =
        |name: &str, value| (Field::SymbolPercent, Subject::Symbol(name.to_owned()), value);
    let names = ["native_queued_spin_lock_slowpath", "clear_page_erms", "do_syscall_64"];
    machine(&[symbol(names[0], percent), symbol(names[1], 11.0), symbol(names[2], 4.0)])
}

/// As a live look has it: half of the kernel's samples are in system calls, half in faults.
fn called(path: &str, within: &str) -> Recording {
    let calls = |path: &str| Subject::Calls { program: "dd".to_owned(), path: path.to_owned() };
    let function = |name: &str| Subject::Symbol(name.to_owned());
    let counted = [Field::Faults, Field::ContextSwitches, Field::ThpFaultAlloc];
    let counted = counted.map(|field| of_machine(field, 1.0));
    let profile = [
        (Field::SymbolPercent, function("clear_page_erms"), 35.0),
        (Field::SymbolPercent, function("vfs_read"), 5.0),
        (Field::WithinPercent, function(within), 36.0),
        (Field::EntryPercent, calls(path), 36.0),
        (Field::PathPercent, calls(&format!("{path} > {within}")), 36.0),
    ];
    machine(&[&counted[..], &profile].concat())
}

/// All of them, for the coverage.
pub(crate) fn recordings() -> Vec<Recording> {
    let fragmented = machine(&[
        of_machine(Field::ThpFaultFallback, 400.0),
        of_machine(Field::ThpFaultAlloc, 100.0),
        of_machine(Field::OomKills, 0.1),
    ]);
    vec![
        huge_faults(5000.0),
        huge_faults(10.0),
        throttled(42.0),
        throttled(0.5),
        profile(38.0),
        profile(3.0),
        fragmented,
        called("read()", "vfs_read"),
        called("page fault", "folio_zero_user"),
    ]
}

fn of(recording: &Recording) -> Diagnosis {
    diagnose(recording, &Thresholds::default())
}

#[test]
fn huge_pages_cleared_in_faults() {
    let diagnosis = of(&huge_faults(5000.0));
    assert_eq!(suffers(&diagnosis), ["huge_faults"]);
    let text = chain(found(&diagnosis, "huge_faults"));
    assert_says(&text, &["5,000 huge-page faults a second", "55.6 % of the 1.80 CPUs"]);
    let few = of(&huge_faults(10.0));
    assert_eq!(verdict(&few, "kernel.huge_faults"), Verdict::No);
    assert_eq!(suffers(&few), ["system_calls"]);
}

#[test]
fn a_quota_that_is_used_up() {
    let diagnosis = of(&throttled(42.0));
    let finding = found(&diagnosis, "throttled");
    assert_eq!(finding.severity, Severity::Warning);
    assert_says(&chain(finding), &["cgroup /system.slice/web.service", "42 %"]);
    assert_eq!(verdict(&of(&throttled(0.5)), "cpu.throttled"), Verdict::No);
}

#[test]
fn kills_now_are_worse_than_kills_some_time_since_boot() {
    let now = of(&machine(&[of_machine(Field::OomKills, 0.1)]));
    assert_eq!(found(&now, "oom_kills").severity, Severity::Warning);
    assert_eq!(suffers(&now)[0], "oom_kills");
    let once = of(&machine(&[of_machine(Field::OomKillCount, 1.0)]));
    assert_eq!(found(&once, "oom_kills").severity, Severity::Note);
}

#[test]
fn locks_in_a_profile() {
    let diagnosis = of(&profile(38.0));
    assert_eq!(suffers(&diagnosis), ["kernel_locks"]);
    let text = chain(found(&diagnosis, "kernel_locks"));
    assert_says(&text, &["native_queued_spin_lock_slowpath"]);
    // What is left is clearing of pages, for most of it.
    assert_eq!(suffers(&of(&profile(3.0))), ["page_faults"]);
}

#[test]
fn chains_of_calls_name_the_call_and_the_program() {
    let diagnosis = of(&called("read()", "vfs_read"));
    assert_eq!(suffers(&diagnosis), ["system_calls"]);
    let text = chain(found(&diagnosis, "system_calls"));
    let wanted = ["90 % of the kernel's samples: dd: read() 90 %", "36 % dd: read() > vfs_read"];
    assert_says(&text, &wanted);
    assert!(!text.contains("elimination"), "it was seen: {text}");
}

#[test]
fn a_function_counts_with_what_it_calls() {
    // The time itself is spent in a function that small faults and many others use, too.
    let diagnosis = of(&called("page fault", "folio_zero_user"));
    assert_eq!(suffers(&diagnosis)[0], "huge_faults");
    let text = chain(found(&diagnosis, "huge_faults"));
    assert_says(&text, &["folio_zero_user 36 %, with what they call"]);
}
