//! What dumps of a program's threads say: which of them wait, for what, and who is in the way.

use super::cpu;
use super::prelude::*;
use super::servers::{any, worst};

/// Programs of which dumps are read.
const KINDS: [&str; 2] = ["java", "go"];

/// A thread that used less CPU between two dumps has not gone on: a call to a database takes its
/// caller some 0.1 ms, and there are hundreds of short ones in the seconds between two dumps.
const STILL_MS: f64 = 5.0;

/// Share of one CPU from which on it is said what collecting garbage took.
const COLLECTORS_SHARE: f64 = 0.2;

/// Most things that a sentence lists.
const LISTED_MAX: usize = 3;

/// Values about one subject, one of each dump that has it.
#[derive(Clone, Debug)]
struct Group {
    subject: Subject,
    values: Vec<f64>,
    /// The highest.
    seen: Reading,
}

impl Group {
    /// Mean over all dumps, those without it counting as 0.
    fn mean(&self, dumps: usize) -> f64 {
        self.values.iter().sum::<f64>() / dumps.max(1) as f64
    }

    /// The name of a part, or what a group of threads does.
    fn what(&self) -> &str {
        match &self.subject {
            Subject::Part { name, .. } => name,
            Subject::Threads { what, .. } => what,
            _ => "?",
        }
    }

    fn is_in(&self, wanted: &str) -> bool {
        matches!(&self.subject, Subject::Threads { group, .. } if group == wanted)
    }
}

/// One program with its dumps.
struct Program<'a> {
    cx: &'a Context<'a>,
    name: &'a str,
    dumps: usize,
    /// Threads with work, as a mean.
    busy: f64,
}

impl<'a> Program<'a> {
    fn new(cx: &'a Context<'a>, name: &'a str) -> Option<Self> {
        let own = Self { cx, name, dumps: 0, busy: 0.0 };
        let dumps = own.whole(Field::Threads)?.values.len();
        let busy = own.whole(Field::ThreadsBusy)?.mean(dumps);
        Some(Self { dumps, busy, ..own })
    }

    /// All that is known of a field about this program, by subject.
    fn groups(&self, field: Field) -> Vec<Group> {
        let own = |(subject, _): &(&Subject, _)| subject.service() == Some(self.name);
        let all = self.cx.host.subjects(field).filter(own);
        let group = |(subject, all): (&Subject, &[Series])| {
            let points = || all.iter().flat_map(|s| s.points.iter().map(move |p| (s.source, *p)));
            let highest = most(points());
            let (source, Point { at, value }) = highest?;
            let at = Interval { from: None, to: at };
            let seen = Reading { field, subject: subject.clone(), value, at, source };
            let values = points().map(|(_, point)| point.value).collect();
            Some(Group { subject: subject.clone(), values, seen })
        };
        all.filter_map(group).collect()
    }

    fn whole(&self, field: Field) -> Option<Group> {
        let whole = |group: &Group| matches!(group.subject, Subject::Service(_));
        self.groups(field).into_iter().find(whole)
    }

    /// Those of a group, the largest first.
    fn members(&self, field: Field, of: &str) -> Vec<Group> {
        let mut all = self.groups(field);
        all.retain(|group| group.is_in(of));
        all.sort_by(|a, b| b.mean(self.dumps).total_cmp(&a.mean(self.dumps)));
        all
    }

    /// The one with most threads.
    fn largest(&self, fields: &[Field]) -> Option<Group> {
        let all = fields.iter().flat_map(|field| self.groups(*field));
        most_by(all, |group| group.mean(self.dumps))
    }

    fn share(&self, group: &Group) -> f64 {
        if self.busy > 0.0 { group.mean(self.dumps) / self.busy * 100.0 } else { 0.0 }
    }

    /// Whether the number of threads, and of those with work, is no accident of one moment:
    /// more has to be so where there is just one dump.
    fn is_much(&self, group: &Group) -> bool {
        let often = group.values.len() * 3 >= self.dumps * 2;
        let share = if self.dumps < 2 { T::ThreadsShareOnce } else { T::ThreadsShare };
        group.mean(self.dumps) >= self.cx.limit(T::ThreadsWaiting)
            && self.share(group) >= self.cx.limit(share)
            && often
    }

