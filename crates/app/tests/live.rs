//! Tests that need a real kernel: this machine's, and, as `/init`, that of a virtual machine.

#![allow(clippy::disallowed_types, reason = "tests speak to servers over TCP")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

#[path = "live/advise.rs"]
mod advise;
#[path = "live/attack_fuse.rs"]
mod attack_fuse;
#[path = "live/attack_lab.rs"]
mod attack_lab;
#[path = "live/attack_locks.rs"]
mod attack_locks;
#[path = "live/attacks.rs"]
mod attacks;
#[path = "live/baseline.rs"]
mod baseline;
#[path = "live/bill.rs"]
mod bill;
#[path = "live/cgroups.rs"]
mod cgroups;
#[path = "live/chromium.rs"]
mod chromium;
#[path = "live/compact.rs"]
mod compact;
#[path = "live/control.rs"]
mod control;
#[path = "live/damos.rs"]
mod damos;
#[path = "live/doctor.rs"]
mod doctor;
#[path = "live/fair.rs"]
mod fair;
#[path = "live/faults.rs"]
mod faults;
#[path = "live/freezes.rs"]
mod freezes;
#[path = "live/giveback.rs"]
mod giveback;
#[path = "live/group.rs"]
mod group;
#[path = "live/history.rs"]
mod history;
#[path = "live/hold.rs"]
mod hold;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/http.rs"]
mod http;
#[path = "live/hugetlb.rs"]
mod hugetlb;
#[path = "live/hugetlb_kit.rs"]
mod hugetlb_kit;
#[path = "live/hugetlb_limits.rs"]
mod hugetlb_limits;
#[path = "live/hugetlb_programs.rs"]
mod hugetlb_programs;
#[path = "live/init.rs"]
mod init;
#[path = "live/investigate.rs"]
mod investigate;
#[path = "live/kit.rs"]
mod kit;
#[path = "live/lab.rs"]
mod lab;
#[path = "live/lab_bench.rs"]
mod lab_bench;
#[path = "live/lab_programs.rs"]
mod lab_programs;
#[path = "live/lab_run.rs"]
mod lab_run;
#[path = "live/lab_shared.rs"]
mod lab_shared;
#[path = "live/lab_suite.rs"]
mod lab_suite;
#[path = "live/limit.rs"]
mod limit;
#[path = "live/load.rs"]
mod load;
#[path = "live/lock.rs"]
mod lock;
#[path = "live/machine.rs"]
mod machine;
#[path = "live/manager.rs"]
mod manager;
#[path = "live/metrics.rs"]
mod metrics;
#[path = "live/neighbours.rs"]
mod neighbours;
#[path = "live/nodes.rs"]
mod nodes;
#[path = "live/page.rs"]
mod page;
#[path = "live/pressure.rs"]
mod pressure;
#[path = "live/programs/mod.rs"]
mod programs;
#[path = "live/promote.rs"]
mod promote;
#[path = "live/redis.rs"]
mod redis;
#[path = "live/run_policy.rs"]
mod run_policy;
#[path = "schemas/check.rs"]
mod schemas;
#[path = "live/serve.rs"]
mod serve;
#[path = "live/service.rs"]
mod service;
#[path = "live/settings.rs"]
mod settings;
#[path = "live/shaker.rs"]
mod shaker;
#[path = "live/shared.rs"]
mod shared;
#[path = "live/shop.rs"]
mod shop;
#[path = "live/signatures.rs"]
mod signatures;
#[path = "live/stress.rs"]
mod stress;
#[path = "live/top.rs"]
mod top;
#[path = "live/track.rs"]
mod track;
#[path = "live/twins.rs"]
mod twins;
#[path = "live/virtual_machines.rs"]
mod virtual_machines;
#[path = "live/warm.rs"]
mod warm;
#[path = "live/worth.rs"]
mod worth;

use libtest_mimic::Trial;
use std::fs;
use std::process::ExitCode;

fn main() -> ExitCode {
    programs::run().unwrap_or_else(|| init::run(trials))
}

