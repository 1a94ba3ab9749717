//! Shell prompts as people have them, and the commands behind them.

use crate::recording::words::TOOLS;

/// Ends of a prompt.
const ENDS: [char; 6] = ['$', '#', '%', '>', '\u{276f}', '\u{279c}'];

/// A prompt, and what was typed behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prompt<'a> {
    /// The machine, where the prompt names it.
    pub(super) host: Option<&'a str>,
    /// The command without `sudo` and settings of the environment; empty where none was typed.
    pub(super) command: &'a str,
}

/// A name as a host or user has it.
fn is_name(text: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    begins && text.len() <= 64 && text.bytes().all(usual)
}

/// A directory as a prompt has it.
fn is_folder(text: &str) -> bool {
    // A long one is shortened by the shell, or by who pastes it: `.../pod8f1e.slice`.
    let begins = text.starts_with(['~', '/']) || text.starts_with(".../");
    begins && !text.contains(char::is_whitespace)
}

/// A command without what stands before its name.
fn bare(command: &str) -> &str {
    let mut rest = command.trim();
    loop {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let setting = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        });
        if !setting && !matches!(word, "sudo" | "nice" | "ionice") {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// Whether it begins with a known tool.
pub(in crate::recording) fn is_tool(command: &str) -> bool {
    let word = bare(command).split(|c: char| c.is_whitespace() || c == '|' || c == ';').next();
    let name = word.unwrap_or("").rsplit('/').next().unwrap_or("");
    TOOLS.contains(&name)
}

/// Splits behind the end of a prompt, where a blank or nothing follows it.
fn end_of(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix(ENDS)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// `user@host:/folder$ cmd`, `user@host /folder # cmd`, `user@host> cmd`, `host:/folder # cmd`.
fn with_host(line: &str) -> Option<(&str, &str)> {
    let cut = line.find(|c: char| c.is_whitespace() || c == ':' || ENDS.contains(&c))?;
    let (who, rest) = line.split_at(cut);
    let host = match who.split_once('@') {
        Some((user, host)) if is_name(user) => host,
        Some(_) => return None,
        // Without a user the folder must stand there: 'note: # of CPUs' is none.
        None => who,
    };
    if !is_name(host) {
        return None;
    }
    // `host ~ # cmd` looks most like prose.
    let bare = !who.contains('@') && !rest.starts_with(':');
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
    let folder_end = rest.find(|c: char| c.is_whitespace() || ENDS.contains(&c))?;
    let (folder, rest) = rest.split_at(folder_end);
    let placed = is_folder(folder);
    let command = end_of(rest.trim_start())?;
    let placed = placed && (!bare || command.is_empty() || is_tool(command));
    let sure = placed || (folder.is_empty() && who.contains('@') && is_tool(command));
    sure.then_some((host, command))
}

/// `[user@host folder]$ cmd`; before a known tool also `[host folder]$ cmd` and `[host] $ cmd`, and
/// `host folder]$ cmd`, of which the bracket was not copied.
fn in_brackets(line: &str) -> Option<(&str, &str)> {
    let whole = line.strip_prefix('[');
    let (who, rest) = whole.unwrap_or(line).split_once(']')?;
    let (who, folder) = who.split_once(' ').unwrap_or((who, ""));
    let plain = !folder.trim().is_empty() && !folder.contains(['[', '"']);
    let (user, host) = who.split_once('@').unwrap_or(("", who));
    let command = end_of(rest.trim_start())?;
    let sure = whole.is_some() && plain && !user.is_empty();
    let short = if whole.is_some() { folder.is_empty() || plain } else { is_folder(folder) };
    let named = is_host(host) && (user.is_empty() || is_name(user));
    (named && (sure || (short && is_tool(command)))).then_some((host, command))
}

/// A name that is no number: `50 % free` is no prompt.
fn is_host(text: &str) -> bool {
    is_name(text) && text.contains(|c: char| c.is_ascii_alphabetic())
}

/// `# cmd`, `-bash-4.2$ cmd`, `db1# cmd`: only before a known tool, as these also begin comments.
fn short(line: &str) -> Option<Prompt<'_>> {
    // The headings of `strace -c` and `sadf -d`.
    let heading = line.starts_with("% time ") && line.ends_with("syscall");
    if heading || line.starts_with("# hostname;interval;") {
        return None;
    }
    let cut = line.find(ENDS)?;
    let (before, rest) = line.split_at(cut);
    let command = end_of(rest).filter(|command| is_tool(command))?;
    let shell = ["-bash-", "bash-", "-sh-", "sh-", "zsh-"].iter().any(|s| before.starts_with(s));
    // `host $ cmd` and `~ $ cmd`, as containers have it.
    let spaced = rest.starts_with(['$', '#']).then(|| before.trim_end());
    let name = spaced.unwrap_or(before);
    let host = (is_host(name) && !shell).then_some(name);
    let known = before.is_empty() || shell || host.is_some() || spaced.is_some_and(is_folder);
    known.then(|| Prompt { host, command: bare(command) })
}

/// `mysql> show processlist;`, `MariaDB [(none)]> show processlist;`.
fn of_mysql(line: &str) -> Option<Prompt<'_>> {
    let (name, command) = line.split_once("> ")?;
    let known = name == "mysql" || name.starts_with("MariaDB [") && name.ends_with(']');
    known.then(|| Prompt { host: None, command: command.trim() })
}

