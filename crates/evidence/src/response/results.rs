//! What load tools and tracers write of requests: JMeter's `.jtl`, `ab -g`, points of k6, Gatling's
//! log of text, spans of OpenTelemetry and Zipkin as JSON. One line may tell several requests, or
//! none.

use serde_json::Value;
use std::collections::BTreeMap;

use super::format::service_of_a_log;
use super::values::Values;
use super::when::{LogTime, moment};
use hugewise_base::units::saturating_u64;

/// Most spans of one line that are looked at.
const SPANS_MAX: usize = 100_000;

/// One request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    end: Option<LogTime>,
    total_us: Option<u64>,
    connect_us: Option<u64>,
    answer_us: Option<u64>,
    status: Option<u16>,
    failed: bool,
    method: Option<String>,
    /// A path or an address.
    path: Option<String>,
    /// What somebody called it.
    name: Option<String>,
    service: Option<String>,
}

impl Outcome {
    /// What it says.
    pub(super) fn values(&self) -> Values<'_> {
        Values {
            end: self.end,
            total_us: self.total_us,
            connect_us: self.connect_us,
            answer_us: self.answer_us,
            status: self.status,
            failed: self.failed,
            method: self.method.as_deref().map(str::as_bytes),
            path: self.path.as_deref().map(str::as_bytes),
            endpoint: self.name.as_deref().filter(|_| self.path.is_none()),
            service: self.service.as_deref().map(service_of_a_log),
            ..Values::default()
        }
    }

    /// Called so; an address is a path.
    fn called(self, name: &str) -> Self {
        match name.starts_with('/') || name.contains("://") {
            true => Self { path: Some(name.to_owned()), ..self },
            false => Self { name: Some(name.to_owned()), ..self },
        }
    }
}

/// Milliseconds since 1970.
fn since_1970(ms: f64) -> Option<LogTime> {
    moment(format!("{:.3}", ms / 1000.0).as_bytes())
}

fn us(time: f64) -> Option<u64> {
    (time >= 0.0).then(|| saturating_u64(time.round()))
}

/// A file of one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Results {
    /// Its heading names the columns.
    Jmeter { columns: Vec<String>, separator: char },
    /// `ab -g FILE`: each request, in a table.
    Ab,
    /// Points of all metrics.
    K6,
    /// Records, separated by tabs.
    Gatling,
    /// Spans as `{"resourceSpans": ...}`, an export on each line.
    Otlp,
    /// Spans in an array.
    Zipkin,
}

impl Results {
    /// Whose file it is, by its first line.
    pub(super) fn recognised(lines: &[&[u8]]) -> Option<Self> {
        let first = std::str::from_utf8(lines.first()?).ok()?;
        let separator = first.strip_prefix("timeStamp").and_then(|rest| rest.chars().next());
        if let Some(separator) = separator.filter(|_| first.contains("elapsed")) {
            let columns = first.split(separator).map(str::to_owned).collect();
            return Some(Self::Jmeter { columns, separator });
        }
        let json = || serde_json::from_str::<Value>(first).ok();
        match first.get(..1)? {
            "s" if first == AB_HEADING => Some(Self::Ab),
            "R" if first.starts_with("RUN\t") => Some(Self::Gatling),
            "[" => json()?.get(0)?.get("traceId").map(|_| Self::Zipkin),
            "{" => {
                let json = json()?;
                let of_k6 = json.get("metric").is_some()
                    && matches!(json["type"].as_str(), Some("Metric" | "Point"));
                let spans = json.get("resourceSpans").map(|_| Self::Otlp);
                of_k6.then_some(Self::K6).or(spans)
            }
            _ => None,
        }
    }

    /// What it is called.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Jmeter { .. } => "results of JMeter",
            Self::Ab => "results of ab",
            Self::K6 => "results of k6",
            Self::Gatling => "results of Gatling",
            Self::Otlp => "spans of OpenTelemetry",
            Self::Zipkin => "spans of Zipkin",
        }
    }

    /// The requests of a line; `None`: it is none of its lines.
    pub(super) fn line(&self, line: &[u8]) -> Option<Vec<Outcome>> {
        let text = std::str::from_utf8(line).ok()?;
        match self {
            Self::Jmeter { columns, separator } => jmeter(text, columns, *separator),
            Self::Ab => ab(text),
            Self::Gatling => gatling(text),
            Self::K6 => k6(&serde_json::from_str(text).ok()?),
            Self::Otlp => Some(otlp(&serde_json::from_str(text).ok()?)),
            Self::Zipkin => Some(zipkin(&serde_json::from_str(text).ok()?)),
        }
    }
}

