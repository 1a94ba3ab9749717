//! Metrics of `node_exporter`, in the text form of Prometheus: they carry the kernel's own names,
//! and are mapped as the files are; the others are in `data/listings.tsv`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::listing::listed;
use super::prelude::*;
use super::{meminfo, vmstat_counts};
use crate::recording::readers::sysstat::of_key;

/// What a metric is: its field, its factor to the field's unit, and the label that names a disk or
/// an interface.
struct Known {
    name: &'static str,
    field: Field,
    factor: f64,
    label: &'static str,
}

static KNOWN: LazyLock<BTreeMap<&str, Known>> = LazyLock::new(|| {
    let known = |row: &crate::table::Row| {
        let [name, field, factor, label] = row.fields();
        let (field, factor) = (of_key(row, field), row.number(factor));
        Known { name, field, factor, label }
    };
    listed("metrics").map(known).map(|known| (known.name, known)).collect()
});

/// A line: its name, its labels and its value.
struct Metric<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Metric<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(end);
        let rest = rest.trim_start();
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}')?,
            None => ("", rest),
        };
        // A time may stand behind it.
        let value = rest.split_whitespace().next()?.parse().ok()?;
        let name = name.strip_prefix("node_")?;
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (name.bytes().all(usual) && f64::is_finite(value)).then_some(Self { name, labels, value })
    }

    fn label(&self, wanted: &str) -> Option<&'a str> {
        let mut labels = self.labels.split(',').filter_map(|label| label.split_once('='));
        let (_, value) = labels.find(|(name, _)| name.trim() == wanted)?;
        Some(value.trim_matches('"'))
    }
}

/// What Prometheus says of the metrics below.
fn is_comment(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("# ").unwrap_or("");
    rest.starts_with("HELP ") || rest.starts_with("TYPE ")
}

/// Begins at a metric of `node_exporter`, or at what is said of one.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let told = is_comment(line) && line.contains(" node_");
    (told || Metric::of(line).is_some())
        .then(|| lines.resume(SourceKind::NodeExporter, Metrics::default(), out))
}

#[derive(Default)]
struct Metrics {
    /// CPU time in each state, and the CPUs.
    times: BTreeMap<String, f64>,
    cpus: BTreeSet<String>,
    /// Counts of pages of the HugeTLB pool, and the size of a page.
    pages: BTreeMap<Field, f64>,
    page_bytes: Option<f64>,
    /// Sums over the zones of memory.
    zones: BTreeMap<Field, f64>,
}

impl Metrics {
    fn put(&mut self, metric: &Metric<'_>, out: &mut Builder) {
        let Metric { name, value, .. } = *metric;
        if let Some(key) = name.strip_prefix("memory_") {
            return self.memory(key, value, out);
        }
        if let Some(key) = name.strip_prefix("vmstat_") {
            match vmstat_counts::by_zone(key) {
                Some(field) => *self.zones.entry(field).or_default() += value,
                None => vmstat_counts::put(key, value, out),
            }
            return;
        }
        if let ("cpu_seconds_total", Some(mode)) = (name, metric.label("mode")) {
            *self.times.entry(mode.to_owned()).or_default() += value * 1e3;
            self.cpus.extend(metric.label("cpu").map(str::to_owned));
            return;
        }
        let Some(known) = KNOWN.get(name) else { return };
        let own = || metric.label("device").unwrap_or("").to_owned();
        let subject = match known.label {
            "disk" => Subject::Disk(own()),
            "interface" => Subject::Interface(own()),
            _ => Subject::Machine,
        };
        out.put(known.field, &subject, None, value * known.factor);
    }

    fn memory(&mut self, key: &str, value: f64, out: &mut Builder) {
        if let Some(field) = meminfo::find(&meminfo::POOL_KEYS, key) {
            self.pages.insert(field, value);
        } else if let Some(field) =
            key.strip_suffix("_bytes").and_then(|key| meminfo::find(&meminfo::KEYS, key))
        {
            if field == Field::HugetlbPage {
                self.page_bytes = Some(value);
            }
            out.put(field, &Subject::Machine, None, value);
        }
    }
}

impl Reader for Metrics {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if is_comment(line) || line.trim().is_empty() {
            return Taken::Yes;
        }
        let Some(metric) = Metric::of(line) else {
            // `NaN`: it is not known.
            return if line.starts_with("node_") { Taken::Yes } else { Taken::No };
        };
        self.put(&metric, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        for (field, sum) in &self.zones {
            out.put(*field, &Subject::Machine, None, *sum);
        }
        for (mode, ms) in &self.times {
            out.put(Field::CpuTime, &Subject::Named(mode.clone()), None, *ms);
        }
        if !self.cpus.is_empty() {
            out.put(Field::CpuCount, &Subject::Machine, None, self.cpus.len() as f64);
        }
        for (field, pages) in &self.pages {
            let bytes =
                if *pages > 0.0 { self.page_bytes.map(|size| pages * size) } else { Some(0.0) };
            out.put_known(*field, &Subject::Machine, None, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn metrics_are_what_the_files_are() {
        let recording = read(
            "# HELP node_memory_MemTotal_bytes Memory information field MemTotal_bytes.\n\
             # TYPE node_memory_MemTotal_bytes gauge\nnode_memory_MemTotal_bytes 6.7e+10\n\
             node_memory_Hugepagesize_bytes 2.097152e+06\nnode_memory_HugePages_Total 100\n\
             node_memory_HugePages_Free 0\nnode_memory_Active_anon_bytes 5\n\
             node_vmstat_pswpin 1000\nnode_vmstat_allocstall_normal 7\nnode_vmstat_oom_kill 3\n\
             node_pressure_memory_waiting_seconds_total 12.5\n\
             node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 100.5\n\
             node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 50\n\
             node_disk_io_time_seconds_total{device=\"sdb\"} 7.5 1709629958000\n\
             node_network_receive_drop_total{device=\"ens3\"} 41\nnode_load1 9.5\n\
             node_unknown_metric NaN\nnode_netstat_TcpExt_ListenOverflows 12\n",
        );
        assert_eq!(machine(&recording, Field::MemTotal), [6.7e10]);
        assert_eq!(machine(&recording, Field::HugetlbTotal), [100.0 * 2_097_152.0]);
        assert_eq!(machine(&recording, Field::HugetlbFree), [0.0]);
        assert_eq!(machine(&recording, Field::SwapInCount), [4_096_000.0]);
        assert_eq!(machine(&recording, Field::AllocStallCount), [7.0]);
        assert_eq!(machine(&recording, Field::OomKillCount), [3.0]);
        assert_eq!(machine(&recording, Field::CpuCount), [2.0]);
        assert_eq!(machine(&recording, Field::Load1), [9.5]);
        assert_eq!(machine(&recording, Field::TcpListenOverflowCount), [12.0]);
        let system = Subject::Named("system".to_owned());
        assert_eq!(values(&recording, Field::CpuTime, &system), [150_500.0]);
        let sdb = Subject::Disk("sdb".to_owned());
        assert_eq!(values(&recording, Field::DiskBusyTime, &sdb), [7500.0]);
        let ens3 = Subject::Interface("ens3".to_owned());
        assert_eq!(values(&recording, Field::NetRxDropCount, &ens3), [41.0]);
        let other = read("# HELP up Whether it is.\nup 1\n");
        assert!(other.sources.is_empty());
        all_understood(&read("node_load1 9.5\n"));
    }
}
