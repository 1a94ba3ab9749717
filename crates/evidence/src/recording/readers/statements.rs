//! What programs say in their logs about memory, huge pages, limits and pools of connections:
//! templates of messages, each with the quantity that it is (`data/statements.tsv`). A new message
//! is a row there.

mod template;

use std::sync::LazyLock;

use super::failures::FAILURES;
use super::glance::Glance;
use super::kernel_log::clock_before;
use super::log_prefix::{PREFIX_BYTES_MAX, is_logged};
use super::prelude::*;
use crate::recording::Shortage;
use crate::table::{Row, table};

use self::template::{Matched, Role, Template};

/// Daemons that kill by rules of their own.
const OOM_DAEMONS: [&str; 2] = ["systemd-oomd", "earlyoom"];
/// What is said of the machine, and not of who says it.
const MACHINE: &str = "machine";

/// A message, and what it means.
struct Statement {
    /// Who says it.
    server: &'static str,
    /// What a line with it counts as.
    field: Option<Field>,
    template: Template,
    /// A setting that it tells, and its value where that is not in a hole.
    setting: Option<(&'static str, Option<&'static str>)>,
}

fn statement(row: &Row) -> Statement {
    let [server, field, template, rest @ ..] = row.fields.as_slice() else {
        row.refuse("a server, a quantity and a message are wanted")
    };
    let counted = |key| row.one_of(Field::ALL, |field| field.about().key, key);
    let setting = rest.first().map(|setting| {
        setting.split_once(' ').map_or((*setting, None), |(path, value)| (path, Some(value)))
    });
    Statement {
        server,
        field: (*field != "-").then(|| counted(field)),
        template: Template::new(template).unwrap_or_else(|| row.refuse("that is no template")),
        setting,
    }
}

static STATEMENTS: LazyLock<Vec<Statement>> =
    LazyLock::new(|| table!("statements.tsv").rows().iter().map(statement).collect());

/// Their places by the two letters by which they are found.
static BY_START: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let mut all = vec![Vec::new(); STARTS];
    for (place, statement) in STATEMENTS.iter().enumerate() {
        all[start(statement.template.starts_with())].push(place);
    }
    all
});

/// How many different starts there are.
const STARTS: usize = 32 << 7;

/// The place of a start, whose first letter may be small or not.
const fn start([first, second]: [u8; 2]) -> usize {
    ((first & 31) as usize) << 7 | (second & 127) as usize
}

/// Places in a line where a word begins, with the statements that may begin there.
fn places(line: &str) -> impl Iterator<Item = (usize, &'static [usize])> + '_ {
    let by_start = BY_START.as_slice();
    let bytes = line.as_bytes();
    let mut inside = false;
    bytes.iter().take(PREFIX_BYTES_MAX).enumerate().filter_map(move |(at, byte)| {
        let begins = byte.is_ascii_alphanumeric() && !inside;
        inside = byte.is_ascii_alphanumeric();
        if !begins {
            return None;
        }
        let known = by_start.get(start([*byte, *bytes.get(at + 1)?]))?;
        (!known.is_empty()).then_some((at, known.as_slice()))
    })
}

/// Words beside a message that make it one of something else, and of what. To listen at an address
/// that the machine does not have fails as if no port were free (bind(2)); watches, semaphores,
/// segments and cgroups have limits that are called space or files (inotify(7), semget(2),
/// shmget(2)).
const ANOTHER: [(Field, &[&str], Option<Field>); 4] = [
    (Field::PortErrors, &["bind"], None),
    (Field::NoSpace, &["inotify", "watch"], Some(Field::WatchErrors)),
    (Field::OpenFileErrors, &["inotify", "watch"], Some(Field::WatchErrors)),
    (Field::NoSpace, &["semaphore", "semget", "shmget", "cgroup"], None),
];

/// What a line with a message of this quantity is about; `None` where that is none of ours.
fn meant(field: Option<Field>, line: &str) -> Option<Option<Field>> {
    let another = ANOTHER
        .iter()
        .find(|(of, words, _)| field == Some(*of) && words.iter().any(|word| line.contains(word)));
    match another {
        Some((_, _, other)) => other.map(Some),
        None => Some(field),
    }
}

/// A statement with what a line counts as, and what stands in its holes.
type Found<'a> = (&'static Statement, Option<Field>, Matched<'a>);

/// What a line of a log says.
fn said(line: &str) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    for (at, known) in places(line) {
        // The first that fits in a place: the more particular ones stand before the others.
        let found = known.iter().find_map(|place| {
            let statement = &STATEMENTS[*place];
            Some((statement, statement.template.said(line, at)?))
        });
        let Some((statement, said)) = found else { continue };
        let before = line.get(..at).unwrap_or_default();
        let first = !before.contains(|c: char| c.is_alphanumeric());
        let own = first || before.trim_end_matches(['\'', '"']).ends_with(": ");
        let logged = is_logged(before) || own && statement.template.bare;
        if let Some(field) = meant(statement.field, line).filter(|_| logged) {
            all.push((statement, field, said));
        }
    }
    all
}

