//! What the command line says about programs, checked.

use crate::cli::{HugetlbInputs, pids};
use crate::exit::{self, coded};
use anyhow::Context;
use hugewise_base::size;
use hugewise_base::units::Bytes;
use hugewise_collect::hugetlb::{postgres, users};
use hugewise_evidence::hugetlb::files;
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::java;
use hugewise_linux::root::Root;
use std::path::Path;

/// Smallest page size that is no typing error: 64 KiB, of arm64.
const PAGE_MIN: u64 = 64 << 10;
/// Most processes: the kernel's limit for pids (Linux 6.18 include/linux/threads.h).
const PROCESSES_MAX: u64 = 4 << 20;

/// Reads them; asks PostgreSQL servers.
///
/// # Errors
/// Exit code 2 for what makes no sense, with the option and what was wanted.
pub(super) fn read(root: &Root, args: &HugetlbInputs) -> anyhow::Result<Inputs> {
    let mut inputs = Inputs {
        headroom: size("--headroom", &args.headroom)?,
        processes: args.processes,
        shm_group: args.shm_group,
        pids: pids(&args.pid),
        nodes: args.node.clone(),
        shrink: args.shrink,
        ..Inputs::default()
    };
    if args.processes.is_some_and(|count| count == 0 || count > PROCESSES_MAX) {
        return Err(usage(format!("--processes: 1 to {PROCESSES_MAX} are possible")));
    }
    if inputs.shrink && !inputs.nodes.is_empty() {
        return Err(usage("--shrink gives back from all nodes: leave --node out".into()));
    }
    for text in &args.sga {
        inputs.segments.push(not_zero("--sga", size("--sga", text)?)?);
    }
    if let Some(text) = &args.leave {
        inputs.leave = Some(size("--leave", text)?);
    }
    if let Some(text) = &args.page_size {
        let page = size("--page-size", text)?;
        if !page.0.is_power_of_two() || page.0 < PAGE_MIN {
            let message =
                format!("--page-size '{text}': page sizes are powers of two, as 2M or 1G");
            return Err(usage(message));
        }
        inputs.page = Some(page);
    }
    for flags in &args.java {
        inputs.java.push(java_flags(flags)?);
    }
    names(&mut inputs, args)?;
    let describes = inputs.describe_programs() || !args.postgres.is_empty();
    if describes && !args.pid.is_empty() {
        let message = "--pid takes what runs, --sga, --java and --postgres describe what does not";
        return Err(usage(format!("{message}: one or the other")));
    }
    for directory in &args.postgres {
        let answer = ask(root, directory)?;
        inputs.postgres.push(answer);
    }
    Ok(inputs)
}

fn names(inputs: &mut Inputs, args: &HugetlbInputs) -> anyhow::Result<()> {
    if let Some(user) = &args.user {
        if !files::is_user(user) {
            return Err(usage(format!("--user '{user}' can be no user's name")));
        }
        inputs.user = Some(user.clone());
    }
    for unit in &args.unit {
        if !files::is_unit(unit) {
            let message = format!("--unit '{unit}' is no service: wanted a name as db.service");
            return Err(usage(message));
        }
        inputs.units.push(unit.clone());
    }
    Ok(())
}

fn ask(
    root: &Root,
    directory: &Path,
) -> anyhow::Result<hugewise_evidence::hugetlb::input::PostgresAnswer> {
    // As the server itself will say it.
    let directory = &directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let owner = users::owner(root, directory);
    let answer = postgres::ask(directory, owner);
    answer.with_context(|| format!("--postgres {}", directory.display()))
}

fn java_flags(text: &str) -> anyhow::Result<Vec<String>> {
    let mut flags: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    // That is what the option is for.
    flags.push("-XX:+UseLargePages".to_owned());
    if let Some(unknown) = java::unknown_collector(&flags) {
        let known = java::COLLECTORS.map(|(flag, _)| flag).join(", ");
        let message = format!("there is no formula for '{unknown}': collectors are {known}");
        return Err(usage(format!("--java '{text}': {message}")));
    }
    let need = java::need(&flags, None);
    if need.other_page.is_some() {
        return Err(usage(format!(
            "--java '{text}': with -XX:LargePageSizeInBytes the heap is on other pages than the \
             rest, for which there is no formula: plan without that flag"
        )));
    }
    if !need.asks {
        let message = "-XX:+UseTransparentHugePages takes no HugeTLB pages";
        return Err(usage(format!("--java '{text}': {message}")));
    }
    if !need.parts.iter().any(|(what, bytes)| what == java::HEAP && bytes.0 > 0) {
        let message = "wanted the heap's largest size, e.g. '-Xmx4g'";
        return Err(usage(format!("--java '{text}': {message}")));
    }
    Ok(flags)
}

fn size(option: &str, text: &str) -> anyhow::Result<Bytes> {
    let size = size::with_unit(text).map_err(|why| usage(format!("{option} {why}")))?;
    Ok(Bytes(size.bytes()))
}

fn not_zero(option: &str, bytes: Bytes) -> anyhow::Result<Bytes> {
    if bytes.0 == 0 {
        return Err(usage(format!("{option} 0: nothing to plan for")));
    }
    Ok(bytes)
}

fn usage(message: String) -> anyhow::Error {
    coded(exit::USAGE, message)
}
