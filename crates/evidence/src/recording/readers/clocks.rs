//! At what pace CPUs run: `turbostat`, `/proc/cpuinfo` and `cpupower frequency-info`.

use super::prelude::*;

/// The setting that names the governor, where no path does.
pub const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// Begins at the head of `turbostat`, at a CPU of `/proc/cpuinfo`, or at one of `cpupower`.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let (kind, reader): (_, Box<dyn Reader>) = if let Some(columns) = Columns::of(line) {
        (SourceKind::Turbostat, Box::new(Turbostat { columns }))
    } else if cpu_row(line).is_some()
        || line.starts_with("model name\t:")
        || line.starts_with("analyzing CPU ")
    {
        (SourceKind::Cpuinfo, Box::new(Cpuinfo::default()))
    } else {
        return None;
    };
    out.begin(kind, lines.number());
    Some(reader)
}

/// Where `turbostat` has the clock while busy, the one of the time stamp counter, and the use.
#[derive(Clone, Copy, Debug)]
struct Columns {
    busy_mhz: usize,
    rated_mhz: Option<usize>,
    busy: Option<usize>,
    cpu: Option<usize>,
    width: usize,
}

impl Columns {
    fn of(line: &str) -> Option<Self> {
        let words = words(line);
        let place = |name: &str| words.iter().position(|word| *word == name);
        Some(Self {
            busy_mhz: place("Bzy_MHz")?,
            rated_mhz: place("TSC_MHz"),
            busy: place("Busy%"),
            cpu: place("CPU"),
            width: words.len(),
        })
    }
}

struct Turbostat {
    columns: Columns,
}

impl Reader for Turbostat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        if let Some(columns) = Columns::of(line) {
            self.columns = columns;
            return Taken::Yes;
        }
        let words = words(line);
        let figure = |word: &&str| *word == "-" || number(word).is_some();
        // Rows of a core's other threads lack the last columns, which are of the package.
        if words.len() < self.columns.busy_mhz + 1
            || words.len() > self.columns.width
            || !words.iter().all(figure)
        {
            return Taken::No;
        }
        // The first row is the whole machine's; without the columns of CPUs it is the only one.
        let all = self.columns.cpu.is_none_or(|at| words.get(at) == Some(&"-"));
        let cell = |at: Option<usize>| at.and_then(|at| words.get(at)).and_then(|w| number(w));
        let found = [
            (Field::CpuClock, cell(Some(self.columns.busy_mhz))),
            (Field::CpuRated, cell(self.columns.rated_mhz)),
            (Field::CpuIdle, cell(self.columns.busy).map(|busy| (100.0 - busy).max(0.0))),
        ];
        for (field, value) in found {
            out.put_known(field, &Subject::Machine, None, value.filter(|_| all));
        }
        Taken::Yes
    }
}

/// A row of `/proc/cpuinfo` about the clock.
fn cpu_row(line: &str) -> Option<(&str, f64)> {
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    match name {
        "cpu MHz" => Some((name, number(value)?)),
        "model name" => {
            let (_, clock) = value.split_once("@ ")?;
            Some((name, number(clock.trim().strip_suffix("GHz")?)? * 1e3))
        }
        _ => None,
    }
}

/// Rows of `/proc/cpuinfo` that say nothing of the clock.
fn is_cpuinfo(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| name.ends_with('\t') && !name.starts_with('\t'))
}

/// `3.60 GHz` or `800 MHz`, in MHz.
fn mhz(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let value = number(words.next()?)?;
    match words.next()?.trim_end_matches(['.', ',']) {
        "GHz" => Some(value * 1e3),
        "MHz" => Some(value),
        _ => None,
    }
}

/// Of several CPUs the mean.
#[derive(Default)]
struct Cpuinfo {
    sum_mhz: f64,
    cpus: f64,
    rated_mhz: Option<f64>,
}

impl Cpuinfo {
    /// A line of `cpupower frequency-info`; `false` when it is none.
    fn cpupower(&mut self, line: &str, out: &mut Builder) -> bool {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("current CPU frequency: ") {
            if let Some(mhz) = mhz(rest) {
                (self.sum_mhz, self.cpus) = (self.sum_mhz + mhz, self.cpus + 1.0);
            }
        } else if let Some(rest) = text.strip_prefix("hardware limits: ") {
            self.rated_mhz = rest.split_once(" - ").and_then(|(_, most)| mhz(most));
        } else if let Some((_, rest)) = text.split_once("The governor \"") {
            if let Some((governor, _)) = rest.split_once('"') {
                out.setting(GOVERNOR, governor);
            }
        } else {
            return line.starts_with("analyzing CPU ") || line.starts_with("  ");
        }
        true
    }
}

impl Reader for Cpuinfo {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        match cpu_row(line) {
            Some(("cpu MHz", mhz)) => {
                (self.sum_mhz, self.cpus) = (self.sum_mhz + mhz, self.cpus + 1.0);
            }
            Some((_, mhz)) => self.rated_mhz = Some(mhz),
            None if is_cpuinfo(line) || self.cpupower(line, out) => {}
            None => return Taken::No,
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        if self.cpus > 0.0 {
            out.put(Field::CpuClock, &Subject::Machine, None, self.sum_mhz / self.cpus);
        }
        out.put_known(Field::CpuRated, &Subject::Machine, None, self.rated_mhz);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn clocks_of_every_tool() {
        let turbostat = "# turbostat --quiet sleep 5\n5.003 sec\n\
            Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tIRQ\tCoreTmp\tPkgTmp\tPkgWatt\n\
            -\t-\t1180\t98.30\t1200\t3000\t120033\t97\t99\t61.10\n\
            0\t0\t1181\t98.20\t1201\t3000\t12003\t97\t99\t61.10\n\
            0\t8\t1180\t98.10\t1199\t3000\t120\n";
        let cpuinfo = "$ grep -E 'MHz|model name' /proc/cpuinfo | head -4\n\
            model name\t: Intel(R) Xeon(R) Processor\ncpu MHz\t\t: 1100.000\n\
            model name\t: Intel(R) Xeon(R) CPU @ 3.00GHz\ncpu MHz\t\t: 1300.000\n";
        let cpupower = "analyzing CPU 0:\n  driver: intel_cpufreq\n  hardware limits: 800 MHz - \
            3.00 GHz\n  current policy: frequency should be within 800 MHz and 1.20 GHz.\n     \
            The governor \"powersave\" may decide which speed to use\n         within this \
            range.\n  current CPU frequency: 1.20 GHz (asserted by call to kernel)\n";
        for text in [turbostat, cpuinfo, cpupower] {
            let recording = read(text);
            assert!(recording.problems.is_empty(), "{:?}", recording.problems);
            assert_eq!(machine(&recording, Field::CpuClock), [1200.0], "{text}");
            assert_eq!(machine(&recording, Field::CpuRated), [3000.0], "{text}");
        }
        all_understood(&read(cpuinfo));
        all_understood(&read(cpupower));
        assert_eq!(read(cpupower).hosts[0].settings[GOVERNOR].text, "powersave");
        let idle = &machine(&read(turbostat), Field::CpuIdle)[..];
        assert!((idle[0] - 1.7).abs() < 1e-9, "{idle:?}");
    }
}
