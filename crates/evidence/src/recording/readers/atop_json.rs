//! `atop -J`: one JSON object a sample, each on its line.

use std::collections::BTreeMap;

use serde_json::Value;

use super::atop::{Disk, Sampler};
use crate::recording::base_page::ASSUMED_BYTES;
use crate::recording::{Builder, Clock, Field, SourceKind, Stamp, Subject};

/// How much of the text is read to recognise it.
const START_BYTES: usize = 400;

/// Reads such a text; `false` when it is none. `sadf -j` has no `elapsed` near its beginning.
pub(super) fn read(bytes: &[u8], out: &mut Builder) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(START_BYTES)]);
    if !start.contains("\"timestamp\"") || !start.contains("\"elapsed\"") {
        return false;
    }
    let mut reader = Json::default();
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        out.at_line(number);
        match super::json::whole(line) {
            Ok(sample) => reader.sample(&sample, number, out),
            Err(error) => out.problem(format!("no whole JSON object of atop: {error}")),
        }
    }
    true
}

/// A number, also one that is written as a text. Negative ones stand for unknown.
fn number(object: &Value, key: &str) -> Option<f64> {
    let value = object.get(key)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn rows<'a>(sample: &'a Value, label: &str) -> &'a [Value] {
    sample.get(label).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn pid(row: &Value) -> Option<u32> {
    u32::try_from(row.get("pid")?.as_u64()?).ok()
}

#[derive(Default)]
struct Json {
    host: Option<String>,
    sampler: Sampler,
}

impl Json {
    fn sample(&mut self, sample: &Value, line: usize, out: &mut Builder) {
        let at = sample.get("timestamp").and_then(Value::as_i64);
        // Times with a date that can be computed; later ones are no time of a recording.
        let at = at.filter(|at| (0..1 << 40).contains(at)).map(Stamp);
        let (Some(at), Some(interval_s)) = (at, number(sample, "elapsed")) else {
            out.problem("a sample of atop without 'timestamp' and 'elapsed': left out");
            return;
        };
        let host = sample.get("host").and_then(Value::as_str).unwrap_or("").trim();
        let first = self.host.is_none();
        if self.host.as_deref() != Some(host) {
            out.host(host);
            out.begin(SourceKind::AtopJson, line);
            out.clock(Clock::Utc);
            self.host = Some(host.to_owned());
            self.sampler = Sampler::default();
        }
        self.sampler.since_boot = since_boot(sample, first);
        if self.sampler.since_boot && !first {
            out.restart(Some(at));
        }
        (self.sampler.at, self.sampler.interval_s) = (Some(at), interval_s);
        self.machine(sample, out);
        self.devices(sample, out);
        self.processes(sample, out);
    }

    fn machine(&mut self, sample: &Value, out: &mut Builder) {
        let sampler = &mut self.sampler;
        if let Some(cpu) = sample.get("CPU") {
            if let Some(count) = number(cpu, "nrcpu") {
                sampler.cpu_count(count, out);
            }
            if let Some(ticks) = ticks(cpu) {
                sampler.cpu(&Subject::Machine, ticks, out);
            }
        }
        for cpu in rows(sample, "cpu") {
            let id = cpu.get("cpuid").and_then(Value::as_u64);
            let id = id.and_then(|id| u32::try_from(id).ok());
            if let (Some(id), Some(ticks)) = (id, ticks(cpu)) {
                sampler.cpu(&Subject::Cpu(id), ticks, out);
            }
        }
        let of = |label: &str, key: &str| number(sample.get(label)?, key);
        let loads = ["lavg1", "lavg5", "lavg15"].map(|key| of("CPL", key));
        sampler.load(loads, of("CPL", "csw"), of("CPL", "devint"), out);
        // Sizes are in bytes here, except the counts of huge pages.
        let huge = |key: &str| Some(of("MEM", key)? * of("MEM", "hugepagesz")?);
        let amounts = [
            (Field::MemTotal, of("MEM", "physmem")),
            (Field::MemFree, of("MEM", "freemem")),
            (Field::Cached, of("MEM", "cachemem")),
            (Field::Buffers, of("MEM", "buffermem")),
            (Field::Slab, of("MEM", "slabmem")),
            (Field::Dirty, of("MEM", "cachedrt")),
            (Field::Shmem, of("MEM", "shmem")),
            (Field::HugetlbTotal, huge("tothugepage")),
            (Field::HugetlbFree, huge("freehugepage")),
            (Field::SwapTotal, of("SWP", "totswap")),
            (Field::SwapFree, of("SWP", "freeswap")),
            (Field::Committed, of("SWP", "committed")),
        ];
        sampler.memory(&amounts, out);
        let bytes = |key: &str| of("PAG", key).map(|pages| pages * ASSUMED_BYTES);
        let paging = [
            (Field::Scan, of("PAG", "pgscans")),
            (Field::AllocStall, of("PAG", "allocstall")),
            (Field::SwapIn, bytes("swins")),
            (Field::SwapOut, bytes("swouts")),
            (Field::OomKills, of("PAG", "oomkills")),
            (Field::CompactStall, of("PAG", "compacts")),
            (Field::PagesMigrated, of("PAG", "migrates")),
            (Field::PageIn, bytes("pgins")),
            (Field::PageOut, bytes("pgouts")),
        ];
        sampler.counts(&paging, out);
        if sample.get("PSI").and_then(|psi| psi.get("psi")?.as_str()) == Some("y") {
            let averages = ["cs10", "ms10", "mf10", "ios10", "iof10"].map(|key| of("PSI", key));
            sampler.pressure(averages, out);
        }
    }

