//! The summary of `top` in other languages: words differ, order and numbers do not.

use super::words::number_and_unit;
use std::borrow::Cow;

/// Order of the shares of CPU in procps 3.3 and 4.
const SHARES: [&str; 8] = ["us", "sy", "ni", "id", "wa", "hi", "si", "st"];
const TASKS: [&str; 5] = ["total", "running", "sleeping", "stopped", "zombie"];

/// `12,0 xx, 3,0 yy`: each number with what follows it. Decimals may stand behind a comma.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let starts = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut found: Vec<(&str, &str)> = Vec::new();
    for word in words {
        // `100,0 id` may follow without a blank: `ni,100,0 id`.
        let (label, glued) = match word.split_once(',') {
            Some((label, rest)) if !starts(word) && starts(rest) => (label, Some(rest)),
            _ => (word, None),
        };
        match found.last_mut() {
            Some((_, last)) if last.is_empty() && !starts(label) => *last = label,
            _ if starts(label) => found.push((label.trim_end_matches(','), "")),
            _ => {}
        }
        found.extend(glued.map(|glued| (glued, "")));
    }
    found
}

fn shares(label: &str, rest: &str) -> Option<String> {
    let lower = label.trim().trim_start_matches('%').to_lowercase();
    let which = lower.strip_prefix("cpu")?;
    let which = if which.is_empty() { "(s)" } else { which };
    let all = pairs(rest);
    let known = all.iter().zip(SHARES).all(|((_, said), own)| said.trim_end_matches(',') == own);
    if all.len() != SHARES.len() || (known && label.contains("Cpu")) {
        return None;
    }
    let parts: Vec<String> =
        all.iter().zip(SHARES).map(|((value, _), own)| format!("{value} {own}")).collect();
    Some(format!("%Cpu{which}: {}", parts.join(", ")))
}

fn memory(label: &str, rest: &str) -> Option<String> {
    let (unit, name) = label.trim().split_once(' ')?;
    let unit = unit.strip_suffix('B')?.trim_end_matches('i');
    if !matches!(unit, "K" | "M" | "G" | "T" | "P" | "E") || name.split_whitespace().count() > 1 {
        return None;
    }
    let all = pairs(rest);
    let [(total, _), (free, said), (used, ends), (more, _)] = all.as_slice() else { return None };
    let size = |text: &str| number_and_unit(text).map(|(value, _)| value);
    let sizes = [total, free, used, more].iter().all(|text| size(text).is_some());
    // Before procps 3.3.10 the order is used, free, buffers: in English its words say so, in other
    // languages that used and free are all there is.
    let (first, second) = (size(free)?, size(used)?);
    let old = !ends.ends_with('.') && (size(total)? - first - second).abs() <= first * CLOSE;
    if matches!(name.trim(), "Mem" | "Swap") && ENGLISH.contains(&said.trim_end_matches(',')) {
        return None;
    }
    if old && size(more)? > second * CLOSE {
        return Some(format!(
            "{unit}iB Mem: {total} total, {free} used, {used} free, {more} buffers"
        ));
    }
    // Behind the swap stands what is available, after a full stop.
    let text = match ends.ends_with('.') {
        true => format!("{unit}iB Swap: {total} total, {free} free, {used} used. {more} avail Mem"),
        false => {
            format!("{unit}iB Mem : {total} total, {free} free, {used} used, {more} buff/cache")
        }
    };
    sizes.then_some(text)
}

fn tasks(label: &str, rest: &str) -> Option<String> {
    let one = label.trim().chars().all(char::is_alphabetic) && !label.trim().is_empty();
    let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
    if !one || parts.len() != TASKS.len() {
        return None;
    }
    let count = |part: &&str| {
        let (number, word) = part.split_once(' ')?;
        (!word.trim().is_empty()).then_some(())?;
        number.parse::<u64>().ok()
    };
    let counts: Option<Vec<u64>> = parts.iter().map(count).collect();
    let parts: Vec<String> =
        counts?.iter().zip(TASKS).map(|(count, own)| format!("{count} {own}")).collect();
    Some(format!("Tasks: {}", parts.join(", ")))
}

