use super::*;
use crate::recording::readers::check::{all_understood, machine, read, values};
use crate::recording::{Host, Recording, Stamp};

const VM: &str = include_str!("../../../tests/recordings/real/vm.atop");
const VM_JSON: &str = include_str!("../../../tests/recordings/real/vm.atopJ.json");
const HDD: &str = include_str!("../../../tests/recordings/real/hdd.atop");
const HDD_JSON: &str = include_str!("../../../tests/recordings/real/hdd.atopJ.json");

fn near(found: &[f64], wanted: &[f64]) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs().max(1.0));
    assert!(close && found.len() == wanted.len(), "{found:?} {wanted:?}");
}

#[test]
fn a_sample_since_boot_gives_states_only() {
    let recording = read(VM);
    all_understood(&recording);
    assert_eq!(recording.hosts[0].name.as_deref(), Some("vm"));
    // Six samples, the first of them since boot.
    assert_eq!(machine(&recording, Field::CpuSystem).len(), 5);
    assert_eq!(machine(&recording, Field::MemTotal).len(), 6);
    assert_eq!(machine(&recording, Field::MemTotal)[0], 6_171_023.0 * 4096.0);
    near(&machine(&recording, Field::CpuSystem)[1..2], &[100.0 * 346.0 / 400.0]);
    near(&machine(&recording, Field::CpuSteal)[1..2], &[100.0 * 6.0 / 400.0]);
    near(&values(&recording, Field::CpuUser, &Subject::Cpu(1))[1..2], &[100.0 * 27.0 / 199.0]);
    near(&machine(&recording, Field::ContextSwitches)[1..2], &[51.5]);
    near(&machine(&recording, Field::PsiCpuSome)[1..3], &[24.1, 19.9]);
    assert!(recording.hosts[0].restarts.is_empty());
    let time = recording.hosts[0].series(Field::Load1, &Subject::Machine).expect("it").points[2].at;
    assert_eq!(time.map(|at| at.to_string()).as_deref(), Some("2026-11-22 03:43:14"));
}

#[test]
fn processes_of_interest_are_kept() {
    let recording = read(VM);
    let vm = Subject::process(Some(12013), "stress-ng-vm");
    near(&values(&recording, Field::ProcSystem, &vm)[1..2], &[86.5]);
    near(&values(&recording, Field::ProcUser, &vm)[1..2], &[10.0]);
    // Memory is a state, so that the first sample has it too.
    near(&values(&recording, Field::ProcRss, &vm)[2..3], &[104_800.0 * 1024.0]);
    near(&values(&recording, Field::ProcMinorFaults, &vm)[1..2], &[157_321.0 / 2.0]);
    // It neither used a CPU nor much memory.
    let idle = Subject::process(Some(12011), "stress-ng-vm");
    assert_eq!(values(&recording, Field::ProcCpu, &idle).len(), 0);
}

/// The fields of a host that hold a rate or a state of the whole machine, a disk or a link.
fn of_machine(host: &Host) -> Vec<(Field, Subject, Vec<f64>)> {
    let wanted = |subject: &&Subject| !matches!(subject, Subject::Process { .. });
    let all = Field::ALL.iter().flat_map(|field| {
        let subjects = host.subjects(*field).filter(move |(subject, _)| wanted(subject));
        subjects.map(|(subject, series)| {
            let points = series.iter().flat_map(|series| &series.points);
            (*field, subject.clone(), points.map(|point| point.value).collect())
        })
    });
    all.collect()
}

fn same(text: &Recording, json: &Recording) {
    let (text, json) = (of_machine(&text.hosts[0]), of_machine(&json.hosts[0]));
    for (field, subject, values) in &json {
        // The text does not have it for requests that took no time.
        if matches!(field, Field::DiskQueue | Field::DiskAwait) {
            continue;
        }
        let twin = text.iter().find(|(f, s, _)| f == field && s == subject);
        let (_, _, twin) = twin.unwrap_or_else(|| panic!("{field:?} of {subject} in the text"));
        assert_eq!(values.len(), twin.len(), "{field:?} of {subject}");
        for (a, b) in values.iter().zip(twin) {
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{field:?} of {subject}: {a} {b}");
        }
    }
    assert!(json.len() > 40, "{}", json.len());
}

