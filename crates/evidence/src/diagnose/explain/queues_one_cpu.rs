//! A device's queues that all interrupt one CPU.

use super::prelude::*;
use crate::recording::readers::interrupts::device_setting;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::QueuesOneCpu,
    severity: Severity::Warning,
    title: "All queues of a device interrupt the same CPU: spread them",
    id: "interrupts.queues",
    question: "Do all queues of a device interrupt one CPU?",
    how: "Interrupts by line and CPU, of devices with several lines, or packets by CPU: whether \
          one CPU has nearly all of them.",
    limits: &[],
    leads_to: &[
        Cause::InterruptsOneCpu,
        Cause::Interrupts,
        Cause::Backlog,
        Cause::Drops,
        Cause::OneCpu,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which CPUs may handle them, and whether something spreads them",
            "cat /proc/interrupts; sleep 10; cat /proc/interrupts",
            "the lines of the device have one CPU each, the same",
        ),
        Remedy::new(
            Reach::Machine,
            "spread the lines over CPUs, or let irqbalance do it",
            "systemctl start irqbalance  # or: echo CPU > /proc/irq/LINE/smp_affinity_list",
            "the counts of several CPUs grow",
        ),
    ],
    judge,
};

/// Queues of one device; two may be for receiving and sending.
const LINES_MIN: usize = 2;
/// Of a device's interrupts.
const MOST_PERCENT: f64 = 90.0;
/// Fewer are of devices that hardly work.
const COUNT_MIN: f64 = 1_000_000.0;

/// The device that a line of interrupts is of, without the number of its queue.
fn device(cx: &Context<'_>, line: &str) -> Option<String> {
    let quote = cx.setting(&device_setting(line))?;
    let name = quote.text.split_whitespace().last()?;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '.', ':', '_', 'q', 'Q']);
    (stem.len() < name.len()).then(|| stem.to_owned())
}

/// Interrupts of a device by CPU, and its lines.
#[derive(Default)]
struct Device {
    lines: BTreeSet<String>,
    cpus: BTreeMap<u32, f64>,
}

/// Fewer CPUs than that leave none to spread to.
const CPUS_MIN: usize = 4;

/// Whether one CPU took nearly all packets from the cards (`/proc/net/softnet_stat`).
fn packets(cx: &Context<'_>) -> Option<Answer> {
    let counts: Vec<Reading> = cx.sorted(Field::SoftnetPacketCount, |_| true);
    let all: f64 = counts.iter().map(|seen| seen.value).sum();
    let most = counts.iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
    let percent = most.value / all.max(1.0) * 100.0;
    let text = format!("{}: {percent:.0} % of the packets of {} CPUs", most.subject, counts.len());
    let mut evidence = cx.derive(most, &text);
    (evidence.field, evidence.value) = (None, None);
    let alone = percent >= MOST_PERCENT && all >= COUNT_MIN && counts.len() >= CPUS_MIN;
    alone.then(|| Answer::yes(0.4, vec![evidence]))
}

/// Do all queues of a device interrupt one CPU?
fn judge(cx: &Context<'_>) -> Answer {
    // The CPUs' own time in interrupts says it better than counts since boot.
    let timed = cx.lines(Field::CpuSoftirq, |subject| matches!(subject, Subject::Cpu(_)));
    if timed.len() > 1 {
        return Answer::unknown(&[]);
    }
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    let mut first = None;
    for line in cx.lines(Field::IrqCount, |_| true) {
        let Subject::Vector { name, cpu: Some(cpu) } = &line.subject else { continue };
        let Some(of) = device(cx, name) else { continue };
        let points = line.points.iter().map(|point| point.value);
        let count = points.clone().fold(0.0, f64::max);
        let device = devices.entry(of).or_default();
        device.lines.insert(name.clone());
        *device.cpus.entry(*cpu).or_default() += count;
        first = first.or_else(|| cx.highest(&line));
    }
    devices.retain(|_, device| device.lines.len() >= LINES_MIN && device.cpus.len() > 1);
    let sum = |device: &Device| device.cpus.values().sum::<f64>();
    let busiest = devices.iter().max_by(|a, b| sum(a.1).total_cmp(&sum(b.1)));
    let (Some((name, device)), Some(seen)) = (busiest, first) else {
        return packets(cx).unwrap_or_else(|| Answer::unknown(&[INTERRUPT_LINES]));
    };
    let all = sum(device);
    let Some((cpu, most)) = device.cpus.iter().max_by(|a, b| a.1.total_cmp(b.1)) else {
        return Answer::unknown(&[INTERRUPT_LINES]);
    };
    let percent = most / all.max(1.0) * 100.0;
    let text = format!(
        "{name}: {percent:.0} % of the interrupts of its {} lines went to CPU {cpu} of {}",
        device.lines.len(),
        device.cpus.len()
    );
    let mut evidence = cx.derive(&seen, &text);
    // Where all of them go now, too, unless somebody spread them since.
    (evidence.field, evidence.value) = (None, None);
    let alone = percent >= MOST_PERCENT && all >= COUNT_MIN;
    Answer::when(alone, 0.4, vec![evidence]).or_close(true)
}