    /// `36 of 40 threads with work wait for X, in each of 3 dumps`.
    fn say(&self, group: &Group, waits: &str) -> Evidence {
        let (mean, average) =
            (group.mean(self.dumps), if self.dumps > 1 { "on average " } else { "" });
        let text = format!(
            "{}: {average}{} of {} with work {waits}{}",
            self.name,
            write::number(mean),
            write::counted(self.busy, "thread", "threads"),
            self.often(group)
        );
        self.cx.say(&group.seen, &text)
    }

    fn often(&self, group: &Group) -> String {
        match (group.values.len(), self.dumps) {
            (_, 0 | 1) => String::new(),
            (seen, all) if seen >= all => format!(", in each of {all} dumps"),
            (seen, all) => format!(", in {seen} of {all} dumps"),
        }
    }

    /// Threads that hold, or wait for, this in every dump, and did nothing in between; 0 where
    /// there is one dump.
    fn still(&self, place: &str) -> usize {
        let still = |group: &&Group| {
            let steps = || group.values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            group.values.len() >= self.dumps && steps().all(|step| step < STILL_MS)
        };
        if self.dumps < 2 {
            return 0;
        }
        self.groups(Field::ThreadStays).iter().filter(|g| g.is_in(place)).filter(still).count()
    }

    /// How many there are of a group in a dump, as a mean.
    fn members_mean(&self, members: &[Group]) -> f64 {
        members.iter().map(|group| group.mean(self.dumps)).sum()
    }

    /// `waits for PostgreSQL in com.shop.Dao.find (4), sleeps (1)`.
    fn listed(&self, members: &[Group]) -> String {
        let one =
            |group: &Group| format!("{} ({})", group.what(), write::number(group.mean(self.dumps)));
        let listed: Vec<String> = members.iter().take(LISTED_MAX).map(one).collect();
        listed.join(", ")
    }

    /// What the machine, or else the program, uses of the CPUs meanwhile.
    fn cpu(&self) -> Option<Evidence> {
        if let Some(busy) = self.cx.mean_busy() {
            let used = write::value(busy.field.about().unit, busy.value);
            return Some(self.cx.say(&busy, &format!("CPU in use {used} (mean)")));
        }
        let (cpu, age) = (self.whole(Field::ThreadsCpu)?, self.whole(Field::ServerUptime)?);
        let grown = |group: &Group| Some(group.values.last()? - group.values.first()?);
        let (used, passed) = (grown(&cpu)?, grown(&age)?);
        (passed > 0.0 && used >= 0.0).then(|| {
            let share = write::value(Unit::Percent, used / passed * 100.0);
            let collectors = self.whole(Field::CollectorsCpu).and_then(|group| grown(&group));
            let collectors = collectors.filter(|used| *used >= passed * COLLECTORS_SHARE);
            let collectors = collectors.map_or_else(String::new, |used| {
                let share = write::value(Unit::Percent, used / passed * 100.0);
                format!(", and its collectors of garbage {share}")
            });
            let text = format!("between the dumps its threads took {share} of one CPU{collectors}");
            self.cx.say(&cpu.seen, &text)
        })
    }
}

/// The worst answer about any program.
fn each(cx: &Context<'_>, test: impl Fn(&Program<'_>) -> Option<Answer>) -> Answer {
    let of_kind = |kind: &&str| {
        worst(cx, kind, &[Field::Threads], THREADS, |name| test(&Program::new(cx, name)?))
    };
    let answers: Vec<Answer> = KINDS.iter().map(of_kind).collect();
    let rank = |answer: &Answer| (answer.is_yes(), answer.verdict == Verdict::No);
    let worse = |a: Answer, b: Answer| if rank(&b) > rank(&a) { b } else { a };
    answers.into_iter().reduce(worse).unwrap_or_else(|| Answer::unknown(&[THREADS]))
}

/// One dump is one moment.
fn one_moment(program: &Program<'_>) -> Option<Evidence> {
    (program.dumps < 2).then(|| {
        Evidence::assumed(
            "it is so for longer than the one moment of this dump: take three, 5 s apart",
        )
    })
}

