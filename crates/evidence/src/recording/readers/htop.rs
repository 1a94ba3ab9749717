//! The meters of htop's screen: how busy each CPU is, memory and swap. Its processes are a table of
//! `data/listings.tsv`. htop(1).

use std::collections::BTreeMap;

use super::listing::measure::Measure;
use super::prelude::*;

/// A meter.
enum Meter {
    Cpu(u32, f64),
    /// Bytes in use and all of them: of swap or of memory.
    Memory(bool, f64, f64),
    /// The mean of all CPUs, which is computed here.
    Other,
}

/// The meters of a line: `  0[|||||  22.1%]   Mem[|||||30.1G/31.2G] Tasks: 311`.
fn meters(line: &str) -> Vec<Meter> {
    let parts = line.split(']').filter_map(|part| part.rsplit_once('['));
    let meter = |(before, inside): (&str, &str)| {
        let label = before.split_whitespace().last()?;
        let value = inside.get(inside.find(|c: char| c.is_ascii_digit())?..)?.trim();
        if let Some(busy) = value.strip_suffix('%').and_then(number).filter(|busy| *busy <= 100.0) {
            let cpu = label.parse().map(|cpu| Meter::Cpu(cpu, busy));
            return cpu.ok().or((label == "Avg").then_some(Meter::Other));
        }
        let swap = label == "Swp";
        let (used, all) = value.split_once('/').filter(|_| swap || label == "Mem")?;
        let bytes = |word: &str| Measure::Kib.read(&[word])?.first().copied().flatten();
        Some(Meter::Memory(swap, bytes(used)?, bytes(all)?))
    };
    parts.filter_map(meter).collect()
}

/// Begins at a line of meters, which are at least two: another of CPUs, or of memory.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let here = meters(lines.ahead(0)).len();
    let more = meters(lines.ahead(1)).len();
    (here > 0 && here + more > 1)
        .then(|| lines.begin(SourceKind::Htop, Htop { cpus: BTreeMap::new() }, out))
}

struct Htop {
    cpus: BTreeMap<u32, f64>,
}

impl Reader for Htop {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let meters = meters(line);
        if meters.is_empty() {
            return Taken::No;
        }
        for meter in meters {
            match meter {
                Meter::Cpu(cpu, busy) => {
                    self.cpus.insert(cpu, busy);
                }
                Meter::Memory(swap, used, all) => {
                    let (total, rest, value) = match swap {
                        true => (Field::SwapTotal, Field::SwapFree, (all - used).max(0.0)),
                        false => (Field::MemTotal, Field::MemUsed, used),
                    };
                    out.put(total, &Subject::Machine, None, all);
                    out.put(rest, &Subject::Machine, None, value);
                }
                Meter::Other => {}
            }
        }
        // What stands beside a meter.
        let beside = line.rsplit_once(']').map_or("", |(_, beside)| beside);
        super::listing::put_line(beside, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        // Before htop 3 they were counted from 1.
        let first = self.cpus.keys().next().copied().unwrap_or(0);
        let last = self.cpus.keys().next_back().copied().unwrap_or(0);
        let count = self.cpus.len() as f64;
        if first > 1 || f64::from(last - first) + 1.0 > count || self.cpus.is_empty() {
            return;
        }
        for (cpu, busy) in &self.cpus {
            out.put(Field::CpuIdle, &Subject::Cpu(cpu - first), None, 100.0 - busy);
        }
        let busy: f64 = self.cpus.values().sum();
        out.put(Field::CpuIdle, &Subject::Machine, None, 100.0 - busy / count);
        out.put(Field::CpuCount, &Subject::Machine, None, count);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{machine, read, values};
    use super::*;

    #[test]
    fn meters_side_by_side() {
        for first in [0, 1] {
            let text = format!(
                "    {}[||||||||||||||||100.0%]   {}[                  0.0%]\n    \
                 {}[||||||           20.0%]   {}[||               40.0%]\n  \
                 Mem[||||||||||#*@3.50G/4.00G] Tasks: 311, 1822 thr; 3 running\n  \
                 Swp[|             512M/2.00G] Load average: 9.12 7.40 5.01\n",
                first,
                first + 2,
                first + 1,
                first + 3
            );
            let recording = read(&text);
            let gib = 1_073_741_824.0;
            assert_eq!(values(&recording, Field::CpuIdle, &Subject::Cpu(0)), [0.0], "{text}");
            assert_eq!(machine(&recording, Field::CpuIdle), [60.0]);
            assert_eq!(machine(&recording, Field::CpuCount), [4.0]);
            assert_eq!(machine(&recording, Field::MemUsed), [3.5 * gib]);
            assert_eq!(machine(&recording, Field::SwapFree), [1.5 * gib]);
            assert_eq!(machine(&recording, Field::Load1), [9.12]);
            assert_eq!(machine(&recording, Field::RunQueue), [3.0]);
        }
        assert!(read("progress[|||| 40.0%]\n").sources.is_empty());
    }
}
