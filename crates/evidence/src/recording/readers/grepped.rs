//! Files of cgroups and processes, as `grep -r` or `grep -H` shows them with their names, or `cat`
//! behind a prompt: `cpu.stat`, `memory.events`, and memory of a process by its `status`.

use super::capture::cgroup_path;
use super::cgroup_memory;
use super::prelude::*;
use crate::recording::cgroup_file::{CGROUPS, Shape, shape};

/// Names of `cpu.stat` and `memory.events` that no other file has.
const NAMES: [&str; 12] = [
    "usage_usec",
    "user_usec",
    "system_usec",
    "nr_periods",
    "nr_throttled",
    "throttled_usec",
    "throttled_time",
    "nr_bursts",
    "burst_usec",
    "oom",
    "oom_kill",
    "oom_group_kill",
];
/// Lines of `/proc/PID/status` about memory, and what they say.
const STATUS: [(&str, Field); 5] = [
    ("VmPTE", Field::ProcPageTables),
    ("VmPin", Field::ProcPinned),
    ("VmRSS", Field::ProcRss),
    ("RssAnon", Field::ProcAnon),
    ("RssShmem", Field::ProcShmem),
];
/// Periods from which on their share that was throttled says something: 10 s of them; and throttled
/// ones from which on it does in a younger cgroup, too: each is a tenth of a second.
const PERIODS_MIN: f64 = 100.0;
const THROTTLED_MIN: f64 = 10.0;

/// A line of such a file: the cgroup or the process, and what the file says.
#[derive(Debug, PartialEq)]
enum FileLine<'a> {
    Cgroup(&'a str, &'a str, u64),
    /// A file of a cgroup, and its value or a line of it about pressure.
    File(&'a str, &'a str),
    /// A file that was named without its folder, and a pair of it.
    Named(&'a str, &'a str, u64),
    Status(u32, &'a str, u64),
}

fn line(text: &str) -> Option<FileLine<'_>> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("/proc/") {
        let (pid, rest) = rest.split_once("/status:")?;
        let (name, value) = rest.split_once(':')?;
        // `task_mem` of fs/proc/task_mmu.c names them so.
        let of_memory = ["Vm", "Rss", "Huge"].iter().any(|start| name.starts_with(start));
        let kib = value.trim().strip_suffix(" kB").filter(|_| of_memory)?;
        return Some(FileLine::Status(pid.parse().ok()?, name, count(kib)?));
    }
    let (path, entry) = text.split_once(':')?;
    let entry = entry.trim();
    match shape(path)? {
        Shape::Value if !entry.is_empty() => return Some(FileLine::File(path, entry)),
        Shape::Pressure if entry.contains("avg10=") => return Some(FileLine::File(path, entry)),
        Shape::Pairs if !path.contains('/') => {
            let (key, value) = entry.split_once(' ')?;
            return Some(FileLine::Named(path, key, count(value.trim())?));
        }
        _ => {}
    }
    let (file, entry) = text.strip_prefix(CGROUPS)?.split_once(':')?;
    let (folder, name) = file.rsplit_once('/')?;
    let (key, value) = entry.split_once(' ')?;
    let known = matches!(name, "cpu.stat" | "memory.events" | "memory.stat");
    (known || name.ends_with(".local")).then_some(FileLine::Cgroup(
        cgroup_path(folder),
        key,
        count(value.trim())?,
    ))
}

/// A line of `cat cpu.stat`, of the cgroup that the command named.
fn plain<'a>(text: &'a str, shown: &str) -> Option<(&'a str, u64)> {
    let named = ["cpu.stat", "memory.events"].iter().any(|file| shown.contains(file));
    let (key, value) = text.trim().split_once(' ')?;
    let of_stat = || key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let known = NAMES.contains(&key)
        || (named && matches!(key, "low" | "high" | "max"))
        || (shown.contains("memory.stat") && of_stat());
    Some((key, count(value.trim())?)).filter(|_| known)
}

