//! What the journal says of why regions stay as they are.
//!
//! Any user can make reasons change as often as they like, in as many programs as there is room
//! for: their lines would displace those of decisions and settings. So each user has a budget of
//! such lines; what goes beyond it is counted, and written down later where it still holds.

use crate::limits::bucket::Bucket;
use crate::policy::Reasons;
use crate::record::Record;
use crate::snapshot::ProcessSample;
use crate::state::Target;
use hugewise_base::units::{Ns, ProcId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines of a user at once: a few of every program that there is room for.
const LINES: f64 = 1024.0;
/// Lines of a user a second, in the long run (`docs/measurements.md#defaults-by-choice`).
const LINES_PER_S: f64 = 1.0;
/// How many were left out is written down at most this often, for each user.
const REPORT_INTERVAL: Ns = Ns::s(60);

/// What was written down of whom.
#[derive(Debug, Default)]
pub(super) struct Written {
    programs: BTreeMap<ProcId, Last>,
    users: BTreeMap<Option<u32>, User>,
}

/// What was last written down of a program.
#[derive(Debug)]
struct Last {
    /// When, and what.
    line: Option<(Ns, Arc<Reasons>)>,
    /// When that was due last, whether or not it was written.
    due: Ns,
}

#[derive(Debug)]
struct User {
    name: Option<String>,
    lines: Bucket,
    left_out: u64,
    /// When that was last written down.
    reported: Ns,
}

impl Written {
    /// Programs whose reasons have changed since they were last written down; where a user has too
    /// few lines left, those that have waited longest. They count as written. A program is due at
    /// most once in `interval`.
    pub(super) fn due(
        &mut self,
        targets: &BTreeMap<ProcId, Target>,
        reasons_of: impl Fn(ProcId) -> Arc<Reasons>,
        interval: Ns,
        now: Ns,
    ) -> Vec<(ProcId, Arc<Reasons>)> {
        self.programs.retain(|id, _| targets.contains_key(id));
        let mut changed = Vec::new();
        for id in targets.keys() {
            let last = self.programs.get(id);
            if last.is_some_and(|last| now.since(last.due) < interval) {
                continue;
            }
            let (line, reasons) = (last.and_then(|last| last.line.as_ref()), reasons_of(*id));
            if line.is_none_or(|(_, before)| *before != reasons) {
                changed.push((line.map(|(at, _)| *at), *id, reasons));
            }
        }
        changed.sort_by_key(|(at, id, _)| (*at, *id));
        let mut due = Vec::new();
        for (_, id, reasons) in changed {
            let Some(target) = targets.get(&id) else { continue };
            let last = self.programs.entry(id).or_insert(Last { line: None, due: now });
            last.due = now;
            let user = self.users.entry(target.sample.account()).or_insert_with(|| User::new(now));
            if user.may_write(&target.sample, now) {
                last.line = Some((now, Arc::clone(&reasons)));
                due.push((id, reasons));
            }
        }
        due.sort_by_key(|(id, _)| *id);
        due
    }

    /// How many lines were left out, of each user where that is due.
    pub(super) fn left_out(&mut self, now: Ns) -> Vec<Record> {
        let mut records = Vec::new();
        for (uid, user) in &mut self.users {
            if user.left_out > 0 && now.since(user.reported) >= REPORT_INTERVAL {
                let lines = std::mem::take(&mut user.left_out);
                user.reported = now;
                records.push(Record::SkipsLeftOut { uid: *uid, user: user.name.clone(), lines });
            }
        }
        self.users.retain(|_, user| user.left_out > 0 || user.lines.level_at(now) < LINES);
        records
    }
}

impl User {
    fn new(now: Ns) -> Self {
        let lines = Bucket::new(LINES_PER_S, LINES, now);
        Self { name: None, lines, left_out: 0, reported: now }
    }

    /// Takes a line, or counts that there is none.
    fn may_write(&mut self, program: &ProcessSample, now: Ns) -> bool {
        if program.account_uid.is_none() {
            self.name.clone_from(&program.user);
        }
        let may = self.lines.level_at(now) >= 1.0;
        match may {
            true => self.lines.take(1.0, now),
            false => self.left_out += 1,
        }
        may
    }
}
