//! `hugewise advise` on the real kernel: products that run are recognised in their version, and
//! what is applied goes back to the byte.

use crate::kit::{Said, Scratch, hugewise, skip, trial_of_any_kernel, wait_for};
use crate::machine::Turn;
use crate::schemas;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("advise_knows_what_runs", advise_knows_what_runs),
        trial_of_any_kernel("advise_is_put_back_to_the_byte", advise_is_put_back_to_the_byte),
    ]
}

/// A program that is stopped at the end.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program; `None` where it is not installed.
fn start(program: &str, arguments: &str, folder: &Path) -> anyhow::Result<Option<Server>> {
    if !Path::new(program).exists() {
        return Ok(None);
    }
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Some(Server(command.spawn().with_context(|| program.to_owned())?)))
}

fn advise(arguments: &[&str]) -> anyhow::Result<Value> {
    let said = hugewise([&["--json", "advise"], arguments].concat())?;
    said.json()
}

/// The product of a process, and whether its version is known.
fn seen(all: &Value, pid: u32, product: &str) -> bool {
    let rows = all["rows"].as_array().into_iter().flatten();
    let is_one = |row: &Value| {
        row["product"] == product
            && row["pids"].as_array().is_some_and(|pids| pids.contains(&pid.into()))
    };
    let silent = all["without_rules"].as_array().into_iter().flatten();
    rows.filter(|row| is_one(row)).any(|row| row["version"].is_string())
        || silent.into_iter().any(|one| one == product)
}

/// Each product that is installed here, by a server of its own.
fn advise_knows_what_runs(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let folder = scratch.path();
    let socket = folder.join("s");
    let socket = socket.to_str().context("a plain path")?;
    let conf = folder.join("nginx.conf");
    let text = format!(
        "daemon off;\nmaster_process off;\npid {socket}.pid;\nerror_log stderr;\nevents {{}}\n\
         http {{ access_log off; server {{ listen unix:{socket}.nginx; }} }}\n"
    );
    fs::write(&conf, text)?;
    let nginx = format!("-c {}", conf.display());
    let products = [
        ("redis", "/usr/bin/redis-server", format!("--port 0 --unixsocket {socket}.redis")),
        ("memcached", "/usr/bin/memcached", format!("-u root -s {socket}.memcached")),
        ("nginx", "/usr/sbin/nginx", nginx),
    ];
    let mut servers = Vec::new();
    for (product, program, arguments) in products {
        if let Some(server) = start(program, &arguments, folder)? {
            servers.push((product, server));
        }
    }
    if servers.is_empty() {
        return Err(skip("neither redis-server, memcached nor nginx is installed"));
    }
    let mut last = Value::Null;
    let names: Vec<_> = servers.iter().map(|(product, _)| *product).collect();
    wait_for(&format!("{names:?} to be recognised"), || {
        for (product, server) in &mut servers {
            ensure!(server.0.try_wait()?.is_none(), "{product} has ended");
        }
        last = advise(&[])?;
        Ok(servers.iter().all(|(product, server)| seen(&last, server.0.id(), product)))
    })?;
    schemas::all_fit("advise", std::slice::from_ref(&last)).map_err(anyhow::Error::msg)?;
    let redis =
        last["rows"].as_array().into_iter().flatten().find(|row| row["rule"] == "redis-overcommit");
    ensure!(names.first() != Some(&"redis") || redis.is_some(), "{last:#}");
    Ok(())
}

fn with_state(scratch: &Scratch, arguments: &[&str]) -> anyhow::Result<Said> {
    let state = scratch.join("state");
    let state = state.to_str().context("a plain path")?;
    hugewise([&["--json", "advise"], arguments, &["--state-dir", state]].concat())
}

fn advise_is_put_back_to_the_byte(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let arguments = "--port 0 --unixsocket redis.socket";
    let Some(server) = start("/usr/bin/redis-server", arguments, scratch.path())? else {
        return Err(skip("redis-server is not installed"));
    };
    let before = fs::read_to_string(OVERCOMMIT)?;
    if before.trim() == "1" {
        return Err(skip("vm.overcommit_memory is 1 already, as Redis wants it"));
    }
    wait_for("redis to be recognised", || Ok(seen(&advise(&[])?, server.0.id(), "redis")))?;
    let files = ["/etc/sysctl.d", "/etc/tmpfiles.d"].map(names);
    let apply = ["apply", "--product", "redis", "--persist"];
    let dry = with_state(&scratch, &[&apply[..], &["--dry-run"]].concat())?.expect(0)?.json()?;
    ensure!(fs::read_to_string(OVERCOMMIT)? == before, "a dry run changes nothing");
    let done = with_state(&scratch, &apply)?.expect(0)?.json()?;
    ensure!(done["changes"] == dry["changes"], "a dry run takes the same path: {dry:#} {done:#}");
    schemas::all_fit("advise-apply", &[dry, done]).map_err(anyhow::Error::msg)?;
    ensure!(fs::read_to_string(OVERCOMMIT)?.trim() == "1", "it is applied");
    let verified = with_state(&scratch, &["verify"])?.expect(0)?.json()?;
    ensure!(verified["ok"] == true, "{verified:#}");
    schemas::all_fit("advise-verify", &[verified]).map_err(anyhow::Error::msg)?;
    with_state(&scratch, &["revert"])?.expect(0)?;
    ensure!(fs::read_to_string(OVERCOMMIT)? == before, "it is put back");
    let after = ["/etc/sysctl.d", "/etc/tmpfiles.d"].map(names);
    ensure!(after == files, "files: {after:?}");
    let verified = with_state(&scratch, &["verify"])?.expect(0)?.json()?;
    ensure!(verified["changed"].as_array().is_some_and(Vec::is_empty), "{verified:#}");
    Ok(())
}

/// Names and texts of the files of a folder.
fn names(folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap_or_default())
        })
        .collect();
    all.sort();
    all
}
