//! What the journal says of short memory.

use crate::limits::pressure::{Pressure, PressureSource};
use crate::record::Record;
use hugewise_base::parse::cgroup;
use hugewise_base::units::Ns;
use std::collections::BTreeMap;

/// A cgroup, or the machine.
type Scope = Option<String>;

/// What was last written down, of whatever memory is short for or was a while ago.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<Scope, (Ns, Option<PressureSource>)>);

impl Told {
    /// What changed since it was last written down. Of one scope something is written at most once
    /// in `interval`: whoever fills and empties a cgroup all the time fills no journal.
    pub(super) fn changes(&mut self, pressure: &Pressure, interval: Ns, now: Ns) -> Vec<Record> {
        let short: BTreeMap<Scope, _> =
            pressure.all().map(|(cgroup, source)| (cgroup.map(str::to_owned), source)).collect();
        let due = |(when, _): &(Ns, _)| now.since(*when) >= interval;
        self.0.retain(|scope, told| told.1.is_some() || short.contains_key(scope) || !due(told));
        let mut records = Vec::new();
        let known: Vec<_> = self.0.keys().chain(short.keys()).cloned().collect();
        for cgroup in known {
            let (source, told) = (short.get(&cgroup).copied(), self.0.get(&cgroup));
            let before = told.and_then(|(_, source)| *source);
            if source != before && told.is_none_or(due) {
                self.0.insert(cgroup.clone(), (now, source));
                let belongs_to = cgroup.as_deref().and_then(cgroup::belongs_to);
                records.push(Record::Pressure { cgroup, belongs_to, source });
            }
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Watermark;
    use crate::snapshot::CgroupSample;
    use hugewise_base::units::Bytes;

    #[test]
    fn a_cgroup_that_flaps_is_told_of_now_and_then() {
        let (mut told, mut pressure, mut records) =
            (Told::default(), Pressure::default(), Vec::new());
        for second in 0..60 {
            let usage = Bytes::mib(if second % 2 == 0 { 99 } else { 10 });
            let sample =
                CgroupSample { usage, limit: Bytes::mib(100), stalled_us: None, limit_hits: None };
            let cgroups = BTreeMap::from([("/a".to_owned(), sample)]);
            pressure.cgroups(&Watermark::default(), &cgroups, Ns::s(second));
            records.extend(told.changes(&pressure, Ns::s(10), Ns::s(second)));
        }
        assert!((4..=7).contains(&records.len()), "{records:?}");
        let first = Record::Pressure {
            cgroup: Some("/a".into()),
            belongs_to: None,
            source: Some(PressureSource::CgroupUsage),
        };
        assert_eq!(records.first(), Some(&first));
        pressure.cgroups(&Watermark::default(), &BTreeMap::new(), Ns::s(80));
        let over = told.changes(&pressure, Ns::s(10), Ns::s(80));
        assert!(matches!(over[..], [] | [Record::Pressure { source: None, .. }]), "{over:?}");
        told.changes(&pressure, Ns::s(10), Ns::s(100));
        assert!(told.0.is_empty(), "{told:?}");
    }
}
