use super::*;
use hugewise_base::units::Ns;
use hugewise_evidence::recording::{Builder, Field, SourceKind, Stamp, Subject};
use proptest::prelude::*;

const OPEN: Bounds = Bounds { p99_max: None };

fn thread(name: &str) -> Resource {
    Resource::Thread { name: name.to_owned() }
}

/// A machine whose resources each have a demand: seconds of it that a request takes. `slots`
/// requests are served at a time, each in `time_s`.
#[derive(Clone)]
struct Machine {
    demands: Vec<(Resource, f64)>,
    slots: f64,
    time_s: f64,
}

impl Machine {
    fn new(demands: &[(Resource, f64)]) -> Self {
        Self { demands: demands.to_vec(), slots: 1e9, time_s: 0.002 }
    }

    fn capacity(&self) -> f64 {
        let all = self.demands.iter().map(|(_, demand)| 1.0 / demand);
        all.fold(self.slots / self.time_s, f64::min)
    }

    /// As an open queue: ten times the time at nine tenths of the capacity.
    fn step(&self, rate: f64) -> Step {
        let (capacity, time) = (self.capacity(), Ns::from_s(self.time_s));
        let achieved = rate.min(capacity);
        let free = 1.0 - achieved / capacity;
        let p99 = Ns::from_s((self.time_s / free.max(1e-3)).min(5.0));
        let used = self.demands.iter().map(|(resource, demand)| Used {
            resource: resource.clone(),
            share: 0.02 + 0.98 * achieved * demand,
            mostly: None,
        });
        Step {
            rate_per_s: rate,
            offered_per_s: rate,
            achieved_per_s: achieved,
            p50: Some(time),
            p99: Some(p99),
            failed: 0,
            service: Some(time),
            used: used.collect(),
            programs: Vec::new(),
            queues: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn searched(&self, from_per_s: f64, most_per_s: f64) -> Vec<Step> {
        let search = Search { from_per_s, most_per_s, bounds: OPEN };
        let mut tried = Vec::new();
        while let Some(rate) = search.next(&tried) {
            tried.push(self.step(rate));
        }
        tried
    }

    fn judged(&self) -> Judged {
        judged(&self.searched(20.0, 1e6), 1_000_000)
    }
}

fn judged(tried: &[Step], connections: u32) -> Judged {
    let before = Before::default();
    judge(tried, &Around { bounds: OPEN, connections, cpus: Some(2), before })
}

fn resource(one: Option<&ResourceUse>) -> Option<&Resource> {
    one.map(|one| &one.resource)
}

#[test]
fn the_resource_that_is_full_first_is_the_limit_and_the_next_one_bounds_the_gain() {
    let disk = Resource::Disk { name: "sda".into() };
    let demands = [(thread("redis-server"), 0.001), (Resource::Cpus, 0.000_4), (disk, 0.000_2)];
    let found = Machine::new(&demands).judged();
    assert_eq!(resource(found.limit.as_ref()), Some(&thread("redis-server")));
    let gone = found.gone.expect("a next resource");
    assert_eq!(gone.next, Resource::Cpus);
    assert!(gone.interval.contains(2500.0), "{gone:?}");
    assert!((gone.most_per_s / 2500.0 - 1.0).abs() < 0.02, "{gone:?}");
    assert!((gone.gain_percent - 150.0).abs() < 5.0, "{gone:?}");
    let served = found.served_per_s.expect("a served rate");
    assert!((800.0..1000.0).contains(&served), "{served}");
}

#[test]
fn a_pool_is_the_limit_where_nothing_is_full() {
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let found = machine.judged();
    assert_eq!(resource(found.limit.as_ref()), Some(&Resource::Slots));
    let at_a_time = found.at_a_time.expect("Little's law");
    assert!((3.6..4.4).contains(&at_a_time), "{at_a_time}");
    let gone = found.gone.expect("a next resource");
    assert!(gone.next == Resource::Cpus && gone.interval.contains(500.0), "{gone:?}");
}

#[test]
fn a_pause_of_the_machine_in_a_step_makes_no_larger_pool() {
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let mut tried = machine.searched(20.0, 1e6);
    let first = tried.first_mut().and_then(|step| step.service.as_mut()).expect("a step");
    first.0 *= 3;
    let at_a_time = judged(&tried, 1_000_000).at_a_time.expect("Little's law");
    assert!((3.6..4.4).contains(&at_a_time), "{at_a_time}");
}

#[test]
fn the_loads_own_connections_are_told_apart_from_a_pool() {
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let found = judged(&machine.searched(20.0, 1e6), 4);
    assert_eq!(resource(found.limit.as_ref()), Some(&Resource::Connections));
    assert_eq!(found.gone, None, "that says nothing of the server");
}

#[test]
fn a_quota_that_is_used_up_is_the_limit_beside_idle_cpus() {
    let quota = Resource::Quota { cgroup: "/batch".into() };
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let mut tried = machine.searched(20.0, 1e6);
    for step in &mut tried {
        let share = if step.achieved_per_s < step.offered_per_s { 0.9 } else { 0.0 };
        step.used.push(Used { resource: quota.clone(), share, mostly: None });
    }
    let found = judged(&tried, 1_000_000);
    assert_eq!(resource(found.limit.as_ref()), Some(&quota));
    assert_eq!(found.gone.map(|gone| gone.next), Some(Resource::Cpus));
}

#[test]
fn threads_that_use_two_cpus_do_not_work_one_at_a_time() {
    let many = Resource::OneAtATime { program: "java".into() };
    let found = Machine::new(&[(Resource::Cpus, 0.001), (many.clone(), 0.001_6)]);
    // Its threads together use 1.6 CPUs of two.
    let found = Machine { demands: found.demands, slots: 1.0, time_s: 0.001 };
    let mut tried = found.searched(20.0, 1e6);
    for used in tried.iter_mut().flat_map(|step| &mut step.used) {
        if used.resource == many {
            used.share *= 2.0;
        }
    }
    let found = judged(&tried, 1_000_000);
    assert!(found.resources.iter().all(|one| one.resource != many), "{found:?}");
}

#[test]
fn a_search_that_ends_too_early_names_no_limit() {
    let machine = Machine::new(&[(Resource::Cpus, 0.000_1)]);
    let found = judged(&machine.searched(20.0, 300.0), 1_000_000);
    assert_eq!((found.unserved_per_s, found.limit), (None, None));
    assert_eq!(found.served_per_s, Some(300.0));
    let above = judged(&machine.searched(50_000.0, 1e6), 1_000_000);
    assert_eq!((above.served_per_s, above.unserved_per_s), (None, Some(50_000.0)));
    assert_eq!(judged(&[], 1).most_per_s, None);
}

#[test]
fn one_disturbed_step_is_tried_again() {
    let machine = Machine::new(&[(Resource::Cpus, 0.001)]);
    let search = Search { from_per_s: 100.0, most_per_s: 1e6, bounds: OPEN };
    let mut tried = vec![machine.step(100.0), machine.step(200.0)];
    tried[1].p99 = Some(Ns::s(1));
    assert_eq!(search.next(&tried), Some(200.0));
    tried.push(machine.step(200.0));
    assert_eq!(search.next(&tried), Some(400.0));
    let found = judged(&tried, 1_000_000);
    assert_eq!((found.served_per_s, found.unserved_per_s), (Some(200.0), None));
}

#[test]
fn what_is_full_at_every_rate_is_no_limit() {
    let machine = Machine::new(&[(thread("redis"), 0.001), (Resource::Cpus, 0.0008)]);
    let mut steps = machine.searched(20.0, 1e6);
    for step in &mut steps {
        step.used.push(Used { resource: thread("ffmpeg"), share: 1.0, mostly: None });
    }
    let judged = judged(&steps, 1_000_000);
    assert_eq!(resource(judged.limit.as_ref()), Some(&thread("redis")));
    assert_eq!(judged.gone.map(|gain| gain.next), Some(Resource::Cpus));
    // One that the lowest rate fills is the limit: no rate was served that was much higher.
    let full = Machine::new(&[(thread("redis"), 0.047)]).judged();
    assert_eq!(resource(full.limit.as_ref()), Some(&thread("redis")));
}

fn program(name: &str, cpus: f64) -> Program {
    Program { name: name.into(), cpus }
}

/// What others do at each rate in turn: a foreign program that is 84 to 96 % busy, and builds that
/// come and go. The machine has two CPUs.
fn beside(steps: &mut [Step]) {
    for (at, step) in steps.iter_mut().enumerate() {
        let foreign = [0.84, 0.93, 0.88, 0.96, 0.86][at % 5];
        let builds = [0.12, 0.0, 0.56, 0.2][at % 4];
        let name = "qemu-system-x86".to_owned();
        let resource = Resource::OneAtATime { program: name.clone() };
        step.used.push(Used { resource, share: foreign, mostly: None });
        let cpus = step.used.iter_mut().find(|one| one.resource == Resource::Cpus);
        cpus.expect("CPUs").share += (foreign + builds) / 2.0;
        step.programs = vec![program(&name, foreign), program("rustc", builds)];
        step.programs.push(program("redis", 0.001 * step.achieved_per_s));
    }
}

#[test]
fn what_others_use_is_no_limit_and_widens_the_prediction() {
    let demands = [(thread("redis"), 0.001), (Resource::Cpus, 0.000_25)];
    let mut steps = Machine::new(&demands).searched(20.0, 1e6);
    beside(&mut steps);
    let used = vec![Used {
        resource: Resource::OneAtATime { program: "qemu-system-x86".into() },
        share: 0.9,
        mostly: None,
    }];
    let before = Before { used, programs: vec![program("qemu-system-x86", 0.9)] };
    let around = |before| Around { bounds: OPEN, connections: 1_000_000, cpus: Some(2), before };
    let found = judge(&steps, &around(before));
    assert_eq!(resource(found.limit.as_ref()), Some(&thread("redis")));
    let of_qemu = |one: &&ResourceUse| one.resource.to_string().contains("qemu");
    let qemu = found.resources.iter().find(of_qemu).expect("it is listed");
    assert!(!qemu.full && qemu.capacity.is_none(), "{qemu:?}");
    let others = found.others.as_ref().expect("others");
    let names: Vec<&str> = others.programs.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["qemu-system-x86", "rustc"], "what the load fills is not others'");
    assert!((50.0..60.0).contains(&others.percent), "{others:?}");
    assert!(others.interval.low >= 42.0 && others.interval.high <= 76.0, "{others:?}");
    // Two per cent are the machine's own; the load has what others leave of the rest.
    let gone = found.gone.as_ref().expect("a next resource");
    assert_eq!(gone.next, Resource::Cpus);
    let at = |percent: f64| (0.98 - percent / 100.0) / 0.98 / 0.000_25;
    assert!((gone.most_per_s / at(others.percent) - 1.0).abs() < 0.02, "{gone:?}");
    assert!(gone.interval.low <= at(others.interval.high).max(found.most_per_s.expect("answers")));
    assert!(gone.interval.high >= at(others.interval.low), "{gone:?}");
    // Alone, the same server is promised more, and more exactly.
    let alone = Machine::new(&demands).judged();
    assert_eq!(alone.others, None);
    let alone = alone.gone.expect("a next resource");
    let width = |gone: &Gain| (gone.interval.high - gone.interval.low) / gone.most_per_s;
    assert!(alone.most_per_s > 1.8 * gone.most_per_s && width(&alone) < width(gone));
}

/// Builds that take all CPUs whatever the rate leave the pool the limit that it is.
#[test]
fn cpus_that_others_fill_are_no_limit() {
    let demands = [(Resource::Cpus, 0.000_4)];
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&demands) };
    let mut steps = machine.searched(20.0, 1e6);
    let name = "rustc";
    let resource = Resource::OneAtATime { program: name.into() };
    for (at, step) in steps.iter_mut().enumerate() {
        let builds = [1.88, 1.71, 1.87, 1.54, 1.64][at % 5];
        step.used[0].share = [1.0, 0.98, 0.99][at % 3];
        let share = 0.9 + 0.001 * step.achieved_per_s;
        step.used.push(Used { resource: resource.clone(), share, mostly: None });
        step.programs = vec![program(name, builds), program("php", 0.000_8 * step.achieved_per_s)];
    }
    let used = vec![Used { resource: Resource::Cpus, share: 0.99, mostly: None }];
    let before = Before { used, programs: vec![program(name, 1.85)] };
    let found =
        judge(&steps, &Around { bounds: OPEN, connections: 1_000_000, cpus: Some(2), before });
    assert_eq!(self::resource(found.limit.as_ref()), Some(&Resource::Slots), "{found:?}");
    assert_ne!(found.gone.map(|gone| gone.next), Some(resource));
}

