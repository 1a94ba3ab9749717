//! `auditctl -s`: how many records of audit wait, and how many were lost.

use super::prelude::*;

/// The settings under which its values are kept: `audit backlog`.
pub const AUDIT: &str = "audit ";

/// Names of its lines, of all versions.
const NAMES: [&str; 14] = [
    "enabled",
    "failure",
    "flag",
    "pid",
    "rate_limit",
    "backlog_limit",
    "lost",
    "backlog",
    "backlog_wait_time",
    "backlog_wait_time_actual",
    "loginuid_immutable",
    "features",
    "AUDIT_STATUS:",
    "version",
];

fn row(line: &str) -> Option<(&str, &str)> {
    let words = words(line);
    let [name, value, ..] = words.as_slice() else { return None };
    let known = NAMES.contains(name) && words.len() <= 4;
    known.then_some((*name, *value))
}

/// Begins at `enabled`, before another line of it.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let name = |by| row(lines.ahead(by)).map(|(name, _)| name);
    let first = matches!(name(0), Some("enabled" | "backlog_limit" | "lost" | "AUDIT_STATUS:"));
    if !first || name(1).is_none() && lines.ahead(0).split('=').count() < 4 {
        return None;
    }
    Some(lines.begin(SourceKind::Auditctl, Audit, out))
}

struct Audit;

impl Reader for Audit {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        // `AUDIT_STATUS: enabled=1 flag=1 pid=812 ... backlog=8193`, as it was before version 2.3.
        for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            if NAMES.contains(&name) && count(value).is_some() {
                out.setting(&format!("{AUDIT}{name}"), value);
            }
        }
        let Some((name, value)) = row(line) else { return Taken::No };
        if count(value).is_some() {
            out.setting(&format!("{AUDIT}{name}"), value);
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read};
    use super::*;

    #[test]
    fn how_many_records_wait() {
        let recording = read(
            "enabled 1\nfailure 1\npid 812\nrate_limit 0\nbacklog_limit 8192\nlost 1208120\n\
             backlog 8193\nbacklog_wait_time 60000\nloginuid_immutable 0 unlocked\n",
        );
        all_understood(&recording);
        let settings = &recording.hosts[0].settings;
        assert_eq!(settings[&format!("{AUDIT}backlog")].text, "8193");
        assert_eq!(settings[&format!("{AUDIT}lost")].text, "1208120");
        assert!(read("enabled 1\nand so on\n").hosts.is_empty());
    }
}
