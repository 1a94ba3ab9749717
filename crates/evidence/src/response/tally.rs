//! Counts what the lines of logs say, line by line, in bounded memory.

use serde::Serialize;

use super::cells::{Cell, Cells, Load};
use super::endpoint::{endpoint, last_address};
use super::format::{Format, SAMPLE, Scratch, Writer};
use super::keys::Keys;
use super::part::{COUNT, Part, Parts};
use super::results::Results;
use super::sketch::Sketch;
use super::statements::Statements;
use super::values::{Timed, Unit, Values};
use super::when::LogTime;

/// Most notes about what was taken for granted.
const NOTES_MAX: usize = 16;

/// What a user says about logs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format of all of them.
    pub format: Option<Format>,
    /// The unit of the response time where a log does not say it.
    pub unit: Option<Unit>,
    /// The zone of times without one, seconds east of Greenwich.
    pub zone_s: Option<i64>,
}

/// What became of an input.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its format; `None`: none was recognised.
    pub format: Option<String>,
    /// Lines that are not empty.
    pub lines: u64,
    /// Of them, not understood.
    pub left_out: u64,
    /// The first of those, from 1.
    pub first_left_out: Option<u64>,
}

/// Requests that are counted by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All requests.
    pub requests: u64,
    /// Without a response time.
    pub without_time: u64,
    /// Without a time of day, or one far from all others: left out.
    pub without_date: u64,
    /// Upgraded to another protocol (101): their time is that of a session, and left out.
    pub upgraded: u64,
    /// Whose parts are longer than the whole by more than rounding explains.
    pub contradicting: u64,
    /// Logged before they were done (HAProxy's `option logasap`): their end is missing.
    pub early: u64,
    /// With a status from 500 on.
    pub errors: u64,
    /// That the client, a load tool or a tracer, calls failed.
    pub failed: u64,
    /// Given up by the client: nginx's 499, or no answer at all.
    pub given_up: u64,
}

/// Requests of one class of status.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// How many.
    pub requests: u64,
    /// Their times.
    pub(super) times: Sketch,
}

/// The clock of the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogClock {
    /// The zone that is shown, seconds east of Greenwich; `None`: not known.
    pub zone_s: Option<i64>,
    /// Whether times are UTC; if not, they are the machine's local time.
    pub utc: bool,
    /// Some lines have a zone and others have none.
    pub mixed: bool,
}

/// An input that is being read.
#[derive(Debug, Default)]
struct Open {
    input: Input,
    /// Lines that wait until the format is known.
    sample: Vec<(u64, Vec<u8>)>,
    sample_bytes: usize,
    format: Option<Format>,
    /// A log of statements has no format of lines.
    statements: Option<Statements>,
    /// Results of a load tool or a tracer have none, either.
    results: Option<Results>,
    /// No format was recognised.
    unknown: bool,
    line: u64,
    scratch: Scratch,
}

impl Open {
    fn is_recognised(&self) -> bool {
        let other = self.statements.is_some() || self.results.is_some();
        self.format.is_some() || self.unknown || other
    }
}

/// Bytes of lines from which a format is recognised: an export of spans is one long line.
const SAMPLE_BYTES_MAX: usize = 4 << 20;

/// What was counted.
#[derive(Debug, Default)]
pub struct Tally {
    options: Options,
    open: Open,
    pub(super) inputs: Vec<Input>,
    pub(super) writers: Vec<Writer>,
    pub(super) notes: Vec<String>,
    pub(super) counts: Counts,
    pub(super) cells: Cells,
    pub(super) services: Keys,
    pub(super) servers: Keys,
    pub(super) endpoints: Keys,
    /// 1xx to 5xx, and no status.
    pub(super) classes: [Class; 6],
    pub(super) times: Sketch,
    pub(super) parts: Parts,
    /// Requests whose line tells a part.
    pub(super) told: [u64; COUNT],
    /// Requests whose line tells nothing but the whole.
    pub(super) whole_only: u64,
    /// The first and the last end.
    pub(super) range_ms: Option<(i64, i64)>,
    pub(super) clock: Option<LogClock>,
    /// Times are multiples of this, in microseconds.
    pub(super) resolution_us: u64,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(options: Options) -> Self {
        Self { options, resolution_us: 1_000_000, ..Self::default() }
    }

