//! Work that the kernel does in the background, by its workers and by threads of interrupts.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::KernelWorker,
    severity: Severity::Warning,
    title: "A worker of the kernel takes most of a CPU: a driver, firmware or a file system has \
            work for it all the time",
    id: "kernel.worker",
    question: "Does a worker of the kernel take most of a CPU?",
    how: "CPU of kworker/CPU:ID+QUEUE and irq/NUMBER-DEVICE in lists of processes; the name behind \
          + or - says whose work it is (Documentation/core-api/workqueue.rst).",
    limits: &[],
    leads_to: &[Cause::KernelTime, Cause::Interrupts, Cause::OneCpu],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which function works, and who asks for it",
            "perf record -a -g -- sleep 10; perf report --stdio --sort comm,symbol | head -40",
            "one function of one driver has most samples",
        ),
        Remedy::new(
            Reach::Look,
            "where the queue is ACPI's: find the event that firmware raises all the time",
            "grep . /sys/firmware/acpi/interrupts/* | sort -t: -k2 -rn | head -5",
            "one gpe has far more than the others, and grows",
        ),
        Remedy::new(
            Reach::Machine,
            "newer firmware, driver or kernel; until then that event off",
            "echo disable > /sys/firmware/acpi/interrupts/gpeNN",
            "top: the worker near 0 % of a CPU",
        ),
    ],
    judge,
};

/// Queues that write data back or decrypt them: as much work as programs ask for.
const FOR_PROGRAMS: [&str; 8] =
    ["flush", "writeback", "kcryptd", "xfs", "btrfs", "ext4", "loop", "rpciod"];

/// Of a CPU; judgement, above what drivers under load take.
const MOST_PERCENT: f64 = 50.0;

/// Does a worker of the kernel take most of a CPU?
fn judge(cx: &Context<'_>) -> Answer {
    let of_kernel = |name: &str| {
        let named = name.starts_with("kworker/") || name.starts_with("irq/");
        named && !FOR_PROGRAMS.iter().any(|queue| name.contains(queue))
    };
    let ours = |subject: &Subject| subject.process_name().is_some_and(of_kernel);
    let lines = cx.lines(Field::ProcCpu, ours);
    let most = most(lines.iter().filter_map(|line| cx.mean(line)));
    let Some(most) = most else { return Answer::unknown(&[PROCESSES]) };
    let much = most.value >= MOST_PERCENT;
    Answer::when(much, 0.4, vec![cx.quote(&most)]).and(events(cx, &most.subject))
}

/// Since boot; a machine at rest has few hundred.
const EVENTS_MANY: f64 = 100_000.0;

/// How often firmware raised the event that came most, if the work is ACPI's.
fn events(cx: &Context<'_>, worker: &Subject) -> Option<Evidence> {
    worker.process_name().filter(|name| name.contains("acpi"))?;
    let most = cx.top(Field::AcpiEvents).filter(|most| most.value >= EVENTS_MANY)?;
    let times = write::counted(most.value, "time", "times");
    Some(cx.say(&most, &format!("firmware raised one event {times} since boot")))
}
