//! Drivers: each runs a kind of workload and measures.

mod bloat;
mod builtin;
mod command;
mod common;
mod demo;
mod diagnose;
mod filled_program;
mod http;
mod java;
mod load;
mod memcached;
mod postgres;
mod promote;
mod reach;
mod recover;
mod redis;
mod rest;
mod scale;
mod scan;
mod service;
mod siblings;
mod wire;

use crate::run::Run;
use anyhow::bail;
use hugewise_experiment::kinds::{Executable, Measurement, Server, Task};

/// Runs the workload of an experiment once.
///
/// # Errors
/// What went wrong; nothing that was measured counts then.
pub fn drive(run: &mut Run<'_>) -> anyhow::Result<()> {
    common::note_origin(run);
    match run.params().task() {
        Task::BuiltIn(_) => builtin::drive(run),
        Task::Server(server) => match server {
            Server::Redis(params) => redis::drive(params, run),
            Server::Memcached(params) => memcached::drive(params, run),
            Server::Postgres(params) => postgres::drive(params, run),
            Server::Java(params) => java::drive(params, run),
            Server::Http(params) => http::drive(params, run),
        },
        Task::Executable(program) => match program {
            Executable::Command(params) => command::drive(params, run),
            Executable::Demo(params) => demo::drive(params, run),
            Executable::Bloat(params) => bloat::made_up(params, run),
            Executable::Numpy(params) => bloat::numpy(params, run),
            Executable::Node(params) => bloat::node(params, run),
            Executable::Siblings(params) => siblings::drive(params, run),
        },
        Task::Measurement(measurement) => match measurement {
            Measurement::Promote(params) => promote::drive(params, run),
            Measurement::Rest(params) => rest::drive(params, run),
            Measurement::Scan(params) => scan::drive(params, run),
            Measurement::Scale(params) => scale::drive(params, run),
            Measurement::Recover(params) => recover::drive(params, run),
            Measurement::Diagnose(params) => diagnose::drive(params, run),
            Measurement::Service(params) => service::drive(params, run),
        },
        Task::Beside(_) => bail!("'{}' runs in [[beside]] only", run.kind().name),
    }
}
