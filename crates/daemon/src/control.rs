//! The socket through which a running manager is queried and controlled: three verbs, one JSON line
//! each way, one request a connection.
//!
//! Only root and the manager's own user are served: a status names other users' processes. The
//! socket's mode keeps everybody else from connecting, and the peer's credentials are checked all
//! the same. No path, no pid and no program is ever taken from a client.

use anyhow::Context;
use hugewise_console::say::note;
use hugewise_linux::trust;
use hugewise_manager::engine::Wake;
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the socket in the run directory.
const SOCKET: &str = "control.sock";
/// Locked by the manager for as long as it lives: of two starters, one gets the socket.
const LOCK: &str = "control.lock";
/// Time for a whole request, and for each step of a reply.
const PATIENCE: Duration = Duration::from_secs(1);
/// A longer request is refused.
const MAX_REQUEST: usize = 4 << 10;
/// A longer reply is not read: 256 targets take well below 1 MiB.
const MAX_REPLY: u64 = 64 << 20;

/// What can be asked of a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Its state, as `hugewise_manager::status::ManagerStatus`.
    Status,
    /// Stop promoting, keep observing.
    Pause,
    /// Promote again.
    Resume,
}

impl Verb {
    /// The word used on the socket and the command line.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    verb: Verb,
}

/// How long a fresh status is waited for, where an earlier one is there: the loop answers between
/// two actions and after a scan, and waits for an answer of a worker meanwhile.
const FRESH_PATIENCE: Duration = Duration::from_millis(500);
/// ... and where none is.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);

/// Said where no answer comes.
const BUSY: &str = "the manager is busy with one call or scan: try again";
/// Said at the end.
const ABOUT_TO_END: &str = "the manager is about to end";

/// Where the manager puts its status for programs that ask for it.
#[derive(Debug, Default)]
pub struct Desk {
    last: Mutex<Last>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Last {
    /// The last status, and when it was put there.
    status: Option<(Instant, Value)>,
    /// The manager is about to end: no other one follows.
    closed: bool,
}

impl Desk {
    /// Puts a status on the desk, a JSON object.
    pub fn put(&self, status: Value) {
        self.lock().status = Some((Instant::now(), status));
        self.arrived.notify_all();
    }

    /// How old the last status is; `None` where there is none.
    pub fn age(&self) -> Option<Duration> {
        self.lock().status.as_ref().map(|(put, _)| put.elapsed())
    }

    fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and waits for the answer. Where it does not come in time, the last one is given, with
    /// its age.
    ///
    /// # Errors
    /// Why there is none.
    fn fetch(&self, ask: impl FnOnce() -> bool) -> Result<String, &'static str> {
        let asked = Instant::now();
        let last = self.lock();
        if !ask() {
            return Err(ABOUT_TO_END);
        }
        let patience = if last.status.is_some() { FRESH_PATIENCE } else { FIRST_PATIENCE };
        let is_fresh = |last: &Last| last.status.as_ref().is_some_and(|(put, _)| *put >= asked);
        let waited =
            self.arrived.wait_timeout_while(last, patience, |last| !last.closed && !is_fresh(last));
        let (last, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if last.closed {
            return Err(ABOUT_TO_END);
        }
        let (put, status) = last.status.as_ref().ok_or(BUSY)?;
        if is_fresh(&last) {
            return Ok(status.to_string());
        }
        let mut status = status.clone();
        status["age_ms"] = u64::try_from(put.elapsed().as_millis()).unwrap_or(u64::MAX).into();
        Ok(status.to_string())
    }
}

/// The manager's end. Dropping it removes the socket.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    desk: Arc<Desk>,
    listener: UnixListener,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Closing it gives the lock back.
    _lock: OwnedFd,
}

