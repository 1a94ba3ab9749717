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

/// Is a node of the cluster full while others have room?
fn judge(look: &Look<'_>) -> Answer {
    let nodes = look.sorted(Field::ClusterCpu, |_| true);
    let [full, rest @ ..] = nodes.as_slice() else { return Answer::unknown(&[HOSTS]) };
    if rest.is_empty() {
        return Answer::unknown(&[HOSTS]);
    }
    let mean = rest.iter().map(|seen| seen.value).sum::<f64>() / rest.len() as f64;
    let text = format!(
        "{}: {} of its CPU in use, the other {} {} (mean)",
        full.subject,
        write::value(Unit::Percent, full.value),
        write::counted(rest.len() as f64, "node", "nodes"),
        write::value(Unit::Percent, mean)
    );
    let pod = look.top(Field::CgroupCpu).map(|seen| look.quote(&seen));
    let alone = full.value >= FULL_PERCENT && mean <= ROOM_PERCENT;
    Answer::when(alone, 0.5, vec![look.say(full, &text)]).backed(pod)
}
