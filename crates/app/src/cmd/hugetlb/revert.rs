//! `hugewise hugetlb revert`.

use crate::cli::{Global, SettingsRevertArgs};
use crate::cmd::revert::{live, said};
use crate::hugetlb::revert::restore;
use crate::output::Output;
use hugewise_linux::root::Root;

/// Runs the command.
pub(super) fn run(global: &Global, args: &SettingsRevertArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    said(global, args, &restore(&root, &args.state_dir, args.dry_run)?)
}