/// `app=> select 1`, `app=# \x`, and `app->` where a statement continues: the prompts of `psql`.
fn of_psql(line: &str) -> Option<Prompt<'_>> {
    let cut = line.find(['>', '#'])?;
    let (before, rest) = line.split_at(cut);
    let name = before.strip_suffix(['=', '-', '(', '*', '\''])?;
    let command = rest.get(1..)?;
    let apart = command.is_empty() || command.starts_with(' ');
    (is_host(name) && apart).then(|| Prompt { host: None, command: command.trim() })
}

/// The prompt that a line begins with. An environment's name may stand before it: `(base)`.
pub(super) fn prompt(line: &str) -> Option<Prompt<'_>> {
    let line = line.trim();
    let behind = line.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    let line = behind.filter(|(name, _)| is_name(name)).map_or(line, |(_, rest)| rest);
    let named = in_brackets(line).or_else(|| with_host(line));
    named.map_or_else(
        || short(line).or_else(|| of_psql(line)).or_else(|| of_mysql(line)),
        |(host, command)| Some(Prompt { host: Some(host), command: bare(command) }),
    )
}

/// A command that shows a file of the kernel, behind a prompt of a form that is not known: what it
/// names is worth more than the prompt.
pub(super) fn unknown_prompt(line: &str) -> Option<&str> {
    /// Longest prompt, in bytes.
    const BYTES_MAX: usize = 60;
    let ends = line.char_indices().filter(|(at, c)| *at <= BYTES_MAX && ENDS.contains(c));
    let mut commands = ends.filter_map(|(at, end)| {
        let (before, rest) = (line.get(..at)?, line.get(at + end.len_utf8()..)?);
        let command = bare(rest.strip_prefix(char::is_whitespace)?);
        let file = command.contains(" /proc/") || command.contains(" /sys/");
        let brief = before.split_whitespace().count() <= 3;
        (file && brief && is_tool(command)).then_some(command)
    });
    commands.next()
}

