//! What stands around listings: shell prompts, commands and headings that name a file, and the
//! files they show when those are settings or pressure.

use super::cgroup_memory;
use super::kernel_log::date_and_time;
use super::links;
use super::prelude::*;
use super::prompt::{contained, looped, prompt, remote, unknown_prompt};
use crate::recording::Met;
use crate::recording::base_page::SizeSource;
use crate::recording::cgroup_file::{CGROUPS, folder_in, shape};
use crate::recording::expected::{PRESSURE, is_setting, is_value};
use hugewise_base::units::Bytes;

/// A command that shows files, where no prompt stands before it.
fn shows_files(line: &str) -> Option<&str> {
    let command = line.trim_start_matches(['$', '#', ' ']);
    let mut words = command.split(['|', ';', '&', '>']).next()?.split_whitespace().peekable();
    words.next_if(|word| *word == "sudo");
    let shows = matches!(words.next()?, "cat" | "grep" | "head" | "tail" | "egrep" | "sysctl");
    let path = words.any(|word| word.starts_with("/proc/") || word.starts_with("/sys/"));
    (shows && path).then_some(command)
}

/// The file of a heading: `==> /proc/x <==` as `head` and `tail` have it, or `== /proc/x`.
fn heading(line: &str) -> Option<&str> {
    let inside = line.trim().trim_start_matches(['=', '-', '#', '>']).trim_start();
    if inside.len() == line.trim().len() {
        return None;
    }
    let path = inside.trim_end_matches(['=', '<', '-', '#', ':']).trim_end();
    let known = path.starts_with("/proc/") || path.starts_with("/sys/") || shape(path).is_some();
    (known && !path.contains(char::is_whitespace)).then_some(path)
}

/// `path:value` as `grep -r .` has it.
fn path_and_value(line: &str) -> Option<(&str, &str)> {
    let (path, value) = plain(line).trim_start().split_once(':')?;
    let known = is_setting(path) || path.starts_with(PRESSURE);
    let plain = !path.contains(char::is_whitespace);
    let list = path.contains("/available_") || path.contains("_available_");
    // A path may also begin a sentence that explains it.
    let value_like = list || path.starts_with(PRESSURE) || is_value(value.trim());
    (known && plain && value_like).then_some((path, value.trim()))
}

/// `vm.swappiness = 60` as `sysctl` has it, with the path that it stands for.
fn sysctl(line: &str) -> Option<(String, &str)> {
    let (name, value) = plain(line).trim().split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let (family, rest) = name.split_once('.')?;
    let known = matches!(family, "vm" | "kernel" | "net" | "fs" | "sunrpc" | "dev");
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let plain = !rest.is_empty() && rest.bytes().all(usual);
    (known && plain).then(|| (format!("/proc/sys/{}", name.replace('.', "/")), value))
}

/// Begins at a prompt, a command or heading that names a file, or a setting with its name.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let knows = Shell.knows(line) || out.awaited(line).is_some() || out.meets(plain(line));
    knows.then(|| Box::new(Shell) as Box<dyn Reader>)
}

/// Commands within commands, `ssh` and `docker exec`, that are looked into: usual are two.
const MOST_NESTED: usize = 8;
/// Words of a line that may begin a loop.
const MOST_FOR: usize = 32;

/// A loop over machines that somebody quotes within a sentence.
fn quoted_loop(line: &str) -> Option<&str> {
    let at = line.match_indices("for ").map(|(at, _)| at).take(MOST_FOR);
    at.filter_map(|at| line.get(at..)).find(|rest| looped(rest).len() > 1)
}

/// What `perf record` says of itself.
fn is_perf_at_work(line: &str) -> bool {
    plain(line).trim_start().starts_with("[ perf record:")
}

struct Shell;

impl Shell {
    fn knows(&self, line: &str) -> bool {
        prompt(line).is_some()
            || shows_files(line).is_some()
            || heading(line).is_some()
            || path_and_value(line).is_some()
            || sysctl(line).is_some()
            || unknown_prompt(line).is_some()
            || quoted_loop(line).is_some()
            || is_perf_at_work(line)
    }

    /// What was typed: its files may follow, and the next listing is its own.
    fn command(command: &str, out: &mut Builder) {
        let (mut command, mut containers) = (command, Vec::new());
        for _ in 0..MOST_NESTED {
            if let Some((host, inner)) = remote(command) {
                out.host_of_prompt(host);
                command = inner;
            } else if let Some((container, inner)) = contained(command) {
                containers.push(container);
                command = inner;
            } else {
                break;
            }
        }
        out.await_hosts(looped(command));
        if let Some(path) = command.strip_prefix("cd ") {
            out.in_folder(folder_in(path));
        }
        out.command(command);
        for container in containers.into_iter().rev() {
            out.inside(container);
        }
    }

