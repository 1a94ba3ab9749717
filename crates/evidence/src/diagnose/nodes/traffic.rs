//! Disks of which only requests and bytes are known, as plain `iostat` shows them.

use super::prelude::*;

/// Requests a second below which no disk makes anybody wait.
const REQUESTS_MIN: f64 = 10.0;

/// Whether anybody waits for storage, as far as the sources say: many requests alone harm nobody.
fn is_waited_for(cx: &Context<'_>) -> bool {
    /// Half a task that waits all the time: judgement.
    const TASKS_MIN: f64 = 0.5;
    let idle = cx.highest_of(Field::CpuIowait);
    let blocked = cx.mean_of(Field::Blocked);
    idle.is_some_and(|idle| idle.value >= cx.limit(T::IowaitHigh))
        || blocked.is_some_and(|tasks| tasks.value >= TASKS_MIN)
        || cpus_waiting(cx).is_some()
}

/// The disk with most requests.
pub(super) struct Traffic {
    requests: Reading,
    /// Its share of the requests of all disks.
    share: f64,
    reads: f64,
    writes: f64,
}

impl Traffic {
    /// The busiest by this measure; `None` where no source counts requests, where they are too few
    /// for any disk, or where nobody is known to wait for one.
    pub(super) fn most(cx: &Context<'_>) -> Option<Self> {
        if !is_waited_for(cx) {
            return None;
        }
        let all = cx.lines(Field::DiskTransfers, |subject| matches!(subject, Subject::Disk(_)));
        let all = super::pick::hardware(all);
        let seen: Vec<Reading> = all.iter().filter_map(|line: &Line| cx.highest(line)).collect();
        let sum: f64 = seen.iter().map(|seen| seen.value).sum();
        let requests = seen.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
        if requests.value < REQUESTS_MIN {
            return None;
        }
        let bytes = |field| cx.peak(field, &requests.subject).map_or(0.0, |seen| seen.value);
        let (reads, writes) = (bytes(Field::DiskReadBytes), bytes(Field::DiskWriteBytes));
        let share = if sum > 0.0 { requests.value / sum } else { 0.0 };
        Some(Self { share, reads, writes, requests })
    }

    /// Bytes of a request, and the sentence that says so.
    pub(super) fn request(&self, cx: &Context<'_>) -> Option<(f64, Evidence)> {
        let bytes = self.reads + self.writes;
        if bytes <= 0.0 || self.requests.value <= 0.0 {
            return None;
        }
        let size = bytes / self.requests.value;
        let (field, way) = match self.reads > self.writes {
            true => (Field::DiskReadRequestBytes, "reads"),
            false => (Field::DiskWriteRequestBytes, "writes"),
        };
        let text = format!(
            "{}: {} requests a second, mostly {way}, carry {}: {} each",
            self.requests.subject,
            write::number(self.requests.value),
            write::bytes(bytes),
            write::bytes(size),
        );
        let seen = Reading { field, value: size, ..self.requests.clone() };
        Some((size, cx.derive(&seen, &text)))
    }

    /// Whether it is the disk that CPUs wait for. They do wait; this one has most of the work.
    pub(super) fn waited_for(&self, cx: &Context<'_>) -> Answer {
        let evidence = match self.request(cx) {
            Some((_, evidence)) => evidence,
            None => cx.quote(&self.requests),
        };
        let most = self.share * 100.0 >= cx.limit(T::WhoShare);
        if !most {
            return Answer { evidence: vec![evidence], ..Answer::unknown(&[DISKS]) };
        }
        let text = "these sources do not say how busy it is; no other disk has as many requests, \
                    so it is the one that is waited for";
        Answer::yes(0.5, vec![evidence, Evidence::assumed(text)]).lacking(&[DISKS])
    }
}

/// That CPUs wait for requests, in CPUs where their number is known: the share of a machine of 64
/// hides that all of a program waits.
pub(super) fn cpus_waiting(cx: &Context<'_>) -> Option<Evidence> {
    /// One task that waits all the time.
    const TASKS_MIN: f64 = 1.0;
    /// Where the CPUs are not known: a task on a machine of ten.
    const SHARE_MIN_PERCENT: f64 = 10.0;
    let mean = cx.mean_of(Field::CpuIowait)?;
    let Some(cpus) = cx.cpus() else {
        return (mean.value >= SHARE_MIN_PERCENT).then(|| cx.quote(&mean));
    };
    let tasks = mean.value / 100.0 * cpus;
    let text = format!(
        "{}: {} of {} CPUs wait",
        write::sentence(&mean),
        write::number(tasks),
        write::number(cpus)
    );
    (tasks >= TASKS_MIN).then(|| cx.derive(&mean, &text))
}