/// Do threads wait for what others of their program, or other programs, do?
pub(super) fn any_of(cx: &Context<'_>) -> Answer {
    let tests = [deadlock(cx), service(cx), lock(cx), pool(cx), workers(cx)];
    let answer = any(&tests, THREADS);
    if answer.verdict != Verdict::No {
        return answer;
    }
    // What it was answered from.
    each(cx, |program| {
        let all = program.whole(Field::Threads)?;
        let text = format!(
            "{}: {}, {} with work",
            program.name,
            write::counted(all.mean(program.dumps), "thread", "threads"),
            write::number(program.busy)
        );
        Some(Answer::no(vec![cx.say(&all.seen, &text)]))
    })
}

/// Do threads wait for each other's locks in a circle?
pub(super) fn deadlock(cx: &Context<'_>) -> Answer {
    each(cx, |program| {
        let Some(found) = program.largest(&[Field::ThreadsDeadlocked]) else {
            return nothing(program, "none of its threads are in a deadlock");
        };
        let text = format!(
            "{}: {} wait for each other{}: {}",
            program.name,
            write::counted(found.seen.value, "thread", "threads"),
            program.often(&found),
            found.what()
        );
        Some(Answer::yes(0.9, vec![cx.say(&found.seen, &text)]))
    })
}

/// A no, with the number of threads that it is about.
fn nothing(program: &Program<'_>, why: &str) -> Option<Answer> {
    let busy = program.whole(Field::ThreadsBusy)?;
    let threads = write::counted(program.busy, "thread", "threads");
    let text = format!("{}: {threads} with work; {why}", program.name);
    // One dump that does not show it is no proof.
    Some(Answer::no(vec![program.cx.say(&busy.seen, &text)]).if_close(program.dumps < 2))
}

/// Do threads wait until a pool, or something else that is limited, has something for them?
pub(super) fn pool(cx: &Context<'_>) -> Answer {
    each(cx, |program| {
        let fields = [Field::ThreadsBorrow, Field::ThreadsLimited];
        let Some(found) = program.largest(&fields) else {
            return nothing(program, "none wait for a connection or a permit");
        };
        let connection = found.seen.field == Field::ThreadsBorrow;
        let waits = match connection {
            true => format!("wait for a connection of {}", found.what()),
            false => format!("wait for {}", found.what()),
        };
        let first = program.say(&found, &waits);
        // Who waits for a connection does so because none is left: that needs no second dump.
        let once = connection && program.dumps < 2;
        let enough = found.mean(1) >= cx.limit(T::ThreadsWaiting)
            && program.share(&found) >= cx.limit(T::ThreadsShare);
        let much = program.is_much(&found) || (once && enough);
        if !much {
            return Some(Answer::no(vec![first]).if_close(true));
        }
        let weight = 0.6 * (program.share(&found) / 100.0).min(1.0);
        let mut evidence = vec![first];
        let users = users(program, found.what()).filter(|_| connection);
        // Who has one outside of its calls is among the others.
        let others = if users.is_none() { others(program, &waits) } else { None };
        evidence.extend(users);
        evidence.extend(others);
        evidence.extend(program.cpu());
        evidence.push(limit_or_consequence(program, &found));
        let one = one_moment(program).filter(|_| !connection);
        // A request may well wait for what others put into a queue: a chat does nothing else.
        let queue = found.what().starts_with("an item of a queue");
        Some(Answer::yes(weight, evidence).and(one).mild(queue))
    })
}

/// Who uses the connections of a pool, where a thread is seen to.
fn users(program: &Program<'_>, pool: &str) -> Option<Evidence> {
    let users = program.members(Field::ConnectionUsers, pool);
    let most = users.first()?;
    let count = write::number(program.members_mean(&users));
    let text = format!("{count} seen to use one: {}", program.listed(&users));
    Some(program.cx.say(&most.seen, &text))
}

/// What the other threads with work do, while many wait for a permit: who has one is among them.
fn others(program: &Program<'_>, waits: &str) -> Option<Evidence> {
    let mut all = program.groups(Field::ThreadsDoing);
    all.retain(|group| !waits.starts_with(group.what()));
    all.sort_by(|a, b| b.mean(program.dumps).total_cmp(&a.mean(program.dumps)));
    let most = all.first()?;
    let count = write::counted(program.members_mean(&all), "other thread", "other threads");
    let text = format!("{count} with work: {}", program.listed(&all));
    Some(program.cx.say(&most.seen, &text))
}

