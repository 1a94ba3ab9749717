//! `hugewise hugetlb revert`.

use crate::cli::{Global, HugetlbRevertArgs};
use crate::exit::{self, coded};
use crate::hugetlb::revert::restore;
use crate::output::Output;
use crate::render::view::revert;
use hugewise_linux::root::Root;

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbRevertArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    if !root.is_live() && !args.dry_run {
        let message = "--root reads another tree, and nothing is changed there: add --dry-run";
        return Err(coded(exit::USAGE, message));
    }
    let done = restore(&root, &args.state_dir, args.dry_run)?;
    let code = if done.is_partial() { exit::PARTIAL } else { exit::OK };
    if global.json {
        let (settings, files) = (&done.settings, &done.files);
        let json = serde_json::json!({
            "schema": 1, "dry_run": args.dry_run, "settings": settings, "files": files
        });
        return Output::json(&json, code);
    }
    if done.is_empty() {
        let place = args.state_dir.display();
        let text = format!("Nothing to put back: '{place}' records no changed setting.\n");
        return Ok(Output::text(text, code));
    }
    let mut text = revert::text(&done);
    if args.dry_run {
        text += "Nothing was changed (--dry-run): that is what would happen.\n";
    }
    Ok(Output::text(text, code))
}