/// The machine and the command of `ssh [-o X] [user@]host 'command'`.
pub(super) fn remote(command: &str) -> Option<(&str, &str)> {
    let mut rest = command.strip_prefix("ssh")?;
    rest = rest.starts_with(char::is_whitespace).then(|| rest.trim_start())?;
    // Options of one letter, of which these take a word (ssh(1)).
    while let Some(option) = rest.strip_prefix('-') {
        let (letters, after) = option.split_once(char::is_whitespace)?;
        let takes = letters.len() == 1 && "bcDeFIiJLlmOopRSWw".contains(letters);
        let after = after.trim_start();
        rest = if takes { after.split_once(char::is_whitespace)?.1.trim_start() } else { after };
    }
    let (who, inner) = rest.split_once(char::is_whitespace)?;
    let host = who.rsplit_once('@').map_or(who, |(_, host)| host);
    let quotes = ['\'', '"'];
    let inner = inner.trim();
    let quoted = inner.starts_with(quotes) && inner.ends_with(quotes) && inner.len() > 1;
    let inner = if quoted { &inner[1..inner.len() - 1] } else { inner };
    is_name(host).then_some((host, bare(inner)))
}

/// The container and the command of `kubectl exec POD -- sh -c 'command'`.
pub(super) fn contained(command: &str) -> Option<(&str, &str)> {
    const RUNNERS: [&str; 6] = ["kubectl", "oc", "docker", "podman", "nerdctl", "crictl"];
    let tool = command.split_whitespace().next().unwrap_or_default();
    let (_, mut rest) = command.split_once(" exec ").filter(|_| RUNNERS.contains(&tool))?;
    let mut name = None;
    loop {
        rest = rest.trim_start();
        let (word, after) = rest.split_once(char::is_whitespace)?;
        if word == "--" {
            rest = after.trim_start();
            break;
        }
        if word.starts_with('-') {
            let takes = ["-c", "-n", "-u", "-w", "-e", "--container", "--namespace", "--user"];
            let value = takes.contains(&word).then(|| after.trim_start());
            rest = value.map_or(Some(after), |v| Some(v.split_once(char::is_whitespace)?.1))?;
            continue;
        }
        if name.is_some() {
            break;
        }
        name = Some(word);
        rest = after;
    }
    Some((name?, in_shell(rest)))
}

/// The command of `sh -c 'command'`; itself where it is none.
fn in_shell(command: &str) -> &str {
    let mut words = command.split_whitespace();
    let shell = words.next().is_some_and(|word| word.ends_with("sh"));
    match command.split_once(" -c ") {
        Some((_, inner)) if shell => inner.trim().trim_matches(['\'', '"']),
        _ => command.trim_matches(['\'', '"']),
    }
}

