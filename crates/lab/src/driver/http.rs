//! Drives an HTTP server under load: a program that it starts, or one that runs already.

use super::wire::Address;
use super::{common, load};
use crate::program::Program;
use crate::run::Run;
use crate::stranger::Runner;
use anyhow::{Context, bail};
use hugewise_experiment::kinds::{Http, User};
use hugewise_experiment::load::Target;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A server that is not ready after so long never will be.
const START: Duration = Duration::from_secs(30);
/// A single answer takes no longer.
const ANSWER: Duration = Duration::from_secs(2);
/// Longest first line of an answer that is read, bytes.
const LINE_BYTES: u64 = 4096;

/// Runs it: ready, settled, under load.
pub(super) fn drive(params: &Http, run: &mut Run<'_>) -> anyhow::Result<()> {
    let url = &params.url;
    if !url.is_empty() {
        ready(run, None, &url.parse()?)?;
        return load::measure(run, &load::spec(run, url)?, &run.access()).map(drop);
    }
    let name = &params.program;
    run.step(&format!("starting {name}"))?;
    let Address::Tcp(port) = Address::free_port()? else { bail!("no port") };
    let mut program = start(params, run, port)?;
    let _kill_left = run.kill_left();
    let pid = program.pid();
    let target = format!("http://127.0.0.1:{port}{}", params.path);
    let awaited = match params.ready_path.as_str() {
        "" => target.clone(),
        path => format!("http://127.0.0.1:{port}{path}"),
    };
    ready(run, Some((&mut program, name)), &awaited.parse()?)?;
    if params.user == User::Own {
        Address::Tcp(port).check_owner(run)?;
    }
    let mut manager = run.manage(&run.pids(pid))?;
    common::settle(run, &mut manager)?;
    load::measure(run, &load::spec(run, &target)?, &run.access())?;
    let memory = run.memory("", pid);
    program.check(name)?;
    // Only now: such a server may touch its memory not before it is asked.
    common::check_huge(run, name, &memory)?;
    common::check(&mut manager)?;
    run.stop(manager)?;
    run.end(program)
}

fn start(params: &Http, run: &Run<'_>, port: u16) -> anyhow::Result<Program> {
    let runner = Runner::of(params.user, run.user());
    let scratch = match runner {
        Runner::Stranger(_) => run.own().to_owned(),
        Runner::Caller => run.place("dir", None)?,
    };
    let log = File::create(run.directory().join("server.log"))?;
    let mut command = run.command_as(runner, &params.program)?;
    command.args(params.args.iter().map(|arg| filled_in(arg, port, &scratch)));
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    common::advise(run, &mut command);
    Program::start(&mut command)
}

fn filled_in(arg: &str, port: u16, scratch: &Path) -> String {
    arg.replace("{port}", &port.to_string()).replace("{dir}", &scratch.to_string_lossy())
}

/// Waits until the server answers well; an error when it ends before, or never does.
fn ready(
    run: &Run<'_>,
    mut program: Option<(&mut Program, &str)>,
    target: &Target,
) -> anyhow::Result<()> {
    let Target::Http(address, path) = target else { bail!("{target} is not HTTP") };
    let until = Instant::now() + START;
    loop {
        if let Some((program, name)) = &mut program {
            let log = run.directory().join("server.log");
            program.check(name).with_context(|| format!("its log: {}", common::log_end(&log)))?;
        }
        let said = match fetch(*address, path) {
            Ok(200..=299) => return Ok(()),
            Ok(status) => format!("status {status}"),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= until {
            bail!("{target} is not ready after {} s: {said}", START.as_secs());
        }
        run.sleep(Duration::from_millis(50))?;
    }
}

/// Asks once; the status of the answer.
fn fetch(address: SocketAddr, path: &str) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut line = String::new();
    BufReader::new(std::io::Read::take(stream, LINE_BYTES)).read_line(&mut line)?;
    status(&line).ok_or_else(|| {
        let line: String = line.trim_end().escape_debug().take(80).collect();
        std::io::Error::other(format!("it answers '{line}', which is not HTTP"))
    })
}

fn status(line: &str) -> Option<u16> {
    let mut words = line.strip_prefix("HTTP/1.")?.split_ascii_whitespace().skip(1);
    words.next().filter(|word| word.len() == 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn arguments_are_filled_in() {
        let all = filled_in("--listen=127.0.0.1:{port} {dir}", 81, Path::new("/x"));
        assert_eq!(all, "--listen=127.0.0.1:81 /x");
    }

    #[test]
    fn only_a_status_is_a_status() {
        assert_eq!(status("HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status("HTTP/1.0 503\r\n"), Some(503));
        for line in ["", "HTTP/1.1", "HTTP/1.1 +20 x", "HTTP/1.1 2000", "-ERR unknown command"] {
            assert_eq!(status(line).filter(|status| *status >= 100), None, "{line}");
        }
    }

    #[test]
    fn a_server_is_asked_once() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut line = String::new();
            BufReader::new(stream.try_clone().expect("a copy")).read_line(&mut line).expect("asks");
            stream.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").expect("answers");
            line
        });
        assert_eq!(fetch(address, "/ready").expect("an answer"), 404);
        assert_eq!(server.join().expect("no panic"), "GET /ready HTTP/1.1\r\n");
    }
}