#[test]
fn text_and_json_of_a_recording_say_the_same() {
    for (text, json) in [(VM, VM_JSON), (HDD, HDD_JSON)] {
        let json = read(json);
        all_understood(&json);
        same(&read(text), &json);
        assert_eq!(json.sources[0].kind, SourceKind::AtopJson);
    }
}

#[test]
fn processes_of_json_have_their_names() {
    let (text, json) = (read(HDD), read(HDD_JSON));
    let of = |recording: &Recording| -> Vec<(Subject, Vec<f64>)> {
        let all = recording.hosts[0].subjects(Field::ProcWrite);
        let stress = all.filter(|(subject, _)| {
            subject.process_name().is_some_and(|name| name.starts_with("stress-ng"))
        });
        stress
            .map(|(subject, series)| {
                (subject.clone(), series[0].points.iter().map(|point| point.value).collect())
            })
            .collect()
    };
    assert!(!of(&text).is_empty());
    assert_eq!(of(&text), of(&json));
}

#[test]
fn names_may_hold_blanks_and_parentheses() {
    assert_eq!(process_name(" (a) S 1) S 100"), Some(("a) S 1", " S 100")));
    assert_eq!(process_name(" (tmux: server) S 1 (x) S 3"), Some(("tmux: server", " S 1 (x) S 3")));
    assert_eq!(process_name(" under_score S"), Some(("under_score", " S")));
    assert_eq!(process_name(" (no end"), None);
}

#[test]
fn old_layouts_and_restarts() {
    let recording = read(
        "CPU old 1300000000 2011/03/13 07:06:40 600 100 4 24000 12000 0 180000 24000 0 0 0 0\n\
         DSK old 1300000000 2011/03/13 07:06:40 600 sda 60000 100 800 300 2400\n\
         PAG old 1300000000 2011/03/13 07:06:40 600 4096 60 6 0 600 1200\n\
         NET old 1300000000 2011/03/13 07:06:40 600 upper 600 1200 0 0 0 0 0 0\n\
         NET old 1300000000 2011/03/13 07:06:40 600 eth0 2 100 3 150 1000 1\n\
         SEP\nRESET\n\
         CPU old 1300000900 2011/03/13 07:21:40 90 100 4 1 1 1 1 1 1 1 1 1\n\
         SEP\nNothing of atop.\n",
    );
    near(&machine(&recording, Field::CpuSystem), &[10.0]);
    near(&machine(&recording, Field::SwapOut), &[2.0 * 4096.0]);
    near(&machine(&recording, Field::Scan), &[0.1]);
    assert_eq!(machine(&recording, Field::OomKills).len(), 0);
    near(&machine(&recording, Field::TcpOutSegments), &[2.0]);
    let eth0 = Subject::Interface("eth0".to_owned());
    near(&values(&recording, Field::NetSpeed, &eth0), &[125_000_000.0]);
    let sda = Subject::Disk("sda".to_owned());
    near(&values(&recording, Field::DiskBusy, &sda), &[10.0]);
    assert_eq!(values(&recording, Field::DiskAwait, &sda).len(), 0);
    let restarts = &recording.hosts[0].restarts;
    assert_eq!(restarts.len(), 1);
    let day = Stamp::midnight(2011, 3, 13).expect("a date");
    assert_eq!(restarts[0].at, Some(Stamp(day.0 + 7 * 3600 + 21 * 60 + 40)));
    assert_eq!(recording.unrecognised.len(), 1);
}

#[test]
fn torn_rows_and_objects_are_told() {
    let torn = read(
        "CPU old 1300000000 2011/03/13 07:06:40 600 100 4 24000\n\
         MEM old 1300000000 2011/03/13 07:0\nSEP\n",
    );
    assert_eq!(torn.problems.len(), 2);
    let json = VM_JSON.get(..VM_JSON.len() - 100).expect("a longer text");
    let torn = read(json);
    assert_eq!(torn.problems.len(), 1);
    assert_eq!(machine(&torn, Field::CpuSystem).len(), 4);
}
