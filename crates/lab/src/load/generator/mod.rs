//! The load generator: one thread hands requests over at their time, to connections that serve
//! one request each.

mod answer;
mod client;
mod door;
mod http;
mod redis;
mod shared;
mod timer;
mod values;

use super::progress::{BEAT, Beat, Progress};
use answer::Failed;
use anyhow::{Context, anyhow};
use client::Client;
pub(super) use door::Door;
use hugewise_base::rng::Rng;
use hugewise_base::units::Ns;
use hugewise_experiment::load::{
    Arrival, Arrivals, LoadResult, LoadSpec, Profile, Recorder, Target, Who,
};
use shared::{Job, Shared};
use std::iter::Peekable;
use std::rc::Rc;
use std::time::Duration;
use timer::Timer;
use tokio::task::LocalSet;
use values::Values;

/// How many requests are handed over before connections are served: a generator that catches up
/// must not starve them.
const BATCH: usize = 64;
/// How many tasks run before the kernel is asked for answers and the time: tokio's own 61 would
/// make the generator late.
const EVENT_INTERVAL: u32 = 16;
/// How many bytes of values are set at once before the begin.
const PRELOAD_BYTES: u64 = 1 << 20;
/// How long the begin may take: a connection, or a batch of keys.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn run(
    spec: &LoadSpec,
    door: &Door,
    profile: &Profile,
    beat: &mut Beat<'_>,
) -> anyhow::Result<LoadResult> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()
        .context("cannot start the load generator")?;
    LocalSet::new().block_on(&runtime, drive(spec, door, profile, beat))
}

async fn drive(
    spec: &LoadSpec,
    door: &Door,
    profile: &Profile,
    beat: &mut Beat<'_>,
) -> anyhow::Result<LoadResult> {
    let target = &door.target;
    let still = |at| Progress::silent(at, profile.time());
    let values = Values::new(spec);
    let mut clients = Vec::new();
    for _ in 0..spec.connections {
        beat(still(Ns(0)))?;
        clients.push(begin(target, Client::connect(door)).await?);
    }
    if let (true, Some(Client::Redis(redis))) = (spec.preload, clients.first_mut()) {
        let mut rng = Rng::new(spec.seed);
        let batch = (PRELOAD_BYTES / u64::from(spec.value_bytes.max(1))).clamp(1, 1000);
        for first in (0..spec.keys).step_by(usize::try_from(batch).unwrap_or(1)) {
            beat(still(Ns(0)))?;
            let keys = first..(first + batch).min(spec.keys);
            let set = redis.set_all(keys, || values.draw(&mut rng).to_vec());
            begin(target, set).await.context("cannot set the keys")?;
        }
    }
    let recorder = Recorder::new(profile, spec.timeout());
    let arrivals = Arrivals::new(profile, spec.arrivals, spec.seed);
    let shared = Rc::new(Shared::new(spec, door, profile.time(), recorder, values));
    let mut tasks = tokio::task::JoinSet::new();
    for client in clients {
        let shared = Rc::clone(&shared);
        tasks.spawn_local(async move { shared.serve(client).await });
    }
    let generator = Generator { shared: &shared, spec, time: profile.time() };
    generator.run(arrivals.peekable(), beat).await?;
    generator.drain(beat).await?;
    tasks.shutdown().await;
    let shared = Rc::into_inner(shared).context("a connection outlived the load")?;
    Ok(shared.recorder.into_inner().finish())
}

/// Waits for something before the begin; its error names the target.
async fn begin<T>(
    target: &Target,
    what: impl Future<Output = Result<T, Failed>>,
) -> anyhow::Result<T> {
    match tokio::time::timeout(BEGIN_TIMEOUT, what).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(Failed { kind, quote })) => {
            let quote = quote.map(|quote| format!(" ({quote})")).unwrap_or_default();
            Err(anyhow!("{target}: {kind}{quote}: is the server running?"))
        }
        Err(_) => Err(anyhow!("{target}: no answer within {} s", BEGIN_TIMEOUT.as_secs())),
    }
}

struct Generator<'a> {
    shared: &'a Shared,
    spec: &'a LoadSpec,
    time: Ns,
}

impl Generator<'_> {
    /// Hands every request over at its time, until the steps are over.
    async fn run(
        &self,
        mut arrivals: Peekable<Arrivals>,
        beat: &mut Beat<'_>,
    ) -> anyhow::Result<()> {
        let timer = Timer::new().context("cannot make a timer")?;
        let beat_ns = Ns::ms(u64::try_from(BEAT.as_millis()).unwrap_or(u64::MAX));
        let mut next_beat = Ns(0);
        loop {
            let now = self.shared.now();
            let handed = (0..BATCH).map_while(|_| self.due(&mut arrivals, now)).count();
            if now >= next_beat {
                beat(self.progress(now))?;
                next_beat = now + beat_ns;
            }
            if handed == BATCH {
                tokio::task::yield_now().await;
                continue;
            }
            let arrival = arrivals.peek().map(|arrival| arrival.at);
            if arrival.is_none() && now >= self.time {
                return Ok(());
            }
            let ahead = [arrival, self.shared.next_later(), Some(next_beat)];
            let last = if arrival.is_none() { self.time } else { next_beat };
            let wake = ahead.into_iter().flatten().fold(last, Ns::min);
            tokio::select! {
                slept = timer.sleep(wake.since(self.shared.now())) => slept?,
                () = self.shared.sooner.notified() => {}
            }
        }
    }

    /// Hands over the first request whose time came.
    fn due(&self, arrivals: &mut Peekable<Arrivals>, now: Ns) -> Option<()> {
        let arrival = arrivals.peek().map(|arrival| arrival.at);
        let later = self.shared.next_later();
        let first = [arrival, later].into_iter().flatten().min().filter(|at| *at <= now)?;
        let job = if later == Some(first) {
            self.shared.take_later()?
        } else {
            let Arrival { at, who } = arrivals.next()?;
            let more = match who {
                Who::Request => 0,
                Who::User => self.spec.requests_per_user.saturating_sub(1),
            };
            Job { intended: at, more }
        };
        self.shared.hand_over(job);
        Some(())
    }

    /// Waits for the last answers: each request fails at its timeout.
    async fn drain(&self, beat: &mut Beat<'_>) -> anyhow::Result<()> {
        let mut next_beat = self.shared.now();
        while self.shared.outstanding() > 0 {
            let now = self.shared.now();
            if now >= next_beat {
                beat(self.progress(now))?;
                next_beat = now + Ns::ms(u64::try_from(BEAT.as_millis()).unwrap_or(u64::MAX));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    fn progress(&self, at: Ns) -> Progress {
        let recorder = self.shared.recorder.borrow();
        let (intended, completed, failed) = recorder.so_far();
        let p99 = recorder.p99_so_far();
        Progress { at, time: self.time, intended, completed, failed, p99 }
    }
}