fn columns(line: &str) -> Option<String> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let has = |name: &str| words.contains(&name);
    let [.., time, _] = words.as_slice() else { return None };
    let ours = words.first() == Some(&"PID") && has("%CPU") && has("%MEM") && has("RES");
    if !ours || has("COMMAND") || !time.ends_with('+') {
        return None;
    }
    let last = words.len() - 1;
    (words[last - 1], words[last]) = ("TIME+", "COMMAND");
    Some(words.join(" "))
}

/// A line of the summary, or the head of the table, in the words of the C locale.
pub(super) fn english(line: &str) -> Cow<'_, str> {
    let said = match line.split_once(':') {
        Some((label, rest)) if label.len() <= LABEL_BYTES_MAX => {
            shares(label, rest).or_else(|| memory(label, rest)).or_else(|| tasks(label, rest))
        }
        Some(_) => None,
        None => columns(line),
    };
    said.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Labels of the second number of a line that needs no translation.
const ENGLISH: [&str; 2] = ["free", "used"];
/// Sums of numbers that are rounded differ by less than this part.
const CLOSE: f64 = 0.01;

/// Longest label of a line; prose has longer ones.
const LABEL_BYTES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;
    use crate::recording::Field;

    #[test]
    fn languages_differ_in_words_only() {
        for (line, wanted) in [
            (
                "%CPU(s):  1,5 us,  0,0 sy,  0,0 ni,100,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st ",
                "%Cpu(s): 1,5 us, 0,0 sy, 0,0 ni, 100,0 id, 0,0 wa, 0,0 hi, 0,0 si, 0,0 st",
            ),
            (
                "%Cpu3  :  1,5 ut,  0,0 sy,  0,0 ni, 90,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st",
                "%Cpu3: 1,5 us, 0,0 sy, 0,0 ni, 90,0 id, 0,0 wa, 0,0 hi, 0,0 si, 0,0 st",
            ),
            (
                "MiB Spch:  24105,6 total,  13971,2 free,    666,7 used,   9868,1 buff/cache",
                "MiB Mem : 24105,6 total, 13971,2 free, 666,7 used, 9868,1 buff/cache",
            ),
            (
                "MiB Éch :      0,0 total,      0,0 libr,      0,0 util.  23439,0 dispo Mem",
                "MiB Swap: 0,0 total, 0,0 free, 0,0 used. 23439,0 avail Mem",
            ),
            (
                "Tâches:  72 total,   1 en cours,  71 en veille,   0 arrêté,   0 zombie",
                "Tasks: 72 total, 1 running, 71 sleeping, 0 stopped, 0 zombie",
            ),
            (
                "  PID UTIL.  PR  NI    VIRT    RES    SHR S  %CPU  %MEM    TEMPS+ COM.",
                "PID UTIL. PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND",
            ),
        ] {
            assert_eq!(english(line), wanted);
        }
        for line in [
            "Note: 5 users, 3 hosts and 2 disks",
            "%Cpu(s): 1.5 us, 0.0 sy, 0.0 ni, 98.5 id, 0.0 wa, 0.0 hi, 0.0 si, 0.0 st",
            "Mem: 7 5 2",
        ] {
            assert_eq!(english(line), line);
        }
    }

    #[test]
    fn a_french_summary_is_read() {
        let recording = read(
            "top - 18:33:03 up 11:52,  0 user,  load average: 1,01, 1,14, 1,18\n\
             Tâches:  72 total,   1 en cours,  71 en veille,   0 arrêté,   0 zombie\n\
             %Cpu(s): 12,0 ut,  3,0 sy,  0,0 ni, 85,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st \n\
             MiB Mem :  24105,0 total,  13971,0 libr,    666,6 util,   9868,4 tamp/cache     \n\
             MiB Éch :      0,0 total,      0,0 libr,      0,0 util.  23439,0 dispo Mem \n\n  \
             PID UTIL.     PR  NI    VIRT    RES    SHR S  %CPU  %MEM    TEMPS+ COM.\n    \
             1 root      10 -10   43084  11832   6468 S   7,0   0,0   2:01.45 init\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::CpuUser), [12.0]);
        assert_eq!(machine(&recording, Field::MemFree), [13_971.0 * 1_048_576.0]);
        assert_eq!(machine(&recording, Field::MemAvailable), [23_439.0 * 1_048_576.0]);
        assert_eq!(machine(&recording, Field::RunQueue), [1.0]);
    }
}
