//! Formats of logs: given in the language of the program that writes them, or recognised.
//!
//! All of them become the same: a sequence of texts and fields ([`pieces`]), or fields with names
//! ([`fields`]). What programs write by default is a list of such formats ([`known`]); the Common
//! Log Format with whatever stands behind it is understood by what its columns can be ([`common`]).

mod apache;
mod common;
mod envoy;
mod fields;
mod haproxy;
mod known;
mod names;
mod nginx;
mod pieces;
mod prefix;
mod slot;

use self::common::Common;
use self::fields::Fields;
pub(super) use self::fields::Scratch;
use self::pieces::Pieces;
use self::prefix::Prefix;
use self::slot::What;
use super::values::{Unit, Values};

/// Lines from which a format is recognised: enough to see lists and missing values, few enough to
/// be read at once.
pub(super) const SAMPLE: usize = 200;

/// Of the lines of a sample, those that a recognised format must fit, as a share: logs contain
/// other lines, such as HAProxy's of servers that went down.
const FITS: f64 = 0.5;

/// The service that a whole log is about.
pub(super) const fn service_of_a_log(name: &str) -> (u8, &[u8]) {
    (slot::rank::HOST, name.as_bytes())
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Pieces(Pieces),
    Common(Common),
    Json(Fields),
    Pairs(Fields),
}

/// A format of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    name: String,
    form: Form,
    prefix: Prefix,
    given: bool,
    assumed: Vec<String>,
}

impl Format {
    /// A format in the language of nginx (`$variable`), Apache, HAProxy or Envoy (`%`).
    ///
    /// # Errors
    /// What it lacks: a field from which a time or a status follows.
    pub fn given(text: &str) -> Result<Self, String> {
        let (name, pieces) = if text.contains('$') && !text.contains("%{") {
            ("nginx", nginx::parse(text))
        } else if envoy::is_format(text) {
            ("Envoy", envoy::parse(text))
        } else if haproxy::is_format(text) {
            ("HAProxy", haproxy::parse(text))
        } else {
            ("Apache", apache::parse(text))
        };
        let useful = pieces.slots().any(|slot| slot.what != What::Skip);
        if !useful {
            return Err("none of its fields is known: write it as the server's configuration has \
                        it, such as '$time_local $status $request_time'"
                .to_owned());
        }
        if !pieces.has(What::Start) && !pieces.has(What::End) {
            return Err("it says no time of day ($time_local, $msec, %t, %tr)".to_owned());
        }
        let name = format!("given, of {name}");
        Ok(Self { given: true, ..Self::of(&name, Form::Pieces(pieces)) })
    }

    /// The format of the first lines of a log; `None`: none that is known.
    pub fn recognised(lines: &[&[u8]], unit: Option<Unit>) -> Option<Self> {
        let prefix = Prefix::of(lines);
        let bare: Vec<&[u8]> = lines.iter().map(|line| prefix.strip(line)).collect();
        let found =
            known::ALL.iter().map(|known| Self::of(known.name, Form::Pieces(known.pieces())));
        let named = Self::with_names(&bare, unit);
        let common = Common::of(&bare, unit).map(|common| {
            let assumed = common.assumed.map(str::to_owned).into_iter().collect();
            Self { assumed, ..Self::of("Common Log Format", Form::Common(common)) }
        });
        let fits = |format: &Self| {
            let mut scratch = Scratch::default();
            // A line without a time of day is of no use: names behind the Common Log Format alone
            // are not the whole of a line.
            let fits = |line: &&&[u8]| {
                let values = format.values(line, &mut scratch);
                values.is_some_and(|values| values.start.or(values.end).is_some())
            };
            bare.iter().filter(fits).count() as f64 >= FITS * bare.len() as f64
        };
        let mut all = found.chain(named).chain(common);
        let found = all.find(|format| !bare.is_empty() && fits(format))?;
        Some(Self { prefix, ..found })
    }

    fn of(name: &str, form: Form) -> Self {
        let name = name.to_owned();
        Self { name, form, prefix: Prefix::default(), given: false, assumed: Vec::new() }
    }