#[test]
fn the_pool_is_named_whose_accept_queue_grew() {
    let machine = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let mut tried = machine.searched(20.0, 1e6);
    let queue = |socket: &str, program: Option<&str>, waiting| Queue {
        socket: socket.into(),
        program: program.map(str::to_owned),
        waiting,
    };
    for step in &mut tried {
        let beyond = step.offered_per_s - step.achieved_per_s;
        let program = Some("71/php-fpm8.2");
        step.queues = vec![
            queue("0.0.0.0:25", Some("9/master"), 6.0),
            queue("/run/fpm.sock", program, 0.2 + beyond),
        ];
    }
    let slots = |tried: &[Step]| judged(tried, 1_000_000).limit.expect("a limit");
    let limit = slots(&tried);
    assert_eq!(limit.resource, Resource::Slots);
    assert_eq!(limit.mostly.as_deref(), Some("'php-fpm8.2' at /run/fpm.sock"));
    for step in &mut tried {
        step.queues[1].program = None;
    }
    assert_eq!(slots(&tried).mostly.as_deref(), Some("/run/fpm.sock"));
    for step in &mut tried {
        step.queues.pop();
    }
    assert_eq!(slots(&tried).mostly, None, "a queue that is as long at any rate is none of it");
}

#[test]
fn a_change_that_did_nothing_is_told_where_little_was_expected() {
    let of = |demand: f64| {
        Machine::new(&[(thread("redis"), demand), (Resource::Cpus, 0.00095)]).judged()
    };
    let before = of(0.001);
    assert!(before.gone.as_ref().is_some_and(|gain| gain.gain_percent < 10.0), "{before:?}");
    let outcome = |after: &Judged| check(&before, after, None).map(|checked| checked.outcome);
    assert_eq!(outcome(&of(0.000_996)), Some(Outcome::StillTheLimit));
    assert_eq!(outcome(&of(0.0005)), Some(Outcome::AsExpected));
}

