//! Logs of a database's statements: each run is a request, its fingerprint the endpoint.

use super::format::service_of_a_log;
use super::values::Values;
use super::when::LogTime;
use crate::recording::readers::queries::{Event, QueryLog};

/// Of the lines of a sample, those that a log of statements must have, as a share.
const FITS: f64 = 0.5;

/// A log of statements.
pub(super) struct Statements(QueryLog);

impl std::fmt::Debug for Statements {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// One run of a statement.
pub(super) struct Request(Event);

impl Request {
    /// What it says, of that server.
    pub(super) fn values<'a>(&'a self, server: &'static str) -> Values<'a> {
        let Event { at, utc, ms, .. } = self.0;
        let zone_s = utc.then_some(0);
        let dated = at.filter(|at| at.has_date());
        let end = dated.map(|at| LogTime { ms: at.0.saturating_mul(1000), zone_s, utc });
        let total_us = ms.map(|ms| hugewise_base::units::saturating_u64((ms * 1e3).round()));
        let service = Some(service_of_a_log(server));
        Values { end, total_us, service, endpoint: Some(&self.0.fingerprint), ..Values::default() }
    }
}

impl Statements {
    /// The log of which these are the first lines; `None`: they are of none.
    pub(super) fn recognised(lines: &[&[u8]]) -> Option<Self> {
        let text = |line: &&[u8]| String::from_utf8_lossy(line).into_owned();
        let lines: Vec<String> = lines.iter().map(text).collect();
        let mut trial = QueryLog::of(&lines)?;
        let fits = lines.iter().filter(|line| trial.line(line)).count() as f64;
        (fits >= FITS * lines.len() as f64).then(|| QueryLog::of(&lines).map(Self))?
    }

    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
        self.0.name().1
    }

    /// Whose log it is.
    pub(super) fn server(&self) -> &'static str {
        self.0.name().0
    }

    /// Takes a line; whether it is one of this log.
    pub(super) fn line(&mut self, line: &[u8]) -> bool {
        self.0.line(&String::from_utf8_lossy(line))
    }

    /// No more lines follow.
    pub(super) fn end(&mut self) {
        self.0.end();
    }

    /// Runs since they were last asked for. Where one only failed, or wrote a file, its time stands
    /// elsewhere or nowhere.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        let runs = self.0.events().into_iter();
        let is_run = |event: &Event| {
            event.ms.is_some() || event.failed.is_none() && event.temporary.is_none()
        };
        runs.filter(is_run).map(Request).collect()
    }
}
