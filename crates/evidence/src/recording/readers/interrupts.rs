//! `/proc/interrupts` and `/proc/softirqs`: counts since boot by vector and CPU.
//! proc_interrupts(5), `show_softirqs` in `fs/proc/softirqs.c`.

use super::prelude::*;

/// `softirq_to_name` in `kernel/softirq.c`; `BLOCK_IOPOLL` until Linux 4.4.
const SOFTIRQS: [&str; 11] = [
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
    "BLOCK_IOPOLL",
];

/// The CPUs of a head line: words `CPU0` and so on, nothing else.
fn cpus(line: &str) -> Option<Vec<u32>> {
    let number = |word: &str| u32::try_from(count(word.strip_prefix("CPU")?)?).ok();
    let cpus: Option<Vec<u32>> = words(line).into_iter().map(number).collect();
    cpus.filter(|cpus| !cpus.is_empty())
}

/// The name of a row, and the counts behind it.
fn counts(line: &str) -> Option<(&str, usize)> {
    let (name, rest) = line.trim().split_once(':')?;
    let counts = rest.split_whitespace().map_while(count).count();
    (counts > 0 && !name.contains(char::is_whitespace)).then_some((name, counts))
}

/// Words behind the counts of a line of interrupts: controllers and kinds of trigger, and what the
/// kernel says of those without a number (`show_interrupts`, `arch_show_interrupts`).
const BEHIND: [&str; 12] = [
    "-MSI",
    "IO-APIC",
    "XT-PIC",
    "GIC",
    "edge",
    "fasteoi",
    "Edge",
    "Level",
    "xen-",
    "ITS-",
    "interrupts",
    "shootdowns",
];

/// The CPUs of a row whose head is left out: the files have a column for each, in order. It is one
/// of them by the command, or by what stands before and behind several counts.
fn headless(line: &str, command: &str) -> Option<Vec<u32>> {
    let (name, counts) = counts(line)?;
    let named = || ["/proc/interrupts", "/proc/softirqs"].iter().any(|file| command.contains(file));
    let behind = || line.split_whitespace().skip(counts + 1);
    let own = || match SOFTIRQS.contains(&name) {
        true => behind().next().is_none(),
        false => behind().any(|word| BEHIND.iter().any(|part| word.contains(part))),
    };
    let sure = named() || counts > 1 && own();
    sure.then(|| u32::try_from(counts).ok()).flatten().map(|counts| (0..counts).collect())
}

/// Begins at the head with a row below, or at a row that `grep` left of one of the files.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let headed = cpus(lines.ahead(0)).is_some();
    let row = if headed { lines.ahead(1) } else { lines.ahead(0) };
    let (name, _) = counts(row)?;
    let own = if headed { Vec::new() } else { headless(row, out.latest_command())? };
    let soft = SOFTIRQS.contains(&name);
    let kind = if soft { SourceKind::Softirqs } else { SourceKind::Interrupts };
    // Consecutive readings are one series.
    Some(lines.resume(kind, Interrupts { soft, cpus: own }, out))
}

/// The setting that says which controller and device a line of interrupts is of.
pub(crate) fn device_setting(line: &str) -> String {
    format!("device of interrupt {line}")
}

struct Interrupts {
    soft: bool,
    cpus: Vec<u32>,
}

impl Interrupts {
    fn row(&self, name: &str, words: &[&str], out: &mut Builder) {
        let values: Vec<u64> = words.iter().map_while(|word| count(word)).collect();
        // Errors are counted once for the machine.
        if matches!(name, "ERR" | "MIS") {
            return;
        }
        if values.len() < self.cpus.len() {
            out.problem("not a count for each CPU: the row is left out");
            return;
        }
        // Machines with hundreds of CPUs have thousands of vectors that never fire.
        if !self.soft && values.iter().take(self.cpus.len()).all(|value| *value == 0) {
            return;
        }
        let field = if self.soft { Field::SoftirqCount } else { Field::IrqCount };
        let device = words.get(self.cpus.len()..).unwrap_or_default().join(" ");
        if !self.soft && !device.is_empty() {
            out.setting(&device_setting(name), &device);
        }
        for (cpu, value) in self.cpus.iter().zip(values) {
            let subject = Subject::Vector { name: name.to_owned(), cpu: Some(*cpu) };
            out.put(field, &subject, None, value as f64);
        }
    }
}

