//! Kernel settings: which are taken, and that every one comes back.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Said, Scratch, hugewise, promotes, skip, trial, trial_of_any_kernel};
use crate::machine::{MIN_FREE, Settings, THP, Turn, here, set_in_guest, thp};
use crate::manager::{Manage, Manager, journal};
use crate::promote::{FAST, MIB, is_covered, once};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, mount_remount};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("settings_are_owned_and_put_back", settings_are_owned_and_put_back),
        trial_of_any_kernel("settings_come_back_by_revert_after_a_kill", revert_after_a_kill),
        trial_of_any_kernel("settings_come_back_by_the_next_manager", next_manager_after_a_kill),
        trial_of_any_kernel("revert_is_refused_while_a_manager_runs", revert_is_refused),
        trial_of_any_kernel("a_foreign_change_is_left_alone", a_foreign_change_is_left_alone),
        trial("never_is_a_refusal", never_is_a_refusal),
        trial("a_rehearsal_names_every_setting_that_changes", a_rehearsal_names_every_setting),
        trial_of_any_kernel("thp_set_is_put_back_by_thp_revert", thp_set_and_revert),
        trial_of_any_kernel("thp_set_is_put_back_by_revert_all", revert_all_undoes_thp_set),
        trial_of_any_kernel("a_damaged_trail_is_no_clean_state", a_damaged_trail),
        trial_of_any_kernel("thp_set_is_refused_while_a_manager_runs", thp_set_is_refused),
        trial_of_any_kernel("read_only_sys_is_an_error", read_only_sys_is_an_error),
    ]
}

/// Settings of the trial's begin, put back at its end.
pub(crate) struct PutBack(Settings);

impl PutBack {
    pub(crate) fn at_end() -> anyhow::Result<Self> {
        Ok(Self(Settings::read()?))
    }
}

impl Drop for PutBack {
    fn drop(&mut self) {
        self.0.write_back();
    }
}

/// In a virtual machine: THP `always` and a small `vm.min_free_kbytes`, which the kernel raises
/// whenever THP is switched. Elsewhere the machine stays as it is.
fn tempt() -> anyhow::Result<PutBack> {
    let put_back = PutBack::at_end()?;
    if init::is_guest() {
        set_in_guest(&format!("{THP}/enabled"), "always")?;
        set_in_guest(&format!("{THP}/defrag"), "always")?;
        set_in_guest(MIN_FREE, "5000")?;
    }
    Ok(put_back)
}

fn start<'a>(scratch: &'a Scratch, hold: &Hold) -> anyhow::Result<Manager<'a>> {
    Manage::new(scratch, &format!("--pid {} --for 1h {FAST}", hold.pid())).start()
}

fn are_owned() -> anyhow::Result<()> {
    ensure!(thp("khugepaged/max_ptes_none")? == here::bound(), "max_ptes_none");
    ensure!(thp("khugepaged/scan_sleep_millisecs")? == "4294967295", "khugepaged is not parked");
    ensure!(thp("enabled")? == "madvise" || !init::is_guest(), "enabled stayed 'always'");
    ensure!(thp("defrag")? == "defer" || !init::is_guest(), "faults compact memory");
    let reserve = fs::read_to_string(MIN_FREE)?;
    ensure!(reserve.trim() == "5000" || !init::is_guest(), "min_free_kbytes is {reserve}");
    Ok(())
}

fn are_as(before: &Settings) -> anyhow::Result<()> {
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    Ok(())
}

pub(crate) fn revert(scratch: &Scratch) -> anyhow::Result<Said> {
    let state = scratch.join("state");
    hugewise(["revert", "--json", "--state-dir", state.to_str().context("a plain path")?])
}

fn settings_are_owned_and_put_back(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let manager = start(&scratch, &hold)?;
    are_owned()?;
    let changed = before.differences().len();
    ensure!(changed >= 2, "settings were changed");
    manager.stop()?.expect(0)?;
    are_as(&before)?;
    let journal = journal(&scratch)?;
    let settings = journal.iter().filter(|r| r["record"] == "setting");
    let (taken, back): (Vec<_>, Vec<_>) = settings.partition(|r| r["why"] != "put back");
    ensure!(taken.len() == changed && back.len() == changed, "{taken:?} {back:?}");
    ensure!(!scratch.join("state/trail.jsonl").exists(), "the trail is settled");
    Ok(())
}

