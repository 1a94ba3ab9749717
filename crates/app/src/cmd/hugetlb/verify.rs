//! `hugewise hugetlb verify`.

use super::{input, plan};
use crate::cli::{Global, HugetlbVerifyArgs};
use crate::exit::{self, coded};
use crate::hugetlb::saved;
use crate::output::{Output, paint};
use crate::render::view::hugetlb;
use hugewise_collect::hugetlb::kept::KeptFiles;
use hugewise_evidence::hugetlb::files::{self, WantedFile};
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::HugetlbPlan;
use hugewise_evidence::hugetlb::verify::{FoundFile, Verified, verify};
use hugewise_evidence::hugetlb::verify_recorded::verify_recorded;
use hugewise_linux::root::Root;

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbVerifyArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let inputs = input::read(&root, &args.inputs)?;
    if !args.files.is_empty() {
        let verified = verify_recorded(&plan::recorded(&args.files)?, &inputs);
        return answer(global, &verified);
    }
    let (plan, files) = expected(&root, args, &inputs)?;
    let facts = plan::live(&root, &Inputs::default())?;
    let kept = KeptFiles::seen(root, &args.state_dir, files::OWNER)?;
    let mut found: Vec<FoundFile> = Vec::new();
    for file in files {
        let text = kept.text(&file.path)?;
        found.push((file, text));
    }
    answer(global, &verify(&plan, &facts, &found))
}

fn answer(global: &Global, verified: &Verified) -> anyhow::Result<Output> {
    let ok = verified.ok();
    let code = match ok {
        Some(true) => exit::OK,
        Some(false) => exit::WARNING,
        None => exit::PARTIAL,
    };
    if global.json {
        return Output::json(
            &serde_json::json!({ "schema": 1, "ok": ok, "result": verified }),
            code,
        );
    }
    Ok(Output::text(hugetlb::verify::render(verified, paint(global)), code))
}

/// The plan to compare with: given as a file, described, or applied before.
fn expected(
    root: &Root,
    args: &HugetlbVerifyArgs,
    inputs: &Inputs,
) -> anyhow::Result<(HugetlbPlan, Vec<WantedFile>)> {
    let applied = || saved::seen(&args.state_dir);
    let files = || applied().map(|saved| saved.map_or_else(Vec::new, |saved| saved.files));
    if let Some(path) = &args.plan {
        return Ok((saved::read_plan(path)?, files()?));
    }
    if *inputs != Inputs::default() {
        let (_, plan) = plan::of_machine(root, inputs, true)?;
        return Ok((plan, files()?));
    }
    match applied()? {
        Some(saved) => Ok((saved.plan, saved.files)),
        None if saved::is_hidden(&args.state_dir) => Err(coded(
            exit::PARTIAL,
            "whether anything was applied is not known: only root may read the plan that 'apply' \
             left; run it with sudo, or say what was planned for",
        )),
        None => Err(coded(
            exit::ERROR,
            format!(
                "nothing was applied (no plan in '{}'): say what was planned for, as for \
                 'hugetlb plan'",
                args.state_dir.display()
            ),
        )),
    }
}
