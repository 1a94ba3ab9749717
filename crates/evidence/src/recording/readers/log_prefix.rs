//! Whether a line is one of a log: by what stands before its message. People also write sentences
//! about messages.

use super::prelude::*;
use crate::recording::log::level;

/// Longest text before a message.
pub(super) const PREFIX_BYTES_MAX: usize = 400;

/// Words at the start of a line that may tell that it is one of a log.
const WORDS_MAX: usize = 8;

/// How lines begin that have neither time nor level: of virtual machines, shells and servers.
const STARTS: [&str; 8] = [
    "OpenJDK 64-Bit Server VM warning: ",
    "Java HotSpot(TM) 64-Bit Server VM warning: ",
    "Caused by: ",
    "Exception in thread \"",
    "Error response from daemon: ",
    "-bash: ",
    "Traceback ",
    "## ERROR: ",
];

/// Names before a colon that are words of the language, too.
const PROGRAMS: [&str; 24] = [
    "bash",
    "sh",
    "zsh",
    "ksh",
    "error",
    "fatal",
    "panic",
    "nginx",
    "mysqld",
    "mariadbd",
    "mongod",
    "postgres",
    "redis",
    "java",
    "docker",
    "runc",
    "node",
    "python",
    "curl",
    "git",
    "ld",
    "initdb",
    "Error",
    "Exception",
];

const CALENDAR: [&str; 19] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon",
    "tue", "wed", "thu", "fri", "sat", "sun",
];

fn has_time(word: &str) -> bool {
    let parts = word.split(['T', '[', ']', '(', '"', '\'', '+', '.', ',', '=', 'Z', '|']);
    parts.take(WORDS_MAX).any(|part| time_of_day(part.trim_end_matches(':')).is_some())
}

/// `[error]`, `ERROR:`, `level=warn`.
fn is_level(word: &str) -> bool {
    let named = word.trim_start_matches("level=").trim_start_matches("lvl=");
    let bare = named.trim_matches(|c: char| !c.is_ascii_alphabetic());
    let marked = named.len() < word.len() || word.starts_with(['[', '<', '(']);
    // `[0.012s][warning][gc]`.
    let mut parts = named.split(['[', ']', '<', '>', '(', ')']).filter(|part| !part.is_empty());
    let known = |part: &str| level::named(&part.to_ascii_uppercase()).is_some();
    level::named(bare).is_some()
        || marked && parts.any(known)
        || named.len() < word.len() && known(bare)
}

/// `postgres[812]:`.
fn is_program(word: &str) -> bool {
    let inner = word.trim_end_matches(':').strip_suffix(']').and_then(|word| word.split_once('['));
    inner.is_some_and(|(name, pid)| !name.is_empty() && count(pid).is_some())
}

/// Whether a word is one that sentences have: letters only, and no name of a day or month.
fn is_plain(word: &str) -> bool {
    let word = word.trim_end_matches([',', '.', ':', '?', '!']);
    let letters = word.chars().all(|c| c.is_alphabetic() || c == '\'');
    let start = word.get(..3).unwrap_or_default().to_ascii_lowercase();
    let dated = word.len() <= 4 && CALENDAR.contains(&start.as_str());
    letters && !word.is_empty() && !dated
}

/// Whether what stands before a message makes it a line of a log.
pub(super) fn is_logged(before: &str) -> bool {
    let before = before.trim_start();
    if before.starts_with("{\"") || STARTS.iter().any(|start| before.starts_with(start)) {
        return true;
    }
    // The value of a key in an object that is written over several lines.
    let key = before.strip_suffix("\": \"").and_then(|rest| rest.strip_prefix('"'));
    if key.is_some_and(|key| key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)))
    {
        return true;
    }
    // What somebody quotes in a sentence, which has no date at its beginning.
    let dated = before.split_whitespace().next().is_some_and(has_time);
    let quoted = before.strip_suffix(['"', '\'', '`']).filter(|_| !dated);
    if quoted.is_some_and(|rest| rest.ends_with(char::is_whitespace)) {
        // An exception that has the message as its argument: `Unix.Unix_error "..."`.
        let last = before.split_whitespace().rev().nth(1).unwrap_or_default();
        let named = last.contains(['.', '_', ':']) && !last.ends_with(['.', ':', ',']);
        return named && ["rror", "xception"].iter().any(|part| last.contains(part));
    }
    // What a program could not do with a file, as perror(3) writes it: `Cannot open /proc/stat: `,
    // `cp: cannot create directory 'a': `.
    let ended = before.strip_suffix(": ");
    let object = ended.and_then(|rest| rest.split_whitespace().next_back());
    let named = ended.and_then(|rest| rest.split_once(": ")).is_some_and(|(name, rest)| {
        let short = !name.is_empty() && !name.contains(char::is_whitespace);
        short && rest.starts_with("cannot ")
    });
    if named || object.is_some_and(|word| word.starts_with('/') || word.ends_with("()")) {
        return true;
    }
    let words: Vec<&str> = before.split_whitespace().take(WORDS_MAX).collect();
    let first = words.first().copied().unwrap_or_default();
    if let Some(name) = first.strip_suffix(':') {
        // A name of a program or class, as sentences have none.
        let odd = name.contains(|c: char| !c.is_alphabetic());
        let camel = name.chars().skip(1).any(char::is_uppercase);
        if !name.is_empty() && (odd || camel || PROGRAMS.contains(&name)) {
            return true;
        }
    }
    for (at, word) in words.iter().enumerate() {
        if has_time(word) || is_level(word) || is_program(word) {
            return true;
        }
        // `web | ...`, as tools for several containers have it.
        let labelled = words.get(at + 1).is_some_and(|next| next.starts_with('|'));
        if is_plain(word) && !labelled {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_logs_are_told_from_sentences() {
        for before in [
            "2026-03-01 10:00:00.118 ERROR 7 --- [exec-3] c.z.h.pool : ",
            "Mar  1 10:00:00 web3 app[912]: ",
            "[12-Mar-2026 10:00:00] ",
            "{\"level\":\"error\",\"msg\":\"",
            "E0301 10:00:00.118012       1 server.go:12] ",
            "time=\"2026-03-01T10:00:00Z\" level=error msg=\"",
            "web | 10:00:00 ",
            "cart_1  | 2026-03-01T10:00:00Z ",
            "912:M 01 Mar 2026 10:00:00.118 # ",
            "[error] ",
            "[0.012s][warning][pagesize] ",
            "WARN  pool: ",
            "mysqld: ",
            "qemu-system-x86_64: ",
            "java.sql.SQLTransientConnectionException: ",
            "EAL: ",
            "<3> 2026-03-01T10:00:00Z ",
        ] {
            assert!(is_logged(before), "{before}");
        }
        for before in [
            "we see ",
            "At 10:00:00 the log said ",
            "The error is ",
            "Question: what does ",
            "I get an ERROR with ",
            "is it \"",
            "web-3: \"",
            "- ",
            "",
            "Maybe: ",
        ] {
            assert!(!is_logged(before), "{before}");
        }
    }
}
