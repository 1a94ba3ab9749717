use super::*;

/// A machine of a number of CPUs, looked at once a second.
struct Machine {
    watch: Watch,
    times: CpuTimes,
    at: Ns,
    cpus: usize,
    said: Vec<(u64, Alarm)>,
    state: u64,
}

impl Machine {
    fn new(cpus: usize) -> Self {
        let watch = Watch::new(Thresholds::default());
        let times = CpuTimes::default();
        Self { watch, times, at: Ns(0), cpus, said: Vec::new(), state: 1 }
    }

    /// Noise between -1 and 1, the same in each run.
    fn noise(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 40) as f64 / f64::from(1 << 23) - 1.0
    }

    /// A second with these shares of all CPUs, in percent.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of some thousand ticks"
    )]
    fn second(&mut self, kernel: f64, iowait: f64, steal: f64) {
        let all = 100.0 * self.cpus as f64;
        let ticks = |percent: f64| (percent.max(0.0) * all / 100.0).round() as u64;
        self.times.system += ticks(kernel);
        self.times.iowait += ticks(iowait);
        self.times.steal += ticks(steal);
        self.times.idle += ticks(100.0 - kernel - iowait - steal);
        self.at = Ns(self.at.0 + 1_000_000_000);
        let alarm = self.watch.look(self.at, self.times, self.cpus);
        self.said.extend(alarm.map(|alarm| (self.at.0 / 1_000_000_000, alarm)));
    }

    fn seconds(&mut self, count: u64, kernel: f64, spread: f64) {
        for _ in 0..count {
            let noise = self.noise();
            self.second(kernel + spread * noise, 0.0, 0.0);
        }
    }

    fn hows(&self) -> Vec<How> {
        self.said.iter().map(|(_, alarm)| alarm.how).collect()
    }
}

#[test]
fn a_jump_is_seen_within_seconds_and_said_once() {
    for cpus in [1, 2, 16, 128] {
        let mut machine = Machine::new(cpus);
        machine.seconds(120, 2.0, 1.0);
        assert_eq!(machine.said, [], "{cpus} CPUs at rest");
        machine.seconds(300, 27.0, 1.0);
        assert_eq!(machine.hows(), [How::Jumped], "{cpus} CPUs");
        let (at, alarm) = &machine.said[0];
        assert!((121..=124).contains(at), "seen after {at} s");
        assert_eq!(alarm.share, Share::Kernel);
        assert!(alarm.to_string().starts_with("CPU in the kernel jumped from 2 to "), "{alarm}");
    }
}

#[test]
fn one_cpu_lost_of_sixteen_is_a_jump_and_of_two_no_more_than_noise() {
    let mut machine = Machine::new(16);
    machine.seconds(60, 1.0, 0.2);
    machine.seconds(10, 1.0 + 100.0 / 16.0, 0.2);
    assert_eq!(machine.hows(), [How::Jumped]);
    let mut machine = Machine::new(2);
    machine.seconds(60, 1.0, 0.2);
    machine.seconds(60, 7.0, 0.2);
    assert_eq!(machine.hows(), []);
}

#[test]
fn a_bad_second_is_no_jump_and_a_restless_machine_has_none() {
    let mut machine = Machine::new(2);
    machine.seconds(60, 2.0, 1.0);
    machine.second(60.0, 0.0, 0.0);
    machine.seconds(60, 2.0, 1.0);
    assert_eq!(machine.hows(), [], "one second");
    let mut machine = Machine::new(2);
    machine.seconds(1200, 15.0, 14.0);
    assert_eq!(machine.hows(), [], "busy between 1 and 29 %");
}

#[test]
fn a_machine_that_is_bad_from_the_start_is_told_and_told_again() {
    let mut machine = Machine::new(4);
    for _ in 0..2000 {
        machine.second(4.0, 62.0, 0.0);
    }
    assert_eq!(machine.hows(), [How::High, How::StillHigh, How::StillHigh]);
    assert_eq!(machine.said[0].0, 11);
    let said = machine.said[0].1.to_string();
    assert_eq!(said, "CPU idle while a disk request was pending has been at 62 % for 10 s");
}

#[test]
fn the_next_alarm_comes_after_the_first_is_over() {
    let mut machine = Machine::new(2);
    for _ in 0..3 {
        machine.seconds(120, 2.0, 1.0);
        machine.seconds(20, 60.0, 1.0);
        // Half a minute of calm ends it; less does not.
        machine.seconds(10, 2.0, 1.0);
        machine.seconds(20, 60.0, 1.0);
    }
    assert_eq!(machine.hows(), [How::Jumped; 3]);
}

#[test]
fn a_slow_rise_is_seen_before_it_is_high() {
    let mut machine = Machine::new(8);
    for minute in 0..40 {
        machine.seconds(60, 3.0 + 0.6 * f64::from(minute), 1.0);
    }
    assert_eq!(machine.hows().first(), Some(&How::Crept), "{:?}", machine.said);
    assert!(machine.said[0].1.to_percent < 25.0);
}

#[test]
fn ends_of_other_shares_and_hot_removed_cpus_raise_nothing() {
    let mut machine = Machine::new(2);
    machine.seconds(60, 2.0, 1.0);
    // Counters that go back, as after a CPU went offline, and no time that passes.
    machine.times = CpuTimes::default();
    let again = machine.times;
    assert_eq!(machine.watch.look(machine.at, again, 2), None);
    assert_eq!(machine.watch.look(machine.at, again, 2), None);
    machine.seconds(60, 2.0, 1.0);
    assert_eq!(machine.hows(), []);
    assert!(machine.watch.latest().is_some());
}

#[test]
fn what_the_hypervisor_takes_is_told_as_such() {
    let mut machine = Machine::new(2);
    for second in 0..90 {
        machine.second(2.0, 0.0, if second < 60 { 0.0 } else { 40.0 });
    }
    assert_eq!(machine.said.len(), 1);
    assert_eq!(machine.said[0].1.share, Share::Steal);
}
