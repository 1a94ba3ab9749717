//! The machine before, during and after a run: quiet, with a variant's settings, and as it was.

use crate::beside::{self, Beside};
use crate::change::{Changed, undo_left};
use crate::child::warm;
use crate::driver;
use crate::during;
use crate::run::Run;
use crate::session::Session;
use crate::settle::{cpu, settle};
use anyhow::{Context, bail};
use hugewise_base::parse::pool_path::is_size;
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::size;
use hugewise_base::units::Bytes;
use hugewise_collect::hugetlb::pool;
use hugewise_experiment::check::Checked;
use hugewise_experiment::quiet;
use hugewise_experiment::record::{Conditions, Measured};
use hugewise_experiment::schedule::Turn;
use hugewise_experiment::settings;
use hugewise_experiment::spec::{HugePages, Variant};
use hugewise_linux::instance::{InstanceLock, Role};
use hugewise_linux::pool_size;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Trail, revert};
use hugewise_manager::ownership;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Memory that must stay available when a pool grows.
const LEAVE: Bytes = Bytes::mib(512);
/// Said when a change by commands that a killed experiment left was undone.
const LEFT_CHANGE: &str = "left by an experiment that was killed, and undone";
/// Said where a variant changes something that the experiment was not known to change.
const NO_TRAIL: &str = "no trail of settings was opened";

/// What a run needs of the machine. The engine is generic over it: its order of steps is tested
/// without a machine.
pub trait Machine {
    /// Waits for quiet and applies what a variant asks for.
    fn prepare(&mut self, index: usize, label: &str) -> anyhow::Result<Conditions>;
    /// Runs the workload; what is seen meanwhile is added to `conditions`, also when it fails.
    fn run(
        &mut self,
        turn: Turn,
        seed: u64,
        label: &str,
        conditions: &mut Conditions,
    ) -> anyhow::Result<Measured>;
    /// Ends what runs beside, and puts every setting back.
    fn tidy(&mut self) -> anyhow::Result<()>;
    /// An error after Ctrl-C.
    fn beat(&self) -> anyhow::Result<()>;
    /// How a run went.
    fn tell(&mut self, text: &str, is_bad: bool);
}

/// This machine.
#[derive(Debug)]
pub struct Stage<'a> {
    root: Root,
    checked: &'a Checked,
    session: Session,
    /// Only where something is changed, so that a user who may change nothing can measure, too.
    trail: Option<Trail>,
    state_dir: PathBuf,
    manager_dir: PathBuf,
    noisy: bool,
    /// What a variant's commands have changed.
    changed: Option<Changed>,
    /// Held while a variant's pools stand.
    pools: Option<InstanceLock>,
    beside: Vec<Beside>,
    fragmenter: Option<Beside>,
    /// What a fragmenter had to say.
    notes: Vec<String>,
    /// What runs beside writes here, each into a directory of its own.
    scratch: PathBuf,
}

impl<'a> Stage<'a> {
    /// Opens the trail, and puts back what an experiment that was killed has left. Returns what
    /// that was.
    pub fn open(
        checked: &'a Checked,
        session: Session,
        state_dir: &Path,
        noisy: bool,
    ) -> anyhow::Result<(Self, Vec<Restored>)> {
        let (root, manager_dir) = (Root::live(), state_dir.join(settings::MANAGER));
        let (changes, is_root) = (checked.changes_machine(), rustix::process::geteuid().is_root());
        let left = undo_left(state_dir, false).and_then(|undone| {
            let undone = undone.into_iter();
            undone.for_each(|what| session.log(&format!("hugewise: {LEFT_CHANGE}: '{what}'")));
            Ok(revert(&root, state_dir, &settings::LEFT, false)?)
        });
        let left = match left {
            Err(error) if !changes && !is_root => {
                session.log(&format!(
                    "hugewise: whether a killed experiment has left settings is unknown: {error:#}"
                ));
                Vec::new()
            }
            left => left?,
        };
        let trail =
            changes.then(|| Trail::open(root.clone(), state_dir, settings::OWNER)).transpose()?;
        let scratch = session.directory().join("beside");
        let stage = Self {
            root,
            checked,
            session,
            trail,
            state_dir: state_dir.to_owned(),
            manager_dir,
            noisy,
            changed: None,
            pools: None,
            beside: Vec::new(),
            fragmenter: None,
            notes: Vec::new(),
            scratch,
        };
        Ok((stage, left))
    }

