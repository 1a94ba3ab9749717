//! `hugewise lab workload lab`: the workloads of experiments that are part of hugewise.
//!
//! One process a workload. It fills its memory, says that it is ready, and then answers each line
//! of its standard input with lines of JSON ([`crate::protocol`]). It ends with its parent or
//! its input. What it does to its data is verified, while it works and when it is asked to.

mod btree;
mod chase;
mod churn;
mod cow;
mod demo;
mod fault;
mod fragment;
mod graph;
mod gups;
mod join;
mod kit;
mod merge;
mod prefork;
mod requests;
mod segment;
mod stress;
mod text;
mod touch;

use crate::kit::{allow_huge_pages, say, serve};
use crate::protocol::{Event, Request};
use anyhow::{Context, bail};
use clap::Parser;
use hugewise_base::exit::{self, Coded};
use hugewise_experiment::kind::Values;
use hugewise_experiment::kinds::{self, BuiltIn, Executable, Params, Task};
use hugewise_experiment::spec::HugePages;
use hugewise_linux::prctl;
use kit::{Measured, Progress, Setup, Workload};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `hugewise lab workload lab`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    /// Name of the kind
    kind: String,
    /// Its parameters, a JSON object; those not given have their defaults
    #[arg(long, default_value = "{}")]
    params: String,
    /// What is random is the same for the same seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What it does about huge pages for itself
    #[arg(long, default_value = "inherit", value_parser = HugePages::parse)]
    huge_pages: HugePages,
    /// Directory for the files of kinds that write some
    #[arg(long)]
    scratch: Option<PathBuf>,
}

/// `hugewise lab workload lab KIND`.
pub(super) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: a workload without its parent would hold its memory for good.
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")?;
    let args = Args::try_parse_from(args)?;
    let params = params(&args)?;
    let churns = matches!(params.task(), Task::BuiltIn(BuiltIn::AllocatorChurn(_)));
    let asks = matches!(args.huge_pages, HugePages::Always | HugePages::Khugepaged);
    if churns && asks {
        churn::ask_the_allocator_for_huge_pages()?;
    }
    if args.huge_pages == HugePages::Never || args.huge_pages.come_later() {
        prctl::set_thp_disable(true).context("cannot switch huge pages off for the workload")?;
    }
    let setup =
        Setup { seed: args.seed, advise: asks, scratch: args.scratch.clone(), root: "/".into() };
    let mut progress = Progress::new(Box::new(|percent, text: &str| {
        // A parent that no longer listens is noticed with the next answer.
        let _ = say(&Event::Progress { percent, text: text.to_owned() });
    }));
    let mut workload = make(&params, &setup)?;
    let begin = Instant::now();
    let filled = workload.fill(&mut progress)?;
    let filled = filled.with("fill_s", begin.elapsed().as_secs_f64());
    if args.huge_pages.come_later() {
        allow_huge_pages(asks)?;
    }
    if !say_measured(filled, "fill", Event::Ready)? {
        return Ok(exit::ERROR);
    }
    obey(workload.as_mut(), &args.kind, &mut progress)
}

fn params(args: &Args) -> anyhow::Result<Params> {
    let kind = kinds::in_lab_workload().find(|kind| kind.name == args.kind);
    let Some(kind) = kind else {
        let known: Vec<_> = kinds::in_lab_workload().map(|kind| kind.name).collect();
        let (name, known) = (args.kind.escape_debug(), known.join(", "));
        let message = format!("workload lab: there is no kind '{name}'; there are {known}");
        return Err(Coded::new(exit::USAGE, message).into());
    };
    let given: Values = serde_json::from_str(&args.params)
        .map_err(|error| Coded::new(exit::USAGE, format!("--params: {error}")))?;
    Ok(Params::new(kind, &given).map_err(|error| Coded::new(exit::USAGE, error.to_string()))?)
}

