//! `hugewise advise run`: becomes a program, under its own policy of transparent huge pages.

use super::super::revert::live;
use crate::cli::{AdviseRunArgs, Global, ShowArg, ThpArg};
use crate::exit::{self, coded};
use crate::output::Output;
use crate::say::note;
use anyhow::Context;
use hugewise_base::parse::kernel_release;
use hugewise_linux::instance::{Role, held_by};
use hugewise_linux::prctl::{self, ThpDisable};
use hugewise_linux::root::Root;
use hugewise_linux::{executable, machine, systemd};
use hugewise_manager::run_policy::form::{self, Form, Kind, Start};
use hugewise_manager::run_policy::program::Program;
use hugewise_manager::run_policy::switches::Given;
use hugewise_manager::run_policy::{Disable, Machine, Plan, Policy, decide};
use hugewise_manager::snapshot::ThpMode;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command; returns only with what was to be shown, or because the program did not start.
pub(super) fn run(global: &Global, args: &AdviseRunArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    if args.show.is_none() {
        live(&root, false)?;
        if global.json {
            let why = "--json goes with --show: what is written here is the program's own";
            return Err(coded(exit::USAGE, why));
        }
    }
    let [name, own @ ..] = &args.command[..] else { anyhow::bail!("no program") };
    let search = env::var_os("PATH");
    let file = executable::find(name, search.as_deref())
        .with_context(|| format!("cannot run {}", Path::new(name).display()))?;
    let policy = policy(args.thp);
    // The kernel's own means need to know nothing of the program.
    let program = match policy {
        Policy::Never | Policy::Madvise if args.show.is_none() => Program::default(),
        _ => looked(&file, name, search.as_deref()),
    };
    let given = Given {
        arguments: own.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        environment: environment(),
    };
    let mut machine = observed(&root)?;
    if args.show.is_some() {
        // It will be there when the program is: the unit says so.
        machine.manager.get_or_insert_with(|| form::MANAGER.into());
    }
    let plan = decide(policy, &program, &given, &machine);
    let plan = plan.map_err(|refused| coded(exit::REFUSED, refused.to_string()))?;
    match args.show {
        Some(asked) => shown(global, asked, (policy, &program, &machine), &file, args, &given),
        None => Err(become_it(&file, name, own, policy, &machine, &plan)),
    }
}

fn policy(asked: ThpArg) -> Policy {
    match asked {
        ThpArg::Never => Policy::Never,
        ThpArg::Madvise => Policy::Madvise,
        ThpArg::Always => Policy::Always,
        ThpArg::Managed => Policy::Managed,
    }
}

fn looked(file: &Path, called: &OsStr, search: Option<&OsStr>) -> Program {
    let preload = env::var_os("LD_PRELOAD").unwrap_or_default();
    let preload = preload.to_string_lossy();
    let separated = preload.split([':', ' ']).filter(|library| !library.is_empty());
    let preloaded: Vec<String> = separated.map(str::to_owned).collect();
    Program::of(&executable::look(file, called, search, &preloaded))
}

fn environment() -> std::collections::BTreeMap<String, String> {
    let words = |(name, value): (OsString, OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    env::vars_os().map(words).collect()
}

/// What decides on this machine.
fn observed(root: &Root) -> anyhow::Result<Machine> {
    let files = machine::thp_files(root, machine::geometry(root));
    let effective = files.effective().map(|(mode, _)| mode);
    let top = files.top.as_deref().and_then(ThpMode::parse);
    let mut machine =
        Machine { top, effective, except_advised: false, inherited: Disable::Off, manager: None };
    if !root.is_live() {
        let release = root.read_line("proc/sys/kernel/osrelease").unwrap_or_default();
        machine.except_advised =
            kernel_release::parse(&release).is_ok_and(|release| release.at_least(6, 18));
        return Ok(machine);
    }
    machine.manager = held_by(Role::Manager).map(|holder| holder.to_string());
    machine.inherited = match prctl::get_thp_disable() {
        Ok(ThpDisable::NotDisabled) | Err(_) => Disable::Off,
        Ok(ThpDisable::ExceptAdvised) => Disable::ExceptAdvised,
        Ok(ThpDisable::Disabled | ThpDisable::Other(_)) => Disable::Full,
    };
    // The kernel itself says whether it can; this process is about to become another program.
    machine.except_advised = say(Disable::ExceptAdvised).is_ok();
    say(machine.inherited)?;
    Ok(machine)
}

/// Says of this process what a program is to start with.
fn say(disable: Disable) -> anyhow::Result<()> {
    match disable {
        Disable::Off => prctl::set_thp_disable(false),
        Disable::Full => prctl::set_thp_disable(true),
        Disable::ExceptAdvised => prctl::set_thp_disable_except_advised(),
    }
    .context("PR_SET_THP_DISABLE")
}

/// Becomes the program: its pid, files and signals are this one's. Returns why it did not.
fn become_it(
    file: &Path,
    name: &OsStr,
    own: &[OsString],
    policy: Policy,
    machine: &Machine,
    plan: &Plan,
) -> anyhow::Error {
    if plan.disable != machine.inherited
        && let Err(error) = say(plan.disable)
    {
        return error;
    }
    let mut parts = plan.used.clone();
    if parts.is_empty() {
        let mode = machine.effective.map_or("unknown", ThpMode::name);
        parts.push(format!("nothing to do under '{mode}'"));
    }
    parts.extend(plan.notes.iter().cloned());
    note(&format!("thp {}: {}", policy.key(), parts.join("; ")));
    let call = &plan.switches;
    let error = Command::new(file)
        .arg0(name)
        .args(&call.first)
        .args(own)
        .args(&call.last)
        .envs(&call.environment)
        .exec();
    anyhow::Error::new(error).context(format!("cannot run {}", file.display()))
}

/// The policy, written down for whoever starts the program.
fn shown(
    global: &Global,
    asked: ShowArg,
    (policy, program, machine): (Policy, &Program, &Machine),
    file: &Path,
    args: &AdviseRunArgs,
    given: &Given,
) -> anyhow::Result<Output> {
    let file = std::path::absolute(file)?;
    let all = args.command.iter().map(OsString::as_os_str).chain([file.as_os_str()]);
    for word in all {
        if word.to_str().is_none() {
            let why = format!("not UTF-8: {}", Path::new(word).display());
            return Err(coded(exit::USAGE, why));
        }
    }
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/bin/hugewise"));
    let start = Start {
        hugewise: &own.display().to_string(),
        program: &file.display().to_string(),
        systemd: systemd::version(&Root::at(&global.root)),
        except_advised: machine.except_advised,
    };
    let kind = match asked {
        ShowArg::Unit => Kind::Unit,
        ShowArg::Container => Kind::Container,
    };
    let form = form::form(kind, policy, program, given, &start);
    let form: Form = form.map_err(|said| coded(exit::REFUSED, format!("refused: {said}")))?;
    let code = if form.left_out.is_empty() { exit::OK } else { exit::PARTIAL };
    if global.json {
        let mut json = serde_json::to_value(&form)?;
        json["schema"] = 1.into();
        json["text"] = form.text().into();
        return Output::json(&json, code);
    }
    Ok(Output::text(form.text(), code))
}
