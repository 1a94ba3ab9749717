//! What a Redis or Valkey server says of itself, asked for read-only: `INFO`, `SLOWLOG GET` and
//! `LATENCY LATEST`, as text in the form of `redis-cli`, which the diagnosis reads.
//!
//! A server may be slow, dead, or no Redis at all: time, bytes and depth are bounded, and of what
//! it sends only what has the form of an answer is passed on. The decoder is our own because that
//! of redis-protocol follows nested lists as deep as a server sends them.

pub(crate) mod resp;

use resp::{ANSWER_BYTES_MAX, Reply};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long one conversation may take. `INFO` takes a millisecond; a server that forks or sorts
/// for seconds is still heard.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Most lines of `INFO` that are passed on.
const LINES_MAX: usize = 10_000;

/// Port where the address names none (redis.conf).
const PORT: u16 = 6379;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A UNIX socket.
    Unix(String),
    /// A host and a port.
    Tcp(String, u16),
}

impl Address {
    /// Reads `/run/redis.sock`, `HOST:PORT`, `[::1]:PORT` or `HOST`.
    ///
    /// # Errors
    /// A sentence that says what was wanted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}': wanted the path of a UNIX socket, or HOST:PORT");
        if text.contains('/') {
            // A URL would hold a password.
            return if text.contains("://") {
                Err(wrong())
            } else {
                Ok(Self::Unix(text.to_owned()))
            };
        }
        let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (bare(host), port.parse().map_err(|_| wrong())?)
            }
            _ => (bare(text), PORT),
        };
        let named = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        let usual = !host.is_empty() && host.chars().all(named);
        if usual { Ok(Self::Tcp(host, port)) } else { Err(wrong()) }
    }

    /// The machine, where it is not this one.
    pub fn remote(&self) -> Option<&str> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(host, _) => {
                let local = host == "localhost" || host == "::1" || host.starts_with("127.");
                (!local).then_some(host.as_str())
            }
        }
    }

    /// The options of `redis-cli` that stand for it.
    pub fn options(&self) -> String {
        match self {
            Self::Unix(path) => format!("-s {path}"),
            Self::Tcp(host, port) => format!("-h {host} -p {port}"),
        }
    }

    fn connect(&self) -> std::io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(TIME_MAX))?;
                stream.set_write_timeout(Some(TIME_MAX))?;
                Ok(Box::new(stream))
            }
            Self::Tcp(host, port) => {
                let mut last = std::io::Error::other("its name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, TIME_MAX) {
                        Ok(stream) => {
                            stream.set_read_timeout(Some(TIME_MAX))?;
                            stream.set_write_timeout(Some(TIME_MAX))?;
                            return Ok(Box::new(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// `INFO all` alone: the first of two looks.
    Counts,
    /// That, the slow log, and the latest stalls.
    All,
}

/// Asks a server. Ends within a few seconds, whatever the server does.
///
/// # Errors
/// A sentence that says why there is no answer.
pub fn ask(address: &Address, password: Option<&str>, what: Ask) -> Result<String, String> {
    let (address, password) = (address.clone(), password.map(str::to_owned));
    let (sender, receiver) = mpsc::channel();
    // Even to look up a name may take minutes: a thread that does it is left behind.
    let talk = move || {
        let said = converse(&address, password.as_deref(), what);
        // Nobody listens any more where it came too late.
        let _ = sender.send(said);
    };
    let thread = std::thread::Builder::new().name("redis".to_owned()).spawn(talk);
    thread.map_err(|error| format!("cannot ask it: {error}"))?;
    let late = format!("no answer within {} s", TIME_MAX.as_secs());
    receiver.recv_timeout(TIME_MAX).unwrap_or(Err(late))
}

fn converse(address: &Address, password: Option<&str>, what: Ask) -> Result<String, String> {
    let stream = address.connect().map_err(|error| format!("cannot connect: {error}"))?;
    let mut talk = Talk { stream, input: Vec::new(), until: Instant::now() + TIME_MAX };
    if let Some(password) = password {
        talk.ask(&["AUTH", password]).map_err(|why| format!("it refuses the password: {why}"))?;
    }
    let Reply::Text(info) = talk.ask(&["INFO", "all"])? else {
        return Err("its answer to INFO is no text".to_owned());
    };
    let info = information(&info);
    if !info.lines().any(|line| line.contains("_version:") || line.starts_with("used_")) {
        return Err("its answer to INFO is not that of Redis or Valkey".to_owned());
    }
    if what == Ask::Counts {
        return Ok(info);
    }
    // Who may not ask these has them renamed or forbidden: the rest counts all the same.
    let slow = talk.ask(&["SLOWLOG", "GET", "32"]).map(|reply| slow_log(&reply));
    let stalls = talk.ask(&["LATENCY", "LATEST"]).map(|reply| latency(&reply));
    Ok(info + "\n" + &slow.unwrap_or_default() + "\n" + &stalls.unwrap_or_default())
}

struct Talk {
    stream: Box<dyn Stream>,
    input: Vec<u8>,
    until: Instant,
}

impl Talk {
    fn ask(&mut self, words: &[&str]) -> Result<Reply, String> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut request = Vec::new();
        resp::command(&words, &mut request);
        let sent = self.stream.write_all(&request);
        sent.map_err(|error| format!("cannot ask it: {error}"))?;
        match self.answer()? {
            Reply::Error(text) if text.starts_with("NOAUTH") => {
                Err("it asks for a password: set REDISCLI_AUTH".to_owned())
            }
            Reply::Error(text) => Err(format!("it says: {text}")),
            other => Ok(other),
        }
    }

    fn answer(&mut self) -> Result<Reply, String> {
        let mut part = [0; 16 << 10];
        loop {
            if let Some((reply, length)) = resp::decode(&self.input)? {
                self.input.drain(..length);
                return Ok(reply);
            }
            if self.input.len() > ANSWER_BYTES_MAX {
                return Err(format!("its answer is larger than {} MiB", ANSWER_BYTES_MAX >> 20));
            }
            if Instant::now() >= self.until {
                return Err(format!("no answer within {} s", TIME_MAX.as_secs()));
            }
            match self.stream.read(&mut part) {
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(more) => self.input.extend_from_slice(&part[..more]),
                Err(error) => return Err(format!("no answer: {error}")),
            }
        }
    }
}

/// The lines of `INFO` that are of its form: nothing that could pass for another tool's.
fn information(text: &str) -> String {
    let own = |line: &&str| {
        let heading = line.strip_prefix("# ").unwrap_or(line);
        let signs = ['#', '$', '>', '\u{276f}', '\u{279c}'];
        let plain = !heading.contains(signs) && !line.contains(char::is_control);
        let named = |name: &str| name.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
        let pair = heading.split_once(':').is_some_and(|(name, _)| named(name));
        plain && (line.is_empty() || line.starts_with("# ") || pair)
    };
    let lines = text.lines().filter(own).take(LINES_MAX);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A name of a command or event, as far as it can be one.
fn word(text: &str) -> String {
    let usual = |c: &char| c.is_ascii_alphanumeric() || "._|-".contains(*c);
    text.chars().filter(usual).take(64).collect()
}

/// Entries as `redis-cli` numbers them: of the commands only the names.
fn slow_log(reply: &Reply) -> String {
    let mut text = String::new();
    for (at, entry) in reply.list().iter().enumerate() {
        let [Reply::Number(id), Reply::Number(time), Reply::Number(usec), command, ..] =
            entry.list()
        else {
            continue;
        };
        let Some(Reply::Text(name)) = command.list().first() else { continue };
        let _ = writeln!(
            text,
            "{}) 1) (integer) {id}\n   2) (integer) {time}\n   3) (integer) {usec}\n   \
             4) 1) \"{}\"",
            at + 1,
            word(name)
        );
    }
    text
}

fn latency(reply: &Reply) -> String {
    let mut text = String::new();
    for (at, entry) in reply.list().iter().enumerate() {
        let [
            Reply::Text(name),
            Reply::Number(time),
            Reply::Number(latest),
            Reply::Number(most),
            ..,
        ] = entry.list()
        else {
            continue;
        };
        let _ = writeln!(
            text,
            "{}) 1) \"{}\"\n   2) (integer) {time}\n   3) (integer) {latest}\n   \
             4) (integer) {most}",
            at + 1,
            word(name)
        );
    }
    text
}

#[cfg(test)]
mod tests;