impl Server {
    /// Listens in `run_dir`, which is created where it is missing.
    ///
    /// `Verb::Status` asks through `events`, and gives what is put on `desk` then: one JSON object.
    ///
    /// # Errors
    /// Another manager uses `run_dir`, others than root can change it (exit code 6), or it is
    /// not writable.
    pub fn start(run_dir: &Path, desk: Arc<Desk>, events: Sender<Wake>) -> anyhow::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(run_dir).with_context(|| {
            format!("cannot create {}; give another with --run-dir DIR", run_dir.display())
        })?;
        trust::check("run directory", run_dir, &fs::metadata(run_dir)?)?;
        let lock = lock(run_dir)?;
        let path = run_dir.join(SOCKET);
        remove_stale(&path)?;
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot create socket {}", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let stop = Arc::new(AtomicBool::new(false));
        let service = Service {
            listener: listener.try_clone()?,
            stop: stop.clone(),
            desk: desk.clone(),
            events,
        };
        let thread =
            std::thread::Builder::new().name("control".into()).spawn(move || service.run())?;
        Ok(Self { path, desk, listener, stop, thread: Some(thread), _lock: lock })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A client that waits for a status waits no longer.
        self.desk.close();
        let _ = fs::remove_file(&self.path);
        // Wakes the thread from its wait for a client.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The control socket, where it can be had: a manager without one still works. `expected`: that
/// was said already.
pub(crate) fn server(
    run_dir: &Path,
    desk: Arc<Desk>,
    events: Sender<Wake>,
    expected: bool,
) -> Option<Server> {
    match Server::start(run_dir, desk, events) {
        Ok(server) => Some(server),
        Err(_) if expected => None,
        Err(error) => {
            note(&format!("no status, pause and resume: {error:#}"));
            None
        }
    }
}

fn lock(run_dir: &Path) -> anyhow::Result<OwnedFd> {
    let path = run_dir.join(LOCK);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))
        .with_context(|| format!("cannot open {}", path.display()))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(already_running(run_dir)),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

fn already_running(run_dir: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "a manager is running already (it uses {}): see 'hugewise status', stop it first, or give \
         this one a --run-dir and a --state-dir of its own",
        run_dir.display()
    )
}

/// Removes a socket that a killed manager left behind, and nothing else.
fn remove_stale(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {shown}")),
        Ok(meta) if !meta.file_type().is_socket() => {
            anyhow::bail!("{shown} exists and is no socket: move it");
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(already_running(path.parent().unwrap_or(path))),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)
            .with_context(|| format!("cannot remove {shown}, left by a manager that ended")),
        Err(error) => Err(error).with_context(|| format!("cannot tell whether {shown} is in use")),
    }
}

/// What the thread works with.
struct Service {
    listener: UnixListener,
    stop: Arc<AtomicBool>,
    desk: Arc<Desk>,
    events: Sender<Wake>,
}

impl Service {
    fn run(self) {
        while !self.stop.load(Ordering::Acquire) {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // The client's trouble with its own connection is not the manager's.
                    let _ = self.serve(stream);
                }
                // Out of descriptors, for instance: that may pass, and must not spin.
                Err(_) if !self.stop.load(Ordering::Acquire) => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(_) => {}
            }
        }
    }

    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        let reply = if allowed(peer.uid.as_raw(), rustix::process::geteuid().as_raw()) {
            match read_line(&mut stream, MAX_REQUEST, Instant::now() + PATIENCE) {
                Ok(line) => self.answer(&line),
                Err(error) => error_reply(&format!("cannot read the request: {error}")),
            }
        } else {
            error_reply("only root and the manager's own user may ask")
        };
        stream.write_all(reply.as_bytes())?;
        stream.write_all(b"\n")
    }

    fn answer(&self, line: &[u8]) -> String {
        let verb = match serde_json::from_slice::<Request>(line) {
            Ok(request) => request.verb,
            Err(error) => return error_reply(&format!("not a request: {error}")),
        };
        let wake = match verb {
            Verb::Pause => Wake::Pause,
            Verb::Resume => Wake::Resume,
            Verb::Status => {
                let ask = || self.events.send(Wake::Show).is_ok();
                return self.desk.fetch(ask).unwrap_or_else(error_reply);
            }
        };
        match self.events.send(wake) {
            Ok(()) => serde_json::json!({ "done": verb }).to_string(),
            Err(_) => error_reply(ABOUT_TO_END),
        }
    }
}

fn allowed(peer: u32, own: u32) -> bool {
    peer == 0 || peer == own
}

fn error_reply(message: &str) -> String {
    serde_json::json!({ "error": message }).to_string()
}

/// Reads up to a line feed or the end.
fn read_line(stream: &mut UnixStream, max: usize, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut chunk = [0u8; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "it took too long"));
        }
        stream.set_read_timeout(Some(left))?;
        let n = match stream.read(&mut chunk) {
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let end = chunk[..n].iter().position(|&b| b == b'\n');
        line.extend_from_slice(&chunk[..end.unwrap_or(n)]);
        if line.len() > max {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("longer than {max} bytes")));
        }
        if n == 0 || end.is_some() {
            return Ok(line);
        }
    }
}

