//! Findings of many recordings as one table: by host and time, and by cause.

use super::diagnose::{Cause, Diagnosis, Finding, Interval, Level, Severity};
use super::recording::Stamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Version of the JSON form of [`Fleet`].
pub const SCHEMA: u32 = 1;

/// What a recording came to.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its name.
    pub recording: String,
    /// What was found, or why it could not be read.
    pub result: Result<Found, String>,
}

/// What was found in a recording.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its hosts.
    pub hosts: Vec<String>,
    /// Its findings.
    pub rows: Vec<Row>,
    /// What of it could not be read.
    pub problems: Vec<String>,
}

/// A finding on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The host.
    pub host: String,
    /// The recording.
    pub recording: String,
    /// When it began; `None`: no matter of time, or no times known.
    pub from: Option<Stamp>,
    /// When it was last so.
    pub to: Option<Stamp>,
    /// How many stretches of time lie between these.
    pub stretches: usize,
    /// How much it matters.
    pub severity: Severity,
    /// Its name.
    pub cause: Cause,
    /// The cause in a sentence.
    pub title: &'static str,
    /// What shows it, in a sentence.
    pub evidence: Option<String>,
    /// How sure.
    pub confidence: Level,
    /// Share of CPU, disk or memory concerned, 0 to 1.
    pub weight: f64,
    /// The cause that it follows from, where that was found, too.
    pub follows: Option<Cause>,
}

/// A cause, and on how many hosts it was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// Its name.
    pub cause: Cause,
    /// The cause in a sentence.
    pub title: &'static str,
    /// The worst of its findings.
    pub severity: Severity,
    /// Hosts that have it.
    pub hosts: usize,
    /// One that has it, the worst.
    pub worst_host: String,
}

/// A recording that is not, or not wholly, in the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The recording.
    pub recording: String,
    /// Why.
    pub why: String,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fleet {
    /// Version of this form.
    pub schema: u32,
    /// Recordings that were read.
    pub recordings: usize,
    /// Hosts in them.
    pub hosts: usize,
    /// Hosts with a finding that is no mere note.
    pub hosts_suffering: usize,
    /// The causes, those that matter most first; of equal ones those of fewer hosts.
    pub causes: Vec<Shared>,
    /// The findings: the worst first, then by host and time.
    pub findings: Vec<Row>,
    /// Recordings that could not be read.
    pub left_out: Vec<LeftOut>,
    /// What could not be read of the others.
    pub problems: Vec<LeftOut>,
}

impl Found {
    /// What a diagnosis says; a host without a name is called `otherwise`.
    pub fn of(recording: &str, otherwise: &str, diagnosis: &Diagnosis) -> Self {
        let name = |host: &Option<String>| host.clone().unwrap_or_else(|| otherwise.to_owned());
        let row = |finding: &Finding| row(recording, name(&finding.host), finding);
        let problem = |problem: &super::recording::Problem| match problem.line {
            Some(line) => format!("line {line}: {}", problem.text),
            None => problem.text.clone(),
        };
        Self {
            hosts: diagnosis.hosts.iter().map(|host| name(&host.host)).collect(),
            rows: diagnosis.findings.iter().map(row).collect(),
            problems: diagnosis.problems.iter().map(problem).collect(),
        }
    }
}

/// What a process that reads one recording sends to the one that makes the table.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sent {
    hosts: Vec<String>,
    rows: Vec<SentRow>,
    problems: Vec<String>,
}

/// A [`Row`] without what its recording and cause say already; times in seconds.
#[derive(Debug, Serialize, Deserialize)]
struct SentRow {
    host: String,
    from: Option<i64>,
    to: Option<i64>,
    stretches: usize,
    severity: Severity,
    cause: String,
    evidence: Option<String>,
    confidence: Level,
    weight: f64,
    follows: Option<String>,
}

impl Found {
    /// As it is sent to another process.
    pub fn sent(&self) -> Sent {
        let row = |row: &Row| SentRow {
            host: row.host.clone(),
            from: row.from.map(|at| at.0),
            to: row.to.map(|at| at.0),
            stretches: row.stretches,
            severity: row.severity,
            cause: row.cause.key().to_owned(),
            evidence: row.evidence.clone(),
            confidence: row.confidence,
            weight: row.weight,
            follows: row.follows.map(|cause| cause.key().to_owned()),
        };
        let (hosts, problems) = (self.hosts.clone(), self.problems.clone());
        let rows = self.rows.iter().map(row).collect();
        Sent { hosts, rows, problems }
    }

    /// What was sent of this recording; `None` where it makes no sense.
    pub fn received(recording: &str, sent: Sent) -> Option<Self> {
        let Sent { hosts, rows, problems } = sent;
        let named = |key: &str| Cause::ALL.iter().find(|cause| cause.key() == key).copied();
        let mut received = Vec::with_capacity(rows.len());
        for row in rows {
            let cause = named(&row.cause)?;
            received.push(Row {
                host: row.host,
                recording: recording.to_owned(),
                from: row.from.map(Stamp),
                to: row.to.map(Stamp),
                stretches: row.stretches,
                severity: row.severity,
                cause,
                title: cause.about().title,
                evidence: row.evidence,
                confidence: row.confidence,
                weight: row.weight,
                follows: row.follows.as_deref().and_then(named),
            });
        }
        Some(Self { hosts, rows: received, problems })
    }
}

