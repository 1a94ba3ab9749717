use super::*;
use hugewise_experiment::check::check;
use hugewise_experiment::spec::Experiment;
use hugewise_scratch::Scratch;
use std::collections::BTreeMap;

/// A machine that writes down what is asked of it.
#[derive(Default)]
struct Paper {
    log: Vec<String>,
    told: Vec<(String, bool)>,
    /// The variant whose runs fail.
    broken: Option<usize>,
    /// The run, counted from 1, that is refused or interrupted.
    refuses: Option<usize>,
    interrupted: Option<usize>,
    runs: usize,
    stopped: bool,
}

impl Machine for Paper {
    fn prepare(&mut self, index: usize, _label: &str) -> anyhow::Result<Conditions> {
        self.runs += 1;
        self.log.push(format!("prepare {index}"));
        if self.refuses == Some(self.runs) {
            return Err(exit::Coded::new(exit::REFUSED, "too busy").into());
        }
        Ok(Conditions::default())
    }

    fn run(
        &mut self,
        turn: Turn,
        seed: u64,
        _label: &str,
        conditions: &mut Conditions,
    ) -> anyhow::Result<Measured> {
        let index = turn.variant;
        conditions.noisy.push("seen during the run".into());
        self.log.push(format!("run {index} seed {seed}"));
        if self.interrupted == Some(self.runs) {
            self.stopped = true;
            anyhow::bail!("interrupted");
        }
        if self.broken == Some(index) {
            anyhow::bail!("no such thing");
        }
        let values = BTreeMap::from([("ops_per_s".to_owned(), 1.0)]);
        Ok(Measured { values, ..Measured::default() })
    }

    fn tidy(&mut self) -> anyhow::Result<()> {
        self.log.push("tidy".into());
        Ok(())
    }

    fn beat(&self) -> anyhow::Result<()> {
        if self.stopped { anyhow::bail!("interrupted") } else { Ok(()) }
    }

    fn tell(&mut self, text: &str, is_bad: bool) {
        self.told.push((text.into(), is_bad));
    }
}

fn checked(repetitions: u32) -> Checked {
    let text = format!(
        r#"{{ "name": "n", "question": "q", "workload": {{ "kind": "gups" }},
             "variant": [{{ "name": "a" }}, {{ "name": "b" }}],
             "stop": {{ "repetitions": {repetitions} }} }}"#
    );
    let experiment: Experiment = serde_json::from_str(&text).expect("well-formed");
    check(experiment, false).expect("no fault")
}

fn plan(seed: u64) -> RunPlan {
    RunPlan {
        schema: SCHEMA,
        text: String::new(),
        quick: false,
        seed,
        repetitions: None,
        without: BTreeMap::new(),
        environment: serde_json::Value::Null,
        began: None,
        resumed: Vec::new(),
    }
}

fn order(records: &[Record]) -> Vec<(u32, &str)> {
    records.iter().map(|record| (record.repetition, record.variant.as_str())).collect()
}

#[test]
fn each_run_is_prepared_made_tidied_and_written_in_this_order() {
    let (scratch, mut paper) = (Scratch::new(), Paper::default());
    let store = Store::create(scratch.path()).expect("a directory");
    let ended =
        run(&checked(3), &plan(5), &store, &mut paper, &Start::default()).expect("no error");
    assert_eq!((ended.records.len(), ended.why), (6, Enough::Repetitions));
    assert_eq!(store.records().expect("readable").len(), 6);
    for (at, step) in paper.log.iter().enumerate() {
        let name = ["prepare", "run", "tidy"][at % 3];
        assert!(step.starts_with(name), "{:?}", paper.log);
    }
    // Both variants of a repetition do the same work.
    let seeds: Vec<_> = paper.log.iter().filter_map(|l| l.split_once("seed ")).collect();
    assert!(seeds.chunks(2).all(|pair| pair[0].1 == pair[1].1), "{seeds:?}");
}

#[test]
fn how_each_run_went_is_told() {
    let (scratch, mut paper) = (Scratch::new(), Paper { broken: Some(1), ..Paper::default() });
    let store = Store::create(scratch.path()).expect("a directory");
    run(&checked(2), &plan(1), &store, &mut paper, &Start::default()).expect("no error");
    let [first, .., last] = paper.told.as_slice() else { panic!("{:?}", paper.told) };
    assert_eq!(paper.told.len(), 4);
    assert!(first.0.starts_with("run 1 of 4, ") && first.0.ends_with(" left)"), "{first:?}");
    assert!(last.0.starts_with("run 4 of 4, ") && !last.0.contains("left"), "{last:?}");
    for (text, is_bad) in &paper.told {
        let failed = text.contains(", b: failed after 0 s: no such thing");
        assert_eq!((failed, *is_bad), (text.contains(", b: "), failed), "{text}");
        assert!(failed || text.contains(", a: done in 0 s, noisy"), "{text}");
    }
}

