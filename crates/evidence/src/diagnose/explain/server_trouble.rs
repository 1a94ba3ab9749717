//! What servers log that they were refused, or could not do.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ServerTrouble,
    severity: Severity::Warning,
    title: "A server reports that it was refused something, or could not do its work",
    id: "server.trouble",
    question: "Does a server report that it was refused something?",
    how: "Messages of servers that are trouble by themselves: saves that failed, memory that may \
          not be locked, processes \
          that were killed, network buffers that were full.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "read the server's log around these lines",
            "journalctl -u SERVICE --since -1h",
            "the lines before name the limit, or who ran into it",
        ),
        Remedy::new(
            Reach::Program,
            "raise the limit that it names, or ask for less: fewer connections through a \
             pool, shorter transactions in one order, a disk with room",
            "systemctl show SERVICE -p LimitMEMLOCK -p LimitNOFILE",
            "the message does not come again",
        ),
    ],
    judge,
};

/// Messages that are trouble by themselves, and what each says. Messages that have a question of
/// their own are not among them.
const MESSAGES: [(Field, &str); 6] = [
    (Field::SavesFailed, "it could not save its data"),
    (Field::LockRefused, "it may not lock its memory"),
    (Field::ServerSigkill, "a process of it was killed (SIGKILL)"),
    (Field::BufferErrors, "network buffers were full"),
    (Field::MemoryAlarm, "it stopped its clients: memory is above its limit"),
    (Field::ServerLate, "requests took too long"),
];

/// Errors that are trouble by themselves: others are a program's own (`errcodes.txt`).
const ERRORS: [&str; 7] = [
    "disk_full",
    "out_of_memory",
    "data_corrupted",
    "io_error",
    "crash_shutdown",
    "lock_not_available",
    "statement_timeout",
];

/// Most messages that are listed.
const LISTED_MAX: usize = 4;

/// Does a server report that it was refused something?
fn judge(cx: &Context<'_>) -> Answer {
    let mut said = Vec::new();
    for (field, says) in MESSAGES {
        for line in cx.lines(field, |_| true) {
            let Some(seen) = cx.highest(&line) else { continue };
            let times = write::counted(line.points.len() as f64, "time", "times");
            let whose = match &line.subject {
                Subject::Service(name) => name.clone(),
                Subject::Part { service, .. } => service.clone(),
                other => other.to_string(),
            };
            said.push(cx.say(&seen, &format!("{whose}: {says}, {times}")));
        }
    }
    let known = |subject: &Subject| match subject {
        Subject::Part { name, .. } => ERRORS.contains(&name.as_str()),
        _ => false,
    };
    for line in cx.lines(Field::ServerErrors, known) {
        let Some(seen) = cx.highest(&line) else { continue };
        let times = write::counted(line.points.len() as f64, "time", "times");
        said.push(cx.say(&seen, &format!("{}, {times}", line.subject)));
    }
    if said.is_empty() {
        return Answer::unknown(&[SERVER_LOG]);
    }
    said.truncate(LISTED_MAX);
    Answer::yes(0.4, said)
}