/// Tests of shares of CPU time, of rates, of free memory and of the time for an answer: what else
/// runs would be measured, too. And those that change the machine's switch.
const ALONE: [&str; 24] = [
    "attacks_all_together",
    "attack_a_held_lock_holds_up_nobody",
    "the_bloat_budget_bounds_growth",
    "the_next_manager_knows_the_waste",
    "equal_programs_become_huge_alike",
    "the_lock_share_is_what_the_kernel_shows",
    "limit_names_a_pool_and_predicts_what_more_of_it_gives",
    "freezes_name_a_real_time_task",
    "freezes_name_who_stops_a_program",
    "freezes_tell_a_stopped_recorder_from_a_frozen_machine",
    "neighbours_starve_nobody",
    "neighbours_holes_are_their_own",
    "run_policy_of_a_glibc_program",
    "run_policy_of_a_go_program",
    "run_policy_of_a_java_program",
    "run_policy_of_a_jemalloc_program",
    "run_policy_of_a_python_program",
    "run_policy_of_a_redis_program",
    "run_policy_of_an_except_advised_program_is_the_managers",
    "run_policy_own_switches_under_always",
    "warming_ahead_is_idle_work",
    "lab_redis_load",
    "lab_http_load",
    "signatures_are_found_again_and_others_are_none_of_them",
];

/// The tests that are asked for: `HUGEWISE_LIVE=beside` leaves out those that must run alone,
/// `alone`, with names behind it, runs only those and the named ones; `only` the named ones.
/// Without it there are all.
fn trials() -> Vec<Trial> {
    let mut trials = all_trials();
    for name in ALONE {
        assert!(trials.iter().any(|trial| trial.name() == name), "no test is named {name}");
    }
    let asked = std::env::var("HUGEWISE_LIVE").unwrap_or_default();
    // A guest's kernel command line has no blanks within a word.
    let mut words = asked.split([' ', ',']).filter(|word| !word.is_empty());
    let mode = words.next();
    let named: Vec<&str> = words.collect();
    trials.retain(|trial| match mode {
        Some("alone") => ALONE.contains(&trial.name()) || named.contains(&trial.name()),
        Some("only") => named.contains(&trial.name()),
        Some("beside") => !ALONE.contains(&trial.name()),
        _ => true,
    });
    trials
}

fn all_trials() -> Vec<Trial> {
    let mut all = vec![kernel_names_itself()];
    all.extend(doctor::trials());
    all.extend(advise::trials());
    all.extend(bill::trials());
    all.extend(promote::trials());
    all.extend(shared::trials());
    all.extend(worth::trials());
    all.extend(giveback::trials());
    all.extend(pressure::trials());
    all.extend(cgroups::trials());
    all.extend(compact::trials());
    all.extend(nodes::trials());
    all.extend(virtual_machines::trials());
    all.extend(fair::trials());
    all.extend(settings::trials());
    all.extend(control::trials());
    all.extend(metrics::trials());
    all.extend(serve::trials());
    all.extend(page::trials());
    all.extend(faults::trials());
    all.extend(freezes::trials());
    all.extend(hostile::trials());
    all.extend(neighbours::trials());
    all.extend(warm::trials());
    all.extend(lock::trials());
    all.extend(attack_locks::trials());
    all.extend(attacks::trials());
    all.extend(service::trials());
    all.extend(redis::trials());
    all.extend(run_policy::trials());
    all.extend(attack_fuse::trials());
    all.extend(attack_lab::trials());
    all.extend(programs::trials());
    all.extend(stress::trials());
    all.extend(track::trials());
    all.extend(damos::trials());
    all.extend(hugetlb::trials());
    all.extend(hugetlb_limits::trials());
    all.extend(hugetlb_programs::trials());
    all.extend(lab_bench::trials());
    all.extend(lab::trials());
    all.extend(lab_programs::trials());
    all.extend(lab_run::trials());
    all.extend(lab_shared::trials());
    all.extend(lab_suite::trials());
    all.extend(signatures::trials());
    all.extend(load::trials());
    all.extend(investigate::trials());
    all.extend(limit::trials());
    all.extend(top::trials());
    all.extend(history::trials());
    all.extend(twins::trials());
    all
}

fn kernel_names_itself() -> Trial {
    Trial::test("kernel_names_itself", || {
        let version = fs::read_to_string("/proc/version")?;
        if version.starts_with("Linux version ") {
            return Ok(());
        }
        Err(format!("/proc/version says '{}'", version.trim()).into())
    })
}
