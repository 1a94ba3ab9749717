//! Properties of reading logs: whatever the bytes, nothing panics, every line is counted once, and
//! the parts of the response time add up to it.

use hugewise_evidence::response::{Account, Format, How, MARGIN, Options, Tally, account};
use proptest::prelude::*;

/// Lines of each format.
const LINES: [&str; 9] = [
    "10.0.0.9 - - [26/Nov/2026:12:00:00 +0100] \"GET /a/7?b=c HTTP/1.1\" 200 5 \"-\" \"x\" 0.300 \
     0.100, 0.190 : 0.001",
    "192.168.50.1:61818 [27/Nov/2026:21:52:56.086] fe_main be/s1 0/0/1/1/2 200 517 - - ---- \
     1/1/0/0/0 0/0 {1wt.eu} {} \"GET / HTTP/1.1\"",
    "Feb  6 12:12:51 lb haproxy[7]: 10.0.1.2:33313 [06/Feb/2026:12:12:51.443] fnt bck/srv1 \
     0/3/5007 212 -- 0/0/0/0/3 0/0",
    "[2026-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \"-\" \"x\" \
     \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \"tcp://10.0.2.1:80\"",
    "{\"status\":200,\"ts\":1646861401.5241024,\"request\":{\"method\":\"GET\",\"uri\":\"/a\"},\
     \"duration\":0.000929675}",
    "time=2026-11-26T12:00:00Z status=200 rt=0.310 urt=\"0.100, 0.200\" path=/a",
    "{\"DownstreamStatus\":200,\"Duration\":48321000,\"OriginDuration\":48200000,\
     \"StartUTC\":\"2026-04-17T17:29:18Z\"}",
    "shop:443 10.0.0.9 - - [10/Oct/2026:13:55:36 -0700] \"GET / x\" 200 1 \"-\" \"y\" 41234",
    "10.2.3.4 - - [26/Nov/2026:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"c\" 84 0.120 \
     [default-web-80] [] 10.244.0.7:8080 612 0.100 200 5f3e",
];

fn read(texts: &[Vec<u8>], options: Options) -> Account {
    let mut tally = Tally::new(options);
    for text in texts {
        tally.begin("x");
        text.split(|byte| *byte == b'\n').for_each(|line| tally.line(line));
    }
    account(tally, How { every_ms: None, margin: MARGIN, goal_us: None })
}

fn check(account: &Account) -> Result<(), TestCaseError> {
    let lines: u64 = account.inputs.iter().map(|input| input.lines).sum();
    let left_out: u64 = account.inputs.iter().map(|input| input.left_out).sum();
    let counts = &account.counts;
    prop_assert_eq!(counts.requests + counts.without_date + left_out, lines);
    if account.times.max_us.is_some_and(|us| us > 0) {
        let shares: f64 = account.parts.iter().map(|part| part.share).sum();
        prop_assert!((shares - 1.0).abs() < 1e-6, "{:?}", account.parts);
        let means: f64 = account.parts.iter().map(|part| part.mean_us).sum();
        let mean = account.times.mean_us.unwrap_or(0.0);
        prop_assert!((means - mean).abs() <= 1e-6 * mean + 1e-6, "{means} of {mean}");
    }
    let rows: u64 = account.rows.iter().map(|row| row.times.requests).sum();
    prop_assert_eq!(rows, account.times.requests);
    prop_assert!(serde_json::to_string(account).is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn mutated_logs_are_read_to_their_end(
        picks in prop::collection::vec((0_usize..LINES.len(), 1_usize..6), 1..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut text: Vec<u8> = Vec::new();
        for (pick, times) in &picks {
            text.extend_from_slice(format!("{}\n", LINES[*pick]).repeat(*times).as_bytes());
        }
        for (at, byte) in &changes {
            let at = at.index(text.len());
            text[at] = *byte;
        }
        for cut in &cuts {
            let at = cut.index(text.len());
            text.truncate(at.max(1));
        }
        check(&read(&[text.clone()], Options::default()))?;
        check(&read(&[text.clone(), text], Options::default()))?;
    }

    #[test]
    fn any_format_is_read_or_refused(
        format in "[$%a-zA-Z_{}()\\[\\]\"' /:>^+?-]{0,60}", known in 0_usize..4,
        line in 0_usize..LINES.len(),
    ) {
        let heads = ["$time_local ", "%t ", "[%tr] ", "%START_TIME% "];
        for text in [format.clone(), format!("{}{format}", heads[known])] {
            if let Ok(format) = Format::given(&text) {
                let options = Options { format: Some(format), ..Options::default() };
                check(&read(&[LINES[line].as_bytes().to_vec()], options))?;
            }
        }
    }

    #[test]
    fn any_bytes_are_no_danger(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&read(&[bytes], Options::default()))?;
    }
}

#[test]
fn each_line_is_understood() {
    for line in LINES {
        let account = read(&[line.as_bytes().to_vec()], Options::default());
        assert_eq!((account.counts.requests, account.counts.without_time), (1, 0), "{line}");
        assert_eq!(account.inputs[0].left_out, 0, "{line}");
    }
}