/// A row of values, of which those with a separator in them are quoted.
fn cells(text: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

fn jmeter(text: &str, columns: &[String], separator: char) -> Option<Vec<Outcome>> {
    if text.starts_with("timeStamp") {
        return Some(Vec::new());
    }
    let cells = cells(text, separator);
    let of = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        cells.get(at).map(String::as_str)
    };
    let ms = |name: &str| of(name)?.parse::<f64>().ok();
    let (start, elapsed) = (ms("timeStamp")?, ms("elapsed")?);
    let first = ms("Latency").filter(|first| *first > 0.0 && *first <= elapsed);
    let connect = ms("Connect").filter(|connect| first.is_some_and(|first| *connect <= first));
    let one = Outcome {
        end: since_1970(start + elapsed),
        total_us: us(elapsed * 1e3),
        connect_us: connect.and_then(|ms| us(ms * 1e3)),
        answer_us: first.zip(connect).and_then(|(first, connect)| us((first - connect) * 1e3)),
        status: of("responseCode").and_then(|code| code.parse().ok()),
        failed: of("success") == Some("false"),
        ..Outcome::default()
    };
    Some(vec![one.called(of("label").unwrap_or("request"))])
}

/// The heading of what `ab -g` writes (`output_results` of ab.c).
const AB_HEADING: &str = "starttime\tseconds\tctime\tdtime\tttime\twait";

/// When it began as text and in seconds, milliseconds until connected, for the answer, of all, and
/// until the first byte.
fn ab(text: &str) -> Option<Vec<Outcome>> {
    if text == AB_HEADING {
        return Some(Vec::new());
    }
    let [_, seconds, connect, _, all, _] = text.split('\t').collect::<Vec<_>>()[..] else {
        return None;
    };
    let [seconds, connect, all] = [seconds, connect, all].map(|word| word.parse::<f64>().ok());
    let (seconds, all) = (seconds?, all?);
    let one = Outcome {
        end: since_1970(seconds * 1e3 + all),
        total_us: us(all * 1e3),
        connect_us: connect.and_then(|ms| us(ms * 1e3)),
        ..Outcome::default()
    };
    Some(vec![one.called("request")])
}

/// `REQUEST`, groups, name, start, end, `OK` or `KO`, message; before 3.4 with the user's number
/// behind `REQUEST`.
fn gatling(text: &str) -> Option<Vec<Outcome>> {
    const OTHERS: [&str; 5] = ["RUN", "USER", "GROUP", "ERROR", "ASSERTION"];
    let columns: Vec<&str> = text.split('\t').collect();
    if columns.first() != Some(&"REQUEST") {
        return OTHERS.contains(columns.first()?).then(Vec::new);
    }
    let at = columns.iter().rposition(|column| matches!(*column, "OK" | "KO"))?;
    let [.., name, start, end] = columns.get(..at)? else { return None };
    let (start, end): (f64, f64) = (start.parse().ok()?, end.parse().ok()?);
    let failed = columns.get(at) == Some(&"KO");
    // "status.find.in(200, 304), but actually found 503"
    let said = columns.get(at + 1).filter(|_| failed).and_then(|said| said.rsplit("found ").next());
    let one = Outcome {
        end: since_1970(end),
        total_us: us((end - start) * 1e3),
        status: said.and_then(|said| said.trim().parse().ok()),
        failed,
        name: Some((*name).to_owned()),
        ..Outcome::default()
    };
    Some(vec![one])
}

/// A point of how long requests took; the others tell parts of it, or something else.
fn k6(json: &Value) -> Option<Vec<Outcome>> {
    let metric = json["metric"].as_str()?;
    if json["type"] != "Point" || metric != "http_req_duration" {
        return Some(Vec::new());
    }
    let (data, tags) = (&json["data"], &json["data"]["tags"]);
    let status = tags["status"].as_str().and_then(|status| status.parse().ok());
    let one = Outcome {
        end: moment(data["time"].as_str()?.as_bytes()),
        total_us: us(data["value"].as_f64()? * 1e3),
        // Without an answer k6 says 0.
        status: status.filter(|status| *status > 0),
        failed: tags["expected_response"] == "false",
        method: tags["method"].as_str().map(str::to_owned),
        ..Outcome::default()
    };
    Some(vec![one.called(tags["name"].as_str().or(tags["url"].as_str())?)])
}

