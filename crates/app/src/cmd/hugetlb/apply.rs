//! `hugewise hugetlb apply`.

use super::{input, plan};
use crate::cli::{Global, HugetlbApplyArgs};
use crate::cmd::revert::live;
use crate::exit::{self, coded};
use crate::hugetlb::done::{Done, FileDone, PoolDone};
use crate::hugetlb::saved::{self, Saved};
use crate::output::{Output, paint};
use crate::render::view::hugetlb;
use crate::say::{Progress, note};
use anyhow::Context;
use hugewise_base::units::Bytes;
use hugewise_collect::hugetlb::kept::KeptFiles;
use hugewise_collect::hugetlb::pool::{self, PoolSize};
use hugewise_evidence::hugetlb::facts::Facts;
use hugewise_evidence::hugetlb::files::{self, WantedFile};
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, PoolPlan, Setting};
use hugewise_evidence::hugetlb::pools::OWNER;
use hugewise_linux::instance::{InstanceLock, LockError, Role, needs};
use hugewise_linux::pool_size;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Trail, TrailError};
use std::io::ErrorKind;

/// Said where the system says no.
const ROOT: &str = "HugeTLB pools are sized by root";

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbApplyArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    // What makes no sense is refused, whether or not another run has the lock.
    let inputs = input::read(&root, &args.inputs)?;
    needs(&root, Role::Pools)?;
    let _lock = if args.dry_run { None } else { Some(alone(&root, args)?) };
    // Read before anything is changed: a plan that cannot be trusted ends it here.
    let read = if args.dry_run { saved::seen } else { saved::read };
    let saved = read(&args.state_dir)?;
    let again = saved.as_ref().is_some_and(|saved| saved.plan.inputs == inputs);
    let (facts, plan) = plan::of_machine(&root, &inputs, again)?;
    if plan.memory.total_bytes.is_none() {
        return Err(coded(exit::REFUSED, "not applied: how much memory there is is not known"));
    }
    let refusals: Vec<String> = plan.refusals().map(hugetlb::plan::warning).collect();
    if !refusals.is_empty() {
        return Err(coded(exit::REFUSED, format!("not applied: {}", refusals.join("; "))));
    }
    let done = carry_out(&root, args, &facts, plan, saved).map_err(|error| {
        let undo =
            "not all of it was applied: 'hugewise hugetlb revert' puts back what was changed";
        match is_denied(&error) {
            true => error.context(ROOT),
            false => error.context(undo),
        }
    })?;
    let code = if done.is_partial() { exit::PARTIAL } else { exit::OK };
    if global.json {
        let mut json = serde_json::to_value(&done)?;
        json["plan"] = plan::to_json(&done.plan)?;
        return Output::json(&json, code);
    }
    Ok(Output::text(hugetlb::apply::render(&done, args.persist, paint(global)), code))
}

fn alone(root: &Root, args: &HugetlbApplyArgs) -> anyhow::Result<InstanceLock> {
    let lock = InstanceLock::take_to_keep(root, &args.state_dir, Role::Pools);
    let lock = lock.map_err(|error| match &error {
        LockError::Taken(..) => coded(exit::REFUSED, error.to_string()),
        LockError::Io(_, cause) if cause.kind() == ErrorKind::PermissionDenied => {
            anyhow::Error::new(error).context(ROOT)
        }
        LockError::Io(..) | LockError::Missing(..) => coded(exit::ERROR, error.to_string()),
    })?;
    lock.remarks().iter().for_each(|remark| note(remark));
    Ok(lock)
}

fn is_denied(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(TrailError::is_denied)
}

fn carry_out(
    root: &Root,
    args: &HugetlbApplyArgs,
    facts: &Facts,
    plan: HugetlbPlan,
    saved: Option<Saved>,
) -> anyhow::Result<Done> {
    let mut effects = Effects::new(root, args)?;
    let mut settings = Vec::new();
    // Limits first: a pool that nobody may use helps nobody.
    for setting in plan.settings.iter().filter(|setting| setting.differs()) {
        effects.set(setting)?;
        settings.push(setting.clone());
    }
    let leave = plan.memory.leave_bytes.unwrap_or_default();
    let mut pools = Vec::new();
    for pool in plan.pools.iter().filter(|pool| pool.target_pages != pool.own_pages()) {
        for wanted in wanted(pool, &plan, leave) {
            pools.push(effects.grow(&wanted)?);
        }
    }
    let wanted = files::wanted(&plan, facts.default_page);
    let mut written = Vec::new();
    for file in wanted.iter().filter(|_| args.persist) {
        let changed = effects.write(file)?;
        written.push(FileDone { path: file.path.clone(), changed, text: file.text.clone() });
    }
    let stale = effects.stale(&wanted, args.persist)?;
    let done = Done {
        schema: 1,
        dry_run: args.dry_run,
        pools,
        settings,
        files: written,
        stale_files: stale,
        plan: plan.clone(),
    };
    let files = if args.persist { wanted } else { Vec::new() };
    effects.finish(args, Saved { plan, files }, saved)?;
    Ok(done)
}

