//! Formats that are recognised by themselves: as each program's manual or package writes them.

use super::pieces::Pieces;
use super::{envoy, haproxy, nginx};

/// Envoy's default format.
pub(super) const ENVOY: &str = "[%START_TIME%] \"%REQ(:METHOD)% \
%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% \
%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \
\"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \
\"%UPSTREAM_HOST%\"";

/// Istio's default format: Envoy's with more behind it.
const ISTIO: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% \
%PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% \
%CONNECTION_TERMINATION_DETAILS% \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% \
%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \
\"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" \
%UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% \
%DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%";

/// HAProxy's `option httplog`. Before 1.7 the first and last timer are `%Tq` and `%Tt`, in lines
/// that look the same.
const HTTPLOG: &str = "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc \
%ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r";

/// HAProxy's `option httpslog`.
const HTTPSLOG: &str = "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc \
%ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r %[fc_err]/%[ssl_fc_err,hex]/%[ssl_c_err]/\
%[ssl_c_ca_err]/%[ssl_fc_is_resumed] %[ssl_fc_sni]/%sslv/%sslc";

/// HAProxy's `option httplog clf`, which the manual writes with quotes that are not written.
const HTTPLOG_CLF: &str = "%ci - - [%trg] \"%r\" %ST %B \"\" \"\" %cp %ms \"%ft\" \"%b\" \"%s\" \
%TR %Tw %Tc %Tr %Ta \"%tsc\" %ac %fc %bc %sc %rc %sq %bq \"%CC\" \"%CS\" %hr %hs";

/// HAProxy's `option tcplog`.
const TCPLOG: &str = "%ci:%cp [%t] %ft %b/%s %Tw/%Tc/%Tt %B %ts %ac/%fc/%bc/%sc/%rc %sq/%bq";

/// The NGINX ingress controller of Kubernetes, from its ConfigMap's `log-format-upstream`.
const INGRESS: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
$body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_length $request_time \
[$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr \
$upstream_response_length $upstream_response_time $upstream_status $req_id";

/// Traefik's common format, whose last number is in milliseconds.
const TRAEFIK: &str = "$remote_addr - $remote_user [$start] \"$request\" $status $bytes \
\"$referer\" \"$agent\" $number \"$router\" \"$server\" $duration_ms";

/// A format, and what the program that writes it is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The name.
    pub(super) name: &'static str,
    format: &'static str,
    parse: fn(&str) -> Pieces,
}

/// All of them; of two that a line fits the first one counts.
pub(super) const ALL: [Known; 8] = [
    Known { name: "HAProxy httplog", format: HTTPLOG, parse: haproxy::parse },
    Known { name: "HAProxy httpslog", format: HTTPSLOG, parse: haproxy::parse },
    Known { name: "HAProxy httplog clf", format: HTTPLOG_CLF, parse: haproxy::parse },
    Known { name: "HAProxy tcplog", format: TCPLOG, parse: haproxy::parse },
    Known { name: "Envoy", format: ENVOY, parse: envoy::parse },
    Known { name: "Istio", format: ISTIO, parse: envoy::parse },
    Known { name: "NGINX ingress controller", format: INGRESS, parse: nginx::parse },
    Known { name: "Traefik", format: TRAEFIK, parse: traefik },
];

impl Known {
    /// The format, read.
    pub(super) fn pieces(&self) -> Pieces {
        (self.parse)(self.format)
    }
}