fn revert_after_a_kill(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let manager = start(&scratch, &hold)?;
    manager.kill()?;
    are_owned().context("after SIGKILL")?;
    let said = revert(&scratch)?.expect(0)?;
    ensure!(said.out.contains("put_back"), "{said:?}");
    are_as(&before)?;
    // Once more: nothing is left, and nothing happens.
    let again = revert(&scratch)?.expect(0)?.json()?;
    ensure!(again["settings"].as_array().is_some_and(Vec::is_empty), "{again}");
    are_as(&before)
}

/// Runs `thp` with the trial's own state directory.
pub(crate) fn thp_command(scratch: &Scratch, arguments: &str) -> anyhow::Result<Said> {
    let state = scratch.join("state");
    let state = state.to_str().context("a plain path")?;
    let arguments = arguments.split_whitespace().chain(["--json", "--state-dir", state]);
    hugewise(["thp"].into_iter().chain(arguments))
}

/// Of the machine that runs the tests nothing but khugepaged's pace is changed; in a virtual one
/// the switch, too, with the reserve that the kernel changes beside it, and a file for the boot.
fn thp_set_and_revert(_: &Turn) -> anyhow::Result<()> {
    const FILE: &str = "/etc/tmpfiles.d/hugewise-thp.conf";
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let before = Settings::read()?;
    let guest = init::is_guest();
    let more = if guest { "enabled=never --persist" } else { "" };
    let said = thp_command(&scratch, &format!("set khugepaged/pages_to_scan=5000 {more}"))?;
    let said = said.expect(0)?.json()?;
    ensure!(said["settings"][0]["now"] == "5000", "{said}");
    ensure!(thp("khugepaged/pages_to_scan")? == "5000", "pages_to_scan");
    ensure!(!guest || (thp("enabled")? == "never" && fs::exists(FILE)?), "not all of it");
    let shown = thp_command(&scratch, "show")?.expect(0)?.json()?;
    let all = shown["settings"].as_array().context("settings")?;
    let pace = all.iter().find(|one| one["key"] == "khugepaged/pages_to_scan");
    ensure!(pace.is_some_and(|pace| !pace["before"].is_null()), "{shown}");
    // A mistake in one of several changes none.
    thp_command(&scratch, "set khugepaged/pages_to_scan=6000 defrag=often")?.expect(2)?;
    ensure!(thp("khugepaged/pages_to_scan")? == "5000", "a part was set");
    thp_command(&scratch, "revert --dry-run")?.expect(0)?;
    ensure!(thp("khugepaged/pages_to_scan")? == "5000", "a dry run changed it");
    thp_command(&scratch, "revert")?.expect(0)?;
    ensure!(!fs::exists(FILE)?, "the file stayed");
    are_as(&before)
}

/// What the package does before it goes: the last copy of an old value must not go with it.
fn revert_all_undoes_thp_set(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let before = Settings::read()?;
    thp_command(&scratch, "set khugepaged/pages_to_scan=5000")?.expect(0)?;
    let state = scratch.join("state");
    let state = state.to_str().context("a plain path")?;
    let said = hugewise(["revert", "--state-dir", state])?.expect(0)?;
    ensure!(said.out.contains("thp revert"), "what stays is not said: {said:?}");
    ensure!(thp("khugepaged/pages_to_scan")? == "5000", "by hand is by hand");
    hugewise(["revert", "--all", "--state-dir", state])?.expect(0)?;
    are_as(&before)
}

/// Where it cannot be read what is changed, nobody may say that nothing is.
fn a_damaged_trail(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let state = scratch.join("state");
    fs::create_dir_all(&state)?;
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700))?;
    fs::write(state.join("trail.jsonl"), "garbage\n")?;
    let (state, run) = (state.display().to_string(), scratch.join("run").display().to_string());
    let said = hugewise(["status", "--state-dir", &state, "--run-dir", &run])?.expect(3)?;
    ensure!(said.out.contains("still changed"), "{said:?}");
    Ok(())
}

fn thp_set_is_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    // It chooses no size of faults meanwhile: whatever changes was changed by 'thp'.
    let args = format!("--pid {} --for 1h {FAST}", hold.pid());
    let manage = Manage::new(&scratch, &args).arg("--set").arg("settings.fault_sizes=off");
    let manager = manage.start()?;
    let before = Settings::read()?;
    for command in ["set khugepaged/pages_to_scan=5000", "revert"] {
        let said = thp_command(&scratch, command)?.expect(6)?;
        ensure!(said.err.contains("a manager is running"), "{said:?}");
    }
    are_as(&before)?;
    manager.stop()?.expect(0)?;
    Ok(())
}

