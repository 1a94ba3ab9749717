//! Space on disks that is taken and that nobody can use.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::SpaceHeld,
    severity: Severity::Note,
    title: "Space on disks is held that could be given back at once",
    id: "files.space_held",
    question: "Is space held by deleted files, or by images and caches that nothing uses?",
    how: "Deleted files that a process has open (lsof), and what docker system df calls \
          reclaimable. Whether the space is wanted, df says.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whether the file system is short of space",
            "df -h; df -i; docker system df -v | head -40; lsof +L1 | head",
            "the file system that is full is the one with these files",
        ),
        Remedy::new(
            Reach::Service,
            "where files were deleted: have them closed, by a signal to rotate or by a restart",
            "kill -HUP PID",
            "lsof +L1 no longer lists them",
        ),
        Remedy::new(
            Reach::Service,
            "where Docker keeps it: remove the cache of builds and unused images, never volumes",
            "docker builder prune --keep-storage 5GB; docker image prune -a --filter until=240h",
            "docker system df: little is reclaimable",
        ),
    ],
    judge,
};

/// Of one process: judgement, a temporary file system may be as small.
const DELETED_MIN_BYTES: f64 = 256.0 * 1_048_576.0;
/// Of all that Docker keeps: judgement, less is what a machine with builds always has.
const UNUSED_MIN_BYTES: f64 = 10.0 * 1_073_741_824.0;

/// Is space held by deleted files, or by images and caches that nothing uses?
fn judge(cx: &Context<'_>) -> Answer {
    let deleted = cx.top(Field::ProcDeleted);
    let lines = cx.lines(Field::Reclaimable, |_| true);
    let unused: Vec<Reading> =
        lines.iter().filter_map(|line| cx.latest(line.field, &line.subject)).collect();
    if deleted.is_none() && unused.is_empty() {
        return Answer::unknown(&[FILESYSTEMS]);
    }
    let all: f64 = unused.iter().map(|part| part.value).sum();
    let much = all >= UNUSED_MIN_BYTES
        || deleted.as_ref().is_some_and(|held| held.value >= DELETED_MIN_BYTES);
    let mut evidence = Vec::new();
    if let Some(held) = deleted {
        let bytes = write::bytes(held.value);
        evidence.push(cx.say(&held, &format!("{} keeps {bytes} of deleted files", held.subject)));
    }
    if let Some(largest) = most(unused) {
        let (all, part) = (write::bytes(all), write::bytes(largest.value));
        let text = format!("nothing uses {all} of what is kept, {part} of it {}", largest.subject);
        evidence.push(cx.say(&largest, &text));
    }
    Answer::when(much, 0.2, evidence)
}
