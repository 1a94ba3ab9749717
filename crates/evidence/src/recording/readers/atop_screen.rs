//! The screen of `atop`, pasted: bars of names with numbers, counted over the interval of its first
//! line. atop(1), version 2.

use super::prelude::*;
use crate::recording::base_page::ASSUMED_BYTES;

/// Counts of base pages.
const PAGE: f64 = ASSUMED_BYTES;
const MB: f64 = 1_048_576.0;
/// `Mbps` of a link, in bytes a second.
const MEGABIT: f64 = 125_000.0;

/// `ATOP - db1   2025/11/04  08:20:01   -----   10s elapsed`.
fn head(line: &str) -> Option<(&str, Stamp, f64)> {
    let words = words(line);
    let ["ATOP", "-", host, day, time, ..] = words.as_slice() else { return None };
    let at = joined(date(day)?, time_of_day(time)?);
    let elapsed = words.iter().rposition(|word| *word == "elapsed")?;
    let seconds = seconds(words.get(elapsed.checked_sub(1)?)?).filter(|s| *s > 0.0)?;
    Some((host, at, seconds))
}

/// `10s`, `1m30s`, `2h5m`, `1.20s`.
fn seconds(text: &str) -> Option<f64> {
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let value = number(rest.get(..end)?)?;
        sum += value
            * match rest.get(end..=end)? {
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = rest.get(end + 1..)?;
    }
    Some(sum)
}

/// Begins at its first line.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (host, at, seconds) = head(lines.ahead(0))?;
    out.host_of_prompt(host);
    Some(lines.begin(
        SourceKind::AtopScreen,
        PastBlanks(Screen { at, seconds, columns: Vec::new() }),
        out,
    ))
}

struct Screen {
    at: Stamp,
    seconds: f64,
    /// Of the list of processes.
    columns: Vec<String>,
}

/// A cell: its name, and the words behind it.
type Cell<'a> = (&'a str, Vec<&'a str>);

fn cells(line: &str) -> Option<(&str, Vec<Cell<'_>>)> {
    let mut parts = line.trim().trim_end_matches('|').split('|');
    let label = parts.next()?.trim();
    let cells = parts.filter_map(|part| {
        let mut words = part.split_whitespace();
        Some((words.next()?, words.collect()))
    });
    let cells: Vec<Cell<'_>> = cells.collect();
    let usual = label.len() <= 3 && label.chars().all(|c| c.is_ascii_alphanumeric());
    (usual && !label.is_empty() && !cells.is_empty()).then_some((label, cells))
}

/// A number with its unit taken in: `98%`, `15.5G`, `1200`, `4.13 ms`.
fn value(cell: &Cell<'_>) -> Option<f64> {
    let word = cell.1.first()?;
    if let Some(percent) = word.strip_suffix('%') {
        return number(percent);
    }
    let (value, unit) = number_and_unit(word)?;
    // Large counts are cut short: `12e5`.
    match unit.strip_prefix('e').and_then(count) {
        Some(power) => Some(value * 10_f64.powi(i32::try_from(power).ok()?)),
        None => Some(value * binary_factor(unit)?),
    }
}

impl Screen {
    fn put(&self, field: Field, subject: &Subject, value: f64, out: &mut Builder) {
        out.put(field, subject, Some(self.at), value);
    }

