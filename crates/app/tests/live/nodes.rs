//! Machines with several NUMA nodes: a virtual machine of two, as `xtask/tests/vm.rs` boots one.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, number, promotes, skip, trial};
use crate::machine::Turn;
use crate::manager::Manage;
use crate::promote::{FAST, MIB, is_covered, left_alone, once, target};
use anyhow::{Context, ensure};
use hugewise_base::units::Geometry;
use hugewise_linux::root::Root;
use hugewise_linux::{machine, numa};
use hugewise_workloads::protocol::{Request, Span};
use libtest_mimic::Trial;
use std::collections::BTreeSet;

/// Regions of each program.
const REGIONS: u64 = MIB / 2;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("numa_huge_pages_lie_where_their_program_is", where_their_program_is),
        trial("numa_regions_on_several_nodes_are_left_alone", several_nodes),
        trial("numa_a_full_node_holds_up_nobody_else", a_full_node),
        trial("numa_no_block_is_wasted_on_a_node_in_pieces", in_pieces),
    ]
}

/// Two nodes, and a kernel that promotes.
fn two_nodes() -> anyhow::Result<()> {
    promotes()?;
    match machine::nodes_with_memory(&Root::live()) {
        Some(nodes) if nodes == BTreeSet::from([0, 1]) => Ok(()),
        _ => Err(skip("needs the NUMA nodes 0 and 1: a guest of 'make test' has them")),
    }
}

/// On which nodes the pages of a workload lie.
fn nodes(hold: &Hold) -> anyhow::Result<BTreeSet<u32>> {
    let found = placed(hold)?;
    ensure!(found.iter().all(Option::is_some), "a page lies nowhere");
    Ok(found.into_iter().flatten().collect())
}

/// The node of each page; `None` for one that is not there.
fn placed(hold: &Hold) -> anyhow::Result<Vec<Option<u32>>> {
    let range = hold.filled.parts.get("cold").context("where is its memory?")?.clone();
    let pages: Vec<u64> = range.step_by(4096).collect();
    Ok(numa::nodes_of(hold.pid(), &pages)?)
}

fn where_their_program_is(_: &Turn) -> anyhow::Result<()> {
    two_nodes()?;
    for (node, warm) in [(0, "always"), (1, "always"), (1, "never")] {
        let mut hold = Hold::start(&format!("--mib {MIB} --nodes {node}"))?;
        let wanted = BTreeSet::from([node]);
        ensure!(nodes(&hold)? == wanted, "it was to lie on node {node}");
        let warm = format!("--set promote.warm={warm}");
        let status = once(&Scratch::new()?, hold.pid(), &warm)?.json()?;
        is_covered(&mut hold, &status)?;
        ensure!(nodes(&hold)? == wanted, "moved away from node {node}: {status}");
    }
    Ok(())
}

fn several_nodes(_: &Turn) -> anyhow::Result<()> {
    two_nodes()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --nodes 0,1"))?;
    ensure!(nodes(&hold)?.len() == 2, "it was to lie on both nodes");
    let status = once(&Scratch::new()?, hold.pid(), FAST)?.json()?;
    let seen = target(&status, hold.pid())?;
    ensure!(left_alone(seen, "mixed_nodes")? == REGIONS, "left alone by name: {status}");
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    // The control: where it is meant, all of it becomes huge.
    let status = once(&Scratch::new()?, hold.pid(), "--set promote.mixed_nodes=true")?.json()?;
    is_covered(&mut hold, &status)
}

/// MiB that a node has free.
fn free_mib(node: u32) -> anyhow::Result<u64> {
    let root = Root::live();
    let text = root.read_text(format!("sys/devices/system/node/node{node}/meminfo"))?;
    let free = text.lines().find(|line| line.contains("MemFree:")).context("no MemFree")?;
    let kib: u64 = free.split_whitespace().nth(3).context("no number")?.parse()?;
    Ok(kib >> 11 << 1)
}

/// A program with as much memory as a node has free, but for the reserve that the kernel keeps.
/// What finds no room there comes from the other node.
fn fill(node: u32) -> anyhow::Result<Hold> {
    Hold::start(&format!("--mib {} --nodes {node}", free_mib(node)? + 8))
}

