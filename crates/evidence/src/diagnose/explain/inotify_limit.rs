//! Watches of files that a user did not get.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::InotifyLimit,
    severity: Severity::Warning,
    title: "A user has as many inotify watches or instances as allowed: changes of files go unseen",
    id: "files.watches",
    question: "Was a program refused an inotify watch or instance?",
    how: "Messages of programs about inotify, with the limits where they are shown. The kernel \
          reports a used-up number of watches as ENOSPC, of instances as EMFILE (inotify(7)): no \
          disk is full.",
    limits: &[],
    leads_to: &[Cause::LogErrors, Cause::ServerTrouble],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "count the watches of each process",
            "grep -c inotify /proc/[0-9]*/fdinfo/* 2>/dev/null | grep -v ':0$' | sort -t: -k2 -rn \
             | head",
            "one program has most of the user's limit: sysctl fs.inotify",
        ),
        Remedy::new(
            Reach::Program,
            "leave out what need not be watched: node_modules, build folders, logs",
            "sysctl fs.inotify.max_user_watches",
            "the message does not come again",
        ),
        Remedy::new(
            Reach::Machine,
            "raise the limits of each user; a watch takes about 1 KiB of kernel memory",
            "sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=1024",
            "the message does not come again, and slab memory stays small",
        ),
    ],
    judge,
};

/// Was a program refused an inotify watch or instance?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(seen) = cx.top(Field::WatchErrors) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let lines = cx.lines(Field::WatchErrors, |_| true);
    let times: usize = lines.iter().map(|line| line.points.len()).sum();
    let text = format!(
        "a program was refused an inotify watch, {}",
        write::counted(times as f64, "time", "times")
    );
    let paths = ["max_user_watches", "max_user_instances"];
    let settings = paths.iter().filter_map(|name| {
        let quote = cx.setting(&format!("/proc/sys/fs/inotify/{name}"))?;
        Some(cx.cite(quote, &format!("fs.inotify.{name}: {}", quote.text)))
    });
    Answer::yes(0.5, vec![cx.say(&seen, &text)]).and(settings)
}
