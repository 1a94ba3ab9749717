//! `hugewise serve`: two processes. This one knows, and never reads what comes over the network;
//! the [`front`] answers HTTP, has no rights, and asks this one a few fixed questions.

mod answers;
mod front;
mod journal;
mod socket;
mod token;
mod wire;

use self::answers::Answers;
pub(super) use self::journal::tail;
use self::wire::{Begun, Start};
use crate::cli::{Global, ServeArgs};
use crate::exit;
use crate::output::{self, Output};
use crate::say::note;
use crate::stop::Stop;
use anyhow::Context;
use hugewise_base::escape::printable;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::root::Root;
use hugewise_linux::session;
use hugewise_serve::{Listener, Question};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::Ordering;

/// Version of what is printed with `--json`.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<Output> {
    if args.front {
        return front::run(args);
    }
    let (listener, path) = socket::open(args.listen.as_ref())?;
    let address = listener.address();
    if address.is_some_and(|address| address.ip().is_unspecified()) && args.host.is_empty() {
        let why = "--listen: on all addresses it has to know by which names it is asked: give them \
                   with --host";
        return Err(exit::coded(exit::USAGE, why));
    }
    let root = Root::at(&global.root);
    let token = token::token(args.token_file.as_deref())?;
    let user = nobody(&root)?;
    let start = Start { token: token.reveal().to_owned(), user };
    let stop = Stop::on_signals()?;
    let mut front = Front::begin(args, listener, &start)?;
    let pid = Pid::from_child(&front.process);
    let ended = stop.then(move || {
        // It is our child and not waited for yet: its pid is nobody else's.
        let _ = kill_process(pid, Signal::KILL);
    })?;
    let answers = Answers::new(&root, args);
    answers.missing().iter().for_each(|what| note(&format!("not known: {what}")));
    if address.is_some_and(|address| !address.ip().is_loopback()) {
        note(
            "others than this machine can connect, and what they and the server say, the token \
             with it, can be read on the way: put a proxy with TLS before it",
        );
    }
    let uid = user.map_or_else(|| rustix::process::geteuid().as_raw(), |(uid, _)| uid);
    let at = At { address, path };
    output::now(&announced(global, args, &at, token.reveal(), uid))?;
    front.serve(answers)?;
    let status = front.process.wait()?;
    match ended.load(Ordering::Relaxed) {
        true => Ok(Output::text("", exit::OK)),
        false => anyhow::bail!("the process that answers HTTP ended by itself: {status}"),
    }
}

/// The user that answers HTTP, where this is root.
fn nobody(root: &Root) -> anyhow::Result<Option<(u32, u32)>> {
    let nobody = Nobody::pick(root).map_err(|error| {
        let why = format!("root's rights cannot be given up ({error}): start it as another user");
        exit::coded(exit::REFUSED, why)
    })?;
    if nobody.is_none() && rustix::process::geteuid().is_root() {
        note("it serves as root: there is nobody else in this user namespace");
    }
    Ok(nobody.map(|nobody| (nobody.uid, nobody.gid)))
}

/// The process that answers HTTP, and the way to it.
struct Front {
    process: Child,
    questions: BufReader<UnixStream>,
    answers: UnixStream,
}

impl Front {
    /// Starts it: its standard input is the socket that it answers on, its standard output the way
    /// to this process and back.
    fn begin(args: &ServeArgs, listener: Listener, start: &Start) -> anyhow::Result<Self> {
        let (answers, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["serve", "--front"]);
        command.args(args.host.iter().flat_map(|host| ["--host", host]));
        // Nothing of root's environment either.
        command.env_clear().current_dir("/");
        command.stdin(OwnedFd::from(listener)).stdout(OwnedFd::from(theirs)).stderr(Stdio::piped());
        let mut process = session::own(&mut command)
            .spawn()
            .context("cannot start the process that answers HTTP")?;
        // Else its end would not be seen here, and the port be held on.
        drop(command);
        if let Some(errors) = process.stderr.take() {
            std::thread::spawn(move || hand_on(errors));
        }
        let questions = BufReader::new(answers.try_clone()?);
        let mut front = Self { process, questions, answers };
        wire::say(&mut front.answers, start)?;
        let begun: Option<Begun> = wire::hear(&mut front.questions)?;
        let begun = begun.context("the process that answers HTTP ended at once")?;
        begun.map_err(anyhow::Error::msg)?;
        Ok(front)
    }

    /// Answers until it ends.
    fn serve(&mut self, mut all: Answers) -> anyhow::Result<()> {
        loop {
            let asked = wire::hear::<Question>(&mut self.questions);
            let done = asked.and_then(|question| match question {
                Some(question) => wire::reply(&mut self.answers, &all.answer(&question)).map(Some),
                None => Ok(None),
            });
            match done {
                Ok(Some(())) => {}
                Ok(None) => return Ok(()),
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Says what it says on its standard error: it has no terminal.
fn hand_on(errors: ChildStderr) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    // Longer ones are cut in two: nothing that it says takes much memory.
    while let Ok(1..) = errors.by_ref().take(1024).read_until(b'\n', &mut line) {
        note(&printable(String::from_utf8_lossy(&line).trim_end()));
        line.clear();
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset))
}

impl Drop for Front {
    /// Nothing is left behind, whatever went wrong.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where it serves: an address, or the path of a UNIX socket, where that has one.
struct At {
    address: Option<SocketAddr>,
    path: Option<PathBuf>,
}

/// Where it serves, and how it is asked.
fn announced(global: &Global, args: &ServeArgs, at: &At, token: &str, uid: u32) -> String {
    let host = at.address.map_or_else(|| "localhost".to_owned(), |address| address.to_string());
    let base = format!("http://{host}/");
    let socket = at.path.as_ref().map(|path| path.display().to_string());
    let file = args.token_file.as_ref().map(|file| file.display().to_string());
    // Whoever named a file keeps the token there, and out of the logs of a service.
    let page = if file.is_some() { base.clone() } else { format!("{base}?token={token}") };
    if global.json {
        let value = json!({
            "schema": SCHEMA, "page": page, "metrics": format!("{base}metrics"),
            "socket": socket, "token_file": file, "uid": uid,
        });
        return format!("{value}\n");
    }
    let token = file.map_or_else(
        || "the token is in that URL".to_owned(),
        |file| format!("the token is in {}", printable(&file)),
    );
    let socket = socket.map_or_else(String::new, |path| {
        format!("socket   {}; for curl: --unix-socket\n", printable(&path))
    });
    format!(
        "page     {page}\nmetrics  {base}metrics\n{socket}{token}; HTTP is answered as user {uid}\n"
    )
}
