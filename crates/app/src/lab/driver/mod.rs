//! Drivers: each runs a kind of workload and measures.

mod bloat;
mod builtin;
mod command;
mod common;
mod demo;
mod diagnose;
mod http;
mod java;
mod lines;
mod load;
mod memcached;
mod postgres;
mod promote;
mod recover;
mod redis;
mod rest;
mod scan;
mod wire;

use super::run::Run;
use anyhow::bail;
use hugewise_core::lab::check::aimed;
use hugewise_core::lab::kind::{Kind, Params};
use hugewise_core::lab::kinds;
use hugewise_core::lab::load::{LoadSpec, Tool, tools};
use std::path::{Path, PathBuf};

/// Runs a workload of this kind once.
///
/// # Errors
/// What went wrong; nothing that was measured counts then.
pub(crate) fn drive(kind: &Kind, run: &mut Run<'_>) -> anyhow::Result<()> {
    common::note_origin(run, kind.name);
    match kind.name {
        _ if kinds::is_builtin(kind.name) => builtin::drive(kind, run),
        "redis" => redis::drive(run),
        "memcached" => memcached::drive(run),
        "postgres" => postgres::drive(run),
        "http" => http::drive(run),
        "java" => java::drive(kind, run),
        "command" => command::drive(run),
        "promote" => promote::drive(run),
        "rest" => rest::drive(run),
        "scan" => scan::drive(run),
        "recover" => recover::drive(run),
        "demo" => demo::drive(run),
        "bloat" | "numpy" | "node" => bloat::drive(kind, run),
        "diagnose" => diagnose::drive(run),
        other => bail!("nobody knows how to run '{other}'"),
    }
}

/// What a kind measures itself, whatever else its program says.
fn own_metrics(kind: &str) -> impl Iterator<Item = &'static str> {
    let kind = kinds::find(kind);
    kind.map(|kind| kind.metrics).unwrap_or_default().iter().copied()
}

/// Programs that a kind needs and that are not there, with the packages that hold them.
pub(crate) fn missing(kind: &Kind) -> Vec<String> {
    let absent = kind.programs.iter().filter(|program| find(program.name).is_none());
    let text = |program: &hugewise_core::lab::kind::Program| {
        format!("{} is not installed (Debian: apt-get install {})", program.name, program.package)
    };
    let mut all: Vec<String> = absent.map(text).collect();
    // A part of a program that is a package of its own.
    if kind.name == "numpy" && all.is_empty() {
        all.extend(bloat::without_numpy());
    }
    all
}

/// The program that the parameters of a workload name, where it is missing.
pub(crate) fn missing_named(kind: &Kind, params: &Params) -> Option<String> {
    let name = params.text("program");
    if !kinds::names_program(kind.name) || name.is_empty() {
        return None;
    }
    // The shim that starts it would say so in the middle of the first run.
    match name.contains('/') {
        true if Path::new(name).is_file() => None,
        true => Some(format!("there is no program {name}")),
        false if find(name).is_some() => None,
        false => Some(format!("{name} is not installed: install it, or name its file")),
    }
}

/// The load generator of others that a load asks for, where it is missing.
pub(crate) fn missing_tool(kind: &Kind, load: &LoadSpec) -> Option<String> {
    if load.tool == Tool::Own {
        return None;
    }
    // A load that the tool cannot send is a fault of the experiment, told elsewhere.
    let program = tools::plan(&aimed(load, kind.name)).ok()?.program;
    let absent = find(program).is_none();
    absent.then(|| format!("{program} is not installed: install it, or use 'tool = \"own\"'"))
}

/// Where a program is: on the path, or where Debian keeps those of PostgreSQL.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort_unstable();
    folders.extend(versions.into_iter().rev());
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}
