//! What the generator and its connections share. All of them run on one thread.

use super::answer::{Answer, Ask, Failed};
use super::client::Client;
use super::door::Door;
use super::values::Values;
use hugewise_base::rng::Rng;
use hugewise_base::units::Ns;
use hugewise_experiment::load::arrivals::exponential_time;
use hugewise_experiment::load::outcome::Done;
use hugewise_experiment::load::{Failure, LoadSpec, Recorder, ThinkTime};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout_at;

/// A request whose time came, or will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Job {
    /// Its intended start.
    pub(super) intended: Ns,
    /// How many requests the same user makes after it.
    pub(super) more: u32,
}

#[derive(Debug)]
pub(super) struct Shared {
    spec: LoadSpec,
    door: Door,
    begin: Instant,
    end: Ns,
    /// Requests whose time came and that no connection has taken.
    waiting: RefCell<VecDeque<Job>>,
    /// Requests of users who are still thinking.
    later: RefCell<BinaryHeap<Reverse<Job>>>,
    /// Requests handed over and neither answered nor failed.
    outstanding: Cell<usize>,
    pub(super) work: Notify,
    pub(super) sooner: Notify,
    pub(super) recorder: RefCell<Recorder>,
    rng: RefCell<Rng>,
    values: Values,
}

impl Shared {
    /// The time begins to run.
    pub(super) fn new(
        spec: &LoadSpec,
        door: &Door,
        end: Ns,
        recorder: Recorder,
        values: Values,
    ) -> Self {
        Self {
            spec: spec.clone(),
            door: door.clone(),
            begin: Instant::now(),
            end,
            waiting: RefCell::default(),
            later: RefCell::default(),
            outstanding: Cell::new(0),
            work: Notify::new(),
            sooner: Notify::new(),
            recorder: RefCell::new(recorder),
            // Not the seed of the arrivals: keys would follow from gaps.
            rng: RefCell::new(Rng::new(spec.seed ^ 0x6b65_7973)),
            values,
        }
    }

    pub(super) fn now(&self) -> Ns {
        Ns(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.get()
    }

    /// When the next thinking user is done.
    pub(super) fn next_later(&self) -> Option<Ns> {
        self.later.borrow().peek().map(|Reverse(job)| job.intended)
    }

    pub(super) fn take_later(&self) -> Option<Job> {
        self.later.borrow_mut().pop().map(|Reverse(job)| job)
    }

    /// A request's time came.
    pub(super) fn hand_over(&self, job: Job) {
        let now = self.now();
        self.recorder.borrow_mut().handed_over(job.intended, now);
        let held = self.waiting.borrow().len() + self.later.borrow().len();
        if held >= usize::try_from(self.spec.max_waiting).unwrap_or(usize::MAX) {
            self.fail(job, &Failed { kind: Failure::QueueFull, quote: None });
            return;
        }
        self.outstanding.set(self.outstanding.get() + 1);
        self.waiting.borrow_mut().push_back(job);
        self.work.notify_one();
    }

    async fn next(&self) -> Job {
        loop {
            // Out of the way before anything is awaited.
            let job = self.waiting.borrow_mut().pop_front();
            if let Some(job) = job {
                return job;
            }
            self.work.notified().await;
        }
    }

    fn fail(&self, job: Job, failed: &Failed) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.failed(failed.kind, self.now(), failed.quote.as_deref());
        if job.more > 0 {
            recorder.lost_user();
        }
    }

    /// The user of a request that was answered thinks, and asks again.
    fn go_on(&self, job: Job) {
        let Some(more) = job.more.checked_sub(1) else { return };
        let think = match self.spec.think_time {
            ThinkTime::None => Ns(0),
            ThinkTime::Constant(time) => time,
            ThinkTime::Exponential(mean) => exponential_time(&mut self.rng.borrow_mut(), mean),
        };
        let intended = self.now() + think;
        if intended >= self.end {
            self.recorder.borrow_mut().cut_user();
            return;
        }
        self.later.borrow_mut().push(Reverse(Job { intended, more }));
        self.sooner.notify_one();
    }

    /// Serves requests over one connection, and over a new one when that breaks. Never ends.
    pub(super) async fn serve(&self, client: Client) {
        let mut client = Some(client);
        loop {
            let job = self.next().await;
            match self.attempt(&mut client, job).await {
                Ok(()) => self.go_on(job),
                Err(failed) => {
                    if !failed.is_answered() {
                        client = None;
                    }
                    self.fail(job, &failed);
                }
            }
            self.outstanding.set(self.outstanding.get() - 1);
        }
    }

    async fn attempt(&self, client: &mut Option<Client>, job: Job) -> Result<(), Failed> {
        let deadline = job.intended + self.spec.timeout();
        let instant = self.begin + Duration::from_nanos(deadline.0);
        if self.now() >= deadline {
            return Err(Failed { kind: Failure::QueueTimeout, quote: None });
        }
        if client.as_ref().is_some_and(Client::is_closed) {
            *client = None;
        }
        if client.is_none() {
            let connecting = timeout_at(instant.into(), Client::connect(&self.door)).await;
            let late = || Failed::new(Failure::Connect, "timeout while connecting");
            *client = Some(connecting.map_err(|_| late())??);
        }
        let client = client.as_mut().expect("connected above");
        let ask = self.ask();
        let sent = self.now();
        let answer = timeout_at(instant.into(), client.request(&ask)).await;
        let answer = answer.map_err(|_| Failed { kind: Failure::Timeout, quote: None })??;
        let answered = self.now();
        let mut recorder = self.recorder.borrow_mut();
        recorder.completed(Done { intended: job.intended, sent, answered });
        if matches!(answer, Answer::Found | Answer::Missing) {
            recorder.got(answer == Answer::Found);
        }
        Ok(())
    }

    fn ask(&self) -> Ask<'_> {
        let mut rng = self.rng.borrow_mut();
        let key = rng.below(self.spec.keys);
        if rng.percent(u64::from(self.spec.operations.get_percent)) {
            Ask::Get(key)
        } else {
            Ask::Set(key, self.values.draw(&mut rng))
        }
    }
}
