//! A node of a cluster that is full beside idle ones.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ClusterNode,
    severity: Severity::Warning,
    title: "A node of the cluster is full while others have room",
    id: "balance.nodes",
    question: "Is a node of the cluster full while others have room?",
    how: "CPU and memory of nodes, of what they give to pods; and the pod with most CPU.",
    limits: &[],
    leads_to: &[Cause::OneHost],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see the pods of that node, and what they ask for",
            "kubectl get pods -A --field-selector spec.nodeName=NODE; kubectl describe node \
             NODE | tail -20",
            "a pod uses far more than it asks for",
        ),
        Remedy::new(
            Reach::Service,
            "let the pod ask for what it uses, with a limit, so that it is placed and held \
             accordingly",
            "kubectl set resources deployment NAME --requests=cpu=N --limits=cpu=N",
            "kubectl top nodes: the shares come near each other",
        ),
    ],
    judge,
};

/// Full, and with room, in percent of what a node gives.
const FULL_PERCENT: f64 = 90.0;
const ROOM_PERCENT: f64 = 60.0;

/// The fullest node by one resource beside the mean of the others; yes where it alone is full.
fn fullest(cx: &Context<'_>, field: Field, what: &str) -> Option<Answer> {
    let nodes = cx.sorted(field, |_| true);
    let (full, rest) = nodes.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let mean = rest.iter().map(|seen| seen.value).sum::<f64>() / rest.len() as f64;
    let text = format!(
        "{}: {} of its {what} in use, the other {} {} (mean)",
        full.subject,
        write::value(Unit::Percent, full.value),
        write::counted(rest.len() as f64, "node", "nodes"),
        write::value(Unit::Percent, mean)
    );
    let alone = full.value >= FULL_PERCENT && mean <= ROOM_PERCENT;
    Some(Answer::when(alone, 0.5, vec![cx.say(full, &text)]))
}

/// Is a node of the cluster full while others have room?
fn judge(cx: &Context<'_>) -> Answer {
    let memory = fullest(cx, Field::ClusterMemoryPercent, "memory");
    let pod = |field: Field| cx.top(field).map(|seen| cx.quote(&seen));
    match (fullest(cx, Field::ClusterCpu, "CPU"), memory) {
        (Some(cpu), _) if cpu.is_yes() => cpu.and(pod(Field::CgroupCpu)),
        (_, Some(memory)) if memory.is_yes() => memory.and(pod(Field::CgroupMemory)),
        (cpu, memory) => cpu.or(memory).unwrap_or_else(|| Answer::unknown(&[HOSTS])),
    }
}
