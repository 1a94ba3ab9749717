//! A server that cannot fork for want of memory.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ForkRefused,
    severity: Severity::Warning,
    title: "A server cannot fork: the kernel may not promise that much memory \
            (vm.overcommit_memory)",
    id: "memory.fork_refused",
    question: "Was a fork refused for want of memory?",
    how: "Forks that a server says were refused. A fork promises as much memory as the \
          process has, though next to none is copied.",
    limits: &[],
    leads_to: &[Cause::LogErrors, Cause::ServerTrouble],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what may be promised, and what is",
            "sysctl vm.overcommit_memory vm.overcommit_ratio; grep Commit /proc/meminfo",
            "mode 2 with Committed_AS near CommitLimit, or mode 0 and a process larger than \
             what is free",
        ),
        Remedy::new(
            Reach::Program,
            "save on a replica, or keep the data below half of the memory",
            "redis-cli INFO persistence | grep rdb_last_bgsave_status",
            "rdb_last_bgsave_status:ok",
        ),
        Remedy::new(
            Reach::Machine,
            "let the kernel promise what forks never use (Redis asks for this)",
            "sysctl vm.overcommit_memory=1",
            "the next save succeeds",
        ),
    ],
    judge,
};

/// Was a fork refused for want of memory?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(refused) = cx.top(Field::ForkRefused) else {
        return Answer::unknown(&[KERNEL_LOG]);
    };
    let lines = cx.lines(Field::ForkRefused, |subject| *subject == refused.subject);
    let times: usize = lines.iter().map(|line| line.points.len()).sum();
    let text = format!(
        "{} could not fork for want of memory, {}",
        refused.subject,
        write::counted(times as f64, "time", "times")
    );
    const PATH: &str = "/proc/sys/vm/overcommit_memory";
    let setting = cx.setting(PATH);
    let setting = setting.map(|quote| cx.cite(quote, &format!("{PATH}: {}", quote.text)));
    Answer::yes(0.6, vec![cx.say(&refused, &text)]).and(setting)
}