fn row(recording: &str, host: String, finding: &Finding) -> Row {
    let all = &finding.intervals;
    let evidence = finding.chain.last().and_then(|step| step.evidence.first());
    let known = |stamp: fn(&Interval) -> Option<Stamp>| all.iter().filter_map(stamp);
    Row {
        host,
        recording: recording.to_owned(),
        from: known(|interval| interval.from.or(interval.to)).min(),
        to: known(|interval| interval.to.or(interval.from)).max(),
        stretches: all.len(),
        severity: finding.severity,
        cause: finding.cause,
        title: finding.title,
        evidence: evidence.map(|one| one.text.clone()),
        confidence: finding.confidence.level,
        weight: finding.weight,
        follows: finding.follows,
    }
}

impl Fleet {
    /// The table of what was read.
    pub fn of(read: Vec<Read>) -> Self {
        let (mut findings, mut left_out, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut hosts = BTreeSet::new();
        let mut recordings = 0;
        for Read { recording, result } in read {
            match result {
                Ok(found) => {
                    recordings += 1;
                    hosts.extend(found.hosts);
                    findings.extend(found.rows);
                    let of = |why| LeftOut { recording: recording.clone(), why };
                    problems.extend(found.problems.into_iter().map(of));
                }
                Err(why) => left_out.push(LeftOut { recording, why }),
            }
        }
        findings.sort_by(|a: &Row, b: &Row| {
            let order = |row: &Row| (Reverse(row.severity), row.host.clone(), row.from, row.cause);
            order(a).cmp(&order(b))
        });
        let suffering = findings.iter().filter(|row| row.severity > Severity::Note);
        let suffering: BTreeSet<&str> = suffering.map(|row| row.host.as_str()).collect();
        Self {
            schema: SCHEMA,
            recordings,
            hosts: hosts.len(),
            hosts_suffering: suffering.len(),
            causes: causes(&findings),
            findings,
            left_out,
            problems,
        }
    }

    /// The worst severity; `None` without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|row| row.severity).max()
    }
}

fn causes(findings: &[Row]) -> Vec<Shared> {
    let mut by_cause: BTreeMap<Cause, Vec<&Row>> = BTreeMap::new();
    for row in findings {
        by_cause.entry(row.cause).or_default().push(row);
    }
    let shared = by_cause.into_iter().filter_map(|(cause, rows)| {
        let hosts: BTreeSet<&str> = rows.iter().map(|row| row.host.as_str()).collect();
        let better =
            |a: &&&Row, b: &&&Row| a.severity.cmp(&b.severity).then(a.weight.total_cmp(&b.weight));
        let worst = rows.iter().max_by(better)?;
        Some(Shared {
            cause,
            title: worst.title,
            severity: worst.severity,
            hosts: hosts.len(),
            worst_host: worst.host.clone(),
        })
    });
    let mut shared: Vec<Shared> = shared.collect();
    shared.sort_by_key(|one| (Reverse(one.severity), one.hosts, one.cause));
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(host: &str, severity: Severity, from: i64) -> Row {
        Row {
            host: host.to_owned(),
            recording: format!("{host}.sar"),
            from: Some(Stamp(from)),
            to: Some(Stamp(from + 60)),
            stretches: 1,
            severity,
            cause: Cause::ALL[usize::from(severity != Severity::Critical)],
            title: "a cause",
            evidence: None,
            confidence: Level::Likely,
            weight: 0.5,
            follows: None,
        }
    }

    fn read(host: &str, rows: Vec<Row>) -> Read {
        let found = Found { hosts: vec![host.to_owned()], rows, problems: Vec::new() };
        Read { recording: format!("{host}.sar"), result: Ok(found) }
    }

    #[test]
    fn findings_are_one_table_by_severity_host_and_time() {
        let all = vec![
            read("b", vec![finding("b", Severity::Warning, 50), finding("b", Severity::Note, 7)]),
            read(
                "a",
                vec![finding("a", Severity::Warning, 90), finding("a", Severity::Warning, 5)],
            ),
            read("c", vec![finding("c", Severity::Critical, 1)]),
            read("d", Vec::new()),
            Read { recording: "e".into(), result: Err("it is empty".into()) },
        ];
        let fleet = Fleet::of(all);
        let order: Vec<_> =
            fleet.findings.iter().map(|row| (row.host.as_str(), row.from.map(|at| at.0))).collect();
        let expected = [("c", 1), ("a", 5), ("a", 90), ("b", 50), ("b", 7)];
        assert_eq!(order, expected.map(|(host, from)| (host, Some(from))));
        assert_eq!((fleet.recordings, fleet.hosts, fleet.hosts_suffering), (4, 4, 3));
        assert_eq!(fleet.worst(), Some(Severity::Critical));
        let shared: Vec<_> = fleet.causes.iter().map(|one| one.hosts).collect();
        assert_eq!(shared, [1, 2], "the worst first");
        assert_eq!(fleet.left_out[0].why, "it is empty");
    }

    #[test]
    fn what_is_sent_is_received() {
        let mut row = finding("a", Severity::Warning, 5);
        row.title = row.cause.about().title;
        row.follows = Some(Cause::ALL[0]);
        row.evidence = Some("it is \u{e9}".to_owned());
        let (hosts, problems) = (vec!["a".to_owned()], vec!["torn".to_owned()]);
        let found = Found { hosts, rows: vec![row], problems };
        let text = serde_json::to_string(&found.sent()).expect("JSON");
        let sent = |text: &str| serde_json::from_str(text).expect("the same form");
        let received = Found::received("a.sar", sent(&text)).expect("sense");
        assert_eq!(
            (received.hosts, received.rows, received.problems),
            (found.hosts, found.rows, found.problems)
        );
        let other = text.replace(Cause::ALL[1].key(), "unheard_of");
        assert!(Found::received("a.sar", sent(&other)).is_none());
    }

    #[test]
    fn nothing_read_is_a_table_without_rows() {
        let fleet = Fleet::of(Vec::new());
        assert_eq!((fleet.recordings, fleet.worst()), (0, None));
    }
}