/// Whether the pool is the limit, or what its users wait for.
fn limit_or_consequence(program: &Program<'_>, found: &Group) -> Evidence {
    if cpu::saturated(program.cx).is_yes() {
        return Evidence::derived(
            "the CPUs are full: the pool only shows where threads wait for them",
        );
    }
    if found.seen.field == Field::ThreadsLimited {
        return Evidence::derived("it lets no more in at a time: how long those stay decides");
    }
    let users = program.members(Field::ConnectionUsers, found.what());
    let (all, still) = (program.members_mean(&users), program.still(found.what()));
    let text = match program.dumps {
        0 | 1 => {
            "one dump does not tell whether each of them uses it for long, or the pool is too \
             small: take three, 5 s apart"
                .to_owned()
        }
        _ if all < 1.0 => {
            "none is seen in a call of the driver: whoever has one does something else meanwhile, \
             or did not give it back"
                .to_owned()
        }
        dumps if still as f64 * 2.0 >= all => format!(
            "the same {still} use it in all {dumps} dumps, and do nothing meanwhile: what they \
             wait for is slow, and the pool is short of it"
        ),
        _ => {
            "each dump shows others that use it: none of them does so for long, and there are too \
              few for so many"
                .to_owned()
        }
    };
    Evidence::derived(text)
}

/// Do threads wait for another program's answers?
pub(super) fn service(cx: &Context<'_>) -> Answer {
    each(cx, |program| {
        let behind = behind_pool(program);
        let found = program.largest(&[Field::ThreadsRemote]);
        let Some(found) = found.or_else(|| behind.as_ref().map(|(group, _)| group.clone())) else {
            return nothing(program, "no request waits for another program");
        };
        let first = program.say(&found, &format!("wait for {}", found.what()));
        let still = program.still(found.what());
        let enough = still as f64 >= cx.limit(T::ThreadsWaiting);
        let weight = (program.share(&found) / 100.0).clamp(0.3, 0.8);
        if enough && program.share(&found) >= cx.limit(T::ThreadsShare) {
            let text = format!(
                "{still} of them are the same in all {} dumps, and do nothing meanwhile: the \
                 answer takes longer than that",
                program.dumps
            );
            return Some(
                Answer::yes(weight, vec![first, Evidence::derived(text)]).and(program.cpu()),
            );
        }
        if let Some((_, evidence)) = behind {
            return Some(Answer::yes(0.8, evidence).and(program.cpu()));
        }
        // What most threads of a server do is to wait for its database: it is trouble only where no
        // thread is left, or where it lasts.
        let most = program.share(&found) >= cx.limit(T::ThreadsShareOnce);
        let full = full_pool(program).is_some();
        let many = found.mean(program.dumps) >= cx.limit(T::WorkersMin);
        Some(
            Answer::when(most && many && full, weight, vec![first])
                .backed(one_moment(program))
                .backed(program.cpu())
                .or_close(true),
        )
    })
}

/// A service for which all wait that use the connections of a pool, while others wait for one.
fn behind_pool(program: &Program<'_>) -> Option<(Group, Vec<Evidence>)> {
    let pool = program.largest(&[Field::ThreadsBorrow])?;
    let still = program.still(pool.what());
    let users = program.members(Field::ConnectionUsers, pool.what());
    let waits = |group: &Group| group.what().strip_prefix("waits for ").map(str::to_owned);
    let remote = users.iter().find(|group| {
        waits(group)
            .is_some_and(|what| !what.starts_with("a lock") && !what.starts_with("what other"))
    })?;
    let (all, own) = (program.members_mean(&users), remote.mean(program.dumps));
    let lasting = still > 0 && still as f64 * 2.0 >= all && own * 2.0 >= all;
    let many = pool.mean(program.dumps) >= program.cx.limit(T::ThreadsWaiting);
    if !(lasting && many) {
        return None;
    }
    let text = format!(
        "{}: {} of {} with a connection of {} wait for {}; the same {still} in all {} dumps, and \
         they do nothing meanwhile",
        program.name,
        write::number(own),
        write::counted(all, "thread", "threads"),
        pool.what(),
        waits(remote).unwrap_or_default(),
        program.dumps
    );
    let evidence = vec![
        program.cx.say(&remote.seen, &text),
        program.say(&pool, &format!("wait for a connection of {}", pool.what())),
    ];
    Some((remote.clone(), evidence))
}

