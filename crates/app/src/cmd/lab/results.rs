//! What a directory of results holds, and the files for readers that are made from it.

use super::prepare::planned;
use crate::render::view::lab as report;
use anyhow::Context;
use hugewise_experiment::check::Checked;
use hugewise_experiment::record::{Record, RunPlan};
use hugewise_experiment::summary::Summary;
use hugewise_lab::store::Store;
use std::path::{Path, PathBuf};

/// The report for readers.
const PAGE: &str = "report.html";

/// A directory of results that was read: its plan and the runs made so far.
#[derive(Debug)]
pub(super) struct Results {
    store: Store,
    /// What was to be run.
    pub(super) checked: Checked,
    /// What it was when it began.
    pub(super) plan: RunPlan,
    /// The runs, in the order of time.
    pub(super) records: Vec<Record>,
}

impl Results {
    /// Reads a directory.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let store = Store::existing(directory)?;
        let plan = store.plan()?.context("these are several experiments: name one of them")?;
        let records = store.records()?;
        Ok(Self { checked: planned(&plan)?, store, plan, records })
    }

    /// What follows from them.
    pub(super) fn summary(&self) -> Summary {
        Summary::of(&self.checked, &self.plan, &self.records)
    }

    /// Writes the report, its Markdown form, the summary and the plots; returns the report's path.
    pub(super) fn write(&self, summary: &Summary) -> anyhow::Result<PathBuf> {
        for (name, svg) in report::plots(summary, &self.records) {
            self.store.write_below("plots", &name, svg.as_bytes())?;
        }
        self.store.write("report.md", report::markdown(summary).as_bytes())?;
        self.store.write("summary.json", &serde_json::to_vec_pretty(summary)?)?;
        self.store.write(PAGE, report::page(summary, &self.records).as_bytes())?;
        Ok(self.store.directory().join(PAGE))
    }
}
