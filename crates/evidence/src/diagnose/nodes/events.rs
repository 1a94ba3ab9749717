//! Events that cost kernel time: how many a second, and how much of it they explain.

use super::prelude::*;

/// Kernel CPU seconds a second, over all CPUs, in the times in question.
pub(super) fn kernel_seconds(cx: &Context<'_>) -> Result<f64, Missing> {
    let line = cx.kernel(&Subject::Machine).ok_or(CPU)?;
    let mean = cx.mean(&line).ok_or(CPU)?;
    let cpus = cx.cpus().ok_or(CPU_COUNT)?;
    Ok(mean.value / 100.0 * cpus)
}

/// Events that cost kernel time.
pub(super) struct Events {
    /// How many a second, quoted.
    pub(super) seen: Reading,
    /// What they are, for the sentence.
    pub(super) name: &'static str,
    /// What one costs.
    pub(super) cost: T,
}

/// The part of all kernel time that these events explain, 0 to 1 and more.
pub(super) fn explained(cx: &Context<'_>, events: &Events) -> Result<(f64, Evidence), Missing> {
    let kernel = kernel_seconds(cx)?;
    let cost_us = cx.limit(events.cost);
    let spent = events.seen.value * cost_us / 1e6;
    let share = if kernel > 0.0 { spent / kernel } else { 0.0 };
    let text = format!(
        "{} {} a second at about {cost_us} us each are {} CPUs, {} of the {} CPUs that the kernel \
         takes",
        write::number(events.seen.value),
        events.name,
        write::number(spent),
        write::value(Unit::Percent, (share * 100.0).min(100.0)),
        write::number(kernel),
    );
    Ok((share, cx.derive(&events.seen, &text)))
}

/// Yes when the events explain enough of the kernel's time.
pub(super) fn explains(cx: &Context<'_>, events: Option<Events>, missing: Missing) -> Answer {
    let Some(events) = events else { return Answer::unknown(&[missing]) };
    match explained(cx, &events) {
        Err(CPU_COUNT) => of_unknown_size(cx, &events),
        Err(missing) => Answer::unknown(&[missing]),
        Ok((share, evidence)) => {
            let limit = cx.limit(T::ExplainedShare);
            // What an event costs is known to a factor of two.
            Answer::when(share * 100.0 >= limit, share, vec![evidence])
                .or_close(share * 200.0 >= limit)
        }
    }
}

/// CPUs up to which a machine is taken to have no more, where no source says how many.
pub(super) const CPUS_SUPPOSED: f64 = 16.0;

/// The same where no source says how many CPUs there are: what the events cost is known, and up to
/// how many CPUs that is enough.
pub(super) fn of_unknown_size(cx: &Context<'_>, events: &Events) -> Answer {
    let kernel = cx.kernel(&Subject::Machine).and_then(|line| cx.mean(&line));
    let kernel = kernel.filter(|kernel| kernel.value > 0.0);
    let Some(kernel) = kernel else { return Answer::unknown(&[CPU]) };
    let cost_us = cx.limit(events.cost);
    let spent = events.seen.value * cost_us / 1e6;
    let enough = kernel.value / 100.0 * cx.limit(T::ExplainedShare) / 100.0;
    if spent / enough < CPUS_SUPPOSED {
        return Answer::unknown(&[CPU_COUNT]);
    }
    let text = format!(
        "{} {} a second at about {cost_us} us each are {} CPUs; the kernel takes {} of all CPUs",
        write::number(events.seen.value),
        events.name,
        write::number(spent),
        write::value(kernel.field.about().unit, kernel.value),
    );
    let supposed = format!(
        "the machine has no more than {:.0} CPUs, so that this is a good part of it",
        spent / enough
    );
    let evidence = cx.derive(&events.seen, &text);
    let share = spent / (kernel.value / 100.0 * CPUS_SUPPOSED);
    Answer::yes(share.min(1.0), vec![evidence, Evidence::assumed(supposed)]).lacking(&[CPU_COUNT])
}

pub(super) fn of_machine(
    cx: &Context<'_>,
    field: Field,
    name: &'static str,
    cost: T,
) -> Option<Events> {
    cx.mean_of(field).map(|seen| Events { seen, name, cost })
}

pub(super) fn fault_events(cx: &Context<'_>) -> Option<Events> {
    // atop has no count of the machine's, but one for each process.
    of_machine(cx, Field::Faults, "page faults", T::CostFault)
        .or_else(|| added(cx, &[Field::ProcMinorFaults], "page faults", T::CostFault))
}

pub(super) fn huge_fault_events(cx: &Context<'_>) -> Option<Events> {
    of_machine(cx, Field::ThpFaultAlloc, "huge-page faults", T::CostHugeFault)
}

pub(super) fn fork_events(cx: &Context<'_>) -> Option<Events> {
    // Where page faults are counted, a new task's are among them.
    let cost = if fault_events(cx).is_some() { T::CostFork } else { T::CostProcess };
    of_machine(cx, Field::Forks, "new tasks", cost)
}

pub(super) fn switch_events(cx: &Context<'_>) -> Option<Events> {
    of_machine(cx, Field::ContextSwitches, "context switches", T::CostSwitch)
}

/// Events of many subjects, added up.
pub(super) fn added(
    cx: &Context<'_>,
    fields: &[Field],
    name: &'static str,
    cost: T,
) -> Option<Events> {
    let lines = |field: &Field| super::pick::hardware(cx.lines(*field, |s| *s != Subject::Machine));
    let means = fields.iter().flat_map(lines).filter_map(|line| cx.mean(&line));
    let seen = Reading { subject: Subject::Machine, ..sum(means)? };
    Some(Events { seen, name, cost })
}

pub(super) fn packet_events(cx: &Context<'_>) -> Option<Events> {
    added(cx, &[Field::NetRxPackets, Field::NetTxPackets], "packets", T::CostPacket)
}

pub(super) fn disk_events(cx: &Context<'_>) -> Option<Events> {
    let all = added(cx, &[Field::DiskTransfers], "disk requests", T::CostDiskRequest);
    let halves = [Field::DiskReads, Field::DiskWrites];
    all.or_else(|| added(cx, &halves, "disk requests", T::CostDiskRequest))
}

pub(super) fn compaction_events(cx: &Context<'_>) -> Option<Events> {
    of_machine(cx, Field::CompactStall, "direct compactions", T::CostCompact)
}
