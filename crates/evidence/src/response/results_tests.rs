use super::*;
use crate::response::{How, MARGIN, Options, Tally, account};

/// Name of the form, requests, failures, the endpoints and services that are named.
fn told(text: &str) -> (String, u64, u64, Vec<String>) {
    let mut tally = Tally::new(Options::default());
    tally.begin("x");
    text.lines().for_each(|line| tally.line(line.as_bytes()));
    let account = account(tally, How { every_ms: None, margin: MARGIN, goal_us: Some(120_000) });
    let goal = account.goal.expect("times");
    assert!(!goal.met && goal.above == 1, "{goal:?}");
    assert_eq!((account.counts.given_up, account.counts.without_time), (0, 0));
    let names = account.endpoints.iter().chain(&account.services).map(|one| one.name.clone());
    let form = account.inputs[0].format.clone().unwrap_or_default();
    (form, account.counts.requests, account.counts.failed, names.collect())
}

#[test]
fn jmeter_names_its_columns() {
    let text = "timeStamp,elapsed,label,responseCode,success,Latency,Connect\n\
                1795846831000,150,\"home, page\",200,true,149,1\n\
                1795846831100,90,http://a/item/7?token=secret,503,false,89,0\n\
                nonsense\n";
    let (form, requests, failed, names) = told(text);
    assert_eq!((form.as_str(), requests, failed), ("results of JMeter", 2, 1));
    assert_eq!(names, ["home, page", "/item/{n}"]);
    let results = Results::recognised(&[text.lines().next().expect("a line").as_bytes()]);
    let one = results.expect("JMeter").line(b"1795846831000,150,a,200,true,149,1").expect("a row");
    assert_eq!((one[0].connect_us, one[0].answer_us), (Some(1000), Some(148_000)));
    assert_eq!(one[0].end.map(|end| end.ms), Some(1_795_846_831_150));
}

#[test]
fn ab_has_no_names() {
    let text = "starttime\tseconds\tctime\tdtime\tttime\twait\n\
                Sat Nov 28 07:06:32 2026\t1795849592\t1\t41\t42\t41\n\
                Sat Nov 28 07:06:32 2026\t1795849592\t0\t170\t170\t169\n";
    let (form, requests, failed, names) = told(text);
    assert_eq!((form.as_str(), requests, failed), ("results of ab", 2, 0));
    assert_eq!(names, ["request"]);
}

#[test]
fn k6_has_many_metrics_and_one_of_requests() {
    let point = |metric: &str, ms: f64, expected: &str| {
        format!(
            "{{\"type\":\"Point\",\"data\":{{\"time\":\"2026-11-28T06:20:31.000Z\",\"value\":{ms},\
             \"tags\":{{\"expected_response\":\"{expected}\",\"method\":\"GET\",\
             \"name\":\"http://a/home\",\"status\":\"200\"}}}},\"metric\":\"{metric}\"}}\n"
        )
    };
    let text = "{\"type\":\"Metric\",\"data\":{\"name\":\"http_reqs\"},\"metric\":\"http_reqs\"}\n"
        .to_owned()
        + &point("http_req_waiting", 80.0, "true")
        + &point("http_req_duration", 90.0, "true")
        + &point("http_req_duration", 160.0, "false");
    let (form, requests, failed, names) = told(&text);
    assert_eq!((form.as_str(), requests, failed), ("results of k6", 2, 1));
    assert_eq!(names, ["GET /home"]);
}

#[test]
fn gatling_of_any_scenario_is_read() {
    let text = "RUN\tShop\tshop\t1795847231490\t \t3.9.5\nUSER\tMain\tSTART\t1795847231768\n\
                REQUEST\tfront\thome\t1795847231732\t1795847231908\tOK\t \n\
                GROUP\tfront\t1795847231732\t1795847231908\t176\tOK\n\
                REQUEST\t7\t\tcart\t1795847231732\t1795847231752\tKO\tstatus.find.in(200), but \
                actually found 503\nUSER\tMain\tEND\t1795847232084\n";
    let (form, requests, failed, names) = told(text);
    assert_eq!((form.as_str(), requests, failed), ("results of Gatling", 2, 1));
    assert_eq!(names, ["home", "cart"]);
    let one = Results::Gatling.line(text.lines().nth(4).expect("a line").as_bytes());
    assert_eq!(one.expect("a record")[0].status, Some(503));
}

#[test]
fn spans_of_several_services_are_requests_of_each() {
    let span = |id: &str, parent: &str, ms: u64, more: &str| {
        format!(
            "{{\"traceId\":\"a\",\"spanId\":\"{id}\",\"parentSpanId\":\"{parent}\",\"name\":\
             \"GET /{id}\",\"startTimeUnixNano\":\"1795846831000000000\",\"endTimeUnixNano\":\
             \"{}\"{more}}}",
            1_795_846_831_000_000_000 + ms * 1_000_000
        )
    };
    let of = |service: &str, spans: &str| {
        format!(
            "{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":\
             {{\"stringValue\":\"{service}\"}}}}]}},\"scopeSpans\":[{{\"spans\":[{spans}]}}]}}"
        )
    };
    let gateway = [span("1", "", 150, ""), span("2", "1", 110, "")].join(",");
    let portal = span("3", "2", 100, ",\"kind\":2,\"status\":{\"code\":2}");
    let text =
        format!("{{\"resourceSpans\":[{},{}]}}\n", of("gateway", &gateway), of("portal", &portal));
    let (form, requests, failed, names) = told(&text);
    assert_eq!((form.as_str(), requests, failed), ("spans of OpenTelemetry", 2, 1));
    assert_eq!(names, ["GET /1", "GET /3", "gateway", "portal"]);
    let zipkin = "[{\"traceId\":\"a\",\"id\":\"1\",\"name\":\"home\",\"timestamp\":\
                  1795846831000000,\"duration\":150000,\"localEndpoint\":{\"serviceName\":\
                  \"gateway\"}},{\"traceId\":\"a\",\"id\":\"2\",\"parentId\":\"1\",\"name\":\
                  \"item\",\
                  \"timestamp\":1795846831010000,\"duration\":110000,\"localEndpoint\":\
                  {\"serviceName\":\"portal\"},\"tags\":{\"error\":\"\"}}]\n";
    let (form, requests, failed, names) = told(zipkin);
    assert_eq!((form.as_str(), requests, failed), ("spans of Zipkin", 2, 1));
    assert_eq!(names, ["home", "item", "gateway", "portal"]);
}