    /// JSON or `key=value`, if the first line is one.
    fn with_names(lines: &[&[u8]], unit: Option<Unit>) -> Option<Self> {
        let json = lines.iter().filter(|line| fields::is_json(line)).count();
        let pairs = || lines.iter().filter(|line| fields::is_pairs(line)).count();
        let is_json = json * 2 > lines.len();
        if !is_json && pairs() * 2 <= lines.len() {
            return None;
        }
        let decimals: Vec<bool> = lines.iter().filter_map(|line| fields::undecided(line)).collect();
        let by_look = match decimals.contains(&true) {
            true => Unit::Seconds,
            false => Unit::Milliseconds,
        };
        let fields = Fields { otherwise: unit.unwrap_or(by_look) };
        let (name, form) = match is_json {
            true => ("JSON", Form::Json(fields)),
            false => ("key=value", Form::Pairs(fields)),
        };
        let mut format = Self::of(name, form);
        if unit.is_none() && !decimals.is_empty() {
            format.assumed.push(format!(
                "the response time has no unit in its name, and is taken for {}; '--unit' says \
                 otherwise",
                if by_look == Unit::Seconds { "seconds" } else { "milliseconds" }
            ));
        }
        Some(format)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was taken for granted.
    pub fn assumed(&self) -> &[String] {
        &self.assumed
    }

    /// The values of a line; `None`: it is not of this format.
    pub(super) fn read<'a>(&self, line: &'a [u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        let line = line.trim_ascii_end();
        // Whatever wrote the file may have put its own head before each line.
        if let (Form::Pieces(pieces), true) = (&self.form, self.given) {
            return pieces.read(line).or_else(|| pieces.read(Prefix::any(line)));
        }
        self.values(self.prefix.strip(line), scratch)
    }

    fn values<'a>(&self, line: &'a [u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        match &self.form {
            Form::Pieces(pieces) => pieces.read(line),
            Form::Common(common) => common.read(line),
            Form::Json(fields) => fields.json(line, scratch),
            Form::Pairs(fields) => fields.pairs(line, scratch),
        }
    }

    /// Which program's log it is, for what its configuration would have to say.
    pub(super) fn writer(&self) -> Writer {
        let name = self.name.as_str();
        match &self.form {
            Form::Json(_) | Form::Pairs(_) => Writer::Any,
            Form::Common(common) if common.assumed.is_none() => Writer::NginxOrApache,
            Form::Common(_) => Writer::Apache,
            Form::Pieces(_) if name.contains("tcplog") => Writer::HaproxyTcp,
            Form::Pieces(_) if name.contains("HAProxy") => Writer::Haproxy,
            Form::Pieces(_) if name.contains("Apache") => Writer::Apache,
            Form::Pieces(_) if name.contains("nginx") || name.contains("NGINX") => Writer::Nginx,
            Form::Pieces(_) if name.contains("Traefik") => Writer::Traefik,
            Form::Pieces(_) => Writer::Envoy,
        }
    }
}

/// A program that writes logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Writer {
    /// nginx.
    Nginx,
    /// Apache httpd.
    Apache,
    /// nginx or Apache: their default formats are the same text.
    NginxOrApache,
    /// HAProxy in `mode http`.
    Haproxy,
    /// HAProxy in `mode tcp`.
    HaproxyTcp,
    /// Envoy or Istio.
    Envoy,
    /// Traefik.
    Traefik,
    /// Not known.
    Any,
}