    fn devices(&mut self, sample: &Value, out: &mut Builder) {
        for row in rows(sample, "DSK") {
            if let (Some(name), Some(disk)) =
                (row.get("dskname").and_then(Value::as_str), disk(row))
            {
                self.sampler.disk(name, &disk, out);
            }
        }
        if let Some(row) = sample.get("NET_GENERAL") {
            let counts = [
                (Field::TcpInSegments, number(row, "rpacketsTCP")),
                (Field::TcpOutSegments, number(row, "spacketsTCP")),
                (Field::TcpActiveOpens, number(row, "activeOpensTCP")),
                (Field::TcpPassiveOpens, number(row, "passiveOpensTCP")),
                (Field::TcpRetransmits, number(row, "retransSegsTCP")),
            ];
            self.sampler.counts(&counts, out);
        }
        for row in rows(sample, "NET") {
            if let (Some(name), Some(link)) = (row.get("name").and_then(Value::as_str), link(row)) {
                let speed_mbit = number(row, "speed").unwrap_or(0.0);
                self.sampler.link(name, link, speed_mbit, out);
            }
        }
    }

    /// Names are in `PRG` only; threads, which are listed beside their process, are passed over.
    fn processes(&mut self, sample: &Value, out: &mut Builder) {
        let mut names: BTreeMap<u32, &str> = BTreeMap::new();
        for row in rows(sample, "PRG") {
            let name = row.get("name").and_then(Value::as_str);
            let thread = number(row, "isproc") == Some(0.0);
            let (Some(pid), Some(name), false) = (pid(row), name, thread) else { continue };
            let name =
                name.strip_prefix('(').and_then(|name| name.strip_suffix(')')).unwrap_or(name);
            names.insert(pid, name);
            let state = row.get("state").and_then(Value::as_str).unwrap_or("");
            self.sampler.process_state((pid, name), state, number(row, "nthr"), out);
        }
        let hertz = sample.get("CPU").and_then(|cpu| number(cpu, "hertz")).unwrap_or(0.0);
        let task = |row: &Value| {
            let pid = pid(row)?;
            names.get(&pid).map(|name| (pid, *name))
        };
        for row in rows(sample, "PRC") {
            let ticks = (number(row, "utime"), number(row, "stime"));
            if let (Some(task), (Some(user), Some(system))) = (task(row), ticks) {
                self.sampler.process_cpu(task, (user, system), hertz, out);
            }
        }
        for row in rows(sample, "PRM") {
            // In KiB, unlike the machine's sizes.
            if let (Some(task), Some(resident)) = (task(row), number(row, "rmem")) {
                let faults = (number(row, "minflt"), number(row, "majflt"));
                self.sampler.process_memory(task, resident * 1024.0, faults, out);
            }
        }
        for row in rows(sample, "PRD") {
            let sectors = (number(row, "rsz"), number(row, "wsz"));
            if let (Some(task), (Some(read), Some(written))) = (task(row), sectors) {
                self.sampler.process_disk(task, (read, written), out);
            }
        }
    }
}

/// Whether a sample is of sums since boot. atop marks such samples in its text only; in them the
/// oldest processes (1: init, 2: kthreadd) are new. Without these two, the first sample is taken
/// for one.
fn since_boot(sample: &Value, first: bool) -> bool {
    let oldest = rows(sample, "PRG").iter().find(|row| pid(row).is_some_and(|pid| pid <= 2));
    let status = oldest.and_then(|row| row.get("st")?.as_str());
    status.map_or(first, |status| status.starts_with('N'))
}

fn ticks(row: &Value) -> Option<[f64; 9]> {
    const KEYS: [&str; 8] =
        ["stime", "utime", "ntime", "itime", "wtime", "Itime", "Stime", "steal"];
    let mut ticks = [0.0; 9];
    for (tick, key) in ticks.iter_mut().zip(KEYS) {
        *tick = number(row, key)?;
    }
    ticks[8] = number(row, "guest").unwrap_or(0.0);
    Some(ticks)
}

fn disk(row: &Value) -> Option<Disk> {
    Some(Disk {
        busy_ms: number(row, "io_ms")?,
        reads: number(row, "nread")?,
        read_sectors: number(row, "nrsect")?,
        writes: number(row, "nwrite")?,
        written_sectors: number(row, "nwsect")?,
        // Unlike the text's, this is the sum itself.
        waited_ms: number(row, "avque"),
        discards: number(row, "ndiscrd").unwrap_or(0.0),
    })
}

fn link(row: &Value) -> Option<[f64; 4]> {
    let number = |key| number(row, key);
    Some([number("rpack")?, number("rbyte")?, number("spack")?, number("sbyte")?])
}
