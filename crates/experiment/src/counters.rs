//! The machine's counters over a run, by the names that a recording has for them: everything that a
//! hypothesis can expect to move.

use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Field, Host, Recording, Span, Subject, Unit};
use std::collections::BTreeMap;

/// What is about the machine, its disks or its network.
const PARTS: [&str; 16] = [
    "compaction.",
    "cpu.",
    "disk.",
    "fragmentation.",
    "hugetlb.",
    "irq.",
    "mem.",
    "net.",
    "paging.",
    "psi.",
    "reclaim.",
    "softnet.",
    "swap.",
    "tasks.",
    "tcp.",
    "thp.",
];

/// The fields that have a value: what the machine does in a second, or how it stands. Counts since
/// boot and single events have none.
pub fn fields() -> impl Iterator<Item = Field> {
    Field::ALL.iter().copied().filter(|field| {
        let about = field.about();
        let of_machine = PARTS.iter().any(|part| about.key.starts_with(part));
        of_machine && matches!(about.span, Span::Average | Span::Instant)
    })
}

/// The field with this key, if a run can have a value of it.
pub fn find(key: &str) -> Option<Field> {
    fields().find(|field| field.about().key == key)
}

/// Keys that begin as this one does, for a message about one that is none.
pub fn like(key: &str) -> impl Iterator<Item = &'static str> {
    let part = key.split_once('.').map_or(key, |(part, _)| part).to_owned();
    let keys = fields().map(|field| field.about().key);
    keys.filter(move |key| key.split_once('.').is_some_and(|(own, _)| own == part))
}

/// The means over samples that follow each other, in the form of `hugewise record`.
///
/// What the machine has no value of its own for is put together from its disks, or its network
/// interfaces: rates are added up, of all else the largest counts.
pub fn over(samples: &[Vec<u8>]) -> BTreeMap<String, f64> {
    let (mut builder, mut capture) = (Builder::new(), Capture::new("counters"));
    samples.iter().for_each(|sample| capture.take(sample, &mut builder));
    capture.end(&mut builder);
    let recording: Recording = builder.finish();
    let Some(host) = recording.hosts.first() else { return BTreeMap::new() };
    let value = |field: Field| Some((field.about().key.to_owned(), of_field(host, field)?));
    fields().filter_map(value).collect()
}

fn of_field(host: &Host, field: Field) -> Option<f64> {
    if let Some(series) = host.series(field, &Subject::Machine) {
        return series.mean();
    }
    let parts: Vec<f64> = host
        .subjects(field)
        .filter(|(subject, _)| matches!(subject, Subject::Disk(_) | Subject::Interface(_)))
        .filter_map(|(_, series)| series.first()?.mean())
        .collect();
    let adds_up = matches!(field.about().unit, Unit::PerSecond | Unit::BytesPerSecond);
    match adds_up && !parts.is_empty() {
        true => Some(parts.iter().sum()),
        false => parts.into_iter().reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_value_over_a_run_has_a_key() {
        assert_eq!(find("cpu.system_percent"), Some(Field::CpuSystem));
        assert_eq!(find("compaction.stalls_per_s"), Some(Field::CompactStall));
        assert_eq!(find("compaction.stalls"), None);
        assert_eq!(find("log.lines"), None);
        assert_eq!(find("thp.collapse_per_s"), Some(Field::ThpCollapse));
        assert!(fields().count() > 50);
        assert!(like("cpu.sistem").any(|key| key == "cpu.system_percent"));
        assert_eq!(like("nonsense").count(), 0);
        assert!(over(&[]).is_empty() && over(&[b"no sample".to_vec()]).is_empty());
    }
}
