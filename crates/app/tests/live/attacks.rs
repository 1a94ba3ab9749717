//! Everything that a user is known to do to keep a manager from others: beside each attack, and
//! beside all of them together, a victim is huge within twice its undisturbed time.
//!
//! What they do and what stops them is a table (`attacks.tsv`), from which a page for users is
//! made.

use crate::hold::Hold;
use crate::hugetlb_kit::meminfo_kib;
use crate::init;
use crate::kit::{Scratch, promotes, skip, trial, wait_for};
use crate::machine::Settings;
use crate::manager::{Manage, Manager, journal};
use crate::programs;
use crate::promote::FAST;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Users that nobody else uses: of the attacks, and the victims, one after the other: what was done
/// for the one just now is held against no other.
const HOSTILE: u32 = 65_523;
const VICTIMS: Range<u32> = 65_500..65_510;
/// The first of the ids that are lent to the hostile user's namespaces, and of those that
/// `/etc/subuid` lends.
const LENT: u32 = 1_700_000_000;
const LISTED: u32 = 1_700_001_000;
/// How many of each.
const IDS: u32 = 300;
/// The victim's memory: in a short trial, and in a soak.
const MIB: u64 = 64;
const SOAK_MIB: u64 = 200;
/// Memory that all attacks together take, and some to spare.
const NEEDED_MIB: u64 = 10 << 10;
/// Victims beside each attack.
const TIMES: usize = 3;
/// A deadline of a worker, and its replacement: each user costs others as much, once.
const DEADLINE: Duration = Duration::from_secs(1);

/// The programs of each attack, and how many of each.
const ATTACKS: [(&str, &[(&str, usize)]); 15] = [
    ("mappings", &[("--kind mappings --mib 16", 1)]),
    ("sparse", &[("--kind sparse --mib 16 --count 8", 1)]),
    (
        "forks",
        &[("--kind forks --mib 40 --count 300", 1), ("--kind forks --mib 0 --count 4000", 1)],
    ),
    ("holes", &[("--kind holes --mib 64", 1)]),
    ("moving holes", &[("--kind moving-holes --mib 64", 4)]),
    ("threads", &[("--kind threads --mib 36 --count 900", 4)]),
    ("shared memory", &[("--kind shared-memory --mib 36", 8)]),
    ("traced", &[("--kind traced --mib 36 --count 20", 1)]),
    ("locked", &[("--kind locked --mib 36", 8)]),
    ("restarts", &[("--kind restarts --mib 36", 8)]),
    ("short-lived", &[("--kind short-lived --mib 36 --count 60", 1)]),
    ("idle class", &[("--kind idle --mib 36", 4), ("--kind hogs --mib 2 --count 4", 1)]),
    ("accounts", &[("--kind accounts --mib 10 --count 300", 1)]),
    ("listed ids", &[("--kind lent --mib 10 --count 300 --first 1700001000", 1)]),
    ("doors", &[("--kind knock --mib 2", 1)]),
];

pub(crate) fn trials() -> Vec<Trial> {
    let named = include_str!("attacks.tsv").lines().skip(1).map(|row| row.split('\t').next());
    assert!(named.eq(ATTACKS.map(|(name, _)| Some(name))), "attacks.tsv has other attacks");
    let mut trials = Vec::new();
    for (name, _) in ATTACKS {
        let trial_name = format!("attacks_{}", name.replace([' ', '-'], "_"));
        trials.push(trial(trial_name, move |_| beside(&[name])));
    }
    let all = ATTACKS.map(|(name, _)| name);
    trials.push(trial("attacks_all_together", move |_| beside(&all)));
    trials
}

/// A manager for the users of these attacks.
fn start(scratch: &Scratch) -> anyhow::Result<Manager<'_>> {
    let mut rules = String::new();
    let ids = (LENT..=LENT + IDS).chain(LISTED..LISTED + IDS);
    for uid in ids.chain(VICTIMS).chain([HOSTILE]) {
        rules += &format!("[[rule]]\nuser = \"#{uid}\"\naction = \"manage\"\n");
    }
    let select = "[select]\ndefault = \"exclude\"\nmin_anon_bytes = \"8 MiB\"\n\n";
    let path = scratch.join("hugewise.toml");
    std::fs::write(&path, format!("{select}{rules}"))?;
    let pace = if init::is_soak() { "" } else { FAST };
    let lent = scratch.join("subuid");
    std::fs::write(&lent, format!("{HOSTILE}:{LISTED}:{IDS}\n"))?;
    let lent = lent.display().to_string();
    let through = [&programs::words("lending")[..], &[&lent]].concat();
    let args = format!("--for 1h {pace} --config {}", path.display());
    Manage::new(scratch, &args).through(&through).start()
}

