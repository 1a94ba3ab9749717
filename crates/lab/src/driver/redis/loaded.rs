//! Requests at their times, whatever the server does: the load of the experiment.

use super::server::{SERVER, Server};
use crate::driver::wire::Address;
use crate::driver::{common, load};
use crate::load::Access;
use crate::program::Used;
use crate::run::Run;
use anyhow::bail;
use hugewise_experiment::kinds::Redis;

/// Runs it: every key is set, memory settles, the load comes.
pub(super) fn run(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("starting Redis")?;
    let mut server = Server::start(params, run)?;
    let pid = server.pid();
    let spec = load::spec(run, &target(server.address()))?;
    let access = Access { password: server.password().map(str::to_owned), ..run.access() };
    load::fill(run, &spec, &access)?;
    check_keys(&mut server, spec.keys)?;
    common::check_huge(run, SERVER, &run.holds(pid))?;
    let mut manager = run.manage(&[pid])?;
    common::settle(run, &mut manager)?;
    let before = Used::of(pid);
    let result = load::measure(run, &spec, &access)?;
    run.used_since("", pid, &before);
    run.memory("", pid);
    common::check(&mut manager)?;
    check_keys(&mut server, spec.keys)?;
    if let Some(misses) = result.misses.filter(|misses| *misses > 0) {
        bail!("DATA MISMATCH in Redis: {misses} GETs found no key, and all had been set");
    }
    run.stop(manager)?;
    server.end(run)
}

fn check_keys(server: &mut Server, wanted: u64) -> anyhow::Result<()> {
    match server.keys()? {
        keys if keys == wanted => Ok(()),
        keys => bail!("DATA MISMATCH in Redis: {keys} keys are there, and {wanted} were set"),
    }
}

/// As a load names it.
fn target(address: &Address) -> String {
    match address {
        Address::Unix(path) => format!("redis+unix://{}", path.display()),
        Address::Tcp(port) => format!("redis://127.0.0.1:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::load::Target;

    #[test]
    fn a_load_understands_where_the_server_listens() {
        let unix: Target = target(&Address::Unix("/tmp/a/redis.sock".into())).parse().expect("one");
        assert_eq!(unix, Target::RedisUnix("/tmp/a/redis.sock".into()));
        let tcp: Target = target(&Address::Tcp(6380)).parse().expect("one");
        assert_eq!(tcp.to_string(), "redis://127.0.0.1:6380");
    }
}