/// Asks the manager that listens in `run_dir`; `None` where there is none.
///
/// # Errors
/// The manager may not be asked by this user, refuses, or does not answer within some seconds.
pub fn request(run_dir: &Path, verb: Verb) -> anyhow::Result<Option<Value>> {
    let path = run_dir.join(SOCKET);
    let shown = path.display();
    let mut stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => return Ok(None),
            ErrorKind::PermissionDenied => anyhow::bail!(
                "no permission to ask the manager at {shown}: run this as root or as the \
                 manager's user"
            ),
            _ => return Err(error).with_context(|| format!("cannot connect to {shown}")),
        },
    };
    let line = serde_json::to_string(&Request { verb })?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A server that refuses may have closed already, and its reason is still there to be read.
    let _ = stream.write_all(format!("{line}\n").as_bytes());
    let reply = read_reply(&stream).with_context(|| {
        format!("the manager at {shown} did not answer '{}'; is it stopped or busy?", verb.key())
    })?;
    let reply: Value = serde_json::from_slice(&reply).with_context(|| {
        format!("the answer from {shown} is not JSON: is it a manager's socket?")
    })?;
    match reply.get("error").and_then(Value::as_str) {
        Some(error) => anyhow::bail!("the manager at {shown} refused '{}': {error}", verb.key()),
        None => Ok(Some(reply)),
    }
}

