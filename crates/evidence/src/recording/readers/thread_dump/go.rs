//! Goroutines as the runtime of Go prints them: on SIGQUIT, in a panic, and by
//! `/debug/pprof/goroutine?debug=2` (`goroutineheader` and `traceback` in `runtime/traceback.go`).
//! Arguments, which it prints as numbers, are not kept.

use super::activity::{Activity, Does};
use super::dump::Dump;
use super::known::{GO_LIBRARIES, GO_POOLS, GO_REQUESTS, GO_SERVICES, is_of};
use crate::recording::readers::prelude::*;

/// Frames of one goroutine that are read: the runtime prints no more than 100.
const FRAMES_MAX: usize = 128;

/// Longest name of a function.
const NAME_CHARS_MAX: usize = 100;

/// The first line of a goroutine: its number, and what it waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct First<'a> {
    number: u64,
    state: &'a str,
}

/// `goroutine 12 [chan receive, 5 minutes]:`, also with `gp=0x... m=nil` before the bracket.
fn first(line: &str) -> Option<First<'_>> {
    let rest = line.trim_end().strip_prefix("goroutine ")?;
    let (head, rest) = rest.split_once(" [")?;
    let inner = rest.strip_suffix("]:")?;
    let mut words = head.split(' ');
    let number = words.next()?.parse().ok()?;
    words.all(|word| word.contains('=')).then_some(())?;
    // `[sync.Mutex.Lock, 5 minutes, locked to thread]`; from Go 1.25 also labels of the program.
    let state = inner.split([',', '{']).next().unwrap_or_default().trim();
    Some(First { number, state })
}

/// `main.(*Stock).Reserve(0xc0000b4000, 0x5)`: the function, and its first argument.
fn frame(line: &str) -> Option<(&str, Option<u64>)> {
    let inner = line.trim_end().strip_suffix(')')?;
    let (name, arguments) = inner.rsplit_once('(')?;
    let word = !name.contains(char::is_whitespace) && name.contains('.');
    let first = arguments.split(',').next().unwrap_or_default().trim_end_matches('?');
    let first = first.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    word.then_some((name, first))
}

/// `created by net/http.(*Server).Serve in goroutine 1`.
fn creator(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("created by ")?;
    rest.split_whitespace().next()
}

/// `\t/src/main.go:12 +0x1d`, or a line that belongs to no single goroutine.
fn is_known(line: &str) -> bool {
    const OTHERS: [&str; 6] = [
        "SIGQUIT: quit",
        "PC=",
        "...additional frames elided...",
        "...",
        "runtime: goroutine stack",
        "exit status",
    ];
    let place = line.starts_with(['\t', ' ']) && line.contains(".go:") || line.contains(".s:");
    let place = place || line.starts_with('\t') && line.contains(":");
    let mut words = line.split_whitespace();
    let register = words.next().is_some_and(|word| word.len() <= 6)
        && words.next().is_some_and(|word| word.starts_with("0x"))
        && words.next().is_none();
    place || register || OTHERS.iter().any(|start| line.starts_with(start))
}

/// Begins at a goroutine with a function below it, or at what SIGQUIT prints before the first.
pub(in super::super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let goroutine = first(lines.ahead(0)).is_some() && frame(lines.ahead(1)).is_some();
    let quit = lines.ahead(0).starts_with("SIGQUIT: quit") && lines.ahead(1).starts_with("PC=");
    (goroutine || quit).then(|| {
        lines.resume(
            SourceKind::ThreadDump,
            Goroutines { dump: Dump::of_go(), open: None, seen: false },
            out,
        )
    })
}

#[derive(Debug, Default)]
struct Open {
    number: u64,
    state: String,
    frames: Vec<String>,
    /// The lock that it waits for.
    lock: Option<u64>,
    creator: Option<String>,
}

struct Goroutines {
    dump: Dump,
    open: Option<Open>,
    /// Whether goroutine 1, which each dump has, was there.
    seen: bool,
}

impl Goroutines {
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let pool = open.creator.as_deref().unwrap_or("the main goroutine");
        let pool = pool.chars().take(NAME_CHARS_MAX).collect();
        let name = format!("goroutine {}", open.number);
        self.dump.add((name, pool), open.activity(), Vec::new(), None);
    }
}

impl Open {
    fn has(&self, all: &[&str]) -> bool {
        self.frames.iter().any(|frame| is_of(frame, all))
    }

    fn near(&self, all: &[&str]) -> bool {
        self.frames.iter().take(12).any(|frame| is_of(frame, all))
    }

