//! `hugewise hugetlb apply`.

use super::saved::{self, Saved};
use super::{input, plan};
use crate::cli::{Global, HugetlbApplyArgs};
use crate::cmd::print;
use crate::exit::{self, coded};
use crate::view::hugetlb;
use crate::view::paint::Paint;
use anyhow::Context;
use hugewise_core::hugetlb::facts::Facts;
use hugewise_core::hugetlb::files::{self, WantedFile};
use hugewise_core::hugetlb::grow::Outcome;
use hugewise_core::hugetlb::plan::{Plan, PoolPlan, Setting};
use hugewise_core::units::Bytes;
use hugewise_linux::hugetlb::kept::KeptFiles;
use hugewise_linux::hugetlb::pool::{self, Wanted};
use hugewise_linux::instance::{InstanceLock, PoolsLockError};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Scope, Trail, TrailError};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, stderr, stdout};

/// Said where the system says no.
const ROOT: &str = "HugeTLB pools are sized by root";

/// What happened to a pool, or to a NUMA node's share.
#[derive(Debug, Serialize)]
pub(crate) struct PoolDone {
    /// Size of its pages.
    pub(crate) page_bytes: Bytes,
    /// The node; `None`: the whole pool.
    pub(crate) node: Option<u32>,
    /// Pages before.
    pub(crate) before_pages: u64,
    /// Pages wanted.
    pub(crate) wanted_pages: u64,
    /// Pages granted; `None` in a dry run.
    pub(crate) granted_pages: Option<u64>,
    /// How it ended; `None` in a dry run.
    pub(crate) outcome: Option<Outcome>,
    /// How often memory was compacted.
    pub(crate) compactions: u32,
}

/// What happened to a file.
#[derive(Debug, Serialize)]
pub(crate) struct FileDone {
    /// Path below the root.
    pub(crate) path: String,
    /// Whether it is not as it was.
    pub(crate) changed: bool,
    /// All of its text.
    pub(crate) text: String,
}

/// What was done, or would be.
#[derive(Debug, Serialize)]
pub(crate) struct Done {
    /// Version of this JSON.
    pub(crate) schema: u32,
    /// Whether nothing was changed.
    pub(crate) dry_run: bool,
    /// Pools.
    pub(crate) pools: Vec<PoolDone>,
    /// Settings beside them.
    pub(crate) settings: Vec<Setting>,
    /// Files; none without `--persist`.
    pub(crate) files: Vec<FileDone>,
    /// Files of an earlier `--persist` that say something else than this plan: with `--persist`
    /// they are put back, without they stay and count at the next boot.
    pub(crate) stale_files: Vec<String>,
    /// The plan that was carried out.
    pub(crate) plan: Plan,
}

impl Done {
    /// Whether a pool was given fewer pages than planned.
    fn is_partial(&self) -> bool {
        self.pools.iter().any(|pool| pool.granted_pages.is_some_and(|p| p < pool.wanted_pages))
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbApplyArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    if !root.is_live() && !args.dry_run {
        let message = "--root reads another tree, and nothing is changed there: add --dry-run";
        return Err(coded(exit::USAGE, message));
    }
    // What makes no sense is told whoever else is at work.
    let inputs = input::read(&root, &args.inputs)?;
    let _lock = InstanceLock::take_pools(&root).map_err(|error| {
        let taken = matches!(error, PoolsLockError::Taken);
        coded(if taken { exit::REFUSED } else { exit::ERROR }, error.to_string())
    })?;
    // Read before anything is changed: a plan that cannot be trusted ends it here.
    let saved = saved::read(&args.state_dir)?;
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
    if global.json {
        let mut json = serde_json::to_value(&done)?;
        json["plan"] = plan::to_json(&done.plan)?;
        print(&format!("{json}\n"))?;
    } else {
        let paint = Paint::new(global.color, stdout().is_terminal());
        print(&hugetlb::apply::render(&done, args.persist, paint))?;
    }
    Ok(if done.is_partial() { exit::PARTIAL } else { exit::OK })
}

fn is_denied(error: &anyhow::Error) -> bool {
    let denied = |error: &TrailError| match error {
        TrailError::Store { error, .. }
        | TrailError::Read { error, .. }
        | TrailError::Write { error, .. } => error.kind() == ErrorKind::PermissionDenied,
    };
    error.downcast_ref().is_some_and(denied)
}

fn carry_out(
    root: &Root,
    args: &HugetlbApplyArgs,
    facts: &Facts,
    plan: Plan,
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

fn wanted(pool: &PoolPlan, plan: &Plan, leave: Bytes) -> Vec<Wanted> {
    let page = pool.page_bytes;
    if plan.inputs.nodes.is_empty() {
        return vec![Wanted { page, node: None, pages: pool.target_pages, leave }];
    }
    let shares = pool.nodes.iter().filter(|share| share.target_pages != share.now_pages);
    shares
        .map(|share| Wanted { page, node: Some(share.node), pages: share.target_pages, leave })
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
        let open = || Trail::open(root.clone(), &args.state_dir, Scope::Hugetlb);
        let trail = if args.dry_run { None } else { Some(open()?) };
        let files = KeptFiles::open(root.clone(), &args.state_dir)?;
        Ok(Self { root, trail, files })
    }

    fn set(&mut self, setting: &Setting) -> anyhow::Result<()> {
        if let Some(trail) = &mut self.trail {
            trail.set(&setting.file, &setting.value)?;
        }
        Ok(())
    }

    fn grow(&mut self, wanted: &Wanted) -> anyhow::Result<PoolDone> {
        let before = pool::size(self.root, &wanted.file())
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
            let shown = stderr().is_terminal();
            let mut progress = |pages: u64| {
                if shown {
                    eprint!("\r\x1b[K{pages} of {} pages of {}", wanted.pages, wanted.page);
                }
            };
            let grown = pool::grow(self.root, trail, *wanted, &mut progress);
            if shown {
                eprint!("\r\x1b[K");
            }
            let grown = grown?;
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
            // A dry run is told before its files are written: those that will be are not stale.
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
            // Without --persist the files of an earlier plan stay, and are still looked at.
            if !args.persist {
                new.files = old.files;
            }
        }
        saved::write(&args.state_dir, &new)
    }
}
