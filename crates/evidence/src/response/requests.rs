//! The requests of a load tool's results one by one, for callers that count them otherwise than
//! [`super::Tally`] does.

use super::results::Results;

/// A request with its end and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the tool calls it, or where it went.
    pub name: String,
    /// When it was done: milliseconds since 1970.
    pub end_ms: i64,
    /// Its whole time.
    pub total_us: u64,
    /// Its status; `None`: the tool says none.
    pub status: Option<u16>,
    /// Whether the tool says that it failed.
    pub failed: bool,
}

/// Results that are read line by line.
#[derive(Clone, Debug)]
pub struct Requests(Results);

impl Requests {
    /// By the first line of the file; `None`: no format of these is known.
    pub fn of(first_line: &[u8]) -> Option<Self> {
        Results::recognised(&[first_line]).map(Self)
    }

    /// Whose results they are.
    pub const fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Whether they tell which requests failed.
    pub const fn tells_failures(&self) -> bool {
        !matches!(self.0, Results::Ab)
    }

    /// The requests of a line that have an end and a time; `None`: it is none of its lines.
    pub fn line(&self, line: &[u8]) -> Option<Vec<Request>> {
        let all = self.0.line(line)?;
        let request = |outcome: &super::results::Outcome| {
            let values = outcome.values();
            let name = values.path.map(String::from_utf8_lossy).map(std::borrow::Cow::into_owned);
            Some(Request {
                name: name.or(values.endpoint.map(str::to_owned)).unwrap_or_default(),
                end_ms: values.end?.ms,
                total_us: values.total_us?,
                status: values.status,
                failed: values.failed,
            })
        };
        Some(all.iter().filter_map(request).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_tools_have_their_end_time_and_failure() {
        let jmeter = Requests::of(b"timeStamp,elapsed,label,responseCode,success").expect("known");
        assert_eq!(jmeter.name(), "results of JMeter");
        let one = |name: &str, end_ms, total_us, status, failed| Request {
            name: name.into(),
            end_ms,
            total_us,
            status,
            failed,
        };
        assert_eq!(
            jmeter.line(b"1700000000000,250,home,503,false"),
            Some(vec![one("home", 1_700_000_000_250, 250_000, Some(503), true)])
        );
        assert_eq!(jmeter.line(b"what"), None);
        let k6 = Requests::of(br#"{"metric":"http_reqs","type":"Metric","data":{}}"#).expect("k6");
        let point = br#"{"metric":"http_req_duration","type":"Point","data":{"time":
            "2023-11-14T22:13:20.500Z","value":1.5,"tags":{"url":"https://a/b","status":"200"}}}"#;
        let wanted = one("https://a/b", 1_700_000_000_500, 1500, Some(200), false);
        assert_eq!(k6.line(point), Some(vec![wanted]));
        assert!(Requests::of(b"hello").is_none());
        let ab = Requests::of(b"starttime\tseconds\tctime\tdtime\tttime\twait").expect("ab");
        assert!(k6.tells_failures() && !ab.tells_failures());
    }
}
