//! Little privilege, little room, hostile names, and rules.

use crate::hold::Hold;
use crate::kit::{
    Scratch, hugewise, number, promotes, skip, trial_of_any_kernel, trial_of_oldest_kernel,
};
use crate::machine::{Kernel, Turn};
use crate::manager::{Manage, journal};
use crate::promote::{FAST, MIB, is_covered, is_promoted_now, once, target};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::PathBuf;

/// Users that nobody else uses.
const NOBODY: u32 = 65_534;
const SOMEBODY: u32 = 65_533;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel(
            "without_privileges_nothing_is_done",
            without_privileges_nothing_is_done,
        ),
        trial_of_any_kernel(
            "a_full_disk_does_not_stop_the_manager",
            a_full_disk_does_not_stop_the_manager,
        ),
        trial_of_any_kernel("a_hostile_name_stays_harmless", a_hostile_name_stays_harmless),
        trial_of_any_kernel("a_rule_selects_by_user", a_rule_selects_by_user),
    ]
}

fn without_privileges_nothing_is_done(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let program = scratch.program("hugewise")?;
    for name in ["state", "run"] {
        fs::create_dir(scratch.join(name))?;
        chown(scratch.join(name), Some(NOBODY), Some(NOBODY))?;
    }
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --once {FAST}", hold.pid());
    let said = Manage::new(&scratch, &args).by(&program, NOBODY).run()?.expect(1)?;
    ensure!(said.err.contains("Permission denied"), "settings are root's: {said:?}");
    let keep = Manage::new(&scratch, &args).arg("--keep-settings");
    // Before 6.7 an unprivileged process cannot even count its own pages; later it says that it may
    // look into none of these.
    let old = Kernel::running()? < Kernel(6, 7);
    let code = if old { 0 } else { 5 };
    let status = keep.by(&program, NOBODY).run()?.expect(code)?.json()?;
    let reason = if old { "no_mechanism" } else { "no_permission" };
    ensure!(target(&status, hold.pid())?["refused"] == reason, "{reason}: {status}");
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    hold.verify()?;
    is_promoted_now(&mut hold)
}

/// A file system of 64 KiB.
pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    pub(crate) fn new(path: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir(&path)?;
        match mount("tmpfs", &path, "tmpfs", MountFlags::empty(), Some(c"size=64k")) {
            Err(rustix::io::Errno::PERM) => return Err(skip("mounting is not allowed here")),
            other => other.context("cannot mount a small file system")?,
        }
        Ok(Self(path))
    }

    /// Leaves no room.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut filler = fs::File::create(self.0.join("filler"))?;
        let mut room = 0;
        while filler.write_all(&[1; 4096]).is_ok() {
            room += 1;
            ensure!(room <= 64, "the file system is larger than asked for");
        }
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

fn a_full_disk_does_not_stop_the_manager(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let disk = SmallDisk::new(scratch.join("disk"))?;
    disk.fill()?;
    let journal = disk.0.join("journal.jsonl");
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let said = once(&scratch, hold.pid(), &format!("--journal {}", journal.display()))?;
    ensure!(said.err.contains("journal lines were lost"), "{said:?}");
    ensure!(fs::metadata(&journal)?.len() == 0, "there was room after all");
    is_covered(&mut hold, &said.json()?)
}

fn a_hostile_name_stays_harmless(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    const NAME: &str = "a) R 1 \x1b[31m\nx";
    let scratch = Scratch::new()?;
    let program = scratch.program(NAME)?;
    let mut hold = Hold::start_as(&program, None, &format!("--mib {MIB}"))?;
    let args = format!("--pid {} --for 1h --keep-settings {FAST}", hold.pid());
    let manager = Manage::new(&scratch, &args).text().start()?;
    let done =
        |s: &Value| s["promoted"].as_u64() >= Some(MIB / 2) && s["targets"][0]["scanned"] == true;
    let status = manager.wait("the promotion of all regions", done)?;
    ensure!(target(&status, hold.pid())?["name"] == NAME, "{status}");
    is_covered(&mut hold, &status)?;
    let run = scratch.join("run");
    let run = run.to_str().context("a plain path")?;
    let shown = hugewise(["status", "--color", "never", "--run-dir", run])?.expect(0)?;
    let summary = manager.stop()?.expect(0)?;
    let text = fs::read_to_string(scratch.join("state/journal.jsonl"))?;
    for text in [&summary.out, &summary.err, &text, &shown.out, &shown.err] {
        ensure!(!text.contains('\x1b'), "an escape character: {text:?}");
        let name_line = text.lines().any(|line| line.trim_start().starts_with('x'));
        ensure!(!name_line, "the name broke a line: {text:?}");
    }
    ensure!(summary.out.contains("R 1"), "the summary names it: {summary:?}");
    journal(&scratch).map(drop)
}

fn a_rule_selects_by_user(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let config = scratch.join("hugewise.toml");
    let rule = format!(
        "[select]\ndefault = \"exclude\"\n\n[[rule]]\nuser = \"#{SOMEBODY}\"\n\
         action = \"manage\"\n"
    );
    fs::write(&config, rule)?;
    let program = scratch.program("hugewise")?;
    let args = format!("--mib {MIB}");
    let mut chosen = Hold::start_as(&program, Some(SOMEBODY), &args)?;
    let mut other = Hold::start_as(&program, Some(NOBODY), &args)?;
    let args = format!("--once --keep-settings {FAST} --config {}", config.display());
    let status = Manage::new(&scratch, &args).run()?.expect(0)?.json()?;
    is_covered(&mut chosen, &status)?;
    ensure!(other.memory()?.huge == 0, "nobody selected this one");
    other.verify()?;
    Ok(())
}