/// Who holds a lock: the thread, and whether it is the same one in all dumps.
fn holder(program: &Program<'_>, lock: &Group) -> String {
    let stays = program.members(Field::ThreadStays, lock.what());
    let names: Vec<&str> = stays.iter().map(Group::what).collect();
    match (names.as_slice(), program.still(lock.what())) {
        ([], _) => "the thread that holds it".to_owned(),
        ([one], 1..) => format!(
            "{one}, which holds it in all {} dumps and does nothing meanwhile",
            program.dumps
        ),
        ([one], _) => format!("{one}, which holds it"),
        ([one, ..], _) => format!("another thread holds it in each dump, such as {one}"),
    }
}

/// Do many threads wait for one lock?
pub(super) fn lock(cx: &Context<'_>) -> Answer {
    each(cx, |program| {
        let Some(found) = program.largest(&[Field::ThreadsLocked]) else {
            return nothing(program, "none wait for a lock");
        };
        let first = program.say(&found, &format!("wait for a lock: {}", found.what()));
        let holders = program.members(Field::LockHolders, found.what());
        let holder = holders.first().map(|most| {
            let does: Vec<&str> = holders.iter().take(LISTED_MAX).map(Group::what).collect();
            let text = format!("{}: {}", holder(program, &found), does.join("; or it "));
            cx.say(&most.seen, &text)
        });
        if !program.is_much(&found) {
            return Some(Answer::no(vec![first]).and(holder).if_close(true));
        }
        let weight = 0.7 * (program.share(&found) / 100.0).min(1.0);
        let lacking: &[_] = if holder.is_none() { &[THREADS_OWNERS] } else { &[] };
        Some(
            Answer::yes(weight, vec![first])
                .and(holder)
                .and(program.cpu())
                .and(one_moment(program))
                .lacking(lacking),
        )
    })
}

/// A pool all of whose threads have work in all dumps, most of them requests: its name, and how
/// many they are.
fn full_pool(program: &Program<'_>) -> Option<(Group, f64)> {
    let idle = program.groups(Field::PoolIdle);
    let requests = program.groups(Field::PoolRequests);
    let of = |all: &[Group], name: &str| all.iter().find(|group| group.what() == name).cloned();
    let mut all = program.groups(Field::PoolActive);
    all.retain(|pool| {
        let free = of(&idle, pool.what()).map_or(0.0, |group| group.seen.value);
        let serves = of(&requests, pool.what()).map_or(0.0, |group| group.mean(program.dumps));
        let size = pool.mean(program.dumps);
        free < 0.5 && size >= program.cx.limit(T::WorkersMin) && serves * 2.0 >= size
    });
    let largest = most_by(all, |group| group.seen.value)?;
    let size = largest.seen.value;
    Some((largest, size))
}

/// Have all threads of a pool work, so that requests wait for one?
pub(super) fn workers(cx: &Context<'_>) -> Answer {
    each(cx, |program| {
        let Some((pool, size)) = full_pool(program) else {
            return nothing(program, "no pool of threads for requests is without a free one");
        };
        let doing = program.members(Field::ThreadsDoing, pool.what());
        let text = format!(
            "{}: all {} threads of {} have work{}: {}",
            program.name,
            write::number(size),
            pool.what(),
            program.often(&pool),
            program.listed(&doing)
        );
        let first = cx.say(&pool.seen, &text);
        let full = cpu::saturated(cx)
            .is_yes()
            .then(|| Evidence::derived("the CPUs are full: more threads would only wait for them"));
        // A pool grows with its load: in one moment all may just be needed.
        let once = program.dumps < 2;
        let evidence = Answer::yes(0.4, vec![first]).and(full).and(program.cpu());
        Some(evidence.and(one_moment(program)).mild(once))
    })
}