/// The machines of `for h in db1 db2; do ssh $h ...`.
pub(super) fn looped(command: &str) -> Vec<&str> {
    let list = command.strip_prefix("for ").and_then(|rest| rest.split_once(" in "));
    let Some((_, list)) = list.filter(|_| command.contains("ssh")) else { return Vec::new() };
    let names = list.split(';').next().unwrap_or_default().split_whitespace();
    let names: Vec<&str> = names.collect();
    if names.iter().all(|name| is_name(name)) { names } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines() {
        let inner = "top -b -n1 | head";
        for command in [
            "ssh root@db1 'top -b -n1 | head'",
            "ssh db1 top -b -n1 | head",
            "ssh -q -o BatchMode=yes -p 22 me@db1 \"sudo top -b -n1 | head\"",
        ] {
            assert_eq!(remote(command), Some(("db1", inner)), "{command}");
        }
        for command in ["sshd -T", "ssh db1", "ssh -p", "ssh $h vmstat", "ss -tn", "ssh-add x y"] {
            assert_eq!(remote(command), None, "{command}");
        }
        let command = "for h in s1 s2 s3.b; do echo \"== $h ==\"; ssh $h vmstat 5 3; done";
        assert_eq!(looped(command), ["s1", "s2", "s3.b"]);
        assert_eq!(looped("for h in a b ; do ssh $h w; done"), ["a", "b"]);
        for command in ["for i in 1 2; do vmstat; done", "for h in $(cat x); do ssh $h w; done"] {
            assert!(looped(command).is_empty(), "{command}");
        }
    }

    fn said(line: &str) -> Option<(Option<&str>, &str)> {
        prompt(line).map(|prompt| (prompt.host, prompt.command))
    }

    #[test]
    fn containers() {
        for command in [
            "kubectl -n shop exec api-6f9 -- sh -c 'cat x; date'",
            "kubectl exec -it api-6f9 -c web -- bash -c \"cat x; date\"",
            "docker exec -u root api-6f9 sh -c 'cat x; date'",
        ] {
            assert_eq!(contained(command), Some(("api-6f9", "cat x; date")), "{command}");
        }
        assert_eq!(contained("oc exec -n a pod -- cat x"), Some(("pod", "cat x")));
        for command in ["kubectl get pods", "docker exec", "docker exec -it x", "bash -c exec x"] {
            assert_eq!(contained(command), None, "{command}");
        }
    }

    #[test]
    fn prompts_of_many_shells() {
        for (line, host, command) in [
            ("[root@db1 ~]# free -m", Some("db1"), "free -m"),
            ("user@work-1:~$ cat /x | grep y", Some("work-1"), "cat /x | grep y"),
            ("root@db1:/var/log# ", Some("db1"), ""),
            ("db1:~ # sar -u 1 3", Some("db1"), "sar -u 1 3"),
            ("root@db1 ~ # LC_ALL=C sudo vmstat 1", Some("db1"), "vmstat 1"),
            ("(base) jo@db1:~/x$ top -b", Some("db1"), "top -b"),
            ("oracle@db1> ipcs -m", Some("db1"), "ipcs -m"),
            ("db1# vmstat 1 3", Some("db1"), "vmstat 1 3"),
            ("web-7 ~ # vmstat 1", Some("web-7"), "vmstat 1"),
            ("web-7 /etc $ free", Some("web-7"), "free"),
            ("-bash-4.2$ free", None, "free"),
            ("# iostat -x", None, "iostat -x"),
            ("$ sudo dmesg -T", None, "dmesg -T"),
            ("\u{276f} ss -tn", None, "ss -tn"),
            ("cache-a $ redis-cli info", Some("cache-a"), "redis-cli info"),
            ("web-1 # sudo free -m", Some("web-1"), "free -m"),
            ("[cache-a] $ free", Some("cache-a"), "free"),
            ("[cache-a]# free", Some("cache-a"), "free"),
            ("[cache-a ~]$ free", Some("cache-a"), "free"),
            ("[jo@cache-a]$ free", Some("cache-a"), "free"),
            ("trd-08 ~]$ dmesg -T", Some("trd-08"), "dmesg -T"),
            ("~ $ cat /proc/meminfo", None, "cat /proc/meminfo"),
            ("/tmp # top -bn1", None, "top -bn1"),
            ("app=> select 1;", None, "select 1;"),
            ("app-# from t", None, "from t"),
            ("mysql> show full processlist;", None, "show full processlist;"),
            ("MariaDB [(none)]> show processlist\\G", None, "show processlist\\G"),
        ] {
            assert_eq!(said(line), Some((host, command)), "{line}");
        }
    }

    #[test]
    fn a_command_behind_any_prompt() {
        for line in ["\u{3bb} db1 (main) $ cat /proc/x", "[db1:~] 10:02 % sudo cat /proc/x"] {
            assert_eq!(unknown_prompt(line), Some("cat /proc/x"), "{line}");
        }
        for line in ["it costs 5 $ a day", "you can see it all here > cat /proc/x", "a $ ls"] {
            assert_eq!(unknown_prompt(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_prompt() {
        for line in [
            "[root@db1]# x",
            "mail me@home.org: it costs 5$ a day",
            "a@b:c",
            "[a b]# c",
            "user@host:~ and $5",
            "[12:30:01] user@host:~",
            "# of CPUs: 5",
            "note: # of CPUs",
            "roughly ~ # of CPUs",
            "costs ~ $ 5 a day",
            "cpu> 90 means trouble",
            "10:00:01 > free memory",
            "$5 for a coffee",
            "/proc/sys/vm/x: # y",
            "50 % free memory",
            "50 $ free",
            "host $ cost",
            "[db1] $ cost",
            "[12:30:01] # of",
            "db1 all]$ free",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
