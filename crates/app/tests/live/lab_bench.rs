//! Two of the experiments of `make bench`, small: what they measure is there and makes sense.

use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, trial_of_any_kernel, unless_busy};
use crate::machine::Turn;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

/// How long another experiment on this machine is waited for.
const COURTESY: Duration = Duration::from_secs(60);
/// Exit codes of `lab run`: a run failed or nothing could be run; somebody else measures.
const PARTIAL: i32 = 5;
const REFUSED: i32 = 6;

/// Told that stalls do not matter, and with little waiting: there is no figure to be had here.
const UNPACED: &str = r#"
[settle]
still_s = 1
max_s = 2

[variant.manage.set]
"controller.lock_share_percent" = 100
"controller.cpu_percent" = 100
"quota.bytes_per_s" = "16 GiB"
"scan.cpu_percent" = 100
"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel(
            "lab_promote_measures_what_became_huge",
            lab_promote_measures_what_became_huge,
        ),
        trial_of_any_kernel(
            "lab_recover_measures_what_came_back",
            lab_recover_measures_what_came_back,
        ),
        trial("try_measures_what_it_shows", try_measures_what_it_shows),
    ]
}

fn lab_promote_measures_what_became_huge(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let record = run("promote", "mib = 64\nlimit_s = 60", "ingens")?;
    let value = |key: &str| value(&record, key);
    ensure!(value("huge_mib")? >= 63.0 && value("promoted")? >= 31.0, "{record}");
    let rate = value("huge_mib")? / value("all_huge_s")?;
    ensure!((value("huge_mib_per_s")? / rate - 1.0).abs() < 0.05, "{record}");
    ensure!(value("call_p50_us")? <= value("call_p99_us")?, "{record}");
    let series = &record["measured"]["series"][0];
    ensure!(series["key"] == "huge_mib" && series["points"][1].is_array(), "{record}");
    Ok(())
}

fn lab_recover_measures_what_came_back(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let record = run("recover", "mib = 64\nlimit_s = 60", "guard")?;
    let value = |key: &str| value(&record, key);
    // 55 % of 64 MiB, and what the program itself needs beside them.
    ensure!((25.0..50.0).contains(&value("kept_mib")?), "{record}");
    // Each split gives back 55 % of 2 MiB, and the run ends when 95 % of all is back.
    ensure!(value("demoted")? >= value("kept_mib")? * 0.95 / 1.12, "{record}");
    ensure!(value("back_s")? > 0.0, "{record}");
    let rate = value("kept_mib")? * 0.95 / 1024.0 / value("back_s")?;
    // More than that may be back at the last look.
    ensure!(value("gib_per_s")? >= rate * 0.99, "{record}");
    Ok(())
}

/// `hugewise try` in small: each variant ran, and all that the report shows was measured.
fn try_measures_what_it_shows(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("an emulated processor promotes too slowly for the time that 'try' has"));
    }
    let scratch = Scratch::new()?;
    let report = scratch.join("report.html").to_string_lossy().into_owned();
    let args = ["try", "--json", "--rounds", "1", "--size", "64MiB", "--report", &report];
    let said = unless_busy(hugewise(args)?)?.expect(0)?;
    let json = said.json()?;
    if let Some(why) = json["simulated"].as_str() {
        return Err(skip(why));
    }
    let records = json["records"].as_array().context("no records")?;
    ensure!(records.len() == 3, "{json}");
    for record in records {
        let (variant, values) = (&record["variant"], &record["measured"]["values"]);
        let value = |key: &str| value(record, key);
        ensure!(value("access_ns")? > 0.0 && value("fill_s")? > 0.0, "{variant}: {values}");
        ensure!(value("verified_words")? > value("settled.verified_words")?, "{variant}: {values}");
        ensure!(value("freed.rss_mib")? < value("rss_mib")?, "{variant}: {values}");
        let huge = value("dense.huge_percent")?;
        let wanted = if record["variant"] == "never" { huge <= 0.0 } else { huge >= 90.0 };
        ensure!(wanted, "{variant}: {huge} % of the dense part is huge");
        let histograms = &record["measured"]["histograms"];
        for name in ["first_touch", "access", "fault", "map"] {
            ensure!(histograms[name].is_object(), "no {name}: {variant}");
        }
        if record["variant"] == "hugewise" {
            // 19 regions are dense, 6 of 32 idle.
            ensure!(
                value("promoted")? >= 23.0 && value("promoting_s")? > 0.0,
                "{variant}: {values}"
            );
            ensure!(
                value("sparse.huge_percent")? < 1.0 && value("demoted")? > 0.0,
                "{variant}: {values}"
            );
            ensure!(histograms["promoting.fault"].is_object(), "{variant}: {values}");
            ensure!(record["measured"]["series"].as_array().is_some_and(|all| all.len() == 4));
        }
    }
    let page = fs::read_to_string(&report).context("no report")?;
    for picture in [
        "Every run: Mean time of a random read",
        "Every run: Resident memory of the workload",
        "Over time: Share of a part of the memory that is in huge pages (dense)",
        "Latencies: first_touch",
        "Latencies: promoting.fault",
    ] {
        ensure!(page.contains(&format!("<figcaption>{picture}</figcaption>")), "no {picture}");
    }
    let over_time = page.matches("<figcaption>Over time: ").count();
    ensure!(over_time == 4 && !page.contains("SIMULATED"), "{over_time} pictures over time");
    Ok(())
}

/// One run of a workload beside a manager, as it stands on disk.
fn run(kind: &str, params: &str, mode: &str) -> anyhow::Result<Value> {
    let scratch = Scratch::new()?;
    let file = scratch.join("small.toml");
    let text = format!(
        "name = \"small\"\nquestion = \"Does it measure?\"\n\n[workload]\nkind = \"{kind}\"\n\
         {params}\n\n[stop]\nrepetitions = 1\n\n[[variant]]\nname = \"hugewise\"\n\n\
         [variant.manage]\nmode = \"{mode}\"\n{UNPACED}"
    );
    fs::write(&file, text)?;
    let (results, began) = (scratch.join("results"), Instant::now());
    loop {
        let file = file.to_string_lossy().into_owned();
        let mut args = vec!["lab".into(), "run".into(), file, "--noisy".into(), "--output".into()];
        args.push(results.to_string_lossy().into_owned());
        args.extend(["--state-dir".into(), scratch.join("state").to_string_lossy().into_owned()]);
        let said = hugewise(&args)?;
        match said.code {
            Some(REFUSED) if began.elapsed() < COURTESY => {
                std::thread::sleep(Duration::from_secs(1));
            }
            Some(REFUSED) => return Err(skip(said.err.trim())),
            Some(PARTIAL) if said.err.contains("cannot be run: ") => {
                return Err(skip(said.err.trim()));
            }
            _ => break,
        }
    }
    let path = results.join("runs/0001-hugewise.json");
    let text = fs::read_to_string(&path).context("the run left no record")?;
    let record: Value = serde_json::from_str(&text)?;
    let why = record["outcome"]["error"].as_str().unwrap_or_default();
    if why.contains("needs a memory cgroup") {
        return Err(skip(why));
    }
    ensure!(record["outcome"]["result"] == "done", "{record}");
    Ok(record)
}

fn value(record: &Value, key: &str) -> anyhow::Result<f64> {
    let value = record["measured"]["values"][key].as_f64();
    value.with_context(|| format!("no {key} in {record}"))
}
