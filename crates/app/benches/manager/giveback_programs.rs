//! Programs that bloat at once under huge pages: made-up ones, and ones of Debian.

use super::super::{Done, number, target};
use super::measure::{Memory, Program};
use super::{
    Beside, Metric, Result, Scratch, Settings, Values, Variant, compare, seconds, variants,
};
use hugewise_core::sim::rng::Rng;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// glibc then says MADV_HUGEPAGE of what it allocates.
const GLIBC_HUGE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
/// A guard may look into the pages: only so does it find what was huge from the start.
const SAMPLE: [&str; 2] = ["--set", "demote.sample=true"];

const METRICS: [Metric; 14] = [
    ("at once: RSS MiB", 0),
    ("at once: cgroup MiB", 0),
    ("at once: MemAvailable less MiB", 0),
    ("at once: huge MiB", 0),
    ("later: RSS MiB", 0),
    ("later: cgroup MiB", 0),
    ("later: MemAvailable less MiB", 0),
    ("later: huge MiB", 0),
    ("operations/s", 0),
    ("manager CPU s", 2),
    ("promoted", 0),
    ("demoted", 0),
    ("failed", 0),
    ("freed by demotion MiB", 0),
];

/// Counters of which few are in use; speaks as `hugewise workload bloat` does.
const NUMPY: &str = r#"
import json, sys, time
import numpy as np
say = lambda **answer: print(json.dumps(answer), flush=True)
n = int(sys.argv[1]) * 131072
random = np.random.default_rng(7)
c = np.zeros(n, dtype=np.int64)
used = np.unique(random.integers(0, n, 20000))
c[used] = used + 1
say(ready=len(used))
for line in sys.stdin:
    words = line.split()
    if words[0] == "work":
        began, ops, wrong = time.monotonic(), 0, 0
        while (took := time.monotonic() - began) < float(words[1]):
            some = random.choice(used, 10000)
            wrong += int((c[some] != some + 1).sum())
            ops += len(some)
        say(ops_per_s=ops / took, wrong=wrong)
    elif words[0] == "verify":
        same = bool((c[used] == used + 1).all())
        say(**{"verified" if same else "wrong": len(used)})
    else:
        break
"#;

/// The same in JavaScript: a typed array is allocated as zeros by the C library.
const NODE: &str = r#"
const say = (answer) => console.log(JSON.stringify(answer));
const n = Number(process.argv[1]) * 131072;
const c = new Float64Array(n);
let state = 7;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const used = Array.from({ length: 20000 }, () => Math.floor(random() * n));
for (const at of used) c[at] = at + 1;
say({ ready: used.length });
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, seconds] = line.split(' ');
  if (verb === 'work') {
    const began = performance.now();
    let [ops, wrong, took] = [0, 0, 0];
    while ((took = (performance.now() - began) / 1000) < Number(seconds)) {
      for (let i = 0; i < 10000; i++) {
        const at = used[Math.floor(random() * used.length)];
        if (c[at] !== at + 1) wrong++;
      }
      ops += 10000;
    }
    say({ ops_per_s: ops / took, wrong });
  } else if (verb === 'verify') {
    say(used.every((at) => c[at] === at + 1) ? { verified: used.length } : { wrong: 1 });
  } else process.exit(0);
});
"#;

/// A program that bloats: its name, how it is started, how it is told to ask for huge pages.
struct Subject {
    name: &'static str,
    program: &'static str,
    arguments: Vec<String>,
    asking: Asking,
    /// Debian's package, for those who do not have it.
    package: Option<&'static str>,
}