/// Whether a line may have a message.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let text = line.text;
    let fits = |at: usize, known: &[usize]| {
        known.iter().any(|place| STATEMENTS[*place].template.may(text, at))
    };
    line.any(":#\"[") && places(text).any(|(at, known)| fits(at, known))
}

/// Begins at a line with a message.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let none = said(lines.ahead(0)).is_empty();
    (!none).then(|| lines.resume(SourceKind::ProgramLog, PastBlanks(Statements), out))
}

/// Puts what a line of a log says that another reader took.
pub(super) fn put(line: &str, out: &mut Builder) {
    for found in &said(line) {
        Statements::put(found, line, out);
    }
}

struct Statements;

impl Statements {
    fn put((statement, field, said): &Found<'_>, line: &str, out: &mut Builder) {
        let key = field.map_or("", |field| field.about().key);
        let server = said.word(Role::Server).unwrap_or(statement.server);
        let (about, part) = match (said.word(Role::Victim), said.word(Role::Name)) {
            (Some(victim), _) => {
                let victim = Some(victim.to_owned());
                let daemon = OOM_DAEMONS.contains(&statement.server);
                let scope = if daemon { Shortage::Daemon } else { Shortage::Unknown };
                let kill = Subject::Kill { scope, limited: None, victim };
                (kill.clone(), kill)
            }
            (_, Some(name)) => (Subject::part(server, name), Subject::part(server, name)),
            _ if server == MACHINE => (Subject::Machine, Subject::Machine),
            _ if server == FAILURES => (Subject::part(server, key), Subject::part(server, key)),
            _ => (Subject::Service(server.to_owned()), Subject::part(server, key)),
        };
        if let Some(field) = *field {
            out.put(field, &about, None, 1.0);
            out.put_known(Field::LogClock, &part, None, clock_before(line).map(|at| at as f64));
        }
        for (field, value) in &said.values {
            out.put(*field, &about, None, *value);
        }
        if let Some((path, value)) = statement.setting
            && let Some(value) = value.or_else(|| said.word(Role::Setting))
        {
            out.setting_unless_known(path, value);
        }
    }
}