    fn variant(&self, index: usize) -> &'a Variant {
        &self.checked.variants()[index]
    }

    /// Applies a variant's settings.
    fn set(&mut self, index: usize) -> anyhow::Result<()> {
        for (key, value) in self.checked.settings(self.variant(index)) {
            let file = settings::file(&key).context("an unknown setting")?;
            self.trail.as_mut().context(NO_TRAIL)?.set(&file, &value)?;
        }
        let pools = &self.variant(index).hugetlb;
        if !pools.is_empty() {
            let lock = InstanceLock::take(&self.root, &self.state_dir, Role::Pools)?;
            lock.remarks().iter().for_each(|remark| self.session.log(remark));
            self.pools = Some(lock);
        }
        for (text, pages) in pools {
            let page = Bytes(size::parse(text)?.bytes());
            let trail = self.trail.as_mut().context(NO_TRAIL)?;
            more_pages(&self.root, trail, page, *pages)?;
        }
        if let Some(change) = &self.variant(index).change {
            self.changed = Some(Changed::make(change, &self.state_dir)?);
        }
        Ok(())
    }

    /// Drives the workload, and asks what runs beside whether it still does.
    fn drive(
        &mut self,
        turn: Turn,
        seed: u64,
        label: &str,
        conditions: &mut Conditions,
    ) -> anyhow::Result<Measured> {
        let (checked, state) = (self.checked, &self.manager_dir);
        let mut run = Run::new(&mut self.session, checked, turn, seed, label.to_owned(), state)?;
        run.stand()?;
        run.sample()?;
        driver::drive(&mut run)?;
        let (mut measured, settings) = run.finish();
        conditions.settings = settings.unwrap_or_default();
        for part in self.fragmenter.iter_mut().chain(&mut self.beside) {
            part.check()?;
        }
        measured.notes.append(&mut self.notes);
        Ok(measured)
    }

    /// Puts back what the manager of this run has left, where variants have managers at all: who
    /// changes nothing may not even read where their settings are kept.
    fn put_back_managers(&self) -> anyhow::Result<Vec<Restored>> {
        match self.trail {
            Some(_) => Ok(revert(&self.root, &self.manager_dir, &[(ownership::OWNER, "")], false)?),
            None => Ok(Vec::new()),
        }
    }

    /// Notes what happened during a run: what the hypervisor took, and what somebody else set.
    fn look_back(&self, index: usize, began: Option<CpuTimes>, conditions: &mut Conditions) {
        let noise = &self.checked.experiment.noise;
        if let Some((from, to)) = began.zip(cpu(&self.root)) {
            quiet::during(conditions, &from, &to, noise);
        }
        // What a manager left that was killed is nobody else's; `tidy` says what does not go back.
        let _ = self.put_back_managers();
        let now = during::settings(&self.root, self.checked);
        let wanted = self.checked.settings(self.variant(index));
        conditions.noisy.extend(during::changed(&wanted, &now));
        for step in self.trail.as_ref().map(Trail::plan).unwrap_or_default() {
            if let Restored::Foreign { file, found, .. } = step
                && is_size(&file)
            {
                conditions.noisy.push(during::by_somebody(&format!("/{file}"), &found));
            }
        }
        if conditions.settings.is_empty() {
            conditions.settings = now;
        }
    }
}

impl Machine for Stage<'_> {
    fn prepare(&mut self, index: usize, label: &str) -> anyhow::Result<Conditions> {
        self.session.step(format!("{label}: waiting for a quiet machine"))?;
        let experiment = &self.checked.experiment;
        let rules = (&experiment.settle, &experiment.noise);
        let mut conditions = settle(&self.root, &self.session, rules, self.noisy)?;
        self.set(index)?;
        if let Some(mib) = experiment.warm_mib {
            self.session.step(format!("{label}: warming free memory"))?;
            warm(&self.session, Bytes::mib(mib))?;
        }
        if let Some(part) = &experiment.fragment {
            let (session, scratch) = (&mut self.session, self.scratch.join("fragment"));
            let (part, notes) = beside::fragment(part, session, label, &scratch, &mut conditions)?;
            (self.fragmenter, self.notes) = (Some(part), notes);
        }
        for (number, part) in experiment.beside.iter().enumerate() {
            let scratch = self.scratch.join(number.to_string());
            let session = &mut self.session;
            self.beside.push(beside::stress(part, HugePages::Inherit, session, label, &scratch)?);
        }
        Ok(conditions)
    }

    fn run(
        &mut self,
        turn: Turn,
        seed: u64,
        label: &str,
        conditions: &mut Conditions,
    ) -> anyhow::Result<Measured> {
        let release_s = self.checked.experiment.fragment_release_s;
        if let Some((part, s)) = self.fragmenter.as_ref().zip(release_s) {
            part.release_later(Duration::from_secs(s))?;
        }
        let began = cpu(&self.root);
        let measured = self.drive(turn, seed, label, conditions);
        self.look_back(turn.variant, began, conditions);
        measured
    }

    fn tidy(&mut self) -> anyhow::Result<()> {
        self.beside.clear();
        self.fragmenter = None;
        self.notes.clear();
        // Nothing of a run is to fill the disk of the next.
        let _ = std::fs::remove_dir_all(&self.scratch);
        // Also when the first fails.
        let undone = self.changed.take().map_or(Ok(()), Changed::undo);
        let managers = self.put_back_managers();
        let own = self.trail.as_mut().map(Trail::restore).unwrap_or_default();
        self.pools = None;
        undone?;
        let mut all = managers?.into_iter().chain(own);
        let failed = all.find_map(|step| not_put_back(&step));
        failed.map_or(Ok(()), |what| bail!("a setting could not be put back: {what}"))
    }

    fn beat(&self) -> anyhow::Result<()> {
        self.session.beat()
    }

    fn tell(&mut self, text: &str, is_bad: bool) {
        // Who watches the progress line has seen the others.
        if is_bad || !self.session.is_watched() {
            self.session.log(text);
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // After an error or Ctrl-C.
        let _ = self.tidy();
    }
}

