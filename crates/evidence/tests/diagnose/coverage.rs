//! Every question is answered yes, no and unknown by some recording, and every cause is found.

use std::collections::{BTreeMap, BTreeSet};

use hugewise_evidence::diagnose::{Cause, Diagnosis, Thresholds, Verdict, diagnose, questions};

use super::{
    Text, explained, joins, logged, of_texts, parts, put, real, seeds, servers, single_facts,
    synthetic, threads,
};

/// Answers that cannot be, each with its reason.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    ("io.who", "No", "somebody uses a saturated disk: it is known who, or it is not"),
    ("disk.who", "No", "as io.who"),
    ("hugetlb.refused", "No", "servers log what they were refused, not what they got"),
    ("hugetlb.sigbus", "No", "as hugetlb.refused"),
    ("memory.fork_refused", "No", "as hugetlb.refused"),
    ("server.trouble", "No", "as hugetlb.refused"),
    ("heap.exhausted", "No", "as hugetlb.refused"),
    ("memory.own_limit", "No", "as hugetlb.refused"),
    ("server.fsync", "No", "as hugetlb.refused"),
    ("server.workers", "No", "as hugetlb.refused"),
    ("files.watches", "No", "as hugetlb.refused"),
];

/// A disk that answers 40 small requests a second, each after a third of a second.
const SLOW_DISK: &str = "\
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  aqu-sz  %util
sdb             40.00    320.00     0.00   0.00  311.00     8.00    0.00      0.00   14.20  97.20
";

fn all() -> Vec<Diagnosis> {
    let put = put::recordings();
    let put = put.iter().map(|recording| diagnose(recording, &Thresholds::default()));
    let seeds = [seeds::FREEZES, seeds::NFS, seeds::JAVA].into_iter();
    let slow: &[Text] = &[("slow.txt", SLOW_DISK)];
    let df: [&[Text]; 2] = [&[joins::FULL], &[joins::ROOMY]];
    let texts = synthetic::texts()
        .chain(servers::texts())
        .chain(seeds)
        .chain([slow])
        .chain(df)
        .map(of_texts);
    real::texts()
        .chain(single_facts::texts())
        .chain(explained::texts())
        .chain(logged::texts())
        .chain(parts::texts())
        .chain(threads::texts())
        .map(|text| of_texts(&[text]))
        .chain(texts)
        .chain(put)
        .collect()
}

#[test]
fn every_question_is_answered_in_every_way() {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for diagnosis in &all() {
        for asked in diagnosis.hosts.iter().flat_map(|host| &host.tree) {
            if let Some(answer) = &asked.answer {
                seen.entry(asked.id).or_default().insert(format!("{:?}", answer.verdict));
            }
        }
    }
    let mut gaps = Vec::new();
    for node in questions::ALL.iter() {
        for verdict in [Verdict::Yes, Verdict::No, Verdict::Unknown] {
            let name = format!("{verdict:?}");
            let has = seen.get(node.id).is_some_and(|names| names.contains(&name));
            let can = !IMPOSSIBLE.iter().any(|(id, never, _)| (*id, *never) == (node.id, &name));
            if has != can {
                gaps.push(format!("{} {name}", node.id));
            }
        }
    }
    assert!(gaps.is_empty(), "{gaps:#?}");
}

#[test]
fn every_cause_is_found() {
    let all = all();
    let found: BTreeSet<Cause> =
        all.iter().flat_map(|diagnosis| &diagnosis.findings).map(|found| found.cause).collect();
    let never: Vec<&str> = Cause::ALL
        .iter()
        .filter(|cause| !found.contains(cause))
        .map(|cause| cause.about().key)
        .collect();
    assert!(never.is_empty(), "{never:?}");
}