impl Reader for Interrupts {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(cpus) = cpus(line) {
            // A second reading, or the other file: recognised again.
            if !self.cpus.is_empty() {
                return Taken::No;
            }
            self.cpus = cpus;
            return Taken::Yes;
        }
        if line.trim().is_empty() || elided(line) {
            return Taken::Yes;
        }
        let words = words(line);
        let Some((name, _)) = counts(line) else { return Taken::No };
        let values = words.get(1..).unwrap_or_default();
        if self.soft != SOFTIRQS.contains(&name) {
            return Taken::No;
        }
        self.row(name, values, out);
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    const SOFT: &str = "                    CPU0       CPU1       \n          HI:          \
    0          0\n      \
        NET_RX:    1715705    1780749\n";

    fn vector(name: &str, cpu: u32) -> Subject {
        Subject::Vector { name: name.to_owned(), cpu: Some(cpu) }
    }

    #[test]
    fn looks_follow_each_other() {
        let recording = read(&format!("{SOFT}\n{}", SOFT.replace("1780749", "1780800")));
        all_understood(&recording);
        let seen = values(&recording, Field::SoftirqCount, &vector("NET_RX", 1));
        assert_eq!(seen, [1_780_749.0, 1_780_800.0]);
        assert_eq!(recording.sources.len(), 1);
    }

    #[test]
    fn interrupts_have_names_behind_their_counts() {
        let recording = read(
            "           CPU0       CPU1       \n 24:          1          0  IO-APIC   \
            5-edge      x\n \
             29:          0          0 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config\n\
             LOC:      12345      23456   Local timer interrupts\nERR:          0\n\
             25:          7\nSo much for that.\n",
        );
        assert_eq!(values(&recording, Field::IrqCount, &vector("24", 0)), [1.0]);
        assert_eq!(values(&recording, Field::IrqCount, &vector("LOC", 1)), [23_456.0]);
        assert_eq!(values(&recording, Field::IrqCount, &vector("29", 1)).len(), 0);
        let settings = &recording.hosts[0].settings;
        assert_eq!(settings[&device_setting("24")].text, "IO-APIC 5-edge x");
        assert_eq!(recording.problems.len(), 1);
        assert_eq!(recording.unrecognised[0].first_line, 7);
    }

    #[test]
    fn rows_that_grep_left_are_known_by_what_stands_behind_their_counts() {
        for (line, name) in [
            ("  45:  9000100  0   PCI-MSI 1048577-edge      ens3-rx-0", "45"),
            ("  45:  9000100  0   IR-PCI-MSI-0000:3b:00.0    1-edge      mlx5_comp0", "45"),
            ("  45:  9000100  0   GICv3  45 Level     virtio1", "45"),
            (" TLB:  9000100  0   TLB shootdowns", "TLB"),
        ] {
            let recording = read(&format!("It is one CPU:\n\n{line}\n"));
            let seen = values(&recording, Field::IrqCount, &vector(name, 0));
            assert_eq!(seen, [9_000_100.0], "{line}");
        }
        let soft = read(" NET_RX:  9000100  17\n");
        assert_eq!(values(&soft, Field::SoftirqCount, &vector("NET_RX", 1)), [17.0]);
        for line in ["12: 34 56 apples", "took: 12 5", "5: 1 IO-APIC x", "HI: 5 6 of them"] {
            assert!(read(&format!("{line}\n")).sources.is_empty(), "{line}");
        }
    }

    #[test]
    fn two_looks_of_one_command_give_rates() {
        let look = |more: u32| {
            format!("   CPU0   CPU1\n 16: {}  8  IO-APIC  16-fasteoi  mpt3sas\n", 50 + more)
        };
        let cat = "cat /proc/interrupts";
        let typed = format!("nas-1 # {cat}; sleep 5; {cat}\n{}{}", look(0), look(1000));
        let recording = read(&typed);
        all_understood(&recording);
        assert_eq!(values(&recording, Field::IrqRate, &vector("16", 0)), [200.0]);
        assert_eq!(values(&recording, Field::IrqRate, &vector("16", 1)), [0.0]);
    }

    #[test]
    fn one_file_after_the_other_gives_two_sources() {
        let recording = read(&format!("{SOFT} CPU0 CPU1\n 24:  1  0  IO-APIC   5-edge      x\n"));
        assert_eq!(recording.sources.len(), 2);
        assert_eq!(values(&recording, Field::IrqCount, &vector("24", 0)), [1.0]);
    }
}
