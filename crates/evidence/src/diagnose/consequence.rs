//! Causes and what follows from them: page tables that eat memory make the kernel reclaim. The root
//! is reported first, with what to do; its consequences below it. By `data/consequences.tsv`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::cause::Cause;
use super::explain;
use super::finding::{Finding, order};
use crate::table::table;

/// What follows from what, and the settings that let something happen.
struct Relations {
    follows: Vec<(Cause, Vec<Cause>)>,
    settings: Vec<Cause>,
}

static RELATIONS: LazyLock<Relations> = LazyLock::new(|| {
    let rows = table!("consequences.tsv").rows();
    let mut settings = Vec::new();
    let mut groups: BTreeMap<&str, Vec<Cause>> = BTreeMap::new();
    let mut follows = Vec::new();
    for row in &rows {
        let [name, words] = row.fields();
        let cause = |key| row.one_of(Cause::ALL, Cause::key, key);
        let mut causes = Vec::new();
        for word in words.split(' ') {
            match groups.get(word) {
                Some(group) => causes.extend_from_slice(group),
                None => causes.push(cause(word)),
            }
        }
        match row.section {
            "groups" => _ = groups.insert(name, causes),
            "roots" => follows.push((cause(name), causes)),
            "settings" => {
                settings.extend_from_slice(&causes);
                follows.push((cause(name), causes));
            }
            _ => row.refuse("the section is neither groups nor roots nor settings"),
        }
    }
    follows.extend(explain::all::ALL.iter().map(|it| (it.cause, it.leads_to.to_vec())));
    Relations { follows, settings }
});

impl Cause {
    /// Whether it is a setting that lets happen what it is reported with, not what comes of that.
    pub fn is_setting(self) -> bool {
        RELATIONS.settings.contains(&self)
    }
}

/// The direct cause of a finding among others.
fn cause_of(all: &[Finding], found: &Finding) -> Option<Cause> {
    let mine = |f: &&Finding| f.host == found.host;
    // Kernel time includes interrupts: they explain it where they are at least half of it.
    const BY_SHARE: [Cause; 3] = [Cause::Interrupts, Cause::InterruptsOneCpu, Cause::SmallPackets];
    let by_share = |f: &Finding| found.cause == Cause::KernelTime && BY_SHARE.contains(&f.cause);
    // A full CPU is a server's where it is one's process, or any CPU of the machine.
    const SERVERS: [Cause; 2] = [Cause::SlowCommands, Cause::ServerFull];
    let alien = |f: &Finding| {
        found.cause == Cause::OneCpu && SERVERS.contains(&f.cause) && !may_be_server(found)
    };
    let enough = |f: &Finding| (!by_share(f) || f.weight * 2.0 >= found.weight) && !alien(f);
    let here = |cause: Cause| all.iter().filter(mine).any(|f| f.cause == cause && enough(f));
    let leads =
        |(root, follow): &&(Cause, Vec<Cause>)| follow.contains(&found.cause) && here(*root);
    RELATIONS.follows.iter().find(leads).map(|(root, _)| *root)
}

/// Whether a finding is about a process of Redis or Valkey, or about no process.
fn may_be_server(found: &Finding) -> bool {
    let subjects = found.chain.iter().flat_map(|step| &step.evidence);
    let first = subjects.filter_map(|evidence| evidence.subject.as_deref()).next();
    first.is_none_or(|subject| {
        ["redis", "valkey", "CPU "].iter().any(|start| subject.starts_with(start))
    })
}

/// Causes that name a state of the CPUs, for want of a better one.
const UNEXPLAINED: [Cause; 3] = [Cause::KernelTime, Cause::Iowait, Cause::Interrupts];

/// Puts each root before what follows from it, the worst group first. What follows has no remedies
/// of its own: to mend the root is the remedy.
pub(super) fn linked(mut all: Vec<Finding>) -> Vec<Finding> {
    let direct: Vec<Option<Cause>> = all.iter().map(|found| cause_of(&all, found)).collect();
    for (found, cause) in all.iter_mut().zip(direct) {
        found.follows = cause;
        if cause.is_some() {
            found.remedies.clear();
        }
    }
    let mut groups: Vec<Vec<Finding>> = Vec::new();
    let (mut roots, mut rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|found| found.follows.is_none());
    roots.sort_by(order);
    for root in roots {
        let mut group = vec![root];
        // What follows, and what follows from that.
        let mut at = 0;
        while at < group.len() {
            let (cause, host) = (group[at].cause, group[at].host.clone());
            let (mut mine, others): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|found: &Finding| found.follows == Some(cause) && found.host == host);
            mine.sort_by(order);
            group.extend(mine);
            rest = others;
            at += 1;
        }
        // Who causes what is critical is to be mended first, however little else it does.
        let level = group.iter().map(|found| found.severity).max();
        if let (Some(root), Some(level)) = (group.first_mut(), level) {
            root.severity = level;
        }
        groups.push(group);
    }
    groups.sort_by(|a, b| {
        worst(a).zip(worst(b)).map_or(std::cmp::Ordering::Equal, |(a, b)| order(a, b))
    });
    // What only says that something is not explained says nothing beside what explains it.
    let tells = |found: &Finding| found.follows.is_none() || !UNEXPLAINED.contains(&found.cause);
    groups.into_iter().flatten().chain(rest).filter(tells).collect()
}

/// The finding of a group that counts most.
fn worst(group: &[Finding]) -> Option<&Finding> {
    group.iter().min_by(|a, b| order(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_follows_from_a_root() {
        let rows = table!("consequences.tsv").rows();
        let (groups, roots): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.section == "groups");
        assert!(rows.iter().any(|row| row.section == "settings"));
        for group in groups {
            let used =
                |row: &&crate::table::Row| row.fields[1].split(' ').any(|it| it == group.fields[0]);
            assert!(roots.iter().any(used), "{group:?}");
        }
    }

    #[test]
    fn no_cause_follows_from_itself() {
        let follows = &RELATIONS.follows;
        for (root, _) in follows {
            let (mut open, mut seen) = (vec![*root], Vec::new());
            while let Some(cause) = open.pop() {
                let next = follows.iter().filter(|(from, _)| *from == cause);
                for follow in next.flat_map(|(_, all)| all.iter()) {
                    assert_ne!(follow, root, "a circle");
                    if !seen.contains(follow) {
                        seen.push(*follow);
                        open.push(*follow);
                    }
                }
            }
        }
    }
}