fn wanted(pool: &PoolPlan, plan: &HugetlbPlan, leave: Bytes) -> Vec<PoolSize> {
    let page = pool.page_bytes;
    if plan.inputs.nodes.is_empty() {
        return vec![PoolSize { page, node: None, pages: pool.target_pages, leave }];
    }
    let shares = pool.nodes.iter().filter(|share| share.target_pages != share.now_pages);
    shares
        .map(|share| PoolSize { page, node: Some(share.node), pages: share.target_pages, leave })
        .collect()
}

/// The last step of each action: done, or left out in a dry run.
struct Effects<'a> {
    root: &'a Root,
    /// None in a dry run.
    trail: Option<Trail>,
    files: KeptFiles,
}

impl<'a> Effects<'a> {
    fn new(root: &'a Root, args: &HugetlbApplyArgs) -> anyhow::Result<Self> {
        let open = || Trail::open(root.clone(), &args.state_dir, OWNER);
        let trail = if args.dry_run { None } else { Some(open()?) };
        let open = if args.dry_run { KeptFiles::seen } else { KeptFiles::open };
        let files = open(root.clone(), &args.state_dir, files::OWNER)?;
        Ok(Self { root, trail, files })
    }

    fn set(&mut self, setting: &Setting) -> anyhow::Result<()> {
        if let Some(trail) = &mut self.trail {
            trail.set(&setting.file, &setting.value)?;
        }
        Ok(())
    }

    fn grow(&mut self, wanted: &PoolSize) -> anyhow::Result<PoolDone> {
        let before = pool_size::size(self.root, &wanted.file())
            .with_context(|| format!("reading '/{}'", wanted.file()))?;
        let mut done = PoolDone {
            page_bytes: wanted.page,
            node: wanted.node,
            before_pages: before,
            wanted_pages: wanted.pages,
            granted_pages: None,
            outcome: None,
            compactions: 0,
        };
        if let Some(trail) = &mut self.trail {
            let line = Progress::new(true);
            let mut progress = |pages: u64| {
                line.show(&format!("{pages} of {} pages of {}", wanted.pages, wanted.page));
            };
            let grown = pool::grow(self.root, trail, *wanted, &mut progress)?;
            done.granted_pages = Some(grown.pages);
            done.outcome = Some(grown.outcome);
            done.compactions = grown.compactions;
        }
        Ok(done)
    }

    fn write(&mut self, file: &WantedFile) -> anyhow::Result<bool> {
        match &self.trail {
            Some(_) => Ok(self.files.write(file)?),
            None => Ok(self.files.text(&file.path)?.as_ref() != Some(&file.text)),
        }
    }

    /// Own files that say something else than `wanted`. With `persist` those that are wanted no
    /// more go back to what they were.
    fn stale(&mut self, wanted: &[WantedFile], persist: bool) -> anyhow::Result<Vec<String>> {
        let mut own: Vec<String> = self.files.entries().iter().map(|e| e.file.clone()).collect();
        own.sort_unstable();
        own.dedup();
        let mut stale = Vec::new();
        for file in own {
            let text = self.files.text(&file)?;
            let wanted = wanted.iter().find(|wanted| wanted.path == file);
            if text.is_none() || wanted.is_some_and(|wanted| Some(&wanted.text) == text.as_ref()) {
                continue;
            }
            // A dry run is reported before files are written: those that would be are not stale.
            if persist && wanted.is_some() {
                continue;
            }
            if persist && self.trail.is_some() {
                self.files.restore_one(&file)?;
            }
            stale.push(file);
        }
        Ok(stale)
    }

    /// Leaves the plan for `verify`. A plan that is applied again keeps what was seen the first
    /// time, when programs were still on base pages.
    fn finish(
        self,
        args: &HugetlbApplyArgs,
        mut new: Saved,
        old: Option<Saved>,
    ) -> anyhow::Result<()> {
        if self.trail.is_none() {
            return Ok(());
        }
        if let Some(old) = old {
            if new.plan.demands().all(|demand| demand.held_pages > 0) {
                new.plan.tables = old.plan.tables;
                new.plan.processes = old.plan.processes;
            }
            // Without --persist the files of an earlier plan stay, and are still checked.
            if !args.persist {
                new.files = old.files;
            }
        }
        saved::write(&args.state_dir, &new)
    }
}