/// What the latest command shows, `memory.stat` where a text begins as that file does.
fn shown(lines: &Lines<'_>, out: &Builder) -> String {
    let key = |by| lines.ahead(by).trim().split(' ').next().unwrap_or("");
    let stat = cgroup_memory::begins_stat(key(0), key(1));
    let shown = out.shown();
    if stat { format!("{shown} memory.stat") } else { shown }
}

/// Begins at a line with the name of such a file, or at two lines of `cpu.stat`.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let shown = shown(lines, out);
    let bare = |text: &str| plain(text, &shown).is_some();
    let named = shown.contains("memory.events");
    let unmistakable = |text: &str| bare(text) && (!text.starts_with("oom") || named);
    if line(lines.ahead(0)).is_none()
        && !(unmistakable(lines.ahead(0)) && (bare(lines.ahead(1)) || shown.contains(".stat")))
    {
        return None;
    }
    let cgroup = cgroup_memory::subject(&shown, out);
    Some(lines.begin(SourceKind::Cgroups, Grepped { cgroup, shown, periods: None }, out))
}

struct Grepped {
    /// The one that the command named.
    cgroup: Subject,
    /// What the command shows.
    shown: String,
    /// The latest cgroup with periods, and how many.
    periods: Option<(Subject, u64)>,
}

/// Periods and how many of them were throttled: of two looks the difference counts. A single look
/// says it of all the time since the cgroup began, unless none ever was.
fn throttled(subject: &Subject, (periods, throttled): (f64, f64), out: &mut Builder) {
    out.put(Field::CgroupPeriodCount, subject, None, periods);
    out.put(Field::CgroupThrottledCount, subject, None, throttled);
    let more = out.growth(Field::CgroupPeriodCount, subject, periods);
    let hit = out.growth(Field::CgroupThrottledCount, subject, throttled);
    let percent = |part: f64, all: f64| (part / all * 100.0).min(100.0);
    if let (Some(more), Some(hit)) = (more, hit)
        && more > 0.0
    {
        out.put(Field::CgroupThrottled, subject, None, percent(hit, more));
    } else if throttled <= 0.0 {
        // Never throttled, or no quota at all.
        out.put(Field::CgroupThrottled, subject, None, 0.0);
    } else if periods >= PERIODS_MIN || throttled >= THROTTLED_MIN {
        out.put(Field::CgroupThrottledEver, subject, None, percent(throttled, periods));
    }
}

impl Grepped {
    fn pair(&mut self, cgroup: &Subject, key: &str, value: u64, out: &mut Builder) {
        match key {
            "nr_periods" => self.periods = Some((cgroup.clone(), value)),
            "nr_throttled" => {
                let periods = self.periods.take().filter(|(of, _)| of == cgroup);
                if let Some((_, periods)) = periods {
                    throttled(cgroup, (periods as f64, value as f64), out);
                }
            }
            _ => cgroup_memory::pair(cgroup, key, value, out),
        }
    }
}

