use super::*;
use hugewise_scratch::Scratch;

/// A machine of eight CPUs with these files.
struct Machine {
    _scratch: Scratch,
    root: Root,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        let root = Root::at(&scratch.join("root"));
        let always = [("sys/devices/system/cpu/online", "0-7\n"), (PARANOID, "2\n")];
        for (file, text) in always.iter().chain(files) {
            let path = root.path(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            std::fs::write(path, text).expect("write");
        }
        Self { _scratch: scratch, root }
    }

    fn find(&self, held: &[&str]) -> Result<Vec<Counter>, Refusal> {
        let mut caps = privileges(&Root::live()).caps;
        for cap in &mut caps {
            cap.held = Some(held.contains(&cap.name));
        }
        find(&self.root, &caps)
    }

    fn counters(&self) -> Vec<Counter> {
        self.find(&["CAP_PERFMON"]).expect("has counters")
    }

    fn refused(&self) -> Refusal {
        self.find(&["CAP_PERFMON"]).expect_err("has none")
    }
}

const INTEL_CPU: (&str, &str) =
    ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n");
const AMD_CPU: (&str, &str) =
    ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n");

fn stlb(kind: u32, cpus: &[u32]) -> Counter {
    let event = Event { kind, config: 0x11d0, precise: 2, user_only: true };
    Counter { event, cpus: cpus.iter().copied().collect(), all_operations: false }
}

#[test]
fn a_server_of_intel_counts_loads_that_miss() {
    let server = Machine::new(&[
        INTEL_CPU,
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/cpu/caps/max_precise", "3\n"),
    ]);
    assert_eq!(server.counters(), [stlb(4, &[0, 1, 2, 3, 4, 5, 6, 7])]);
}

#[test]
fn each_kind_of_core_of_a_hybrid_has_its_own() {
    let hybrid = Machine::new(&[
        INTEL_CPU,
        ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
        ("sys/bus/event_source/devices/cpu_core/cpus", "0-3\n"),
        ("sys/bus/event_source/devices/cpu_core/caps/max_precise", "3\n"),
        ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
        ("sys/bus/event_source/devices/cpu_atom/cpus", "4-9\n"),
        ("sys/bus/event_source/devices/cpu_atom/caps/max_precise", "3\n"),
    ]);
    // 8 and 9 are offline.
    assert_eq!(hybrid.counters(), [stlb(4, &[0, 1, 2, 3]), stlb(10, &[4, 5, 6, 7])]);
}

#[test]
fn an_epyc_samples_operations_and_leaves_nothing_out() {
    let files = [
        AMD_CPU,
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/cpu/caps/max_precise", "0\n"),
        ("sys/bus/event_source/devices/ibs_op/type", "11\n"),
        ("sys/bus/event_source/devices/ibs_op/format/cnt_ctl", "config:19\n"),
    ];
    let counter = |config| {
        let event = Event { kind: 11, config, precise: 0, user_only: false };
        [Counter { event, cpus: (0..8).collect(), all_operations: true }]
    };
    assert_eq!(Machine::new(&files).counters(), counter(1 << 19));
    assert_eq!(Machine::new(&files[..4]).counters(), counter(0), "it counts cycles only");
}

#[test]
fn machines_without_such_counters_are_refused_in_words() {
    let guest = Machine::new(&[INTEL_CPU, ("sys/bus/event_source/devices/software/type", "1\n")]);
    let shallow = Machine::new(&[
        INTEL_CPU,
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/cpu/caps/max_precise", "0\n"),
    ]);
    let amd = Machine::new(&[AMD_CPU, ("sys/bus/event_source/devices/cpu/type", "4\n")]);
    let arm = Machine::new(&[
        ("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n"),
        ("sys/bus/event_source/devices/armv8_pmuv3_0/type", "8\n"),
    ]);
    for (machine, word) in [
        (guest, "shows no counters"),
        (shallow, "max_precise"),
        (amd, "shows no"),
        (arm, "shows no"),
    ] {
        let (reason, why) = machine.refused();
        assert_eq!(reason, SkipReason::NoMechanism);
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn whoever_lacks_the_right_is_told_so() {
    let files = [
        INTEL_CPU,
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/cpu/caps/max_precise", "3\n"),
        (PARANOID, "-1\n"),
    ];
    let server = Machine::new(&files[..3]);
    let (reason, why) = server.find(&["CAP_SYS_NICE"]).expect_err("lacks both");
    assert_eq!(reason, SkipReason::NoPermission);
    assert_eq!(why, "needs CAP_PERFMON: kernel.perf_event_paranoid is 2");
    assert!(server.find(&["CAP_SYS_ADMIN"]).is_ok());
    assert!(Machine::new(&files).find(&[]).is_ok(), "everybody may");
    let without = Machine::new(&files[..3]);
    std::fs::remove_file(without.root.path(PARANOID)).expect("removes");
    assert_eq!(without.refused().0, SkipReason::NoMechanism, "a kernel without perf");
}
