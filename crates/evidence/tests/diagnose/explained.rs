//! What each mechanism of the machine's model must find, and what it must leave alone: a text
//! each, with the first finding (nothing: no finding above a note).

use super::{Text, notes, of_texts, suffers};
use hugewise_evidence::diagnose::Load;

/// Texts behind a row with the name of each and the first cause that must be found in it (`-`:
/// none).
const CASES: &str = include_str!("explained.txt");

/// Each text, and the first cause.
fn cases() -> impl Iterator<Item = (Text, &'static str)> {
    CASES.split("@@ ").skip(1).map(|case| {
        let (heading, text) = case.split_once('\n').expect("a heading");
        let (name, first) = heading.split_once(' ').expect("a name and a cause");
        ((name, text), if first == "-" { "" } else { first })
    })
}

/// The texts, for the coverage.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    let profiles = [("faults.txt", page_faults(60, 1)), ("spread.txt", page_faults(60, 12))];
    let profiles =
        profiles.map(|(name, text)| -> Text { (name, Box::leak(text.into_boxed_str())) });
    cases().map(|(text, _)| text).chain(profiles)
}

/// Samples of page faults, in turn in each of some functions.
fn page_faults(samples: usize, functions: usize) -> String {
    let mut text = String::new();
    for sample in 0..samples {
        let function = sample % functions;
        text += "loader  4411 [001] 1201.100: 1 page-faults:\n";
        text += &format!("\t  7f11 touch_{function} (/usr/bin/loader)\n\n");
    }
    text
}

#[test]
fn each_mechanism_is_found_and_its_likeness_is_not() {
    let mut wrong = Vec::new();
    for (text, first) in cases() {
        let found = suffers(&of_texts(&[text]));
        if found.first().copied().unwrap_or_default() != first {
            wrong.push(format!("{}: {found:?}, not {first}", text.0));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Counts since boot name a suspect, and no more.
#[test]
fn counts_since_boot_are_a_note() {
    const SUSPECTS: [(&str, &str); 7] = [
        ("damaged-since-boot", "link_errors"),
        ("space-that-df-does-not-miss", "filesystem_full"),
        ("since-boot", "compaction_since_boot"),
        ("table-of-connections-full", "conntrack_full"),
        ("locks-in-a-circle", "kernel_warned"),
        ("note-deleted-files-held", "space_held"),
        ("note-builds-kept", "space_held"),
    ];
    for (name, suspect) in SUSPECTS {
        let (text, _) = cases().find(|(text, _)| text.0 == name).expect("a case");
        assert_eq!(notes(&of_texts(&[text])), [suspect], "{name}");
    }
}

/// A profile of an event is no statement about CPU time.
#[test]
fn a_profile_of_page_faults_is_a_note() {
    let text: Text = ("faults.txt", Box::leak(page_faults(60, 1).into_boxed_str()));
    let found = of_texts(&[text]);
    assert_eq!((suffers(&found).len(), notes(&found)), (0, vec!["event_profile"]));
}

/// Full CPUs of an unknown number are no cause; they are no all-clear either.
#[test]
fn full_cpus_are_under_pressure() {
    let top = "top - 16:21:37 up  5:10,  1 user,  load average: 9.61, 9.02, 7.34\n\
               Tasks: 220 total,   8 running, 212 sleeping,   0 stopped,   0 zombie\n\
               %Cpu(s): 68.1 us, 24.3 sy,  0.0 ni,  2.9 id,  0.0 wa,  0.0 hi,  4.7 si,  0.0 st\n";
    let found = of_texts(&[("full.txt", top)]);
    assert_eq!(suffers(&found), [""; 0]);
    let [cpus] = found.hosts[0].pressure.as_slice() else { panic!("{:?}", found.hosts[0]) };
    assert_eq!((cpus.resource, cpus.load), ("cpus", Load::High));
    assert!(cpus.evidence[0].text.contains("97.1 %"), "{:?}", cpus.evidence);
    assert!(found.is_under_pressure());
}

/// A machine without a finding is described in a few lines.
#[test]
fn a_quiet_machine_says_what_it_does() {
    let top = "%Cpu(s): 12.0 us,  3.0 sy,  0.0 ni, 85.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
               MiB Mem :  24105.0 total,  13971.0 free,    666.6 used,   9868.4 buff/cache\n\
               MiB Swap:      0.0 total,      0.0 free,      0.0 used.  23439.0 avail Mem\n\n    \
               PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   \
               2201 app       20   0    9.1g   5.0g  12000 S  38.0   8.0  12:01.00 java\n";
    let found = of_texts(&[("quiet.txt", top)]);
    assert!(!found.is_under_pressure());
    let said: Vec<&str> = found.hosts[0].doing.iter().map(|line| line.text.as_str()).collect();
    assert!(said[0].contains("CPU in programs 12 %"), "{said:?}");
    assert!(said[1].contains("java: 38 % of a CPU"), "{said:?}");
    assert!(said[2].contains("22.9 GiB"), "{said:?}");
}