    fn setting(&self, path: &str, value: &str, out: &mut Builder) {
        if let (Some((interface, field)), Some(number)) = (links::statistic(path), count(value)) {
            out.resume(SourceKind::Interfaces, out.line());
            let interface = Subject::Interface(interface.to_owned());
            return out.put(field, &interface, None, number as f64);
        }
        // RHEL 6 has the settings of huge pages in a folder of its own.
        if let Some(name) = path.strip_prefix(RED_HAT_THP) {
            self.setting(&format!("{THP}{name}"), value, out);
        }
        let thp = path.starts_with(THP) || path.starts_with(RED_HAT_THP);
        let kind = if thp { SourceKind::ThpSettings } else { SourceKind::Settings };
        out.resume(kind, out.line());
        out.setting(path, value);
    }

    /// A line of a file about pressure; `false` when it is none. The values are the averages over
    /// 10 seconds.
    fn pressure(&self, path: &str, line: &str, out: &mut Builder) -> bool {
        let words = words(line);
        let kind = match words.first() {
            Some(kind @ (&"some" | &"full")) => *kind,
            _ => return false,
        };
        let value = words.iter().find_map(|word| number(word.strip_prefix("avg10=")?));
        let field = match (path.strip_prefix(PRESSURE), kind) {
            (Some("cpu"), "some") => Some(Field::PsiCpuSome),
            (Some("memory"), "some") => Some(Field::PsiMemorySome),
            (Some("memory"), "full") => Some(Field::PsiMemoryFull),
            (Some("io"), "some") => Some(Field::PsiIoSome),
            (Some("io"), "full") => Some(Field::PsiIoFull),
            _ => None,
        };
        match (field, value.filter(|value| *value <= 100.0)) {
            (Some(field), Some(value)) => {
                out.resume(SourceKind::Pressure, out.line());
                out.put(field, &Subject::Machine, None, value);
            }
            (Some(_), None) => out.problem("no 'avg10=' from 0 to 100 about pressure: left out"),
            (None, _) => {}
        }
        true
    }

    /// A line that the latest command prints.
    fn content(&self, line: &str, out: &mut Builder) -> bool {
        let value = plain(line).trim();
        match out.met(value) {
            None => return false,
            Some(Met::File(path)) if path.starts_with(PRESSURE) => {
                return self.pressure(&path, line, out);
            }
            Some(Met::File(path)) if shape(&path).is_some() => {
                out.resume(SourceKind::Cgroups, out.line());
                cgroup_memory::file(&path, value, out);
            }
            Some(Met::File(path)) => self.setting(&path, value, out),
            Some(Met::Kernel) => {
                out.resume(SourceKind::Settings, out.line());
                out.setting("kernel", value);
            }
            Some(Met::Machine) => {
                out.resume(SourceKind::Settings, out.line());
                out.machine(value);
            }
            Some(Met::BasePage(bytes)) => {
                out.resume(SourceKind::Settings, out.line());
                out.base_page(SizeSource::Stated, Bytes(bytes));
            }
            Some(Met::OpenFiles(pid, files)) => {
                out.resume(SourceKind::Cgroups, out.line());
                let process = Subject::process(Some(pid), "process");
                out.put(Field::OpenFiles, &process, None, files as f64);
            }
            Some(Met::Connections(state, count)) => {
                out.resume(SourceKind::Ss, out.line());
                out.put(Field::TcpInState, &Subject::Named(state), None, count as f64);
            }
            Some(Met::Resident(bytes)) => {
                out.resume(SourceKind::Ps, out.line());
                out.put(Field::ResidentAll, &Subject::Machine, None, bytes);
            }
            Some(Met::Cpus(cpus)) => {
                out.resume(SourceKind::Settings, out.line());
                out.put(Field::CpuCount, &Subject::Machine, None, cpus as f64);
            }
            Some(Met::Clock(_)) => {
                if let Some(now) = date_and_time(value) {
                    out.resume(SourceKind::Settings, out.line());
                    out.put(Field::WallClock, &Subject::Machine, None, now.0 as f64);
                }
            }
            Some(Met::Other) => {}
        }
        true
    }
}

