//! Servers that wait for their log to reach the disk.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::FsyncLate,
    severity: Severity::Warning,
    title: "A server waits for fsync of its log: the disk is slow to make writes durable",
    id: "server.fsync",
    question: "Does a server say that fsync of its log took too long?",
    how: "Messages of servers that write a log for each change, with the longest time.",
    limits: &[],
    leads_to: &[Cause::ServerTrouble, Cause::LogErrors, Cause::PoolLimit, Cause::ServiceWait],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "measure how long a flush takes where the log lies, and who else writes there",
            "iostat -x 1 10; fio --name=log --rw=write --bs=2300 --fdatasync=1 --size=22m \
             --directory=DIR",
            "f_await, or fsync's 99th percentile in fio, is above 10 ms",
        ),
        Remedy::new(
            Reach::Service,
            "give the log a disk of its own, or keep others from writing beside it",
            "systemctl set-property --runtime SERVICE IOWeight=1000",
            "the message does not come again",
        ),
        Remedy::new(
            Reach::Hardware,
            "a disk with a protected write cache: on others a flush takes as long as the medium",
            "lsblk -d -o NAME,ROTA,MODEL,TRAN",
            "flushes below 1 ms",
        ),
    ],
    judge,
};

/// Does a server say that fsync of its log took too long?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::FsyncLate, |_| true);
    let logged = lines.iter().filter_map(|line| {
        let seen = cx.highest(line)?;
        let times = write::counted(line.points.len() as f64, "time", "times");
        Some((cx.say(&seen, &format!("{}: {times}", line.subject)), line.points.len()))
    });
    let Some((first, _)) = logged.max_by_key(|(_, times)| *times) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let longest = cx.top(Field::FsyncTime).map(|seen| cx.quote(&seen));
    Answer::yes(0.6, vec![first]).and(longest)
}