#[test]
fn an_interrupted_run_leaves_nothing_and_the_next_start_goes_on() {
    let scratch = Scratch::new();
    let store = Store::create(scratch.path()).expect("a directory");
    let other = Scratch::new();
    let other = Store::create(other.path()).expect("a directory");
    let all = run(&checked(3), &plan(5), &other, &mut Paper::default(), &Start::default())
        .expect("no error");
    let mut cut = Paper { interrupted: Some(4), ..Paper::default() };
    assert!(run(&checked(3), &plan(5), &store, &mut cut, &Start::default()).is_err());
    assert_eq!(cut.log.last().map(String::as_str), Some("tidy"));
    assert_eq!(store.records().expect("readable").len(), 3);
    let mut rest = Paper::default();
    let ended = run(&checked(3), &plan(5), &store, &mut rest, &Start::default()).expect("no error");
    assert_eq!((rest.runs, ended.records.len()), (3, 6));
    // Those of the first start are read from the disk, in the order of their names.
    assert_eq!(order(&all.records)[3..], order(&ended.records)[3..]);
}

#[test]
fn a_start_whose_time_is_over_begins_no_run_and_the_next_goes_on() {
    let scratch = Scratch::new();
    let store = Store::create(scratch.path()).expect("a directory");
    let over = Start { of: "round 1, ".into(), until: Some(Instant::now()) };
    let mut paper = Paper::default();
    let ended = run(&checked(1), &plan(1), &store, &mut paper, &over).expect("no error");
    assert_eq!((ended.why, paper.runs), (Enough::Start, 0));
    let hour = Some(Instant::now() + Duration::from_secs(3600));
    let start = Start { until: hour, ..over };
    let ended = run(&checked(1), &plan(1), &store, &mut paper, &start).expect("no error");
    assert_eq!((ended.why, paper.runs), (Enough::Repetitions, 2));
    assert!(paper.told[0].0.starts_with("round 1, run 1 of 2, "), "{:?}", paper.told);
    // A run takes as long as those before it did.
    let mut long = ended.records[0].clone();
    long.seconds = 7201.0;
    store.add(&long).expect("written");
    let ended = run(&checked(2), &plan(1), &store, &mut paper, &start).expect("no error");
    assert_eq!((ended.why, paper.runs), (Enough::Start, 2));
}

#[test]
fn a_failed_run_is_a_record_and_two_in_a_row_are_enough() {
    let failed = Outcome::Failed { error: "no such thing".into() };
    let runs = |broken| {
        let (scratch, mut paper) = (Scratch::new(), Paper { broken, ..Paper::default() });
        let store = Store::create(scratch.path()).expect("a directory");
        run(&checked(9), &plan(1), &store, &mut paper, &Start::default()).expect("no error")
    };
    let ended = runs(Some(1));
    assert_eq!((ended.records.len(), ended.why), (9 + 2, Enough::Repetitions));
    for record in &ended.records {
        assert_eq!(record.outcome == failed, record.variant == "b", "{record:?}");
        // What was seen is kept whatever became of the run.
        assert_eq!(record.conditions.noisy.len(), 1, "{record:?}");
    }
    // Without the baseline the others are compared with nothing.
    let ended = runs(Some(0));
    assert_eq!(ended.why, Enough::BaselineFailed);
    let baseline = ended.records.iter().filter(|record| record.variant == "a");
    assert_eq!((baseline.count(), ended.records.len() <= 4), (2, true));
}

#[test]
fn a_refusal_ends_the_experiment_and_is_no_result() {
    let (scratch, mut paper) = (Scratch::new(), Paper { refuses: Some(2), ..Paper::default() });
    let store = Store::create(scratch.path()).expect("a directory");
    let error =
        run(&checked(2), &plan(1), &store, &mut paper, &Start::default()).expect_err("refused");
    assert_eq!(exit::of(error.as_ref()), exit::REFUSED);
    assert_eq!(store.records().expect("readable").len(), 1);
    assert_eq!(paper.log.last().map(String::as_str), Some("tidy"));
}
