//! What a cluster says of its own nodes and pods.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ClusterCondition,
    severity: Severity::Warning,
    title: "The cluster reports trouble of a node or pod",
    id: "cluster.condition",
    question: "Does the cluster report trouble of a node or pod?",
    how: "Conditions of nodes that hold, and events of kinds that are trouble by themselves.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what the node has left, and which pods it evicts or restarts",
            "kubectl describe node NODE | tail -40; kubectl get events -A \
             --sort-by=.lastTimestamp | tail -20",
            "the condition names the resource: memory, disk, process ids",
        ),
        Remedy::new(
            Reach::Service,
            "let pods ask for what they use, so that they are not placed where it is missing",
            "kubectl set resources deployment NAME --requests=memory=SIZE",
            "the condition no longer holds",
        ),
    ],
    judge,
};

/// Reasons of events that are trouble by themselves (`kubelet/events/event.go`, the scheduler and
/// the node problem detector); kills for memory have a question of their own.
const TROUBLE: [&str; 9] = [
    "Evicted",
    "ContainerStatusUnknown",
    "FailedScheduling",
    "Unhealthy",
    "BackOff",
    "FailedMount",
    "NodeNotReady",
    "FailedCreatePodSandBox",
    "FreeDiskSpaceFailed",
];

/// Most of them that are listed.
const LISTED_MAX: usize = 4;

/// Does the cluster report trouble of a node or pod?
fn judge(cx: &Context<'_>) -> Answer {
    let conditions = cx.sorted(Field::NodeCondition, |_| true);
    let of_trouble = |subject: &Subject| match subject {
        Subject::Part { service, name } => {
            TROUBLE.contains(&name.as_str()) || service == "node low on resource"
        }
        _ => false,
    };
    let events = cx.sorted(Field::ClusterEvents, |_| true);
    if conditions.is_empty() && events.is_empty() {
        return Answer::unknown(&[CLUSTER]);
    }
    let mut said = Vec::new();
    for seen in conditions.iter().filter(|seen| seen.value > 0.0) {
        said.push(cx.say(seen, &format!("condition holds: {}", seen.subject)));
    }
    for seen in events.iter().filter(|seen| of_trouble(&seen.subject)) {
        let times = write::counted(seen.value, "time", "times");
        said.push(cx.say(seen, &format!("{}, {times}", seen.subject)));
    }
    said.truncate(LISTED_MAX);
    Answer::when(!said.is_empty(), 0.4, said)
}
