//! `hugewise advise --estimate` on the real kernel: an estimate from a capture alone, scored by
//! what came.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Said, Scratch, hugewise, skip, trial_of_any_kernel};
use crate::machine::Turn;
use crate::schemas;
use anyhow::{Context, ensure};
use hugewise_linux::root::Root;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// Memory of the program, and of each region of 2 MiB the base pages that it touches.
const SIZE_MIB: u64 = 256;
const TOUCHED: u64 = 64;
/// A machine's memory may be off by as much and count as estimated.
const SLACK: f64 = 0.02;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_of_any_kernel("a_bill_holds_for_a_program_that_gets_huge_pages", holds)]
}

fn captured(directory: &Path) -> anyhow::Result<()> {
    let directory = directory.to_str().context("a path")?;
    hugewise(["record", "--for", "2s", "-o", directory])?.expect(0)?;
    Ok(())
}

fn bill(args: &[&Path], more: &[&str]) -> anyhow::Result<(Said, Value)> {
    let args = args.iter().map(|path| path.to_str().context("a path"));
    let mut words = vec!["--json", "advise", "--estimate"];
    words.extend(args.collect::<anyhow::Result<Vec<_>>>()?);
    words.extend(more);
    let said = hugewise(words)?;
    let value = said.json()?;
    schemas::all_fit("bill", std::slice::from_ref(&value)).map_err(anyhow::Error::msg)?;
    Ok((said, value))
}

fn f64_at(value: &Value, pointer: &str) -> anyhow::Result<f64> {
    value.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("{pointer}: {value:#}"))
}

/// The programs that are called as this one.
fn of_program(bill: &Value, pid: u32) -> anyhow::Result<&Value> {
    let name = Root::live().read_text(format!("proc/{pid}/comm"))?;
    let programs = bill["programs"].as_array().context("programs")?;
    programs.iter().find(|one| one["name"] == name.trim()).context("it is not listed")
}

/// A program that touches an eighth of each region, with base pages and then with huge ones: as it
/// would be under `always`, which this machine need not have.
fn holds(_: &Turn) -> anyhow::Result<()> {
    let enabled = Root::live().read_text("sys/kernel/mm/transparent_hugepage/enabled")?;
    if enabled.contains("[never]") {
        return Err(skip("this machine gives no huge pages to whoever asks"));
    }
    let scratch = Scratch::new()?;
    let (before, after) = (scratch.join("before"), scratch.join("after"));
    let fill = format!("--mib {SIZE_MIB} --fill sparse:{TOUCHED}");
    let hold = Hold::start(&fill)?;
    captured(&before)?;
    let (_, estimate) = bill(&[&before], &[])?;
    let (now, always) = {
        let one = of_program(&estimate, hold.pid())?;
        (f64_at(one, "/now_bytes")?, f64_at(one, "/always_bytes/high")?)
    };
    let (least, whole) = ((SIZE_MIB * MIB * TOUCHED / 512) as f64, (SIZE_MIB * MIB) as f64);
    ensure!(now >= least && now < whole / 2.0, "of {least} bytes {now} are seen");
    ensure!(always >= whole, "{always} is less than what it would have: {estimate:#}");
    ensure!(always < whole * 1.25, "{always} is far beyond what it could have: {estimate:#}");
    let low = f64_at(&estimate, "/rows/2/memory_bytes/low")?;
    ensure!(estimate["rows"][2]["way"] == "always" && low > 0.0, "{estimate:#}");
    drop(hold);

    let hold = Hold::start(&format!("{fill} --advise huge"))?;
    if hold.memory()?.huge * 1024 < SIZE_MIB * MIB * 9 / 10 {
        return Err(skip("there are too few free blocks for it"));
    }
    captured(&after)?;
    let check = ["--check", after.to_str().context("a path")?, "--as", "always"];
    let (said, scored) = bill(&[&before], &check)?;
    let came = f64_at(of_program(&bill(&[&after], &[])?.1, hold.pid())?, "/now_bytes")?;
    init::say(&format!("{now:.0} bytes became {came:.0} of at most {always:.0}"));
    ensure!(came >= whole && came <= always, "{came} is not within {now} to {always}");
    let memory = &scored["check"]["memory_bytes"];
    ensure!(memory["inside"] == true, "{said:#?}");
    // The control: that nothing would change is refuted by the same capture.
    let check = ["--check", after.to_str().context("a path")?, "--as", "never"];
    let (said, scored) = bill(&[&before], &check)?;
    let machine = f64_at(&estimate, "/rows/0/memory_bytes/likely")?;
    if (came - now) / machine < 2.0 * SLACK {
        return Err(skip(format!("of {machine:.0} bytes in use it has too few to show")));
    }
    let memory = &scored["check"]["memory_bytes"];
    ensure!(memory["inside"] == false && said.code == Some(3), "{said:#?}");
    Ok(())
}