/// Gives a pool a number of pages on top of those that it has: those are somebody's.
fn more_pages(root: &Root, trail: &mut Trail, page: Bytes, more: u64) -> anyhow::Result<()> {
    let mut wanted = pool::PoolSize { page, node: None, pages: 0, leave: LEAVE };
    let file = wanted.file();
    let has = pool_size::size(root, &file).with_context(|| format!("cannot read /{file}"))?;
    wanted.pages = has.checked_add(more).context("no pool has so many pages")?;
    let grown = pool::grow(root, trail, wanted, &mut |_| {})?;
    if grown.pages != wanted.pages {
        let granted = grown.pages.saturating_sub(has);
        bail!("the kernel granted {granted} of {more} further pages of {} bytes", page.0);
    }
    Ok(())
}

/// What the next run would find, where a setting did not go back.
fn not_put_back(step: &Restored) -> Option<String> {
    match step {
        Restored::Failed { file, error } => Some(format!("/{file}: {error}")),
        Restored::InUse { file, to, wanted, .. } => {
            Some(format!("/{file}: {to} pages are in use, where there were {wanted}"))
        }
        Restored::PutBack { .. }
        | Restored::Unchanged { .. }
        | Restored::Foreign { .. }
        | Restored::Gone { .. }
        | Restored::EarlierBoot { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::ownership::THP_DIR;
    use hugewise_scratch::Scratch;

    fn put(root: &Root, file: &str, text: &str) {
        let path = root.path(file);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
        std::fs::write(path, text).expect("write");
    }

    #[test]
    fn what_a_killed_manager_left_goes_back_before_the_settings_below_it() {
        let (scratch, file) = (Scratch::new(), format!("{THP_DIR}/khugepaged/max_ptes_none"));
        let (root, state) = (Root::at(&scratch.join("root")), scratch.join("state"));
        put(&root, &file, "511\n");
        let mut lab = Trail::open(root.clone(), &state, settings::OWNER).expect("opens");
        lab.set(&file, "409").expect("sets");
        let manager_dir = state.join(settings::MANAGER);
        let manager = Trail::open(root.clone(), &manager_dir, ownership::OWNER);
        manager.expect("opens").set(&file, "0").expect("sets");
        let planned = revert(&root, &state, &settings::LEFT, true).expect("reads");
        assert_eq!(planned.len(), 2, "{planned:?}");
        assert_eq!(root.read_line(&file).expect("reads"), "0");
        let of_manager = revert(&root, &state, &settings::LEFT[..1], false).expect("reads");
        assert!(matches!(&of_manager[..], [Restored::PutBack { to, .. }] if to == "409"));
        let own = lab.restore();
        assert!(matches!(&own[..], [Restored::PutBack { to, .. }] if to == "511"), "{own:?}");
        assert!(own.iter().chain(&of_manager).all(|step| not_put_back(step).is_none()));
        assert_eq!(revert(&root, &state, &settings::LEFT, false).expect("reads"), Vec::new());
    }

    #[test]
    fn pages_come_on_top_of_those_of_others_and_go_again() {
        let (scratch, page) = (Scratch::new(), Bytes::mib(2));
        let (root, state) = (Root::at(&scratch.join("root")), scratch.join("state"));
        let file = hugewise_evidence::hugetlb::files::pool_file(page);
        let folder = file.trim_end_matches("nr_hugepages").to_owned();
        put(&root, &file, "1000\n");
        for (name, text) in [("free", "1000\n"), ("resv", "0\n"), ("surplus", "0\n")] {
            put(&root, &format!("{folder}{name}_hugepages"), text);
        }
        let mut trail = Trail::open(root.clone(), &state, settings::OWNER).expect("opens");
        more_pages(&root, &mut trail, page, 300).expect("granted");
        assert_eq!(root.read_line(&file).expect("reads"), "1300");
        // As many are free as the kernel would say.
        put(&root, &format!("{folder}free_hugepages"), "1300\n");
        trail.restore();
        assert_eq!(root.read_line(&file).expect("reads"), "1000");
        assert!(more_pages(&root, &mut trail, page, u64::MAX).is_err());
        assert_eq!(root.read_line(&file).expect("reads"), "1000");
    }
}
