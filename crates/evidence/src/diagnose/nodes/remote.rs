//! Storage on other machines, and the machines that use this one's.

use super::disk::disks;
use super::prelude::*;
use crate::recording::readers::storage::{NONE_REMOTE, REMOTE_MOUNTS};

/// What records all disks of a machine, whoever reads it; others are asked for some.
const LISTS_ALL: [SourceKind; 10] = [
    SourceKind::Capture,
    SourceKind::SarText,
    SourceKind::SadfJson,
    SourceKind::SadfText,
    SourceKind::SadfXml,
    SourceKind::AtopText,
    SourceKind::AtopJson,
    SourceKind::AtopScreen,
    SourceKind::Atopsar,
    SourceKind::Diskstats,
];

/// Do programs wait for storage over the network?
pub(super) fn remote(look: &Look<'_>) -> Answer {
    // Without CPUs that wait there is nothing to explain.
    if look.mean_of(Field::CpuIowait).is_none() {
        return Answer::unknown(&[CPU]);
    }
    let busiest = most(disks(look).filter_map(|disk| look.highest(&disk.line)));
    let Some(busiest) = busiest else { return Answer::unknown(&[DISKS]) };
    let limit = look.limit(T::DiskInUse);
    let evidence = vec![look.quote(&busiest)];
    if busiest.value >= limit {
        return Answer::no(evidence);
    }
    let text = "no local disk is in use, and yet CPUs are idle for a request that is pending: it \
                went to another machine";
    let waits = Some(super::tasks::remote(look)).filter(Answer::is_yes);
    // A list of chosen disks may lack the one that is waited for: then only what is known of
    // another machine says that it is one.
    let complete =
        look.recording.source(busiest.source).is_some_and(|s| LISTS_ALL.contains(&s.kind));
    let mounts = look.setting(REMOTE_MOUNTS);
    let mounted = match mounts {
        // Local disks of another kind, such as those that a program serves.
        Some(mounts) if mounts.text == NONE_REMOTE => {
            let text = "no file system of another machine is mounted";
            return Answer::unknown(&[DISKS]).and([look.cite(mounts, text)]);
        }
        Some(mounts) => {
            let text = format!("mounted from another machine: {}", mounts.text);
            Some(look.cite(mounts, &text))
        }
        None if waits.is_none() && !complete => return Answer::unknown(&[MOUNTS]).and(evidence),
        None => None,
    };
    let lacking: &[Missing] = if mounted.is_some() { &[] } else { &[MOUNTS] };
    let waits = waits.into_iter().flat_map(|answer| answer.evidence);
    let answer = Answer::yes(0.5, evidence).and([Evidence::derived(text)]);
    answer.and(waits).and(mounted).lacking(lacking)
}

/// For a file server: which peers send.
pub(super) fn clients(look: &Look<'_>) -> Vec<Evidence> {
    let served = |local: &str| local.ends_with(":nfs") || local.ends_with(":2049");
    let nfs = |subject: &Subject| matches!(subject, Subject::Flow { local, .. } if served(local));
    let flows = look.sorted(Field::FlowReceived, nfs);
    let said = flows.iter().filter(|seen| seen.value > 0.0).take(3).map(|seen| {
        let Subject::Flow { remote, .. } = &seen.subject else { return look.quote(seen) };
        let rate = write::value(seen.field.about().unit, seen.value);
        look.say(seen, &format!("NFS client {remote} sends {rate}"))
    });
    said.collect()
}