impl Reader for Statements {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let all = said(line);
        for found in &all {
            Self::put(found, line, out);
        }
        if all.is_empty() { Taken::No } else { Taken::Yes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn every_row_is_one() {
        assert!(STATEMENTS.len() > 80);
        let starts = BY_START.iter().map(Vec::len).sum::<usize>();
        assert_eq!(starts, STATEMENTS.len());
    }

    #[test]
    fn lines_of_logs_about_limits() {
        let recording = read(
            "2024/06/14 03:11:20 [crit] 2210#2210: accept4() failed (24: Too many open files)\n\
             [12-Jun-2024 03:12:10] WARNING: connect() failed: Cannot assign requested address\n",
        );
        all_understood(&recording);
        let of =
            |field: Field| values(&recording, field, &Subject::part(FAILURES, field.about().key));
        assert_eq!(of(Field::OpenFileErrors), [1.0]);
        assert_eq!(of(Field::PortErrors), [1.0]);
        let recording = read(
            "-bash: fork: retry: Resource temporarily unavailable\n\
             java.lang.OutOfMemoryError: unable to create new native thread\n\
             2024-06-14T03:11:20,118 ERROR bootstrap: max virtual memory areas vm.max_map_count \
             [65530] is too low\nJun 14 03:11:21 db1 postgres[811]: could not fork: Cannot \
             allocate memory\n",
        );
        all_understood(&recording);
        let of =
            |field: Field| values(&recording, field, &Subject::part(FAILURES, field.about().key));
        assert_eq!(of(Field::TaskErrors), [1.0, 1.0]);
        assert_eq!(of(Field::MapErrors), [1.0]);
        assert_eq!(of(Field::MemoryErrors), [1.0]);
        for text in [
            "is it \"Too many open files\"? nobody knows\n",
            "Jun 14 03:11:20 x nginx: bind() to 10.0.0.5:80 failed (99: Cannot assign requested \
             address)\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }

    /// All values of a text about a subject.
    fn of(text: &str, subject: &Subject) -> Values {
        let recording = read(text);
        all_understood(&recording);
        let all = Field::ALL.iter().filter(|field| **field != Field::LogClock);
        let valued = |field: &Field| {
            let of_field = values(&recording, *field, subject);
            of_field.into_iter().map(|value| (*field, value)).collect::<Vec<_>>()
        };
        all.flat_map(valued).collect()
    }

    type Values = Vec<(Field, f64)>;

    /// Whether each line says this of its server.
    fn all_say(lines: Vec<(&str, &str, Values)>) {
        for (line, name, mut wanted) in lines {
            let mut found = of(line, &Subject::Service(name.to_owned()));
            found.sort_by_key(|(field, _)| *field);
            wanted.sort_by_key(|(field, _)| *field);
            assert_eq!(found, wanted, "{line}");
        }
    }

    #[test]
    fn databases_that_got_no_huge_pages_or_memory() {
        use Field as F;
        all_say(vec![
            (
                "2026-05-01 10:00:00 CEST [9-1] FATAL:  could not map anonymous shared memory: \
                 Cannot allocate memory",
                "postgres",
                vec![(F::MemoryRefused, 1.0)],
            ),
            (
                "HINT:  This error usually means more. To reduce the request size (currently 4096 \
                 bytes), reduce it.",
                "postgres",
                vec![(F::MemoryWanted, 4096.0)],
            ),
            (
                "May  1 10:00:00 db7 postgres[12]: [8-1] DEBUG:  mmap(8192) with MAP_HUGETLB \
                 failed, huge pages disabled: Cannot allocate memory",
                "postgres",
                vec![(F::HugeRefused, 1.0), (F::HugeForgone, 1.0), (F::MemoryWanted, 8192.0)],
            ),
            (
                "2026-05-01 10:00:00.5 UTC [1] LOG:  checkpointer process (PID 31) was terminated \
                 by signal 7: Bus error",
                "postgres",
                vec![(F::ServerSigbus, 1.0)],
            ),
        ]);
    }

    #[test]
    fn others_that_got_no_huge_pages_or_memory() {
        use Field as F;
        all_say(vec![
            (
                "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x7f00, 16384, 0) \
                 failed; error='Cannot allocate memory' (errno=12)",
                "java",
                vec![(F::MemoryRefused, 1.0), (F::MemoryWanted, 16384.0)],
            ),
            (
                "# Native memory allocation (mmap) failed to map 65536 bytes for committing \
                 reserved memory.",
                "java",
                vec![(F::MemoryRefused, 1.0), (F::MemoryWanted, 65536.0)],
            ),
            (
                "[0.031s][warning][pagesize] Failed to reserve and commit memory using large \
                 pages. req_addr: 0x0 bytes: 4194304 (errno = 12).",
                "java",
                vec![(F::HugeRefused, 1.0), (F::MemoryWanted, 4_194_304.0)],
            ),
            (
                "InnoDB: HugeTLB: Warning: Failed to allocate 1048576 bytes. errno 12",
                "mysql",
                vec![(F::HugeRefused, 1.0), (F::MemoryWanted, 1_048_576.0)],
            ),
            (
                "912:C 01 May 2026 10:00:00.118 # Can't rewrite append only file in background: \
                 fork: Cannot allocate memory",
                "redis",
                vec![(F::ForkRefused, 1.0)],
            ),
            (
                "qemu-kvm: unable to map backing store for guest RAM: Cannot allocate memory",
                "qemu",
                vec![(F::HugeRefused, 1.0)],
            ),
            (
                "EAL: Not enough memory available on socket 1! Requested: 64MB, available: 8MB",
                "dpdk",
                vec![
                    (F::HugePoolFree, 8_388_608.0),
                    (F::HugeRefused, 1.0),
                    (F::MemoryWanted, 67_108_864.0),
                ],
            ),
            (
                "May  1 10:00:00 n1 systemd[1]: api.service: Main process exited, code=killed, \
                 status=9/KILL",
                "api.service",
                vec![(F::ServerSigkill, 1.0)],
            ),
        ]);
    }

    #[test]
    fn systemd_says_which_unit_was_killed() {
        let oom = "May  1 10:00:00 n1 systemd[1]: api.service: Failed with result 'oom-kill'.\n";
        let victim = Some("api.service".to_owned());
        let kill = Subject::Kill { scope: Shortage::Unknown, limited: None, victim };
        assert_eq!(of(oom, &kill), [(Field::ProcKilled, 1.0)]);
        let daemon = "May  1 10:00:00 n1 systemd-oomd[9]: Killed /user.slice/app.scope due to \
                      memory \
                      pressure for /user.slice being 70.00% > 50.00% for > 20s\n";
        let victim = Some("/user.slice/app.scope".to_owned());
        let kill = Subject::Kill { scope: Shortage::Daemon, limited: None, victim };
        assert_eq!(of(daemon, &kill), [(Field::ProcKilled, 1.0)]);
    }

    #[test]
    fn pools_of_connections_that_are_used_up() {
        use Field as F;
        let pool = |name: &str| Subject::part("connection pool", name);
        let plain = || Subject::Service("connection pool".to_owned());
        for (line, subject, used, size, waited) in [
            (
                "10:00:00.1 WARN pool : Main-2 - Connection is not available, request timed out \
                 after 5001ms (total=4, active=4, idle=0, waiting=9)",
                pool("Main-2"),
                Some(4.0),
                Some(4.0),
                5001.0,
            ),
            (
                "java.sql.SQLTransientConnectionException: Main-2 - Connection is not available, \
                 request timed out after 5001ms.",
                pool("Main-2"),
                None,
                None,
                5001.0,
            ),
            (
                "org.apache.tomcat.jdbc.pool.PoolExhaustedException: [exec-1] Timeout: Pool \
                 empty. Unable to fetch a connection in 7 seconds, none available[size:8; busy:8; \
                 idle:0; lastwait:7000].",
                plain(),
                Some(8.0),
                Some(8.0),
                7000.0,
            ),
            (
                "sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached, \
                 connection timed out, timeout 30.00 (Background on this error at: x)",
                plain(),
                None,
                Some(5.0),
                30_000.0,
            ),
        ] {
            let found = of(line, &subject);
            let one = |field| found.iter().find(|(of, _)| *of == field).map(|(_, value)| *value);
            assert_eq!(one(F::ConnTimeouts), Some(1.0), "{line}");
            assert_eq!((one(F::ConnUsed), one(F::ConnSize)), (used, size), "{line}");
            assert_eq!(one(F::ConnWait), Some(waited), "{line}");
        }
    }

    #[test]
    fn settings_that_servers_speak_of() {
        const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let warned = "9:M 01 May 2026 10:00:00.1 # WARNING you have Transparent Huge Pages (THP) \
                      support enabled in your kernel.\n";
        let mongod = "{\"t\":{\"$date\":\"2026-05-01T10:00:00.1Z\"},\"s\":\"W\",\"msg\":\"\
                      /sys/kernel/mm/transparent_hugepage/enabled is 'always'. We suggest\"}\n";
        for text in [warned, mongod] {
            assert_eq!(read(text).hosts[0].settings[THP].text, "[always]", "{text}");
        }
        // What was shown is what holds.
        let shown = format!("$ cat {THP}\nalways [madvise] never\n{warned}");
        assert_eq!(read(&shown).hosts[0].settings[THP].text, "always [madvise] never");
        let backlog = "9:M 01 May 2026 10:00:00.1 # WARNING: The TCP backlog setting of 511 cannot \
                       be enforced because /proc/sys/net/core/somaxconn is set to the lower value \
                       of 96.\n";
        let path = "/proc/sys/net/core/somaxconn";
        assert_eq!(read(backlog).hosts[0].settings[path].text, "96");
    }

    #[test]
    fn sentences_about_messages_are_no_messages() {
        for text in [
            "We get Too many open files from time to time.\n",
            "The pool says Connection is not available, request timed out after 30000ms: why?\n",
            "Yesterday at 10:00:00 it was killed: Cannot allocate memory\n",
            "Is it could not map anonymous shared memory: what?\n",
            "I read that Redis warns: WARNING overcommit_memory is set to 0!\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