    /// An input begins.
    pub fn begin(&mut self, name: &str) {
        self.end();
        self.open.input.name = name.to_owned();
        self.open.format.clone_from(&self.options.format);
    }

    /// The next line of the input, with or without its line end.
    pub fn line(&mut self, line: &[u8]) {
        self.open.line += 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return;
        }
        if self.open.is_recognised() {
            return self.known(self.open.line, line);
        }
        self.open.sample_bytes += line.len();
        self.open.sample.push((self.open.line, line.to_vec()));
        if self.open.sample.len() >= SAMPLE || self.open.sample_bytes >= SAMPLE_BYTES_MAX {
            self.recognise();
        }
    }

    /// A line of an input whose form is known, or known to be unknown.
    fn known(&mut self, number: u64, line: &[u8]) {
        if let Some(log) = &mut self.open.statements {
            self.open.input.lines += 1;
            if !log.line(line) {
                self.leave_out(number);
            }
            return self.take_statements();
        }
        if let Some(results) = self.open.results.take() {
            self.open.input.lines += 1;
            match results.line(line) {
                Some(all) => all.iter().for_each(|one| self.take(&one.values())),
                None => self.leave_out(number),
            }
            self.open.results = Some(results);
            return;
        }
        if line.starts_with(b"#") {
            return;
        }
        self.open.input.lines += 1;
        match self.open.format.is_some() {
            true => self.read(number, line),
            false => self.leave_out(number),
        }
    }

    fn take_statements(&mut self) {
        let Some(mut log) = self.open.statements.take() else { return };
        for request in log.requests() {
            self.take(&request.values(log.server()));
        }
        self.open.statements = Some(log);
    }

    /// A whole input that is no text, whose requests somebody else has read: each with its name,
    /// when it ended in milliseconds since 1970, how long it took in microseconds, whether it went
    /// well.
    pub fn outcomes<'a>(
        &mut self,
        (name, format): (&str, &str),
        all: impl Iterator<Item = (&'a str, i64, u64, bool)>,
    ) {
        self.end();
        let mut input =
            Input { name: name.to_owned(), format: Some(format.to_owned()), ..Input::default() };
        for (name, end_ms, total_us, ok) in all {
            input.lines += 1;
            let end = Some(LogTime { ms: end_ms, zone_s: None, utc: true });
            let total_us = Some(total_us);
            let endpoint = Some(name);
            self.take(&Values { end, total_us, endpoint, failed: !ok, ..Values::default() });
        }
        self.inputs.push(input);
    }

    /// The input is complete.
    pub fn end(&mut self) {
        self.recognise();
        if let Some(log) = &mut self.open.statements {
            log.end();
            self.take_statements();
        }
        let open = std::mem::take(&mut self.open);
        if let Some(format) = &open.format {
            if !self.writers.contains(&format.writer()) {
                self.writers.push(format.writer());
            }
            for assumed in format.assumed() {
                let note = format!("{}: {assumed}", open.input.name);
                if self.notes.len() < NOTES_MAX {
                    self.notes.push(note);
                }
            }
        }
        if !open.input.name.is_empty() {
            let of_statements = open.statements.map(|log| log.name().to_owned());
            let of_results = open.results.map(|results| results.name().to_owned());
            let format = open.format.map(|format| format.name().to_owned());
            let format = format.or(of_statements).or(of_results);
            self.inputs.push(Input { format, ..open.input });
        }
    }

    fn recognise(&mut self) {
        let sample = std::mem::take(&mut self.open.sample);
        if sample.is_empty() {
            return;
        }
        let lines: Vec<&[u8]> = sample.iter().map(|(_, line)| line.as_slice()).collect();
        self.open.results = Results::recognised(&lines);
        if self.open.results.is_none() {
            self.open.statements = Statements::recognised(&lines);
        }
        if self.open.results.is_none() && self.open.statements.is_none() {
            let plain: Vec<&[u8]> =
                lines.iter().copied().filter(|line| !line.starts_with(b"#")).collect();
            self.open.format = Format::recognised(&plain, self.options.unit);
            self.open.unknown = self.open.format.is_none();
        }
        for (number, line) in &sample {
            self.known(*number, line);
        }
    }

    fn leave_out(&mut self, number: u64) {
        let input = &mut self.open.input;
        input.left_out += 1;
        input.first_left_out = input.first_left_out.or(Some(number));
    }

    fn read(&mut self, number: u64, line: &[u8]) {
        let mut scratch = std::mem::take(&mut self.open.scratch);
        let format = self.open.format.take();
        let values = format.as_ref().and_then(|format| format.read(line, &mut scratch));
        match &values {
            Some(values) => self.take(values),
            None => self.leave_out(number),
        }
        self.open.format = format;
        self.open.scratch = scratch;
    }

    /// Counts one request.
    fn take(&mut self, values: &Values<'_>) {
        let timed = values.timed();
        let upgraded = values.is_connection();
        let Some(moment) = values.end(timed.map_or(0, |timed| timed.total_us)) else {
            self.counts.without_date += 1;
            return;
        };
        let ms = self.placed_ms(moment);
        if self.cells.at(ms).is_none() {
            self.counts.without_date += 1;
            return;
        }
        let (first, last) = self.range_ms.unwrap_or((ms, ms));
        self.range_ms = Some((first.min(ms), last.max(ms)));
        let timed = timed.filter(|_| !upgraded);
        self.count(values, timed.as_ref(), upgraded);
        let us = timed.map(|timed| timed.total_us);
        let error = values.failed || values.status.is_some_and(|status| status >= 500);
        let load = Load { requests: u64::from(us.is_some()), sum_us: us.unwrap_or(0) };
        let names = self.names(values);
        let given_up = gave_up(values);
        let Some(cell) = self.cells.at(ms) else { return };
        cell.ended += 1;
        cell.errors += u64::from(error);
        cell.given_up += u64::from(given_up);
        cell.endpoints.add(names.endpoint, load);
        if let Some(service) = names.service {
            cell.services.add(service, load);
            self.services.count(service, us, error);
        }
        if let Some(server) = names.server {
            cell.servers.add(server, load);
            self.servers.count(server, us, error);
        }
        self.endpoints.count(names.endpoint, us, error);
        if let Some(timed) = timed {
            put_time(cell, &timed);
            let ms_long = i64::try_from(timed.total_us / 1000).unwrap_or(0);
            self.cells.under_way(ms - ms_long, ms);
        }
    }

    fn count(&mut self, values: &Values<'_>, timed: Option<&Timed>, upgraded: bool) {
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.upgraded += u64::from(upgraded);
        counts.without_time += u64::from(timed.is_none() && !upgraded);
        counts.early += u64::from(values.early);
        counts.errors += u64::from(values.status.is_some_and(|status| status >= 500));
        counts.failed += u64::from(values.failed);
        counts.given_up += u64::from(gave_up(values));
        let class = values.status.map_or(5, |status| usize::from(status / 100).saturating_sub(1));
        let class = self.classes.get_mut(class.min(5));
        if let Some(class) = class {
            class.requests += 1;
            if let Some(timed) = timed {
                class.times.record(timed.total_us);
            }
        }
        let Some(timed) = timed else { return };
        self.counts.contradicting += u64::from(timed.contradicts);
        self.times.record(timed.total_us);
        self.parts.merge(&timed.parts);
        self.whole_only += u64::from(timed.told.is_empty());
        for (told, part) in self.told.iter_mut().zip(Part::ALL) {
            *told += u64::from(timed.told.has(part));
        }
        while self.resolution_us > 1 && timed.total_us % self.resolution_us != 0 {
            self.resolution_us /= 1000;
        }
    }

    /// A time on the clock of all inputs, and what is known of that clock.
    fn placed_ms(&mut self, moment: LogTime) -> i64 {
        let given = self.options.zone_s;
        let utc = moment.utc || given.is_some();
        let zone_s = moment.zone_s.or(given);
        let clock = self.clock.get_or_insert(LogClock { zone_s, utc, mixed: false });
        clock.zone_s = clock.zone_s.or(zone_s);
        clock.mixed |= clock.utc != utc;
        match moment.utc {
            true => moment.ms,
            false => moment.ms - given.unwrap_or(0) * 1000,
        }
    }

    fn names(&mut self, values: &Values<'_>) -> Names {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let service = values.service.map(|(_, name)| text(last_address(name)));
        let server = values.server.zip(service.as_ref());
        let server = server.map(|(server, service)| format!("{service}/{}", text(server)));
        let of_path = || endpoint(values.method, values.path, values.request);
        let endpoint = values.endpoint.map_or_else(of_path, str::to_owned);
        Names {
            service: service.map(|name| self.services.id(&name)),
            server: server.map(|name| self.servers.id(&name)),
            endpoint: self.endpoints.id(&endpoint),
        }
    }
}