impl Reader for Grepped {
    fn take(&mut self, text: &str, out: &mut Builder) -> Taken {
        if text.trim().is_empty() {
            return Taken::Yes;
        }
        match line(text) {
            Some(FileLine::Cgroup(cgroup, key, value)) => {
                self.pair(&Subject::Cgroup(cgroup.to_owned()), key, value, out);
            }
            Some(FileLine::Named(path, key, value)) => {
                self.pair(&cgroup_memory::subject(path, out), key, value, out);
            }
            Some(FileLine::File(path, value)) => cgroup_memory::file(path, value, out),
            Some(FileLine::Status(pid, key, kib)) => {
                let subject = Subject::process(Some(pid), "processes");
                if let Some((_, field)) = STATUS.iter().find(|(name, _)| *name == key) {
                    out.put(*field, &subject, None, kib as f64 * 1024.0);
                }
            }
            None => {
                let Some((key, value)) = plain(text, &self.shown) else { return Taken::No };
                let cgroup = self.cgroup.clone();
                self.pair(&cgroup, key, value, out);
            }
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    const STAT: &str = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 36000\n\
                        nr_throttled 27000\nthrottled_usec 99\n";

    #[test]
    fn quotas_of_cgroups() {
        let path = "/sys/fs/cgroup/system.slice/api.service/cpu.stat";
        let grepped: String = STAT.lines().map(|line| format!("{path}:{line}\n")).collect();
        let shown = format!("[root@db1 ~]# cat {path}\n{STAT}");
        for text in [grepped, shown] {
            let recording = read(&text);
            all_understood(&recording);
            let cgroup = Subject::Cgroup("/system.slice/api.service".into());
            assert_eq!(values(&recording, Field::CgroupThrottledEver, &cgroup), [75.0], "{text}");
        }
    }

    #[test]
    fn a_young_cgroup_has_few_periods() {
        let cgroup = Subject::Cgroup("/".into());
        for (periods, hit, wanted) in
            [(50, 25, Some(50.0)), (12, 12, Some(100.0)), (8, 5, None), (90, 9, None)]
        {
            let recording = read(&format!(
                "$ cat /sys/fs/cgroup/cpu.stat\nusage_usec 5\nnr_periods {periods}\n\
                 nr_throttled {hit}\nthrottled_usec 9\n"
            ));
            all_understood(&recording);
            let ever = values(&recording, Field::CgroupThrottledEver, &cgroup);
            assert_eq!(ever.first().copied(), wanted, "{hit} of {periods}");
        }
    }

    #[test]
    fn of_two_looks_the_difference_counts() {
        let look = |periods: u32, hit: u32| {
            format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {hit}\nthrottled_usec 9\n")
        };
        let (one, other) = (look(488_120, 42), look(488_720, 564));
        let cat = "cat /sys/fs/cgroup/cpu.stat";
        let date = "Wed Mar  6 02:14:05 UTC 2024\n";
        let named = |text: &str| -> String {
            text.lines().map(|line| format!("/sys/fs/cgroup/cpu.stat:{line}\n")).collect()
        };
        let grep = "grep -r . /sys/fs/cgroup --include=cpu.stat";
        for text in [
            format!("$ {cat}\n{one}$ {cat}\n{other}"),
            format!("$ {cat}\n{one}$ vmstat 1 3\n\n$ {cat}\n{other}"),
            format!("$ date; {cat}\n{date}{one}$ date; {cat}\n{date}{other}"),
            format!("$ {cat}; sleep 60; {cat}\n{one}{other}"),
            format!("$ date; {cat}; sleep 60; date; {cat}\n{date}{one}{date}{other}"),
            format!("$ {grep}; sleep 60; {grep}\n{}{}", named(&one), named(&other)),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            let root = Subject::Cgroup("/".into());
            assert_eq!(values(&recording, Field::CgroupThrottled, &root), [87.0], "{text}");
        }
        let pod =
            format!("$ kubectl -n shop exec api-6f9 -c api -- sh -c '{cat}; sleep 60; {cat}'\n");
        let pod = read(&format!("{pod}{one}{other}"));
        let subject = Subject::Cgroup("of api-6f9".into());
        assert_eq!(values(&pod, Field::CgroupThrottled, &subject), [87.0]);
    }

    #[test]
    fn without_a_quota_nothing_is_throttled() {
        let recording = read("usage_usec 5\nuser_usec 3\nnr_periods 0\nnr_throttled 0\n");
        let cgroup = Subject::Cgroup("a cgroup".into());
        assert_eq!(values(&recording, Field::CgroupThrottled, &cgroup), [0.0]);
    }

    #[test]
    fn kills_at_the_limit_of_a_cgroup() {
        let recording = read(
            "[root@db1 ~]# cat /sys/fs/cgroup/jobs/memory.events\n\
             low 0\nhigh 12\nmax 811\noom 9\noom_kill 3\noom_group_kill 0\n",
        );
        all_understood(&recording);
        let cgroup = Subject::Cgroup("/jobs".into());
        assert_eq!(values(&recording, Field::OomKillCount, &cgroup), [3.0]);
    }

    #[test]
    fn memory_at_its_limit_by_heading_folder_and_name() {
        let slice = "/sys/fs/cgroup/kubepods.slice/pod8f1e.slice";
        let pressure = "some avg10=71.22 avg60=68.10 avg300=61.44 total=8812044120";
        let headed = format!(
            "root@ip:{slice}# head memory.max memory.current memory.events memory.pressure\n\
             ==> memory.max <==\n2147483648\n\n==> memory.current <==\n2147393536\n\n\
             ==> memory.events <==\nlow 0\nhigh 0\nmax 100\noom 0\noom_kill 0\n\n\
             ==> memory.pressure <==\n{pressure}\n\
             full avg10=58.01 avg60=55.20 avg300=49.90 total=7120448120\n\n\
             root@ip:{slice}# cat memory.events; sleep 10; cat memory.events\n\
             low 0\nhigh 0\nmax 200\noom 0\noom_kill 0\n\
             low 0\nhigh 0\nmax 300\noom 0\noom_kill 0\n"
        );
        let named = format!(
            "# grep . {slice}/memory.*\n{slice}/memory.max:2147483648\n\
             {slice}/memory.current:2147393536\n{slice}/memory.pressure:{pressure}\n\
             # grep -H . {slice}/memory.events; sleep 10; grep -H . {slice}/memory.events\n\
             {slice}/memory.events:max 200\n{slice}/memory.events:max 300\n"
        );
        for text in [headed, named] {
            let recording = read(&text);
            all_understood(&recording);
            let cgroup = Subject::Cgroup("/kubepods.slice/pod8f1e.slice".into());
            let of = |field| values(&recording, field, &cgroup);
            assert_eq!(of(Field::CgroupMemoryMax), [2_147_483_648.0], "{text}");
            assert_eq!(of(Field::CgroupMemory), [2_147_393_536.0]);
            assert_eq!(of(Field::CgroupPsiMemory), [71.22]);
            assert_eq!(of(Field::CgroupMaxHits), [10.0]);
        }
    }

    #[test]
    fn version_1_below_the_folder_that_was_entered() {
        let recording = read(
            "[root@dk-7 ~]# cd /sys/fs/cgroup/memory/docker/8f1e2210a44b\n\
             [root@dk-7 8f1e2210a44b]# cat memory.limit_in_bytes memory.usage_in_bytes \
             memory.failcnt; sleep 10; cat memory.failcnt\n\
             4294967296\n4294963200\n912044812\n912810448\n\
             [root@dk-7 8f1e2210a44b]# egrep '^(total_rss|total_cache) ' memory.stat\n\
             total_cache 120448000\ntotal_rss 4160448000\n\
             [root@dk-7 8f1e2210a44b]# cat memory.limit_in_bytes\n9223372036854771712\n",
        );
        all_understood(&recording);
        let cgroup = Subject::Cgroup("/docker/8f1e2210a44b".into());
        assert_eq!(values(&recording, Field::CgroupMemoryMax, &cgroup), [4_294_967_296.0]);
        assert_eq!(values(&recording, Field::CgroupMaxHits, &cgroup), [76_563.6]);
        assert!(recording.sources.iter().all(|source| source.kind == SourceKind::Cgroups));
    }

    #[test]
    fn statistics_of_a_cgroup_are_not_those_of_the_machine() {
        let stat = "anon 2088763392\nfile 30408704\nworkingset_refault_file 188204482\n\
                    pgscan 620448120\npgscan_direct 5\n";
        let recording = read(stat);
        all_understood(&recording);
        let cgroup = Subject::Cgroup("a cgroup".into());
        assert_eq!(values(&recording, Field::CgroupRefaultCount, &cgroup), [188_204_482.0]);
        assert!(!recording.hosts[0].series.contains_key(&Field::ScanDirectCount));
    }

    #[test]
    fn memory_of_processes_by_their_status() {
        let others = ["VmSwap", "VmLck", "HugetlbPages"].map(|name| (name, None));
        let known = STATUS.map(|(name, field)| (name, Some(field)));
        for (name, field) in known.into_iter().chain(others) {
            let recording = read(&format!(
                "/proc/812/status:{name}:\t   20480 kB\n/proc/813/status:{name}:\t   20992 kB\n"
            ));
            all_understood(&recording);
            let process = Subject::process(Some(813), "processes");
            let said = field.map(|field| values(&recording, field, &process));
            assert!(said.is_none_or(|said| said == [20_992.0 * 1024.0]), "{name}");
        }
    }
}