impl Writer {
    /// What its log lacks for telling more, and the directive that gives it; `None`: it has it.
    pub(super) const fn lacks(self, has_total: bool, has_upstream: bool) -> Option<&'static str> {
        Some(match (self, has_total, has_upstream) {
            (Self::Nginx, false, _) => {
                "nginx logs no response time: add $request_time $upstream_connect_time \
                 $upstream_header_time $upstream_response_time to its log_format"
            }
            (Self::Nginx, true, false) => {
                "nginx logs no time of its upstreams: add $upstream_connect_time \
                 $upstream_header_time $upstream_response_time to its log_format"
            }
            (Self::Apache, false, _) => {
                "Apache logs no response time: add %D to its LogFormat, and %^FB with \
                 'LogIOTrackTTFB ON' (mod_logio) for the time until the first byte"
            }
            (Self::Apache, true, false) => {
                "Apache's %D and %T are one number, and do not tell waiting from sending: add \
                 %^FB to its LogFormat, with 'LogIOTrackTTFB ON' (mod_logio)"
            }
            (Self::NginxOrApache, false, _) => {
                "the log has no response time: add $request_time $upstream_connect_time \
                 $upstream_header_time $upstream_response_time to nginx's log_format, or %D to \
                 Apache's LogFormat"
            }
            (Self::NginxOrApache, true, false) => {
                "the log has no time of the upstreams: add $upstream_connect_time \
                 $upstream_header_time $upstream_response_time to nginx's log_format"
            }
            (Self::Haproxy, false, _) | (Self::Haproxy, true, false) => {
                "HAProxy logs no timers: 'option httplog' gives TR/Tw/Tc/Tr/Ta"
            }
            (Self::HaproxyTcp, _, _) => {
                "HAProxy's 'option tcplog' has sessions, no requests: their times count until \
                 the connection to the server; 'mode http' with 'option httplog' tells the rest"
            }
            (Self::Envoy, false, _) => "Envoy logs no response time: add %DURATION%",
            (Self::Envoy, true, false) => {
                "Envoy logs no time of its upstreams: add \
                 %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%"
            }
            (Self::Traefik, _, false) => {
                "Traefik's common format has one time: 'format: json' has OriginDuration, too"
            }
            (Self::Any, false, _) => "the log has no response time that is known by its name",
            (Self::Any, true, false) => {
                "the log has no time of the upstream that is known by its name, such as \
                 upstream_response_time"
            }
            (_, true, true) | (Self::Traefik, false, true) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(lines: &[&str]) -> Option<Format> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        Format::recognised(&lines, None)
    }

    #[test]
    fn formats_are_recognised_behind_any_head() {
        let line = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 \
                    200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"";
        let heads = [
            "",
            "Feb  6 12:14:14 localhost haproxy[14389]: ",
            "<134>Nov 13 23:14:09 localhost.localdomain haproxy[24843]: ",
            "2026-11-26T12:00:00.123456+01:00 lb1 haproxy[7]: ",
            "2016-10-06T00:17:09.669794202Z stdout F ",
        ];
        for head in heads {
            let down = format!("{head}Server static/srv2 is DOWN, reason: Layer4 timeout.");
            let whole = format!("{head}{line}");
            let format = recognised(&[&whole, &down]).expect(head);
            assert_eq!(format.name(), "HAProxy httplog", "{head}");
            let mut scratch = Scratch::default();
            let values = format.read(whole.as_bytes(), &mut scratch).expect(head);
            assert_eq!(values.total_us, Some(109_000), "{head}");
            assert_eq!(format.writer(), Writer::Haproxy);
        }
    }

    #[test]
    fn named_times_behind_the_common_log_format_are_read_with_it() {
        let line = "127.0.0.1 - - [26/Nov/2026:08:53:28 +0000] \"GET /a/504 HTTP/1.1\" 200 2000 \
                    \"-\" \"-\" rt=0.026 uct=\"0.001\" uht=\"0.020\" urt=\"0.025\" \
                    ua=\"127.0.0.1:9102\"";
        let format = recognised(&[line]).expect("a known format");
        let mut scratch = Scratch::default();
        let values = format.read(line.as_bytes(), &mut scratch).expect("values");
        assert!(values.end.is_some() && values.request.is_some());
        assert_eq!(values.total_us, Some(26_000));
        let last = |tries: Option<super::super::values::Tries>| tries.and_then(|it| it.last_us);
        assert_eq!(last(values.tries_connect), Some(1000));
        assert_eq!(last(values.tries_header), Some(20_000));
        assert_eq!(last(values.tries_response), Some(25_000));
        assert_eq!(values.service.map(|(_, name)| name), Some(&b"127.0.0.1:9102"[..]));
    }

    #[test]
    fn a_given_format_is_of_whoever_writes_so() {
        let writers = [
            ("$time_local $status $request_time", Writer::Nginx),
            ("%h %l %u %t \\\"%r\\\" %>s %b %D", Writer::Apache),
            ("%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST", Writer::Haproxy),
            ("[%START_TIME%] %RESPONSE_CODE% %DURATION%", Writer::Envoy),
        ];
        for (text, writer) in writers {
            assert_eq!(Format::given(text).map(|format| format.writer()), Ok(writer), "{text}");
        }
        for text in ["", "abc", "$status", "%D", "$foo"] {
            assert!(Format::given(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_unit_that_is_not_said_follows_from_all_lines() {
        let with = |times: [&str; 2]| {
            let line = |time| format!("{{\"status\":200,\"ts\":1646861401,\"duration\":{time}}}");
            let lines = times.map(line);
            let format = recognised(&[&lines[0], &lines[1]]).expect("JSON");
            let mut scratch = Scratch::default();
            let first = format.read(lines[0].as_bytes(), &mut scratch).expect("values");
            (first.total_us, format.assumed().len())
        };
        assert_eq!(with(["1", "0.25"]), (Some(1_000_000), 1));
        assert_eq!(with(["1", "25"]), (Some(1000), 1));
    }

    #[test]
    fn what_is_no_log_is_none() {
        for lines in [&[][..], &[""], &["hello world"], &["{}"], &["a=1 b=2"], &["<html>"]] {
            assert!(recognised(lines).is_none(), "{lines:?}");
        }
    }
}