/// A program on a full node, and those that fill it. Its pages lie in pieces between theirs: of
/// what a promotion frees the kernel can make no block for the next one.
fn on_a_full_node(node: u32) -> anyhow::Result<(Hold, Vec<Hold>)> {
    let mut first = fill(node)?;
    for offset_mib in 0..usize::try_from(MIB)? * 3 {
        first.ask(Request::Drop(Span { offset_mib, len_kib: 512 }))?;
    }
    let there = Hold::start(&format!("--mib {MIB} --nodes {node}"))?;
    let mut all = vec![first, fill(node)?];
    // Then block by block, until a program gets none from there.
    for _ in 0..REGIONS {
        let hold = Hold::start(&format!("--mib 2 --nodes {node} --advise huge"))?;
        let got_one = hold.memory()?.huge > 0 && nodes(&hold)? == BTreeSet::from([node]);
        all.push(hold);
        if !got_one {
            return Ok((there, all));
        }
    }
    let left = machine::free_of(&Root::live(), Geometry::X86_64, Some(node)).huge;
    Err(skip(format!("node {node} could not be filled: {left:?} blocks are left")))
}

fn a_full_node(_: &Turn) -> anyhow::Result<()> {
    two_nodes()?;
    let mut here = Hold::start(&format!("--mib {MIB} --nodes 0"))?;
    let (there, _full) = on_a_full_node(1)?;
    ensure!(nodes(&there)? == BTreeSet::from([1]), "it was to lie on node 1");
    let scratch = Scratch::new()?;
    let pids = format!("--pid {} --pid {}", there.pid(), here.pid());
    let args = format!("{pids} --once --keep-settings {FAST}");
    let status = Manage::new(&scratch, &args).run()?.expect(0)?.json()?;
    let targets = status["targets"].as_array().context("no targets")?;
    let of = |pid| targets.iter().find(|target| target["pid"] == pid).context("no target");
    ensure!(here.memory()?.huge >> 11 == REGIONS, "the other program was held up: {status}");
    here.verify()?;
    let huge = there.memory()?.huge >> 11;
    init::say(&format!("{huge} regions on the full node became huge"));
    if huge == REGIONS {
        return Err(skip("the kernel found blocks on the full node all the same"));
    }
    let waits = left_alone(of(there.pid())?, "no_free_huge_page_on_node")?;
    ensure!(waits + huge == REGIONS, "{waits} wait for a block of node 1, {huge} are huge");
    ensure!(nodes(&there)? == BTreeSet::from([1]), "moved away from node 1: {status}");
    Ok(())
}

/// Half of a node's free memory in pieces of 512 KiB, and a few blocks.
fn break_up(node: u32) -> anyhow::Result<Hold> {
    let mib = free_mib(node)? - 4 * MIB;
    let mut first = Hold::start(&format!("--mib {mib} --nodes {node}"))?;
    for offset_mib in 0..usize::try_from(mib)? {
        first.ask(Request::Drop(Span { offset_mib, len_kib: 512 }))?;
    }
    Ok(first)
}

/// Regions that only the bloat budget pays for, on a node in pieces and on one that is whole.
fn in_pieces(_: &Turn) -> anyhow::Result<()> {
    two_nodes()?;
    let _pieces = break_up(1)?;
    let sparse = |node| Hold::start(&format!("--mib {MIB} --fill sparse:410 --nodes {node}"));
    let (mut here, there) = (sparse(0)?, sparse(1)?);
    let mut pages = placed(&there)?.into_iter().flatten();
    ensure!(pages.all(|node| node == 1), "it was to lie on node 1");
    let fmfi = |node| machine::free_of(&Root::live(), Geometry::X86_64, node).fmfi;
    let (all, node) = fmfi(None).zip(fmfi(Some(1))).context("no FMFI")?;
    if node < all * 1.3 {
        return Err(skip(format!("node 1 is not more in pieces ({node:.2}) than all ({all:.2})")));
    }
    let scratch = Scratch::new()?;
    let pids = format!("--pid {} --pid {}", there.pid(), here.pid());
    let budget = "--set promote.bloat_budget_percent=100 --set track.by=[]";
    let between = format!("--set watermark.fmfi_high={:.3}", (all + node) / 2.0);
    let args = format!("{pids} --once --keep-settings {FAST} {budget} {between}");
    let status = Manage::new(&scratch, &args).run()?.expect(0)?.json()?;
    let targets = status["targets"].as_array().context("no targets")?;
    let of = |pid| targets.iter().find(|target| target["pid"] == pid).context("no target");
    ensure!(here.memory()?.huge > 0, "nothing on the whole node ({all} of all): {status}");
    here.verify()?;
    let left = number(of(there.pid())?, "/skips/node_in_pieces")?;
    ensure!(left > 0 && there.memory()?.huge == 0, "wasted at FMFI {node}: {status}");
    // The control: where a node in pieces is no reason, both become huge.
    let args = format!("{pids} --once --keep-settings {FAST} {budget} --set watermark.fmfi_high=1");
    Manage::new(&scratch, &args).run()?.expect(0)?;
    ensure!(there.memory()?.huge > 0, "nothing on node 1 with no bound");
    Ok(())
}