/// The workload, nothing of its memory touched.
fn make(params: &Params, setup: &Setup) -> anyhow::Result<Box<dyn Workload>> {
    let task = match params.task() {
        Task::BuiltIn(task) => task,
        Task::Executable(Executable::Demo(params)) => {
            return Ok(Box::new(demo::Demo::new(params, setup)?));
        }
        _ => bail!("this kind is no workload of hugewise"),
    };
    Ok(match task {
        BuiltIn::FaultLatency(params) => Box::new(fault::FaultLatency::new(params, setup)),
        BuiltIn::Requests(params) => Box::new(requests::Requests::new(params, setup)),
        BuiltIn::SparseTouch(params) => Box::new(touch::SparseTouch::new(params, setup)?),
        BuiltIn::Stride(params) => Box::new(touch::Stride::new(params, setup)?),
        BuiltIn::Gups(params) => Box::new(gups::Gups::new(params, setup)?),
        BuiltIn::PointerChase(params) => Box::new(chase::PointerChase::new(params, setup)?),
        BuiltIn::Btree(params) => Box::new(btree::Btree::new(params, setup)?),
        BuiltIn::HashJoin(params) => Box::new(join::HashJoin::new(params, setup)?),
        BuiltIn::Graph(params) => Box::new(graph::GraphWork::new(params, setup)?),
        BuiltIn::AllocatorChurn(params) => Box::new(churn::Churn::new(params, setup)),
        BuiltIn::SharedSegment(params) => Box::new(segment::SharedSegment::new(params)?),
        BuiltIn::ForkCow(params) => Box::new(cow::ForkCow::new(params, setup)?),
        BuiltIn::Prefork(params) => Box::new(prefork::Prefork::new(params, setup)?),
        BuiltIn::Merge(params) => Box::new(merge::Merge::new(params, setup)?),
        BuiltIn::Text(params) => Box::new(text::Text::new(params, setup)?),
        BuiltIn::FragmentHoles(params) => Box::new(fragment::holes(params, setup)),
        BuiltIn::FragmentPageCache(params) => Box::new(fragment::page_cache(params, setup)?),
        stressor => return stress::make(stressor, setup),
    })
}

fn obey(workload: &mut dyn Workload, kind: &str, progress: &mut Progress) -> anyhow::Result<u8> {
    serve("lab", |asked| {
        let good = match asked {
            Request::Measure(seconds) => {
                let measured = workload.measure(Duration::from_secs_f64(seconds), progress)?;
                say_measured(measured, "measure", Event::Measured)?
            }
            Request::Verify => {
                let verdict = workload.verify(progress)?;
                if verdict.wrong == 0 {
                    say(&Event::Verified { checked: verdict.checked })?;
                } else {
                    say(&Event::Mismatch { wrong: verdict.wrong, during: "verify".into() })?;
                }
                verdict.wrong == 0
            }
            Request::Change => {
                let Some(changed) = workload.change()? else {
                    bail!("the workload '{kind}' has no second phase");
                };
                say_measured(changed, "change", Event::Changed)?
            }
            Request::Release => {
                let Some(released) = workload.release()? else {
                    bail!("the workload '{kind}' holds nothing that could be released");
                };
                say_measured(released, "release", Event::Released)?
            }
            Request::Access(_) | Request::Faults(_) | Request::Free(_) => {
                let Some(found) = workload.also(asked)? else {
                    bail!("the workload '{kind}' cannot do '{}'", asked.line());
                };
                match asked {
                    Request::Access(_) => say_measured(found, "access", Event::Measured)?,
                    Request::Faults(_) => say_measured(found, "faults", Event::Measured)?,
                    _ => say_measured(found, "free", Event::Changed)?,
                }
            }
            Request::Corrupt => {
                workload.corrupt();
                true
            }
            _ => return Ok(None),
        };
        Ok(Some(good))
    })
}

/// Says what was measured, or that data was wrong meanwhile. Returns whether it was right.
fn say_measured(
    measured: Measured,
    during: &str,
    event: fn(crate::protocol::Report) -> Event,
) -> anyhow::Result<bool> {
    let wrong = measured.wrong;
    if wrong > 0 {
        say(&Event::Mismatch { wrong, during: during.into() })?;
    } else {
        say(&event(measured.report))?;
    }
    Ok(wrong == 0)
}

#[cfg(test)]
mod tests;