    /// Puts the cells with these names, each times a factor.
    fn named(
        &self,
        cells: &[Cell<'_>],
        subject: &Subject,
        fields: &[(&str, Field, f64)],
        out: &mut Builder,
    ) {
        for (name, field, factor) in fields {
            let found = cells.iter().find(|cell| cell.0 == *name);
            out.put_known(
                *field,
                subject,
                Some(self.at),
                found.and_then(value).map(|value| value * factor),
            );
        }
    }

    /// Shares of all CPUs together, up to 100 % each.
    fn cpu(&self, cells: &[Cell<'_>], out: &mut Builder) {
        const STATES: [(&str, Field); 6] = [
            ("sys", Field::CpuSystem),
            ("user", Field::CpuUser),
            ("irq", Field::CpuSoftirq),
            ("idle", Field::CpuIdle),
            ("wait", Field::CpuIowait),
            ("steal", Field::CpuSteal),
        ];
        let share = |name: &str| cells.iter().find(|cell| cell.0 == name).and_then(value);
        let sum: f64 = STATES.iter().filter_map(|(name, _)| share(name)).sum();
        // A narrow screen leaves out what is mostly 0, but never these.
        let cpus = (sum / 100.0).round();
        if share("idle").is_none() || cpus < 1.0 {
            return;
        }
        self.put(Field::CpuCount, &Subject::Machine, cpus, out);
        for (name, field) in STATES {
            out.put_known(
                field,
                &Subject::Machine,
                Some(self.at),
                share(name).map(|share| share / cpus),
            );
        }
    }

    fn disk(&self, cells: &[Cell<'_>], out: &mut Builder) {
        let Some(((name, _), rest)) = cells.split_first() else { return };
        let (disk, each) = (Subject::Disk((*name).to_owned()), 1.0 / self.seconds);
        let fields = [
            ("busy", Field::DiskBusy, 1.0),
            ("read", Field::DiskReads, each),
            ("write", Field::DiskWrites, each),
            ("MBr/s", Field::DiskReadBytes, MB),
            ("MBw/s", Field::DiskWriteBytes, MB),
            ("avq", Field::DiskQueue, 1.0),
            ("KiB/r", Field::DiskReadRequestBytes, 1024.0),
            ("KiB/w", Field::DiskWriteRequestBytes, 1024.0),
        ];
        self.named(rest, &disk, &fields, out);
    }

    fn link(&self, cells: &[Cell<'_>], out: &mut Builder) {
        let Some((first, rest)) = cells.split_first() else { return };
        let name = first.0;
        if matches!(name, "transport" | "network") {
            return;
        }
        let (link, each) = (Subject::Interface(name.to_owned()), 1.0 / self.seconds);
        out.put_known(Field::NetBusy, &link, Some(self.at), value(first));
        let fields = [
            ("pcki", Field::NetRxPackets, each),
            ("pcko", Field::NetTxPackets, each),
            ("drpi", Field::NetRxDrops, each),
            ("drpo", Field::NetTxDrops, each),
        ];
        self.named(rest, &link, &fields, out);
        for (name, field) in [("si", Field::NetRxBytes), ("so", Field::NetTxBytes)] {
            let cell = rest.iter().find(|cell| cell.0 == name);
            let scale = match cell.and_then(|cell| cell.1.get(1)) {
                Some(&"Kbps") => MEGABIT / 1e3,
                Some(&"Mbps") => MEGABIT,
                Some(&"Gbps") => MEGABIT * 1e3,
                _ => continue,
            };
            out.put_known(
                field,
                &link,
                Some(self.at),
                cell.and_then(value).map(|value| value * scale),
            );
        }
    }

    fn bar(&self, label: &str, cells: &[Cell<'_>], out: &mut Builder) -> bool {
        let (machine, each) = (Subject::Machine, 1.0 / self.seconds);
        let fields: &[(&str, Field, f64)] = match label {
            "CPU" => {
                self.cpu(cells, out);
                return true;
            }
            "DSK" => {
                self.disk(cells, out);
                return true;
            }
            "NET" => {
                self.link(cells, out);
                return true;
            }
            "PRC" => &[("#tslpu", Field::Blocked, 1.0), ("#proc", Field::Tasks, 1.0)],
            "CPL" => &[
                ("avg1", Field::Load1, 1.0),
                ("avg5", Field::Load5, 1.0),
                ("avg15", Field::Load15, 1.0),
                ("csw", Field::ContextSwitches, each),
                ("intr", Field::Interrupts, each),
                ("numcpu", Field::CpuCount, 1.0),
            ],
            "MEM" => &[
                ("tot", Field::MemTotal, 1.0),
                ("free", Field::MemFree, 1.0),
                ("avail", Field::MemAvailable, 1.0),
                ("cache", Field::Cached, 1.0),
                ("buff", Field::Buffers, 1.0),
                ("slab", Field::Slab, 1.0),
                ("pgtab", Field::PageTables, 1.0),
            ],
            "SWP" => &[("tot", Field::SwapTotal, 1.0), ("free", Field::SwapFree, 1.0)],
            "PAG" => &[
                ("scan", Field::Scan, each),
                ("steal", Field::Steal, each),
                ("stall", Field::AllocStall, each),
                ("swin", Field::SwapIn, PAGE / self.seconds),
                ("swout", Field::SwapOut, PAGE / self.seconds),
                ("oomkill", Field::OomKills, each),
            ],
            "PSI" => &[
                ("cpusome", Field::PsiCpuSome, 1.0),
                ("memsome", Field::PsiMemorySome, 1.0),
                ("memfull", Field::PsiMemoryFull, 1.0),
                ("iosome", Field::PsiIoSome, 1.0),
                ("iofull", Field::PsiIoFull, 1.0),
            ],
            "cpu" | "LVM" | "MDD" | "NFM" | "NFC" | "NFS" | "NUM" | "NUC" | "IFB" | "GPU" => &[],
            _ => return false,
        };
        self.named(cells, &machine, fields, out);
        true
    }

    /// A process; `false` when the line is none.
    fn process(&self, line: &str, out: &mut Builder) -> bool {
        let words = words(line);
        let cell = |name: &str| {
            let at = self.columns.iter().position(|column| column == name)?;
            words.get(at).copied()
        };
        let pid = cell("PID").and_then(count).and_then(|pid| u32::try_from(pid).ok());
        let (Some(pid), Some(name)) = (pid, cell("CMD")) else { return false };
        let process = Subject::process(Some(pid), name);
        out.put_known(
            Field::ProcCpu,
            &process,
            Some(self.at),
            cell("CPU").and_then(|cpu| number(cpu.strip_suffix('%')?)),
        );
        out.put_known(
            Field::ProcSystem,
            &process,
            Some(self.at),
            cell("SYSCPU").and_then(seconds).map(|system| system / self.seconds * 100.0),
        );
        if let Some(state) = cell("S") {
            let blocked = if state == "D" { 1.0 } else { 0.0 };
            self.put(Field::ProcBlocked, &process, blocked, out);
        }
        true
    }
}

impl Reader for Screen {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((_, at, seconds)) = head(line) {
            (self.at, self.seconds) = (at, seconds);
            return Taken::Yes;
        }
        if let Some((label, cells)) = cells(line) {
            return if self.bar(label, &cells, out) { Taken::Yes } else { Taken::No };
        }
        let names = words(line);
        if names.first() == Some(&"PID") && names.contains(&"CMD") {
            // What follows is the page of the list: `1/12`.
            self.columns = names.into_iter().map(str::to_owned).collect();
            return Taken::Yes;
        }
        if self.process(line, out) { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    const SCREEN: &str = "\
ATOP - db1      2025/11/04  08:20:01      ----------------     1m40s elapsed
PRC | sys    4.52s | user  12.10s | #proc    412 | #tslpu     3 | #zombie    0 | #exit      0 |
CPU | sys      45% | user    121% | irq       3% | idle    210% | wait     21% | curscal   ?% |
cpu | sys      11% | user     30% | irq       1% | idle     50% | cpu001 w  8% | curscal   ?% |
CPL | avg1    5.22 | avg5    4.98 | avg15   4.40 | csw   120200 | intr   80112 | numcpu     4 |
MEM | tot    15.5G | free  212.1M | cache   1.2G | buff   20.1M | slab  310.2M | shmem  12.0M |
SWP | tot     2.0G | free    1.9G |              |              | vmcom   9.1G | vmlim  12.1G |
PAG | scan   12000 | steal   8000 | stall      0 | swin      10 |              | swout    100 |
DSK |          sda | busy     98% | read    1200 | write    300 | MBr/s    0.2 | avio 4.13 ms |
NET | transport    | tcpi    1200 | tcpo    1100 | udpi       3 | udpo       3 | tcpao      1 |
NET | eth0     12% | pcki   20000 | pcko   10000 | si  120 Mbps | so 1024 Kbps | drpo       0 |

    PID SYSCPU USRCPU  VGROW  RGROW  RDDSK  WRDSK  ST EXC  THR S CPUNR  CPU  CMD         1/12
   8120  1.20s  7.00s     0K     0K     0K    12K  --   -   41 D     2  82%  postgres
";

    #[test]
    fn a_screen_is_read() {
        let recording = read(SCREEN);
        all_understood(&recording);
        assert_eq!(recording.hosts[0].name.as_deref(), Some("db1"));
        assert_eq!(machine(&recording, Field::CpuUser), [30.25]);
        assert_eq!(machine(&recording, Field::CpuIowait), [5.25]);
        assert_eq!(machine(&recording, Field::ContextSwitches), [1202.0]);
        assert_eq!(machine(&recording, Field::Scan), [120.0]);
        assert_eq!(machine(&recording, Field::SwapOut), [4096.0]);
        assert_eq!(machine(&recording, Field::Blocked), [3.0]);
        let disk = Subject::Disk("sda".to_owned());
        assert_eq!(values(&recording, Field::DiskBusy, &disk), [98.0]);
        assert_eq!(values(&recording, Field::DiskReads, &disk), [12.0]);
        let link = Subject::Interface("eth0".to_owned());
        assert_eq!(values(&recording, Field::NetRxPackets, &link), [200.0]);
        assert_eq!(values(&recording, Field::NetRxBytes, &link), [15_000_000.0]);
        let postgres = Subject::process(Some(8120), "postgres");
        assert_eq!(values(&recording, Field::ProcCpu, &postgres), [82.0]);
        assert_eq!(values(&recording, Field::ProcBlocked, &postgres), [1.0]);
    }

    #[test]
    fn what_is_no_screen() {
        for line in [
            "ATOP - db1 today",
            "ATOP - db1 2025/11/04 08:20:01 - 0s elapsed",
            "CPU | sys 45% | user 121%",
        ] {
            assert!(read(line).hosts.is_empty(), "{line}");
        }
    }
}