#[test]
fn a_prediction_is_checked_by_what_comes_of_the_change() {
    let before = Machine { slots: 4.0, time_s: 0.03, ..Machine::new(&[(Resource::Cpus, 0.002)]) };
    let after = |slots: f64| Machine { slots, ..before.clone() }.judged();
    let outcome = |slots, factor| {
        check(&before.judged(), &after(slots), factor).map(|checked| checked.outcome)
    };
    assert_eq!(outcome(32.0, None), Some(Outcome::AsExpected));
    assert_eq!(outcome(8.0, Some(2.0)), Some(Outcome::AsExpected));
    assert_eq!(outcome(4.0, None), Some(Outcome::StillTheLimit));
    assert_eq!(outcome(5.0, Some(2.0)), Some(Outcome::Less));
    assert_eq!(outcome(12.0, Some(2.0)), Some(Outcome::More));
    // Where nothing else is known to grow, only what is doubled can be told.
    let idle = |slots: f64| Machine { slots, time_s: 0.03, ..Machine::new(&[]) }.judged();
    let told = |factor| check(&idle(4.0), &idle(8.0), factor).map(|checked| checked.outcome);
    assert_eq!((told(Some(2.0)), told(None)), (Some(Outcome::AsExpected), None));
}

#[test]
fn what_is_used_is_read_from_a_recording() {
    let mut builder = Builder::new();
    builder.input("made");
    builder.begin(SourceKind::Top, 1);
    let noon = Stamp::midnight(2026, 11, 26);
    for (field, subject, value) in [
        (Field::CpuIdle, Subject::Machine, 30.0),
        (Field::CpuIowait, Subject::Machine, 10.0),
        (Field::CpuSoftirq, Subject::Cpu(1), 80.0),
        (Field::ProcCpu, Subject::process(Some(7), "hugewise"), 20.0),
        (Field::ProcCpu, Subject::process(Some(8), "nginx"), 40.0),
        (Field::ProcCpu, Subject::process(Some(9), "nginx"), 55.0),
        (Field::ProcCpu, Subject::process(Some(10), "python3"), 97.0),
        (Field::ProcThreads, Subject::process(Some(10), "python3"), 9.0),
        (Field::ThreadCpu, Subject::process(Some(11), "worker"), 60.0),
        (Field::DiskBusy, Subject::Disk("sda".into()), 70.0),
        (Field::DiskBusy, Subject::Disk("sda1".into()), 70.0),
        (Field::SoftirqRate, Subject::Vector { name: "NET_RX".into(), cpu: Some(1) }, 900.0),
        (Field::AcceptWaiting, Subject::Named("/run/fpm.sock".into()), 3.0),
        (Field::SoftirqRate, Subject::Vector { name: "TIMER".into(), cpu: Some(1) }, 1000.0),
    ] {
        builder.put(field, &subject, noon, value);
    }
    let recording = builder.finish();
    let used = resource::used(&recording, 7);
    let expected = [
        (Resource::Cpus, 0.6),
        (Resource::Interrupts { cpu: 1 }, 0.8),
        (thread("nginx"), 0.55),
        (thread("worker"), 0.6),
        (Resource::OneAtATime { program: "python3".into() }, 0.97),
        (Resource::Disk { name: "sda".into() }, 0.7),
        (Resource::Generator, 0.2),
    ];
    let found: Vec<(Resource, f64)> = used.into_iter().collect();
    assert_eq!(found, expected);
    assert_eq!(resource::vector(&recording, 1).as_deref(), Some("NET_RX"));
    let programs = resource::programs(&recording, 7);
    let programs: Vec<(&str, f64)> =
        programs.iter().map(|one| (one.name.as_str(), (one.cpus * 100.0).round())).collect();
    assert_eq!(programs, [("nginx", 95.0), ("python3", 97.0)]);
    let waiting = resource::queues(&recording);
    let [queue] = &waiting[..] else { panic!("{waiting:?}") };
    assert_eq!((queue.socket.as_str(), queue.waiting), ("/run/fpm.sock", 3.0));
}