enum Asking {
    Argument([&'static str; 2]),
    Variable((&'static str, &'static str)),
}

impl Subject {
    fn all() -> Vec<Self> {
        let mib = number("HUGEWISE_BENCH_BLOAT_MIB", 1024).to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let made_up = |name, kind| Self {
            name,
            program: target::PROGRAM,
            arguments: words(&["workload", "bloat", "--kind", kind, "--mib", &mib]),
            asking: Asking::Argument(["--advise", "huge"]),
            package: None,
        };
        let real = |name, program, arguments: &[&str], package| Self {
            name,
            program,
            arguments: words(arguments),
            asking: Asking::Variable(GLIBC_HUGE),
            package: Some(package),
        };
        vec![
            made_up("arena", "arena"),
            made_up("table", "table"),
            made_up("purge", "purge"),
            real(
                MEMCACHED,
                MEMCACHED,
                &["-u", "root", "-m", "1024", "-t", "2", "-o", "hashpower=26"],
                "memcached",
            ),
            real("numpy", "/usr/bin/python3", &["-c", NUMPY, &mib], "python3-numpy"),
            real("node", "node", &["-e", NODE, &mib], "nodejs"),
        ]
    }

    /// Why it cannot run here.
    fn missing(&self) -> Option<String> {
        let package = self.package?;
        let test: &[&str] = match self.name {
            "numpy" => &["-c", "import numpy"],
            _ => &["--version"],
        };
        let tried = Command::new(self.program).args(test).output();
        match tried {
            Ok(output) if output.status.success() => None,
            _ => Some(format!("install Debian's {package}")),
        }
    }

    fn command_line(&self) -> String {
        let shown: Vec<_> = self.arguments.iter().map(String::as_str).collect();
        // A script is named by its kind, not shown.
        let shown = shown.iter().map(|word| if word.contains('\n') { "SCRIPT" } else { word });
        let name = self.program.rsplit('/').next().unwrap_or(self.program);
        let line = format!("{name} {}", shown.collect::<Vec<_>>().join(" "));
        match &self.asking {
            Asking::Argument(words) => format!("{line} [{}]", words.join(" ")),
            Asking::Variable((name, value)) => format!("[{name}={value}] {line}"),
        }
    }

    fn start(&self, variant: &Variant, scratch: &Scratch) -> Result<(Program, Talk)> {
        let mut program = Program::start(self.program, |command| {
            command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
            if self.name == MEMCACHED {
                command.arg("-s").arg(scratch.join("memcached.sock"));
            }
            match (variant.asks, &self.asking) {
                (true, Asking::Argument(words)) => command.args(words),
                (true, Asking::Variable((name, value))) => command.env(name, value),
                (false, Asking::Argument(_)) => command,
                (false, Asking::Variable((name, _))) => command.env_remove(name),
            };
        })?;
        let talk = match self.name {
            MEMCACHED => Talk::Memcached(Memcached::fill(&scratch.join("memcached.sock"))?),
            _ => Talk::Lines(Lines::of(program.child())?),
        };
        Ok((program, talk))
    }
}

pub(crate) fn run() -> Done {
    let only = std::env::var("HUGEWISE_BENCH_SUBJECTS").ok();
    let chosen = variants(&["never", "always", "always409", "guard"])?;
    let mut failed = Vec::new();
    for subject in Subject::all() {
        if only.as_ref().is_some_and(|only| only.split(',').all(|name| name != subject.name)) {
            continue;
        }
        println!("### {}\n\n`{}`\n", subject.name, subject.command_line());
        match subject.missing() {
            Some(why) => println!("Skipped: {why}.\n"),
            None => {
                let done = compare(&chosen, &METRICS, |variant, _| one(&subject, variant));
                failed.extend(done.err().map(|error| format!("{}: {error}", subject.name)));
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

fn one(subject: &Subject, variant: &Variant) -> Result<Values> {
    let scratch = Scratch::new()?;
    let _settings = Settings::of(variant)?;
    let (program, mut talk) = subject.start(variant, &scratch)?;
    let mut values = Values::new();
    put(&mut values, "at once", &program.memory()?)?;
    let mut beside = Beside::start(variant, program.pid(), &SAMPLE)?;
    // It works meanwhile: khugepaged passes over what nobody has touched.
    talk.work(seconds("HUGEWISE_BENCH_SETTLE", 20))?;
    beside.check()?;
    let seen = program.watch(seconds("HUGEWISE_BENCH_WATCH", 45))?;
    let rate = talk.work(seconds("HUGEWISE_BENCH_SECONDS", 5))?;
    values.insert("operations/s", rate);
    put(&mut values, "later", seen.last().ok_or("nothing was seen")?)?;
    talk.verify()?;
    beside.stop(&mut values)?;
    Ok(values)
}

fn put(values: &mut Values, when: &str, memory: &Memory) -> Result<()> {
    let mut names = METRICS.iter().map(|(name, _)| *name).filter(|name| name.starts_with(when));
    let four = [names.next(), names.next(), names.next(), names.next()];
    let [Some(rss), Some(group), Some(missing), Some(huge)] = four else {
        return Err("four metrics".into());
    };
    memory.put(values, [rss, group, missing, huge]);
    Ok(())
}

/// How a program is asked to work, and whether its data is right.
enum Talk {
    Lines(Lines),
    Memcached(Memcached),
}

impl Talk {
    /// Operations a second.
    fn work(&mut self, time: Duration) -> Result<f64> {
        match self {
            Self::Lines(lines) => {
                let answer = lines.ask(&format!("work {}", time.as_secs_f64()))?;
                if answer["wrong"].as_f64().is_some_and(|wrong| wrong > 0.0) {
                    return Err(format!("DATA CHANGED: {answer}").into());
                }
                let rate = answer["ops_per_s"].as_f64();
                rate.ok_or_else(|| format!("no rate of work: {answer}").into())
            }
            Self::Memcached(memcached) => memcached.work(time),
        }
    }

    fn verify(&mut self) -> Result<()> {
        match self {
            Self::Lines(lines) => {
                let answer = lines.ask("verify")?;
                let verified = answer["verified"].is_u64() || answer["reply"] == "verified";
                if verified { Ok(()) } else { Err(format!("DATA CHANGED: {answer}").into()) }
            }
            Self::Memcached(memcached) => (0..KEYS).try_for_each(|key| memcached.get(key)),
        }
    }
}

/// A program that answers each line with one line of JSON.
pub(super) struct Lines {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Lines {
    /// Waits for its first line, which says that it is ready.
    pub(super) fn of(child: &mut Child) -> Result<Self> {
        let to = child.stdin.take().ok_or("no input")?;
        let from = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut lines = Self { to, from };
        let first = lines.answer()?;
        let ready = !first["ready"].is_null() || first["reply"] == "ready";
        if ready { Ok(lines) } else { Err(format!("not ready: {first}").into()) }
    }

    pub(super) fn ask(&mut self, request: &str) -> Result<Value> {
        writeln!(self.to, "{request}")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|error| format!("'{line}': {error}").into())
    }
}

const MEMCACHED: &str = "memcached";
/// Few keys for a hash table of 512 MiB.
const KEYS: u64 = 20_000;
/// Bytes of each value.
const VALUE: usize = 200;

/// A connection to memcached, and which keys it asks for.
struct Memcached {
    connection: BufReader<UnixStream>,
    rng: Rng,
}

/// Differs between keys.
fn value(key: u64) -> Vec<u8> {
    let mut value = format!("value of {key}").into_bytes();
    value.resize(VALUE, b'.');
    value
}

impl Memcached {
    fn fill(socket: &std::path::Path) -> Result<Self> {
        let connection = BufReader::new(super::redis::connect(socket)?);
        let mut memcached = Self { connection, rng: Rng::new(7) };
        for key in 0..KEYS {
            let mut request = format!("set key:{key} 0 0 {VALUE}\r\n").into_bytes();
            request.extend_from_slice(&value(key));
            request.extend_from_slice(b"\r\n");
            memcached.connection.get_mut().write_all(&request)?;
            let mut line = String::new();
            memcached.connection.read_line(&mut line)?;
            if line != "STORED\r\n" {
                return Err(format!("memcached: {line}").into());
            }
        }
        Ok(memcached)
    }

    fn get(&mut self, key: u64) -> Result<()> {
        let mut wanted = format!("VALUE key:{key} 0 {VALUE}\r\n").into_bytes();
        wanted.extend_from_slice(&value(key));
        wanted.extend_from_slice(b"\r\nEND\r\n");
        self.connection.get_mut().write_all(format!("get key:{key}\r\n").as_bytes())?;
        let mut answer = vec![0; wanted.len()];
        self.connection.read_exact(&mut answer)?;
        if answer == wanted { Ok(()) } else { Err(format!("DATA CHANGED: key:{key}").into()) }
    }

    fn work(&mut self, time: Duration) -> Result<f64> {
        let (began, mut count) = (Instant::now(), 0.0);
        while began.elapsed() < time {
            let key = self.rng.below(KEYS);
            self.get(key)?;
            count += 1.0;
        }
        Ok(count / began.elapsed().as_secs_f64())
    }
}