    fn waits_in(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.state.starts_with(word))
    }

    /// What it does, and with what.
    fn does(&self, request: bool) -> (Does, &'static str) {
        let busy = |does: Does| if request { does } else { Does::Idle };
        let channels = self.waits_in(&["select", "chan receive", "chan send"]);
        let borrows = GO_POOLS.iter().find(|pool| channels && self.near(&pool.borrows));
        if let Some(pool) = borrows {
            return (Does::Borrows, pool.name);
        }
        let mutex = self.waits_in(&["sync.Mutex", "sync.RWMutex", "semacquire"])
            && self.near(&["sync.(*Mutex)", "sync.(*RWMutex)", "internal/sync.(*Mutex)"]);
        if mutex {
            return (Does::Locked, "a mutex");
        }
        let client = self
            .frames
            .iter()
            .find_map(|frame| GO_SERVICES.iter().find(|[start, _]| frame.starts_with(start)));
        let waits = channels || self.waits_in(&["IO wait", "sync.Cond"]);
        if let Some([_, name]) = client.filter(|_| waits) {
            return (busy(Does::Service), *name);
        }
        match self.state.as_str() {
            "IO wait" if self.near(&["net/http.(*connReader)"]) => (Does::Idle, ""),
            "IO wait" => (busy(Does::Service), "what a socket brings"),
            "chan send" => (busy(Does::Limited), "room in a channel"),
            "sleep" => (busy(Does::Sleeps), ""),
            "select" | "chan receive" | "semacquire" => (busy(Does::Result), ""),
            "running" | "runnable" | "preempted" => (self.runs(), ""),
            "syscall" if self.near(&["os.(*File).", "syscall.Fsync"]) => (busy(Does::Files), ""),
            "syscall" => (busy(Does::Runs), ""),
            state if state.starts_with("sync.WaitGroup") => (busy(Does::Result), ""),
            _ => (Does::Idle, ""),
        }
    }

    /// The runtime's own goroutines run as well, and so does the one that prints the dump.
    fn runs(&self) -> Does {
        let own = self.frames.iter().all(|frame| frame.starts_with("runtime."));
        let dumps = self.has(&["runtime/pprof.", "runtime.Stack"]);
        if own || dumps { Does::Idle } else { Does::Runs }
    }

    fn activity(&self) -> Activity {
        let request = self.has(&GO_REQUESTS);
        let (does, what) = self.does(request);
        let site = self.frames.iter().find(|frame| !is_of(frame, &GO_LIBRARIES));
        let site = site.map(|site| site.chars().take(NAME_CHARS_MAX).collect());
        let lock = self.lock.filter(|_| does == Does::Locked);
        let mut uses = 0;
        for (bit, pool) in GO_POOLS.iter().enumerate() {
            if !matches!(does, Does::Idle | Does::Borrows) && self.has(&pool.uses) {
                uses |= 1_u32 << bit;
            }
        }
        Activity { does, what: what.to_owned(), site, lock, request, pooled: false, uses }
    }
}

impl Reader for Goroutines {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        if let Some(First { number, state }) = first(line) {
            // Goroutine 1 once more: another dump.
            if number == 1 && std::mem::replace(&mut self.seen, true) {
                self.end(out);
                self.seen = true;
            }
            self.close();
            self.open = Some(Open { number, state: state.to_owned(), ..Open::default() });
            return Taken::Yes;
        }
        let Some(open) = &mut self.open else {
            return if is_known(line) { Taken::Yes } else { Taken::No };
        };
        if let Some(creator) = creator(line) {
            open.creator = Some(creator.to_owned());
        } else if let Some((name, argument)) = frame(line).filter(|_| !line.starts_with('\t')) {
            if open.frames.len() < FRAMES_MAX {
                open.frames.push(name.to_owned());
            }
            let locks = ["sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow"];
            if is_of(name, &locks) && open.lock.is_none() {
                open.lock = argument;
            }
        } else if !is_known(line) {
            return Taken::No;
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.close();
        std::mem::replace(&mut self.dump, Dump::of_go()).put(out, None);
        self.seen = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use crate::recording::{Field, Subject};

    #[test]
    fn goroutines_wait_for_mutexes_and_connections() {
        let server = "net/http.HandlerFunc.ServeHTTP(0xc0, {0x7a, 0xc1}, 0x0?)\n\
                      \t/usr/lib/go/src/net/http/server.go:2136 +0x29\n\
                      net/http.(*conn).serve(0xc0001, {0x7b, 0xc1})\n\
                      \t/usr/lib/go/src/net/http/server.go:2009 +0x5f4\n\
                      created by net/http.(*Server).Serve in goroutine 1\n\
                      \t/usr/lib/go/src/net/http/server.go:3086 +0x5cb\n\n";
        let mutex = "sync.runtime_SemacquireMutex(0xc4?, 0x0?, 0x1?)\n\
                     \t/usr/lib/go/src/runtime/sema.go:77 +0x25\n\
                     sync.(*Mutex).lockSlow(0xc000b4000)\n\
                     \t/usr/lib/go/src/sync/mutex.go:171 +0x15d\n\
                     sync.(*Mutex).Lock(...)\n\t/usr/lib/go/src/sync/mutex.go:90\n\
                     main.(*Stock).Reserve(0xc000b4000, 0x5)\n\t/src/main.go:20 +0x3e\n";
        let conn = "database/sql.(*DB).conn(0xc0, {0x7, 0x9}, 0x1)\n\
                    \t/usr/lib/go/src/database/sql/sql.go:1369 +0x6e5\n\
                    main.find(0x5)\n\t/src/main.go:30 +0x3e\n";
        let main = "goroutine 1 [IO wait, 5 minutes]:\n\
                    internal/poll.runtime_pollWait(0x7f, 0x72)\n\t/src/netpoll.go:343 +0x85\n\
                    main.main()\n\t/src/main.go:50 +0x1d\n\n";
        let mut text = main.to_owned();
        for number in 10..16 {
            text += &format!("goroutine {number} [sync.Mutex.Lock, 2 minutes]:\n{mutex}{server}");
        }
        text += &format!("goroutine 20 gp=0xc0 m=nil [select]:\n{conn}{server}");
        let recording = read(&text);
        all_understood(&recording);
        let part = |name: &str| Subject::part("go", name);
        let lock = "a mutex in main.(*Stock).Reserve";
        assert_eq!(values(&recording, Field::ThreadsLocked, &part(lock)), [6.0]);
        let pool = part("database/sql");
        assert_eq!(values(&recording, Field::ThreadsBorrow, &pool), [1.0]);
        let whole = Subject::Service("go".to_owned());
        assert_eq!(values(&recording, Field::ThreadsBusy, &whole), [7.0]);
        let twice = read(&format!("{text}{text}"));
        assert_eq!(values(&twice, Field::Threads, &whole), [8.0, 8.0]);
        assert!(read("goroutine 5 [of many]:\nis a word\n").sources.is_empty());
    }
}