proptest! {
    #[test]
    fn a_search_ends_near_the_capacity(capacity in 30.0..50_000.0_f64) {
        let machine = Machine::new(&[(Resource::Cpus, 1.0 / capacity)]);
        let tried = machine.searched(10.0, 1e6);
        let found = judged(&tried, 1_000_000_000);
        let served = found.served_per_s.expect("the lowest is served");
        // Nine tenths are served, and a step is a tenth.
        prop_assert!((0.75 * capacity..=capacity).contains(&served), "{served} of {capacity}");
        prop_assert!(tried.len() < 25, "{} steps", tried.len());
    }

    #[test]
    fn no_steps_panic(values in proptest::collection::vec(
        (any::<f64>(), any::<f64>(), any::<f64>(), any::<Option<u64>>()), 0..8,
    )) {
        let tried: Vec<Step> = values.iter().map(|(rate, achieved, share, p99)| {
            let machine = Machine::new(&[(Resource::Cpus, 0.001)]);
            let mut step = Step { rate_per_s: *rate, ..machine.step(1.0) };
            (step.achieved_per_s, step.p99) = (*achieved, p99.map(Ns));
            step.used[0].share = *share;
            step
        }).collect();
        let found = judged(&tried, 10);
        let _ = check(&found, &found, Some(2.0));
        let _ = Search { from_per_s: 1.0, most_per_s: 1e6, bounds: OPEN }.next(&tried);
    }
}