struct Names {
    service: Option<u16>,
    server: Option<u16>,
    endpoint: u16,
}

/// Whether the client did not wait for the answer: nginx writes 499, and others no status. A
/// connection of TCP has none, either, nor has a statement.
fn gave_up(values: &Values<'_>) -> bool {
    match values.status {
        Some(status) => status == 499,
        None => !values.session && !values.is_connection() && values.endpoint.is_none(),
    }
}

fn put_time(cell: &mut Cell, timed: &Timed) {
    cell.times.record(timed.total_us);
    cell.parts.merge(&timed.parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(text: &str) -> Tally {
        let mut tally = Tally::new(Options::default());
        tally.begin("x.log");
        text.lines().for_each(|line| tally.line(line.as_bytes()));
        tally.end();
        tally
    }

    fn line(second: u32, time: &str) -> String {
        format!(
            "10.0.0.9 - - [26/Nov/2026:12:00:{second:02} +0100] \"GET /a/{second}?x=1 HTTP/1.1\" \
             200 5 \"-\" \"-\" {time} {time}"
        )
    }

    #[test]
    fn lines_are_counted_where_their_request_ended() {
        let text = format!("{}\nnonsense\n\n{}\n", line(1, "0.100"), line(5, "3.000"));
        let mut tally = tally(&text);
        assert_eq!((tally.counts.requests, tally.inputs[0].left_out), (2, 1));
        assert_eq!(tally.inputs[0].first_left_out, Some(2));
        assert_eq!(tally.resolution_us, 1000);
        assert_eq!(tally.clock.and_then(|clock| clock.zone_s), Some(3600));
        let cells = tally.cells.finish();
        assert_eq!(cells.iter().map(|cell| cell.ended).collect::<Vec<_>>(), [1, 0, 0, 0, 1]);
        assert_eq!(tally.endpoints.all()[1].name, "GET /a/{n}");
        assert_eq!(tally.times.sum(), tally.parts.sum());
    }

    #[test]
    fn statements_are_requests_of_their_server() {
        let postgres = |second: u32, ms: &str| {
            format!(
                "2031-02-03 04:05:{second:02} UTC [77] LOG:  duration: {ms} ms  statement: select \
                 * from t\n\twhere pw = 'hunter2'\n"
            )
        };
        let mysql = |second: u32, time: &str| {
            format!(
                "# Time: 2031-02-03T04:05:{second:02}.5Z\n# User@Host: a[a] @ h []  Id: 3\n# \
                 Query_time: {time}  Lock_time: 0.1 Rows_sent: 1  Rows_examined: 9\nselect * from \
                 t where pw = 'hunter2';\n"
            )
        };
        let mongo = |second: u32, ms: u32| {
            format!(
                "{{\"t\":{{\"$date\":\"2031-02-03T04:05:{second:02}.789+00:00\"}},\"msg\":\
                 \"Slow query\",\"attr\":{{\"type\":\"command\",\"ns\":\"a.b\",\"command\":\
                 {{\"find\":\"b\",\"filter\":{{\"pw\":\"hunter2\"}}}},\
                 \"durationMillis\":{ms}}}}}\n"
            )
        };
        for (text, format, server, name) in [
            (
                postgres(1, "1500.5") + &postgres(5, "2500.5"),
                "PostgreSQL log",
                "postgres",
                "select * from t where pw = ?",
            ),
            (
                mysql(1, "1.5005") + &mysql(5, "2.5005"),
                "MySQL slow log",
                "mysql",
                "select * from t where pw = ?",
            ),
            (mongo(1, 1500) + &mongo(5, 2500), "MongoDB log", "mongodb", "find a.b {pw}"),
        ] {
            let mut tally = tally(&text);
            assert_eq!(tally.inputs[0].format.as_deref(), Some(format));
            assert_eq!((tally.counts.requests, tally.inputs[0].left_out), (2, 0), "{text}");
            assert_eq!((tally.counts.given_up, tally.counts.without_time), (0, 0));
            assert_eq!(tally.services.all()[1].name, server);
            assert!(tally.endpoints.all().iter().any(|endpoint| endpoint.name == name), "{name}");
            let cells = tally.cells.finish();
            assert_eq!(cells.iter().map(|cell| cell.ended).collect::<Vec<_>>(), [1, 0, 0, 0, 1]);
            assert!(tally.times.max().is_some_and(|us| (2_500_000..2_600_000).contains(&us)));
        }
    }

    #[test]
    fn what_is_no_log_is_left_out_whole() {
        let tally = tally(&"nothing to see here\n".repeat(500));
        assert_eq!((tally.inputs[0].lines, tally.inputs[0].left_out), (500, 500));
        assert_eq!((tally.inputs[0].format.as_deref(), tally.counts.requests), (None, 0));
    }

    #[test]
    fn a_session_of_another_protocol_has_no_response_time() {
        let ws = line(1, "0.500").replace(" 200 ", " 101 ");
        let tally = tally(&format!("{ws}\n{}\n{}\n", line(2, "0.200"), line(2, "0.100")));
        assert_eq!((tally.counts.upgraded, tally.counts.without_time), (1, 0));
    }

    #[test]
    fn a_connection_of_tcp_has_no_response_time_and_nobody_gave_it_up() {
        let tcp = "[2026-11-26T21:26:47.519Z] \"- - -\" 0 - - - \"-\" 978 795 158381 - \"-\" \"-\" \
                   \"-\" \"-\" \"192.168.56.20:3080\" outbound|3080|external 10.244.0.9:42680 \
                   10.244.0.9:8080 10.244.0.11:53730 external-app -";
        let http = tcp.replace("\"- - -\" 0 -", "\"GET / HTTP/1.1\" 200 -").replace("158381", "12");
        let gone = tcp.replace("\"- - -\" 0 -", "\"GET / HTTP/1.1\" 0 DC");
        let json = |request: &str, ms: u64| {
            format!(
                "{{\"start_time\":\"2026-11-26T21:26:47.519Z\",{request},\"duration\":{ms},\
                 \"upstream_service_time\":\"-\"}}"
            )
        };
        let nothing = "\"method\":null,\"path\":null,\"response_code\":0";
        let get = "\"method\":\"GET\",\"path\":\"/\",\"response_code\":200";
        for text in [
            format!("{http}\n{tcp}\n{http}\n{gone}\n"),
            [
                json(get, 12),
                json(nothing, 158_381),
                json(get, 12),
                json(&get.replace("200", "0"), 12),
            ]
            .join("\n"),
        ] {
            let tally = tally(&text);
            let counts = &tally.counts;
            assert_eq!((counts.requests, counts.upgraded, counts.given_up), (4, 1, 1), "{text}");
            assert!(tally.times.max().is_some_and(|us| us < 200_000_000), "{text}");
        }
    }
}
