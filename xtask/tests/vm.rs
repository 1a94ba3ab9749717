//! The live tests, again, on other kernels.
//!
//! Boots each kernel with the live test binary (`crates/app/tests/live.rs`) as `/init` and makes
//! every test of the guest a trial of this binary, named `<guest>/<test>`. Boots two kernels, one
//! of them once more with two NUMA nodes, and one of arm64 with the tests that its memory and pages
//! matter to; with `HUGEWISE_SOAK=1` all kernels (`xtask/src/guests.rs`), and then compares what
//! they show with what README says of each.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

use libtest_mimic::{Arguments, Completion, Trial};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use xtask::cross::Toolchain;
use xtask::guests::{GUESTS, Guest, README, contradictions};
use xtask::vm::guest::{LIVE, Outcome, outcomes};
use xtask::vm::{self, Config, Error};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials: Vec<Trial> = if args.list {
        guests().iter().map(|g| Trial::test(format!("{}/boot", g.name), || Ok(()))).collect()
    } else {
        run_guests(&args)
    };
    libtest_mimic::run(&args, trials).exit_code()
}

fn soak() -> bool {
    env::var_os("HUGEWISE_SOAK").is_some()
}

fn guests() -> Vec<Guest> {
    GUESTS.into_iter().filter(|guest| soak() || !guest.soak).collect()
}

/// A filter such as `6.1/` boots that guest only; `6.12/collapse` runs only matching tests there,
/// `6.12/readme` those that README's table rests on, and `/readme` these in each guest.
fn wanted(args: &Arguments, guest: &Guest) -> bool {
    let chosen = args.filter.as_ref().and_then(|f| f.split_once('/'));
    let has_row = chosen.is_none_or(|(_, tests)| tests != README) || guest.row.is_some();
    has_row && chosen.is_none_or(|(chosen, _)| chosen.is_empty() || chosen == guest.name)
}

fn run_guests(args: &Arguments) -> Vec<Trial> {
    let guests = guests().into_iter().filter(|guest| wanted(args, guest));
    let (arm64, guests): (Vec<Guest>, Vec<Guest>) = guests.partition(Guest::is_arm64);
    let filter = args.filter.as_ref().and_then(|f| f.split_once('/')).map(|(_, f)| f);
    let mut trials = run_built(&guests, build, filter);
    // Behind the others: its programs may have to be built, which would slow those down.
    trials.extend(run_built(&arm64, build_for_arm64, filter));
    trials
}

/// Builds what guests need, and boots them.
fn run_built(
    guests: &[Guest],
    build: fn() -> vm::Result<Programs>,
    filter: Option<&str>,
) -> Vec<Trial> {
    if guests.is_empty() {
        return Vec::new();
    }
    let programs = match build() {
        Ok(programs) => programs,
        Err(error) => {
            let skip = matches!(error, Error::Unavailable(_));
            let text = error.to_string();
            return guests.iter().map(|guest| boot_trial(guest.name, skip, &text)).collect();
        }
    };
    // Each guest runs beside the others: its tests mostly wait for the next tick of a manager.
    std::thread::scope(|scope| {
        let programs = &programs;
        let start = |guest: &Guest| {
            let guest = *guest;
            scope.spawn(move || run_guest(guest, programs, filter))
        };
        let guests: Vec<_> = guests.iter().map(start).collect();
        let trials = guests.into_iter().map(|guest| guest.join());
        trials.flat_map(|trials| trials.expect("a guest's thread does not panic")).collect()
    })
}

struct Programs {
    live: PathBuf,
    hugewise: PathBuf,
}

/// Boots a kernel and runs the live tests there. An emulated kernel now and then crashes while it
/// boots (seen once in patching its own code, `sched_clock_cpu`): one that crashed before the first
/// test began has said nothing of hugewise, and is booted once more.
fn run_guest(guest: Guest, programs: &Programs, filter: Option<&str>) -> Vec<Trial> {
    let name = guest.name;
    match boot(guest, programs, filter) {
        Err(end) => {
            println!("{name}| crashed before the first test, booted once more; its end:\n{end}");
            boot(guest, programs, filter).unwrap_or_else(|end| {
                vec![boot_trial(name, false, &format!("crashed twice; its end:\n{end}"))]
            })
        }
        Ok(trials) => trials,
    }
}

