//! Storage on other machines, and the machines that use this one's.

use super::disk::disks;
use super::prelude::*;
use crate::diagnose::remedy::{Reach, Remedy};
use crate::recording::readers::storage::{NONE_REMOTE, REMOTE_MOUNTS};

/// What records all disks of a machine, whatever reads it; others are asked for some.
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
pub(super) fn remote(cx: &Context<'_>) -> Answer {
    // Without CPUs that wait there is nothing to explain.
    if cx.mean_of(Field::CpuIowait).is_none() {
        return Answer::unknown(&[CPU]);
    }
    let busiest = most(disks(cx).filter_map(|disk| cx.highest(&disk.line)));
    let Some(busiest) = busiest else { return Answer::unknown(&[DISKS]) };
    let limit = cx.limit(T::DiskInUse);
    let evidence = vec![cx.quote(&busiest)];
    if busiest.value >= limit {
        return Answer::no(evidence);
    }
    let text = "no local disk is in use, and yet CPUs are idle for a request that is pending: it \
                went to another machine";
    let waits = Some(super::tasks::remote(cx)).filter(Answer::is_yes);
    // A list of chosen disks may lack the one that is waited for: then only what is known of
    // another machine says that it is one.
    let complete = cx.recording.source(busiest.source).is_some_and(|s| LISTS_ALL.contains(&s.kind));
    let mounts = cx.setting(REMOTE_MOUNTS);
    let mounted = match mounts {
        // Local disks of another kind, such as those that a program serves.
        Some(mounts) if mounts.text == NONE_REMOTE => {
            let text = "no file system of another machine is mounted";
            return Answer::unknown(&[DISKS]).and([cx.cite(mounts, text)]);
        }
        Some(mounts) => {
            let text = format!("mounted from another machine: {}", mounts.text);
            Some(cx.cite(mounts, &text))
        }
        None if waits.is_none() && !complete => return Answer::unknown(&[MOUNTS]).and(evidence),
        None => None,
    };
    let lacking: &[Missing] = if mounted.is_some() { &[] } else { &[MOUNTS] };
    let waits = waits.into_iter().flat_map(|answer| answer.evidence);
    let answer = Answer::yes(0.5, evidence).and([Evidence::derived(text)]);
    answer.and(waits).and(mounted).lacking(lacking)
}

/// What machines send to the kernel's server of NFS, the most first.
fn senders(cx: &Context<'_>) -> Vec<Reading> {
    let served = |local: &str| local.ends_with(":nfs") || local.ends_with(":2049");
    let nfs = |subject: &Subject| matches!(subject, Subject::Flow { local, .. } if served(local));
    let mut flows = cx.sorted(Field::FlowReceived, nfs);
    flows.retain(|seen| seen.value > 0.0);
    flows.truncate(3);
    flows
}

/// What helps where programs of other machines write (`serves`): here nobody has their files open.
pub(super) fn cure_of_clients(serves: bool) -> Vec<Remedy> {
    const STEPS: [Remedy; 2] = [
        Remedy::new(
            Reach::Program,
            "on the machines that mount it: move what writes most, such as logs or a database's \
             files, to disks of their own",
            "nfsiostat 1 10; iotop -obP -n 5  # there",
            "iostat -xz 1 10: await falls, and the service's own times with it",
        ),
        Remedy::new(
            Reach::Hardware,
            "a faster disk for what is shared, or fewer machines that write to one",
            "cat /proc/fs/nfsd/pool_stats; iostat -xz 1 10",
            "the same load at less than 70 % busy",
        ),
    ];
    if serves { STEPS.to_vec() } else { Vec::new() }
}

/// Their addresses, without the ports.
pub(super) fn client_names(cx: &Context<'_>) -> Vec<String> {
    let host = |seen: Reading| match seen.subject {
        Subject::Flow { remote, .. } => {
            Some(remote.rsplit_once(':').map_or(remote.as_str(), |(host, _)| host).to_owned())
        }
        _ => None,
    };
    senders(cx).into_iter().filter_map(host).collect()
}

/// For a file server: which peers send.
pub(super) fn clients(cx: &Context<'_>) -> Vec<Evidence> {
    let flows = senders(cx);
    let said = flows.iter().map(|seen| {
        let Subject::Flow { remote, .. } = &seen.subject else { return cx.quote(seen) };
        let rate = write::value(seen.field.about().unit, seen.value);
        cx.say(seen, &format!("NFS client {remote} sends {rate}"))
    });
    said.collect()
}
