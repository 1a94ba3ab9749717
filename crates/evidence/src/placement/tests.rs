use super::*;
use crate::recording::{Builder, Field, SourceKind, Stamp, Subject};

/// A host with eight CPUs: its name, CPU in use, and its programs with what they use of one CPU.
type Given<'a> = (&'a str, f64, &'a [(&'a str, f64)]);

fn recording(hosts: &[Given<'_>]) -> Recording {
    recording_with(hosts, |_, _| {})
}

fn recording_with(hosts: &[Given<'_>], more: impl Fn(&str, &mut Builder)) -> Recording {
    let mut builder = Builder::new();
    for (name, busy, programs) in hosts {
        builder.input(&format!("{name}.txt"));
        builder.host(name);
        builder.begin(SourceKind::Top, 1);
        let noon = Stamp::midnight(2026, 11, 26).map(|midnight| Stamp(midnight.0 + 12 * 3600));
        builder.put(Field::CpuIdle, &Subject::Machine, noon, 100.0 - busy);
        builder.put(Field::CpuCount, &Subject::Machine, noon, 8.0);
        for (at, (program, percent)) in programs.iter().enumerate() {
            let pid = u32::try_from(1000 + at).ok();
            builder.put(Field::ProcCpu, &Subject::process(pid, program), noon, *percent);
        }
        more(name, &mut builder);
    }
    builder.finish()
}

/// As in `002_e950a442f470f4d6.txt`: one worker is full, and others have room.
const WORKERS: [Given<'_>; 4] = [
    ("worker1", 42.0, &[("java", 210.0), ("node", 60.0)]),
    ("worker2", 96.0, &[("java", 310.0), ("java", 250.0), ("node", 55.0)]),
    ("worker3", 47.0, &[("java", 240.0), ("node", 64.0)]),
    ("worker4", 30.0, &[("java", 150.0), ("kworker/1:2", 5.0)]),
];

#[test]
fn the_full_host_and_its_program_are_named() {
    let told = Placement::of(&recording(&WORKERS));
    let names: Vec<&str> = told.too_busy().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["worker2"]);
    assert_eq!(told.middle_percent, Some(44.5));
    assert_eq!(told.same_time, Some(true));
    let [program] = told.hosts[0].programs.as_slice() else { panic!("{told:?}") };
    assert_eq!((program.name.as_str(), program.elsewhere_cpus), ("java", 2.1));
    assert!((program.cpus - 5.6).abs() < 1e-9, "both processes: {program:?}");
    // 3.5 CPUs more than elsewhere, of 4.12 beyond the middle.
    assert!(program.share_percent.is_some_and(|share| (share - 85.0).abs() < 0.1), "{program:?}");
}

#[test]
fn the_move_that_levels_both_hosts_best_is_proposed() {
    let told = Placement::of(&recording(&WORKERS));
    let [one] = told.moves.as_slice() else { panic!("{told:?}") };
    assert_eq!((one.program.as_str(), one.pid), ("java", Some(1001)));
    assert_eq!((one.from.as_str(), one.to.as_str()), ("worker2", "worker4"));
    // 2.5 of 8 CPUs are 31.25 %: the greater process would only turn the two round.
    assert_eq!((one.from_percent, one.to_percent), ((96.0, 64.75), (30.0, 61.25)));
}

#[test]
fn hosts_that_share_their_work_are_in_line() {
    let told = Placement::of(&recording(&[
        ("a", 60.0, &[("java", 400.0)]),
        ("b", 63.0, &[("java", 420.0)]),
        ("c", 58.0, &[("java", 390.0)]),
        ("d", 66.0, &[("java", 430.0)]),
    ]));
    assert!(told.hosts.iter().all(|host| !host.out_of_line), "{told:?}");
    assert!(told.moves.is_empty() && told.left_out.is_empty());
}

#[test]
fn an_idle_host_is_out_of_line_and_has_no_move() {
    let told = Placement::of(&recording(&[
        ("a", 60.0, &[]),
        ("b", 63.0, &[]),
        ("c", 58.0, &[]),
        ("d", 3.0, &[]),
    ]));
    let apart: Vec<&HostLoad> = told.hosts.iter().filter(|host| host.out_of_line).collect();
    let [idle] = apart.as_slice() else { panic!("{told:?}") };
    assert!(idle.name == "d" && !idle.is_too_busy());
    assert!(told.moves.is_empty() && idle.programs.is_empty());
}

#[test]
fn two_hosts_have_no_middle() {
    let near = [WORKERS[0], WORKERS[2]];
    let busy = [("a", 80.0, WORKERS[1].2), WORKERS[3]];
    for two in [&near, &busy] {
        let told = Placement::of(&recording(two));
        assert_eq!((told.middle_percent, told.hosts.len()), (None, 2));
        assert!(told.hosts.iter().all(|host| host.score.is_none() && !host.out_of_line));
    }
}

#[test]
fn of_two_hosts_a_full_one_beside_one_with_room_is_told() {
    let told = Placement::of(&recording(&WORKERS[..2]));
    let names: Vec<&str> = told.too_busy().map(|host| host.name.as_str()).collect();
    assert_eq!((names.as_slice(), told.middle_percent), (&["worker2"][..], None));
    let [one] = told.moves.as_slice() else { panic!("{told:?}") };
    assert_eq!((one.program.as_str(), one.to.as_str()), ("java", "worker1"));
}

#[test]
fn cpus_that_nobody_counted_follow_from_what_programs_use() {
    let text = |name: &str, us: f64, programs: &[(u32, &str, f64)]| {
        let rows: String = programs
            .iter()
            .map(|(pid, name, cpu)| {
                format!("{pid:5} root 20 0 8010000 1.2g 14000 S {cpu} 7.8 91:12.20 {name}\n")
            })
            .collect();
        format!(
            "[root@{name} ~]# top -b -n 1\n\
             top - 10:00:00 up 20 days,  2:01,  1 user,  load average: 7.55, 6.90, 5.12\n\
             Tasks: 201 total,   3 running, 198 sleeping,   0 stopped,   0 zombie\n\
             %Cpu(s): {us} us,  0.0 sy,  0.0 ni, {} id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n\
             \x20 PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n{rows}",
            100.0 - us
        )
    };
    let mut builder = Builder::new();
    for (name, text) in [
        (
            "w8",
            text("w8", 96.0, &[(7, "gateway", 210.0), (8, "portal", 150.0), (9, "order", 20.0)]),
        ),
        ("w2", text("w2", 25.0, &[(7, "member", 90.0)])),
        ("w3", text("w3", 22.0, &[])),
    ] {
        builder.read(name, text.as_bytes()).expect("a text");
    }
    let told = Placement::of(&builder.finish());
    let cpus: Vec<_> = told.hosts.iter().map(|host| (host.cpus, host.cpus_inferred)).collect();
    // A host whose programs are not listed tells nothing.
    assert_eq!(cpus, [(Some(4.0), true), (Some(4.0), true), (None, false)]);
    let [one] = told.moves.as_slice() else { panic!("{told:?}") };
    assert_eq!((one.program.as_str(), one.to.as_str()), ("portal", "w2"));
}

#[test]
fn a_kernel_thread_is_told_and_never_moved() {
    let told = Placement::of(&recording(&[
        ("a", 20.0, &[("java", 100.0)]),
        ("b", 80.0, &[("java", 100.0), ("kswapd0", 480.0)]),
        ("c", 22.0, &[("java", 110.0)]),
        ("d", 24.0, &[("java", 120.0)]),
    ]));
    assert_eq!(told.hosts[0].programs[0].name, "kswapd0");
    assert!(told.moves.iter().all(|one| one.program != "kswapd0"), "{:?}", told.moves);
}

#[test]
fn a_slow_clock_is_a_reason() {
    let told = Placement::of(&recording_with(&WORKERS, |name, builder| {
        let mhz = if name == "worker2" { 1200.0 } else { 2900.0 };
        builder.put(Field::CpuClock, &Subject::Machine, None, mhz);
    }));
    let [reason] = told.hosts[0].reasons.as_slice() else { panic!("{told:?}") };
    assert!(reason.contains("1200 MHz, and should at 2900"), "{reason}");
}

#[test]
fn a_host_without_cpu_use_is_left_out_by_name() {
    let mut builder = Builder::new();
    builder.input("x.txt");
    builder.host("x");
    builder.begin(SourceKind::Top, 1);
    builder.put(Field::CpuCount, &Subject::Machine, None, 8.0);
    let told = Placement::of(&builder.finish());
    assert_eq!(
        told.left_out,
        [LeftOut { host: "x".into(), why: "no CPU use in its recording".into() }]
    );
}