/// The results of one boot; an error is the end of a guest that crashed before the first test.
fn boot(guest: Guest, programs: &Programs, filter: Option<&str>) -> Result<Vec<Trial>, String> {
    let Guest { name: kernel, series, nodes, memory_mib, only, .. } = guest;
    let of_readme = filter == Some(README);
    let named = guest.tests(soak(), of_readme);
    let (mut config, mut began) = (Config::new(series, &programs.live), false);
    (config.nodes, config.memory_mib) = (nodes, memory_mib);
    config.files.push((programs.hugewise.clone(), "/bin/hugewise".to_string()));
    if soak() {
        config.append = "HUGEWISE_SOAK=1".to_string();
        config.time_limit *= 6;
        config.silence_limit *= 6;
    }
    if !named.is_empty() {
        let names = named.join(",");
        config.append = format!("{} HUGEWISE_LIVE=only,{names}", config.append);
    }
    if let Some(row) = guest.row {
        config.append = format!("{} HUGEWISE_TIER={}", config.append, row.tier);
    }
    if let Some(filter) = filter.filter(|one| !one.is_empty() && !of_readme).or(only) {
        // What follows the two dashes becomes arguments of init, that is, of the live tests.
        config.append = format!("{} -- {filter}", config.append);
    }
    let output = vm::run(&config, &mut |line| {
        if let Some((_, line)) = line.split_once(LIVE) {
            began = true;
            println!("{kernel}| {line}");
        }
    });
    let output = match output {
        Ok(output) => output,
        Err(Error::Unavailable(reason)) => return Ok(vec![boot_trial(kernel, true, &reason)]),
        Err(Error::Failed(why)) => return Ok(vec![boot_trial(kernel, false, &why)]),
    };
    println!("{kernel}| ended after {:.1} s", output.elapsed.as_secs_f64());
    let Some(results) = output.results else {
        let end = vm::tail(&output.serial);
        if !began {
            return Err(end);
        }
        return Ok(vec![boot_trial(kernel, false, &format!("no results; its end:\n{end}"))]);
    };
    let outcomes = outcomes(&results);
    if outcomes.is_empty() {
        return Ok(vec![boot_trial(kernel, false, "booted, but ran no test")]);
    }
    let mut trials: Vec<Trial> =
        outcomes.iter().map(|(name, outcome)| trial(kernel, name, outcome.clone())).collect();
    // What one test shows, or a run that leaves out what takes long, is not what README says.
    if soak() && guest.row.is_some() && (of_readme || filter.is_none_or(str::is_empty)) {
        let said = contradictions(&guest, &outcomes.into_iter().collect());
        let outcome =
            if said.is_empty() { Outcome::Passed } else { Outcome::Failed(said.join("\n")) };
        trials.push(trial(kernel, "readme_says_what_this_guest_shows", outcome));
    }
    Ok(trials)
}

fn trial(kernel: &str, name: &str, outcome: Outcome) -> Trial {
    Trial::ignorable_test(format!("{kernel}/{name}"), move || match outcome {
        Outcome::Passed => Ok(Completion::Completed),
        Outcome::Skipped(reason) => Ok(Completion::ignored_with(reason)),
        Outcome::Failed(message) => Err(message.into()),
    })
}

/// Stands for a guest that gave no results.
fn boot_trial(kernel: &str, skip: bool, why: &str) -> Trial {
    let why = why.to_string();
    let outcome = if skip { Outcome::Skipped(why) } else { Outcome::Failed(why) };
    trial(kernel, "boot", outcome)
}

/// Builds what the guest needs, or finds it built: the whole workspace, as `cargo test --workspace`
/// does, so that nothing is compiled twice.
fn build() -> vm::Result<Programs> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace"]).current_dir(xtask::workspace_root());
    let programs = built(&mut cargo)?;
    // scripts/test.sh waits for it: from here on cargo's lock is free.
    println!("guests boot");
    Ok(programs)
}

/// The same for arm64, in a folder and with a lock of its own. All of it is built anew there, which
/// takes as long as a third of all other tests: where nothing was built before, only long runs do.
fn build_for_arm64() -> vm::Result<Programs> {
    let asked = std::env::args().any(|argument| argument.starts_with("arm64-"));
    if !asked && !soak() && !xtask::cross::built().is_dir() {
        let why = "not built for arm64 yet: 'make soak', or 'cargo test -p xtask --test vm -- \
                   arm64-6.12/', builds it once (10 minutes)";
        return Err(Error::Unavailable(why.into()));
    }
    let toolchain = Toolchain::fetch()?;
    built(&mut toolchain.cargo(&["build".into(), "-p".into(), "hugewise".into()]))
}

fn built(cargo: &mut Command) -> vm::Result<Programs> {
    let output = cargo
        .args(["--bins", "--test", "live", "--message-format=json"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| Error::Failed(format!("cannot start cargo: {e}")))?;
    if !output.status.success() {
        return Err(Error::Failed("cargo could not build the live tests: see above".into()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let programs = Programs {
        live: executable(&messages, "test", "live")?,
        hugewise: executable(&messages, "bin", "hugewise")?,
    };
    for program in [&programs.live, &programs.hugewise] {
        if !is_static(program) {
            return Err(Error::Unavailable("needs a static build: run through make test".into()));
        }
    }
    Ok(programs)
}

fn executable(messages: &[Value], kind: &str, name: &str) -> vm::Result<PathBuf> {
    let found = messages.iter().find(|m| {
        m["reason"] == "compiler-artifact"
            && m["target"]["name"] == name
            && m["target"]["kind"][0] == kind
            && m["profile"]["test"] == (kind == "test")
    });
    let path = found.and_then(|m| m["executable"].as_str()).map(PathBuf::from);
    path.ok_or_else(|| Error::Failed(format!("cargo build named no {kind} '{name}'")))
}

fn is_static(program: &Path) -> bool {
    fs::read(program).is_ok_and(|bytes| vm::elf::is_static(&bytes))
}