/// How long it takes until all of a new victim's memory is huge, and what it waited for meanwhile,
/// by how often that was seen.
fn serve(scratch: &Scratch, manager: &Manager<'_>, uid: u32) -> anyhow::Result<Served> {
    let mib = if init::is_soak() { SOAK_MIB } else { MIB };
    let program = scratch.join("program");
    let mut victim = Hold::start_as(&program, Some(uid), &format!("--mib {mib}"))?;
    let known = journal(scratch)?.len();
    let (began, mut asked, mut waits) = (Instant::now(), Instant::now(), BTreeMap::new());
    wait_for("the victim's memory to be huge", || {
        // Each answer costs the manager a plan.
        if asked.elapsed() > Duration::from_secs(1) {
            asked = Instant::now();
            *waits.entry(reason(&manager.status()?, victim.pid())?).or_default() += 1;
        }
        Ok(victim.memory()?.huge >= mib << 10)
    })?;
    let took = began.elapsed();
    victim.verify()?;
    let (mut own, mut all) = (Duration::ZERO, Duration::ZERO);
    for action in journal(scratch)?.iter().skip(known) {
        let cpu = Duration::from_nanos(action["cpu_ns"].as_u64().unwrap_or(0));
        all += cpu;
        if action["target"]["pid"] == victim.pid() {
            own += cpu;
        }
    }
    Ok(Served { took, own, all, waits })
}

/// A victim that was served. All but the first is only for people.
#[derive(Debug)]
#[expect(dead_code, reason = "shown")]
struct Served {
    took: Duration,
    /// CPU time of the promotions meanwhile, of its own and of all: where a host takes free memory
    /// back, one costs five times another, and a time alone says little of who was served.
    own: Duration,
    all: Duration,
    /// How often it was seen to wait for what.
    waits: BTreeMap<String, u32>,
}

fn reason(status: &Value, pid: u32) -> anyhow::Result<String> {
    let targets = status["targets"].as_array().context("targets")?;
    if let Some(target) = targets.iter().find(|target| target["pid"] == pid) {
        let said = ["scanned", "refused", "limit", "skips"].map(|key| target[key].to_string());
        return Ok(format!("{}, gate {}", said.join(", "), status["gate"]));
    }
    let left = status["left_alone"].as_array().context("left alone")?;
    let left = left.iter().find(|left| left["pid"] == pid);
    Ok(left.map_or_else(|| "not listed".to_owned(), |left| left["reason"].to_string()))
}

/// Starts the programs of one attack.
fn attack(scratch: &Scratch, name: &str) -> anyhow::Result<Vec<Hold>> {
    let (_, programs) = ATTACKS.iter().find(|(known, _)| *known == name).context("an attack")?;
    let doors = ["state", "run"].map(|dir| format!("--at {}", scratch.join(dir).display()));
    let mut started = Vec::new();
    for (args, count) in *programs {
        for _ in 0..*count {
            let args = format!("{args} {}", doors.join(" "));
            let user = (name != "listed ids").then_some(HOSTILE);
            let mut program = Hold::start_program("neighbour", user, &args)?;
            if name == "accounts" {
                lend(&mut program)?;
            }
            started.push(program);
        }
    }
    Ok(started)
}

/// Lends ids to the namespace of a program, as `newuidmap` does.
fn lend(program: &mut Hold) -> anyhow::Result<()> {
    for map in ["uid_map", "gid_map"] {
        let ids = format!("0 {HOSTILE} 1\n1 {LENT} {IDS}\n");
        std::fs::write(format!("/proc/{}/{map}", program.pid()), ids).context("lending ids")?;
    }
    program.ask_for::<usize>("go").map(drop)
}

fn beside(names: &[&str]) -> anyhow::Result<()> {
    promotes()?;
    if names.len() == 1 && !init::is_soak() {
        return Err(skip("one attack after the other takes minutes: 'make soak' runs it"));
    }
    if !Path::new("/etc/subuid").exists() {
        return Err(skip("there is no /etc/subuid, in whose place the list of lent ids could be"));
    }
    let available_mib = meminfo_kib("MemAvailable")? >> 10;
    if available_mib < NEEDED_MIB {
        return Err(skip(format!("{available_mib} MiB are available, {NEEDED_MIB} are needed")));
    }
    let scratch = Scratch::new()?;
    let program = scratch.program("program")?;
    // A host that takes free memory back makes whoever comes first to it wait.
    drop(Hold::start_as(&program, None, &format!("--mib {NEEDED_MIB}"))?);
    let before = Settings::read()?;
    let manager = start(&scratch)?;
    let mut uids = VICTIMS;
    let mut victim = || serve(&scratch, &manager, uids.next().context("a user")?);
    // The first one also waits for the manager's first pass.
    victim()?;
    let mut alone = [Duration::ZERO; TIMES];
    for took in &mut alone {
        let served = victim()?;
        println!("alone: {served:.1?}");
        *took = served.took;
    }
    alone.sort();
    println!("huge after {alone:.1?} alone");
    let alone = alone[TIMES / 2];
    let mut attackers = Vec::new();
    for name in names {
        attackers.extend(attack(&scratch, name).with_context(|| format!("starting '{name}'"))?);
    }
    let mut late = Vec::new();
    for _ in 0..TIMES {
        let beside = victim()?;
        println!("huge after {:.1?} beside {names:?}, alone {alone:.1?}: {beside:?}", beside.took);
        if beside.took > 2 * alone + DEADLINE {
            late.push(format!("alone {alone:.1?}, beside {beside:?}"));
        }
    }
    manager.stop()?.expect(0)?;
    drop(attackers);
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    ensure!(late.is_empty(), "{late:#?}");
    Ok(())
}