impl Reader for Shell {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if is_perf_at_work(line) {
            return Taken::Yes;
        }
        if line.trim().is_empty() {
            out.blank();
            return Taken::Yes;
        }
        if let Some(prompt) = prompt(line) {
            if let Some(host) = prompt.host {
                out.host_of_prompt(host);
            }
            let end = line.find(['#', '$']).unwrap_or(line.len());
            if let Some(before) = line.get(..end).filter(|before| before.contains(CGROUPS)) {
                out.in_folder(folder_in(before));
            }
            Self::command(prompt.command, out);
        } else if let Some(host) = out.awaited(line) {
            out.host_of_prompt(&host);
            out.expects("");
        } else if let Some((path, value)) = path_and_value(line) {
            if path.starts_with(PRESSURE) {
                self.pressure(path, value, out);
            } else {
                self.setting(path, value, out);
            }
        } else if let Some(path) = heading(line) {
            out.heading(path);
        } else if let Some(command) = shows_files(line) {
            out.expects(command);
        } else if let Some(command) = unknown_prompt(line) {
            out.command(command);
        } else if let Some(command) = quoted_loop(line) {
            Self::command(command, out);
        } else if let Some((path, value)) = sysctl(line) {
            self.setting(&path, value, out);
        } else if !self.content(line, out) {
            return Taken::No;
        }
        Taken::Yes
    }
}