/// The reply up to its line feed: what follows is of no interest, an error at the end neither.
fn read_reply(stream: &UnixStream) -> io::Result<Vec<u8>> {
    use std::io::BufRead;
    // The server serves one client at a time, each at most some seconds.
    stream.set_read_timeout(Some(FIRST_PATIENCE + 5 * PATIENCE))?;
    let mut reply = Vec::new();
    io::BufReader::new(stream.take(MAX_REPLY)).read_until(b'\n', &mut reply)?;
    if reply.last() == Some(&b'\n') {
        return Ok(reply);
    }
    Err(io::Error::new(ErrorKind::UnexpectedEof, "the answer has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::sync::mpsc::{Receiver, channel};

    /// A server, and the manager's end of it.
    fn start(dir: &Path) -> (Server, Receiver<Wake>) {
        let (sender, receiver) = channel();
        (Server::start(dir, Arc::default(), sender).expect("starts"), receiver)
    }

    /// What a client gets who asks for the status, and a manager that answers.
    fn status(dir: &Path, (server, events): &(Server, Receiver<Wake>)) -> Value {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| request(dir, Verb::Status));
            assert_eq!(events.recv_timeout(5 * PATIENCE), Ok(Wake::Show));
            server.desk.put(serde_json::json!({ "schema": 1 }));
            asked.join().expect("no panic").expect("answers").expect("runs")
        })
    }

    fn raw(dir: &Path, request: &[u8]) -> Value {
        let mut stream = UnixStream::connect(dir.join(SOCKET)).expect("connects");
        let _ = stream.write_all(request);
        let reply = read_reply(&stream).expect("answers");
        serde_json::from_slice(&reply).expect("JSON")
    }

    #[test]
    fn it_answers_and_obeys() {
        let dir = Scratch::new();
        let run_dir = dir.join("a/run");
        assert_eq!(request(&run_dir, Verb::Status).expect("no error"), None);
        let manager = start(&run_dir);
        assert_eq!(status(&run_dir, &manager)["schema"], 1);
        let (server, events) = manager;
        request(&run_dir, Verb::Pause).expect("answers").expect("runs");
        request(&run_dir, Verb::Resume).expect("answers").expect("runs");
        assert_eq!(events.try_iter().collect::<Vec<_>>(), [Wake::Pause, Wake::Resume]);
        let mode = fs::metadata(run_dir.join(SOCKET)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let last = request(&run_dir, Verb::Status).expect("answers").expect("runs");
        let age_ms = last["age_ms"].as_u64().expect("it is an old one");
        assert!(last["schema"] == 1 && age_ms >= 500, "no answer comes: {last}");
        drop(events);
        for verb in [Verb::Pause, Verb::Status] {
            let error = request(&run_dir, verb).expect_err("nobody listens").to_string();
            assert!(error.contains("about to end"), "{error}");
        }
        drop(server);
        assert!(!run_dir.join(SOCKET).exists());
        assert_eq!(request(&run_dir, Verb::Pause).expect("no error"), None);
    }

    #[test]
    fn garbage_is_refused_and_the_next_client_served() {
        let dir = Scratch::new();
        let manager = start(dir.path());
        let long = vec![b'x'; 100_000];
        let garbage: [&[u8]; 9] = [
            b"\n",
            b"status\n",
            b"{}\n",
            b"{\"verb\":\"exec\"}\n",
            b"{\"verb\":\"pause\",\"path\":\"/etc/shadow\"}\n",
            b"[[[[[[\n",
            b"\xff\x00\xfe\n",
            b"{\"verb\":\"pause\"}{\"verb\":\"pause\"}\n",
            &long,
        ];
        for request in garbage {
            assert!(raw(dir.path(), request)["error"].is_string(), "{request:?}");
        }
        assert_eq!(manager.1.try_iter().count(), 0);
        assert_eq!(status(dir.path(), &manager)["schema"], 1);
    }

    #[test]
    fn a_client_that_says_nothing_delays_others_by_a_second_only() {
        let dir = Scratch::new();
        let manager = start(dir.path());
        let idle = UnixStream::connect(dir.join(SOCKET)).expect("connects");
        let began = Instant::now();
        assert_eq!(status(dir.path(), &manager)["schema"], 1);
        assert!(began.elapsed() < 4 * PATIENCE, "{:?}", began.elapsed());
        drop(idle);
    }

    #[test]
    fn a_second_manager_is_refused_and_the_first_goes_on() {
        let dir = Scratch::new();
        let first = start(dir.path());
        let error = Server::start(dir.path(), Arc::default(), channel().0).expect_err("taken");
        assert!(error.to_string().contains("running already"), "{error:#}");
        assert_eq!(status(dir.path(), &first)["schema"], 1);
        // Not even without the lock file.
        fs::remove_file(dir.join(LOCK)).expect("removed");
        let error = Server::start(dir.path(), Arc::default(), channel().0).expect_err("taken");
        assert!(error.to_string().contains("running already"), "{error:#}");
    }

    #[test]
    fn a_stale_socket_is_replaced_and_anything_else_is_kept() {
        let dir = Scratch::new();
        // Closing a listener leaves its file, as a killed manager does.
        drop(UnixListener::bind(dir.join(SOCKET)).expect("binds"));
        assert_eq!(request(dir.path(), Verb::Status).expect("no error"), None);
        drop(start(dir.path()));
        fs::write(dir.join(SOCKET), "precious").expect("written");
        let error = Server::start(dir.path(), Arc::default(), channel().0).expect_err("in the way");
        assert!(error.to_string().contains("no socket"), "{error:#}");
        assert_eq!(fs::read(dir.join(SOCKET)).expect("kept"), b"precious");
    }

    #[test]
    fn root_and_the_own_user_are_served_only() {
        assert!(allowed(0, 1000) && allowed(1000, 1000) && allowed(0, 0));
        assert!(!allowed(1000, 0) && !allowed(1000, 1001));
    }

    #[test]
    fn somebody_else_gets_an_error_and_changes_nothing() {
        use rustix::thread::{Uid, set_thread_uid};
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: becoming somebody else needs root");
            return;
        }
        let dir = Scratch::new();
        let (_server, events) = start(dir.path());
        let ask = || {
            let run_dir = dir.path();
            std::thread::scope(|scope| {
                // User ids are a thread's own: the others stay root.
                let other = scope.spawn(|| {
                    set_thread_uid(Uid::from_raw(65_534)).expect("root may");
                    request(run_dir, Verb::Pause).expect_err("refused").to_string()
                });
                other.join().expect("no panic")
            })
        };
        let error = ask();
        assert!(error.contains("no permission"), "{error}");
        // Even where the socket's mode lets them connect.
        let anybody = fs::Permissions::from_mode(0o666);
        fs::set_permissions(dir.join(SOCKET), anybody).expect("own");
        let error = ask();
        assert!(error.contains("only root"), "{error}");
        assert_eq!(events.try_iter().count(), 0);
    }

    #[test]
    fn a_run_directory_that_others_can_change_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = Scratch::new();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("own");
        let error = Server::start(dir.path(), Arc::default(), channel().0).expect_err("open");
        assert_eq!(
            hugewise_console::exit::of_error(&error),
            hugewise_console::exit::REFUSED,
            "{error:#}"
        );
    }
}