/// Traefik's format has no language of its own: written as one of nginx with other names.
fn traefik(text: &str) -> Pieces {
    use super::slot::{Slot, What, rank};
    use crate::response::values::Unit;
    let mut pieces = Pieces::default();
    for part in text.split('$') {
        let end = part.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        let (name, behind) = part.split_at(end.unwrap_or(part.len()));
        let slot = match name {
            "" => None,
            "start" => Some(Slot::of(What::Start)),
            "request" => Some(Slot::of(What::Request)),
            "status" => Some(Slot::of(What::Status)),
            "router" => Some(Slot::of(What::Service(rank::HOST))),
            "server" => Some(Slot::of(What::Service(rank::ADDRESS))),
            "duration_ms" => Some(Slot::time(What::Total, Unit::Milliseconds)),
            _ => Some(Slot::of(What::Skip)),
        };
        if let Some(slot) = slot {
            pieces.field(slot);
        }
        pieces.text(behind.as_bytes());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::values::Values;

    fn fits(line: &str) -> Vec<&'static str> {
        let fits = |known: &&Known| known.pieces().read(line.as_bytes()).is_some();
        ALL.iter().filter(fits).map(|known| known.name).collect()
    }

    fn read<'a>(name: &str, line: &'a str) -> Values<'a> {
        let known = ALL.iter().find(|known| known.name == name).expect("a known format");
        known.pieces().read(line.as_bytes()).unwrap_or_else(|| panic!("{name}: {line}"))
    }

    /// A line of each format.
    const LINES: [(&str, &str); 8] = [
        (
            "HAProxy httplog",
            "192.168.50.1:61818 [27/Jan/2021:21:52:56.086] fe_main be_servers/s1 0/0/1/1/2 200 517 \
             - - ---- 1/1/0/0/0 0/0 {1wt.eu} {} \"GET / HTTP/1.1\"",
        ),
        (
            "HAProxy httpslog",
            "192.168.50.1:61818 [27/Jan/2021:21:52:56.086] fe_main be_servers/s1 0/0/1/1/2 200 517 \
             - - ---- 1/1/0/0/0 0/0 {1wt.eu} {} \"GET / HTTP/1.1\" 0/0/0/0/0 \
             1wt.eu/TLSv1.3/TLS_AES_256_GCM_SHA384",
        ),
        (
            "HAProxy httplog clf",
            "192.168.50.1 - - [27/Jan/2021:21:52:56 +0000] \"GET / HTTP/1.1\" 200 517 \"\" \"\" \
             61818 086 \"fe_main\" \"be_servers\" \"s1\" 0 0 1 1 2 \"----\" 1 1 0 0 0 0 0 \
             \"-\" \"-\"",
        ),
        (
            "HAProxy tcplog",
            "10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0",
        ),
        (
            "Envoy",
            "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \
             \"10.0.35.28\" \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \
             \"tcp://10.0.2.1:80\"",
        ),
        (
            "Istio",
            "[2020-11-25T21:26:18.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - \"-\" 0 \
             135 3 1 \"-\" \"curl/7.73.0-DEV\" \"84961386-6d84-929d-98bd-c5aee93b5c88\" \
             \"httpbin:8000\" \"127.0.0.1:80\" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 \
             10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default",
        ),
        (
            "NGINX ingress controller",
            "10.2.3.4 - - [26/Nov/2026:12:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 612 \"-\" \
             \"curl/8.5\" 84 0.120 [default-web-80] [] 10.244.0.7:8080, 10.244.0.8:8080 0, 612 \
             0.100, 0.018 502, 200 5f3e",
        ),
        (
            "Traefik",
            "172.17.0.1 - - [26/Nov/2026:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \
             \"curl/8.5\" 7 \"web@docker\" \"http://172.17.0.2:80\" 48ms",
        ),
    ];

    #[test]
    fn each_line_fits_its_format_first() {
        for (name, line) in LINES {
            assert_eq!(fits(line).first(), Some(&name), "{line}");
            assert!(read(name, line).timed().is_some(), "{line}");
        }
    }

    #[test]
    fn their_times_are_what_they_say() {
        let values = read("NGINX ingress controller", LINES[6].1);
        let tries = values.tries_response.expect("tries");
        assert_eq!((tries.earlier_us, tries.last_us), (100_000, Some(18_000)));
        assert_eq!(values.service.map(|(_, name)| name), Some(&b"default-web-80"[..]));
        assert_eq!(read("Traefik", LINES[7].1).total_us, Some(48_000));
        let values = read("Istio", LINES[5].1);
        assert_eq!((values.total_us, values.upstream_us), (Some(3000), Some(1000)));
        let values = read("HAProxy httplog clf", LINES[2].1);
        assert_eq!((values.total_us, values.status), (Some(2000), Some(200)));
    }
}
