//! A connection to a server of a workload, and what its requests felt like.

use crate::program::Program;
use crate::run::{Run, key};
use anyhow::{Context, bail};
use hugewise_base::parse::tcp_table;
use hugewise_base::stats::Histogram;
use hugewise_linux::root::Root;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A server that does not listen after so long never will.
const START: Duration = Duration::from_secs(30);
/// A server that does not answer for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a load looks for Ctrl-C.
const BEAT: Duration = Duration::from_millis(100);

/// Where a server listens.
#[derive(Debug, Clone)]
pub(super) enum Address {
    /// A socket in a directory of the run.
    Unix(PathBuf),
    /// A port of this machine that only itself can reach.
    Tcp(u16),
}

impl Address {
    /// A port that nobody listens on now.
    pub(super) fn free_port() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        Ok(Self::Tcp(listener.local_addr()?.port()))
    }

    /// An error where a program of somebody else listens on this port: it may have been there
    /// first. A socket in a directory of the run is the run's.
    pub(super) fn check_owner(&self, run: &Run<'_>) -> anyhow::Result<()> {
        let Self::Tcp(port) = self else { return Ok(()) };
        let own = rustix::process::geteuid().as_raw();
        let wanted = run.user().map_or(own, |user| user.uid);
        let table = |name: &str| Root::live().read_text(format!("proc/net/{name}"));
        // Without IPv6 the second is missing.
        let text = table("tcp")? + &table("tcp6").unwrap_or_default();
        let owners = tcp_table::listeners(&text, *port);
        match owners.iter().find(|owner| ![wanted, own].contains(owner)) {
            Some(owner) => bail!("a program of another user (uid {owner}) listens on port {port}"),
            None => Ok(()),
        }
    }

    fn connect(&self) -> std::io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
            Self::Tcp(port) => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
        }
    }
}

trait Stream: Read + Write + std::fmt::Debug {}

impl<T: Read + Write + std::fmt::Debug> Stream for T {}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire(BufReader<Box<dyn Stream>>);

impl Wire {
    /// Connects as soon as the server listens; an error when it ends before.
    pub(super) fn connect(
        run: &Run<'_>,
        program: &mut Program,
        name: &str,
        address: &Address,
    ) -> anyhow::Result<Self> {
        let until = Instant::now() + START;
        loop {
            match address.connect() {
                Ok(stream) => {
                    address.check_owner(run)?;
                    return Ok(Self(BufReader::with_capacity(1 << 16, stream)));
                }
                Err(error) if Instant::now() >= until => {
                    bail!("{name} does not listen on {address:?}: {error}")
                }
                Err(_) => {}
            }
            program.check(name)?;
            run.sleep(Duration::from_millis(20))?;
        }
    }

    /// Sends bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.0.get_mut().write_all(bytes).context("the server is gone")
    }

    /// One line of the answer, without its end.
    pub(super) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let got = self.0.read_line(&mut line).context("the server does not answer")?;
        if got == 0 {
            bail!("the server closed the connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    /// Exactly as many bytes as fit.
    pub(super) fn exact(&mut self, bytes: &mut [u8]) -> anyhow::Result<()> {
        self.0.read_exact(bytes).context("the server broke off its answer")
    }
}

/// How long requests took that follow one another.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    beat: Instant,
    waited: Duration,
    all: Histogram,
}

impl Meter {
    /// Begins now.
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self { began: now, beat: now, waited: Duration::ZERO, all: Histogram::default() }
    }

    /// Counts a request; an error after Ctrl-C.
    pub(super) fn add(&mut self, run: &Run<'_>, took: Duration) -> anyhow::Result<()> {
        self.waited += took;
        self.all.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        if self.beat.elapsed() >= BEAT {
            self.beat = Instant::now();
            run.beat()?;
        }
        Ok(())
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes rate and latencies. Comparing the answers is not the server's time, so the rate is
    /// that of the time in which an answer was waited for.
    pub(super) fn note(self, run: &mut Run<'_>, phase: &str) {
        if !self.waited.is_zero() {
            let per_s = self.all.count() as f64 / self.waited.as_secs_f64();
            run.value(&key(phase, "ops_per_s"), per_s);
        }
        run.latencies(phase, self.all);
    }
}