/// Where kernels have the settings of transparent huge pages.
const THP: &str = "/sys/kernel/mm/transparent_hugepage/";
/// Where those of RHEL 6 have them (2.6.32).
pub(crate) const RED_HAT_THP: &str = "/sys/kernel/mm/redhat_transparent_hugepage/";

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

    #[test]
    fn settings_come_with_their_path() {
        let recording = read(
            "[root@db1 ~]# cat /sys/kernel/mm/transparent_hugepage/enabled\n\
             [always] madvise never\n\
             [root@db1 ~]# grep -r . /sys/kernel/mm/transparent_hugepage/\n\
             /sys/kernel/mm/transparent_hugepage/defrag:always defer [madvise] never\n\
             /sys/kernel/mm/transparent_hugepage/khugepaged/defrag:1\n\
             /sys/devices/system/clocksource/clocksource0/available_clocksource:tsc kvm-clock \n\
             [root@db1 ~]# sysctl vm.swappiness\nvm.swappiness = 60\n\
             ==> /proc/sys/vm/nr_hugepages <==\n6144\n\n\
             # cat /proc/sys/vm/overcommit_memory /proc/sys/vm/dirty_ratio\n0\n20 <-- high\n",
        );
        all_understood(&recording);
        let host = &recording.hosts[0];
        assert_eq!(host.name.as_deref(), Some("db1"));
        let text = |path: &str| host.settings.get(path).map(|quote| quote.text.as_str());
        assert_eq!(text(ENABLED), Some("[always] madvise never"));
        let thp = "/sys/kernel/mm/transparent_hugepage";
        assert_eq!(text(&format!("{thp}/defrag")), Some("always defer [madvise] never"));
        assert_eq!(text(&format!("{thp}/khugepaged/defrag")), Some("1"));
        let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        assert_eq!(text(clocks), Some("tsc kvm-clock"));
        assert_eq!(text("/proc/sys/vm/swappiness"), Some("60"));
        assert_eq!(text("/proc/sys/vm/nr_hugepages"), Some("6144"));
        assert_eq!(text("/proc/sys/vm/overcommit_memory"), Some("0"));
        assert_eq!(text("/proc/sys/vm/dirty_ratio"), Some("20"));
    }

    #[test]
    fn what_a_command_prints_is_known_among_listings() {
        let recording = read(
            "web-7 ~ # uptime; nproc\n 00:41:08 up 5 days,  4 users,  load average: 68.41, 61.20, \
             44.07\n16\nweb-7 ~ # cat /sys/kernel/mm/transparent_hugepage/{enabled,defrag}\n\
             [always] madvise never\nalways defer [madvise] never\n\
             web-7 ~ # date; grep compact_stall /proc/vmstat\nDo 11. Apr 23:59:58 CEST 2024\n\
             compact_stall 100\nweb-7 ~ # date; grep compact_stall /proc/vmstat\n\
             Fr 12. Apr 00:00:08 CEST 2024\ncompact_stall 300\n",
        );
        all_understood(&recording);
        let host = &recording.hosts[0];
        assert_eq!(host.name.as_deref(), Some("web-7"));
        assert_eq!(machine(&recording, Field::CpuCount), [16.0]);
        let text = |path: &str| host.settings.get(path).map(|quote| quote.text.as_str());
        assert_eq!(text(ENABLED), Some("[always] madvise never"));
        let defrag = ENABLED.replace("enabled", "defrag");
        assert_eq!(text(&defrag), Some("always defer [madvise] never"));
        assert_eq!(machine(&recording, Field::CompactStall), [20.0]);
    }

    #[test]
    fn prompts_of_containers_and_unknown_ones_tell_the_file() {
        for prompt in ["cache-a $ ", "~ $ ", "[cache-a] $ ", "\u{3bb} cache-a (main) $ "] {
            let recording = read(&format!("{prompt}cat {ENABLED}\n[always] madvise never\n"));
            all_understood(&recording);
            let text = recording.hosts[0].settings.get(ENABLED).map(|quote| quote.text.as_str());
            assert_eq!(text, Some("[always] madvise never"), "{prompt}");
        }
    }

    #[test]
    fn two_machines_are_never_made_one() {
        let free = |used: u32| {
            format!(
                "  total  used  free  shared  buff/cache  available\n\
                 Mem:  32110  {used}  101  122  204  88\nSwap:  0  0  0\n"
            )
        };
        for (one, other) in
            [("web-1 # ", "web-2 # "), ("[web-1] $ ", "[web-2] $ "), ("web-1 $ ", "root@web-2:~# ")]
        {
            let text = format!("{one}free -m\n{}{other}free -m\n{}", free(5), free(6));
            let names: Vec<_> = read(&text).hosts.into_iter().filter_map(|h| h.name).collect();
            assert_eq!(names, ["web-1", "web-2"], "{text}");
        }
    }

    #[test]
    fn a_loop_over_machines_may_stand_in_a_sentence() {
        let free = |used: u32| {
            format!(
                "  total  used  free  shared  buff/cache  available\n\
                 Mem:  32110  {used}  101  122  204  88\nSwap:  0  0  0\n"
            )
        };
        let text = format!(
            "Output of  for h in a1 a2; do echo == $h; ssh $h \"free -m\"; done  :\n\n== a1\n{}\
             == a2\n{}",
            free(5),
            free(6)
        );
        let names: Vec<_> = read(&text).hosts.into_iter().filter_map(|host| host.name).collect();
        assert_eq!(names, ["a1", "a2"]);
    }

    #[test]
    fn a_heading_that_names_a_machine_is_about_it() {
        let kill = "[781223.115160] Out of memory: Killed process 1022 (redis-server) \
                    total-vm:7964800kB, anon-rss:7588080kB\n";
        let shown = "cache-a $ nproc\n4\ncache-b $ nproc\n8\n";
        for (heading, host) in [
            ("dmesg of cache-a last night:", Some("cache-a")),
            ("from cache-a", Some("cache-a")),
            ("dmesg of cache-c:", Some("cache-c")),
            ("and the same on both, cache-a and cache-b:", None),
            ("last night:", Some("cache-b")),
        ] {
            let recording = read(&format!("{shown}\n{heading}\n{kill}"));
            let log = recording.sources.last().expect("a log");
            assert_eq!(recording.hosts[log.host].name.as_deref(), host, "{heading}");
        }
    }

    #[test]
    fn pressure_by_path() {
        let recording = read(
            "== /proc/pressure/memory\n\
             some avg10=12.50 avg60=0.00 avg300=0.00 total=0\n\
             full avg10=3.00 avg60=0.00 avg300=0.00 total=0\n\
             /proc/pressure/io:some avg10=7.00 avg60=0.00 avg300=0.00 total=0\n\
             $ cat /proc/pressure/cpu /proc/pressure/io\n\
             some avg10=1.00 avg60=0.00 avg300=0.00 total=0\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n\
             some avg10=8.00 avg60=0.00 avg300=0.00 total=0\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::PsiMemorySome), [12.5]);
        assert_eq!(machine(&recording, Field::PsiMemoryFull), [3.0]);
        assert_eq!(machine(&recording, Field::PsiCpuSome), [1.0]);
        assert_eq!(machine(&recording, Field::PsiIoSome), [7.0, 8.0]);
    }

    #[test]
    fn a_value_without_a_path_is_not_guessed() {
        let recording = read(
            "[always] madvise never\n60\n\
             /sys/kernel/mm/transparent_hugepage/enabled: this file says what is wanted\n",
        );
        assert!(recording.hosts.is_empty());
        assert_eq!(recording.unrecognised.len(), 1);
    }

    #[test]
    fn a_prompts_machine_holds_until_prose_follows() {
        let recording = read(
            "user@workstation:~$ cat /proc/meminfo | grep Huge\nHugePages_Total: 0\n\
             So as you can see, I have no huge pages reserved or in use.\n\
             [root@OracleServer1 ~]# cat /proc/meminfo | grep Huge\nHugePages_Total: 5\n\
             Hugepagesize:     2048 kB\n\
             The client had access to a few tools, none of which were very effective.\n\
             cat /proc/meminfo\n\nPageTables:    5007924 kB  <--- 5GB!\n",
        );
        let names: Vec<Option<&str>> =
            recording.hosts.iter().map(|host| host.name.as_deref()).collect();
        assert_eq!(names, [Some("workstation"), Some("OracleServer1"), None]);
        let tables = recording.hosts[2].series(Field::PageTables, &Subject::Machine);
        assert!(tables.is_some());
    }
}