/// A span as either writes it.
struct Span<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    service: &'a str,
    name: &'a str,
    /// What it says of its end: whether it serves a request.
    serves: Option<bool>,
    end_ms: f64,
    total_us: f64,
    status: Option<u16>,
    failed: bool,
}

/// Requests are spans that serve one, or whose parent is of another service, or that have none.
fn requests(spans: &[Span<'_>]) -> Vec<Outcome> {
    let services: BTreeMap<&str, &str> = spans.iter().map(|span| (span.id, span.service)).collect();
    let entered = |span: &&Span<'_>| {
        let inner = span.parent.and_then(|parent| services.get(parent));
        span.serves.unwrap_or_else(|| inner.is_none_or(|service| *service != span.service))
    };
    let outcome = |span: &Span<'_>| {
        let one = Outcome {
            end: since_1970(span.end_ms),
            total_us: us(span.total_us),
            status: span.status,
            failed: span.failed,
            service: Some(span.service.to_owned()),
            ..Outcome::default()
        };
        one.called(span.name)
    };
    spans.iter().filter(entered).map(outcome).collect()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().take(SPANS_MAX)
}

/// A number, which JSON of protobuf has as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// The value of an attribute of OpenTelemetry, by its name then and now.
fn attribute<'a>(of: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let named = |one: &&Value| one["key"].as_str().is_some_and(|key| names.contains(&key));
    array(&of["attributes"]).find(named).map(|one| &one["value"])
}

fn otlp(json: &Value) -> Vec<Outcome> {
    /// `SPAN_KIND_INTERNAL`, `SPAN_KIND_SERVER`, `SPAN_KIND_CLIENT`, ... of
    /// opentelemetry/proto/trace/v1/trace.proto.
    const SERVES: [&str; 4] = ["SPAN_KIND_SERVER", "SPAN_KIND_CONSUMER", "2", "5"];
    const STATUS: [&str; 2] = ["http.response.status_code", "http.status_code"];
    let mut all = Vec::new();
    for resource in array(&json["resourceSpans"]) {
        let name = attribute(&resource["resource"], &["service.name"]);
        let service = name.and_then(|name| name["stringValue"].as_str()).unwrap_or("unknown");
        let scopes = array(&resource["scopeSpans"]);
        for span in scopes.flat_map(|scope| array(&scope["spans"])) {
            let times = number(&span["startTimeUnixNano"]).zip(number(&span["endTimeUnixNano"]));
            let Some((start, end)) = times else { continue };
            let kind = span["kind"].as_str().map(str::to_owned);
            let kind = kind.or_else(|| span["kind"].as_u64().map(|kind| kind.to_string()));
            let status = attribute(span, &STATUS).and_then(|status| number(&status["intValue"]));
            all.push(Span {
                id: span["spanId"].as_str().unwrap_or_default(),
                parent: span["parentSpanId"].as_str().filter(|parent| !parent.is_empty()),
                service,
                name: span["name"].as_str().unwrap_or("span"),
                serves: kind.filter(|kind| kind != "0").map(|kind| SERVES.contains(&kind.as_str())),
                end_ms: end / 1e6,
                total_us: (end - start) / 1e3,
                status: status.and_then(|status| u16::try_from(saturating_u64(status)).ok()),
                failed: matches!(number(&span["status"]["code"]), Some(code) if code > 1.5)
                    || span["status"]["code"] == "STATUS_CODE_ERROR",
            });
        }
    }
    requests(&all)
}

fn zipkin(json: &Value) -> Vec<Outcome> {
    let span = |span| {
        let span: &Value = span;
        let (start, length) = (number(&span["timestamp"])?, number(&span["duration"])?);
        let tags = &span["tags"];
        Some(Span {
            id: span["id"].as_str()?,
            parent: span["parentId"].as_str(),
            service: span["localEndpoint"]["serviceName"].as_str().unwrap_or("unknown"),
            name: span["name"].as_str().unwrap_or("span"),
            serves: span["kind"].as_str().map(|kind| matches!(kind, "SERVER" | "CONSUMER")),
            end_ms: (start + length) / 1e3,
            total_us: length,
            status: tags["http.status_code"].as_str().and_then(|status| status.parse().ok()),
            failed: tags.get("error").is_some(),
        })
    };
    requests(&array(json).filter_map(span).collect::<Vec<_>>())
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