fn next_manager_after_a_kill(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    start(&scratch, &hold)?.kill()?;
    are_owned().context("after SIGKILL")?;
    let manager = start(&scratch, &hold)?;
    are_owned().context("under the second manager")?;
    let said = manager.stop()?.expect(0)?;
    ensure!(said.err.contains("did not end properly"), "{said:?}");
    are_as(&before)
}

fn revert_is_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let manager = start(&scratch, &hold)?;
    let said = revert(&scratch)?.expect(6)?;
    ensure!(said.err.contains("manager is running"), "{said:?}");
    are_owned().context("after the refusal")?;
    manager.stop()?.expect(0)?;
    are_as(&before)
}

fn a_foreign_change_is_left_alone(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let _put_back = tempt()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let manager = start(&scratch, &hold)?;
    let file = format!("{THP}/khugepaged/max_ptes_none");
    fs::write(&file, "77").context("somebody else")?;
    let said = manager.stop()?.expect(0)?;
    ensure!(said.err.contains("max_ptes_none"), "it is reported: {said:?}");
    let left = before.differences();
    ensure!(left.len() == 1 && thp("khugepaged/max_ptes_none")? == "77", "{left:?}");
    let journal = journal(&scratch)?;
    let foreign = journal.iter().filter(|r| r["why"] == "changed by somebody else: left alone");
    ensure!(foreign.count() == 1, "{journal:?}");
    Ok(())
}

fn never_is_a_refusal(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("switches huge pages off: only in a virtual machine"));
    }
    let scratch = Scratch::new()?;
    let _put_back = PutBack::at_end()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    set_in_guest(&format!("{THP}/enabled"), "never")?;
    let args = format!("--pid {} --once {FAST}", hold.pid());
    let said = Manage::new(&scratch, &args).run()?.expect(6)?;
    let helps = ["never", "madvise", "allow_under_never", "observe"];
    ensure!(helps.iter().all(|word| said.err.contains(word)), "{said:?}");
    ensure!(thp("enabled")? == "never" && hold.memory()?.huge == 0, "nothing was done");
    promotes()?;
    let status = once(&scratch, hold.pid(), "--set promote.allow_under_never=true")?.json()?;
    ensure!(status["warm_ups"] == 0, "a warm-up cannot get a huge page: {status}");
    is_covered(&mut hold, &status)
}

/// `/sys` read-only until dropped.
struct ReadOnlySys;

impl ReadOnlySys {
    fn new() -> anyhow::Result<Self> {
        mount_remount("/sys", MountFlags::RDONLY, "").context("cannot remount /sys")?;
        Ok(Self)
    }
}

impl Drop for ReadOnlySys {
    fn drop(&mut self) {
        let _ = mount_remount("/sys", MountFlags::empty(), "");
    }
}

fn read_only_sys_is_an_error(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("makes /sys read-only: only in a virtual machine"));
    }
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let before = Settings::read()?;
    let _read_only = ReadOnlySys::new()?;
    let args = format!("--pid {} --once {FAST}", hold.pid());
    let said = Manage::new(&scratch, &args).run()?.expect(1)?;
    let names = said.err.contains("Read-only file system") && said.err.contains("khugepaged/");
    ensure!(names, "what, where: {said:?}");
    ensure!(said.err.contains("--keep-settings"), "and what to do: {said:?}");
    are_as(&before)?;
    ensure!(hold.memory()?.huge == 0, "nothing is half done");
    ensure!(!scratch.join("state/trail.jsonl").exists(), "nothing is left to put back");
    promotes()?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    is_covered(&mut hold, &status)
}

/// Also those that change only while it runs.
fn a_rehearsal_names_every_setting(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --once {FAST}", hold.pid());
    let rehearsed = Manage::new(&scratch, &format!("{args} --dry-run")).text().run()?.expect(0)?;
    ensure!(rehearsed.out.contains("Nothing was changed"), "{}", rehearsed.out);
    Manage::new(&scratch, &args).run()?.expect(0)?;
    let records = journal(&scratch)?;
    let changed = records.iter().filter(|record| record["record"] == "setting");
    let changed = changed.filter(|record| record["to"].is_string() && record["why"] != "put back");
    let files: Vec<&str> = changed.filter_map(|record| record["file"].as_str()).collect();
    ensure!(!files.is_empty(), "nothing was changed: {records:?}");
    for file in files {
        ensure!(rehearsed.out.contains(file), "'{file}' is not in {}", rehearsed.out);
    }
    Ok(())
}
