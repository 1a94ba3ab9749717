//! A ledger as it is read, and what came of one.

use crate::cli::Global;
use crate::cmd::lab::form;
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::investigate as view;
use anyhow::Context;
use hugewise_experiment::check::Checked;
use hugewise_experiment::ledger::Ledger;
use hugewise_experiment::verdict::{Verdict, Verdicts};
use hugewise_lab::store::Store;
use std::path::Path;

/// The report for readers.
const PAGE: &str = "report.html";

/// A ledger from its text, and the experiment that it is.
pub(super) fn read(name: &str, text: &str) -> anyhow::Result<(Ledger, Checked)> {
    let ledger = form::read::<Ledger>(name, text);
    let both = ledger.and_then(|ledger| ledger.experiment().map(|checked| (ledger, checked)));
    both.map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(|fault| format!("\n  - {fault}")).collect();
        exit::coded(exit::ERROR, format!("{name} cannot be tried:{}", faults.concat()))
    })
}

/// Writes the page for readers; says the verdicts.
pub(super) fn tell(global: &Global, directory: &Path) -> anyhow::Result<Output> {
    let store = Store::existing(directory)?;
    let plan = store.plan()?.context("no plan")?;
    let (ledger, _) = read("the ledger of these trials", &plan.text)?;
    let records = store.records()?;
    let verdicts = Verdicts::of(&ledger, &records);
    let code = code(&verdicts);
    store.write("verdicts.json", &serde_json::to_vec_pretty(&verdicts)?)?;
    store.write(PAGE, view::page(&verdicts, &records)?.as_bytes())?;
    if global.json {
        return Output::pretty_json(&verdicts, code);
    }
    let page = directory.join(PAGE);
    let text = view::text(&verdicts, paint(global));
    Ok(Output::text(format!("{text}\nReport: {}\n", page.display()), code))
}

/// Partial where trials are left, or one hypothesis cannot be told.
fn code(verdicts: &Verdicts) -> u8 {
    let open = |verdict: &Verdict| matches!(verdict, Verdict::Undecided { .. });
    let partial = verdicts.left > 0 || verdicts.hypotheses.iter().any(|one| open(&one.verdict));
    if partial { exit::PARTIAL } else { exit::OK }
}
