//! `stub_status` of nginx (`ngx_http_stub_status_module`).

use super::prelude::*;
use super::served::put_count;

const FIRST: &str = "Active connections:";
const COUNTS: &str = "server accepts handled requests";

/// Begins at its first line, or at the heading of its counts.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim();
    (line.starts_with(FIRST) || line.starts_with(COUNTS))
        .then(|| lines.resume(SourceKind::StubStatus, StubStatus { counts: false }, out))
}

struct StubStatus {
    /// Whether the line with the counts comes next.
    counts: bool,
}

impl Reader for StubStatus {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim();
        let known = line.is_empty() || line.starts_with(FIRST) || line.starts_with("Reading:");
        if line.starts_with(COUNTS) {
            self.counts = true;
            return Taken::Yes;
        }
        if known {
            return Taken::Yes;
        }
        if !std::mem::take(&mut self.counts) {
            return Taken::No;
        }
        let numbers: Vec<u64> = words(line).into_iter().map_while(count).collect();
        match numbers[..] {
            [accepted, handled, ..] if handled <= accepted => {
                let rate = Some((Field::ConnectionsDropped, 1.0));
                let server = Subject::Service("nginx".to_owned());
                #[expect(clippy::cast_precision_loss, reason = "a count of connections")]
                let dropped = (accepted - handled) as f64;
                put_count(out, (Field::ConnectionsDroppedCount, rate), &server, (dropped, None));
            }
            _ => out.problem("counts of nginx that are none: left out"),
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn page(accepted: u64, handled: u64) -> String {
        format!(
            "Active connections: 291 \nserver accepts handled requests\n {accepted} {handled} \
             31070465 \nReading: 6 Writing: 179 Waiting: 106 \n"
        )
    }

    #[test]
    fn what_was_accepted_and_not_handled_was_dropped() {
        let (one, two) = (page(16_630_948, 16_630_948), page(16_631_948, 16_631_148));
        let curl = "curl -s localhost/nginx_status";
        let recording = read(&format!("w1$ {curl}; sleep 10; {curl}\n{one}{two}"));
        all_understood(&recording);
        let nginx = Subject::Service("nginx".to_owned());
        assert_eq!(values(&recording, Field::ConnectionsDroppedCount, &nginx), [0.0, 800.0]);
        assert_eq!(values(&recording, Field::ConnectionsDropped, &nginx), [80.0]);
        assert_eq!(read(&page(1, 2)).problems.len(), 1);
    }
}
