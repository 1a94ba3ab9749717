//! What Docker and Podman say of containers: `inspect`, all of it or some of its lines, and
//! `events`.

use super::kernel_log::clock_before;
use super::prelude::*;
use crate::recording::Shortage;

/// The value behind a key of JSON, whether its lines are broken or not.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find([',', '}']).unwrap_or(rest.len());
    Some(rest.get(..end)?.trim().trim_matches('"'))
}

const KILLED: &str = "\"OOMKilled\"";

/// `TIME container oom ID (image=x, name=cart)`: what happened, and to what.
fn event(line: &str) -> Option<(&str, &str)> {
    let words = words(line);
    let [time, "container", what, _, ..] = words.as_slice() else { return None };
    let (_, about) = line.split_once('(')?;
    let mut pairs = about.trim_end_matches(')').split(", ");
    let name = pairs.find_map(|pair| pair.strip_prefix("name="))?;
    (time.len() > 18 && clock_before(time).is_some()).then_some((*what, name))
}

/// Begins where a container's state is, at the start of the list that has one, or at an event.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let list = ["[", "{"].contains(&line.trim())
        && (1..LINES_AROUND).any(|by| lines.ahead(by).contains(KILLED));
    let state = value(line, KILLED).is_some_and(|is| ["true", "false"].contains(&is));
    let own = list || state || event(line).is_some();
    own.then(|| lines.begin(SourceKind::Docker, Inspect::default(), out))
}

#[derive(Default)]
struct Inspect {
    killed: bool,
    name: Option<String>,
    ended: Option<i64>,
    limit: Option<f64>,
    restarts: Option<u64>,
}

impl Inspect {
    fn said(&mut self, line: &str) {
        self.killed |= value(line, KILLED) == Some("true");
        let name = value(line, "\"Name\"").and_then(|name| name.strip_prefix('/'));
        self.name = name.map(str::to_owned).or(self.name.take());
        self.ended = value(line, "\"FinishedAt\"").and_then(clock_before).or(self.ended);
        self.restarts = value(line, "\"RestartCount\"").and_then(count).or(self.restarts);
        // 0 stands for none.
        let limit = value(line, "\"Memory\"").and_then(count).filter(|limit| *limit > 0);
        self.limit = limit.map(|limit| limit as f64).or(self.limit);
    }

    fn event(what: &str, name: &str, line: &str, out: &mut Builder) {
        let at = clock_before(line).map(|at| at as f64);
        if what == "oom" {
            let kill = kill(Some(name.to_owned()));
            out.put(Field::ProcKilled, &kill, None, 1.0);
            out.put_known(Field::LogClock, &kill, None, at);
        } else if what == "die" && line.contains("exitCode=135") {
            out.put(Field::ServerSigbus, &Subject::Service(name.to_owned()), None, 1.0);
        }
    }
}

fn kill(name: Option<String>) -> Subject {
    Subject::Kill { scope: Shortage::Container, limited: name.clone(), victim: name }
}

impl Reader for Inspect {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((what, name)) = event(line) {
            Self::event(what, name, line, out);
            return Taken::Yes;
        }
        let json = line.trim_start().starts_with(['"', '{', '}', '[', ']']);
        if json {
            self.said(line);
        }
        if json { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        let restarts = self.restarts.map(|restarts| restarts as f64);
        let name = self.name.take();
        if let Some(name) = &name {
            let subject = Subject::Named(name.clone());
            out.put_known(Field::Restarts, &subject, None, restarts);
            out.put_known(Field::ContainerLimit, &subject, None, self.limit);
        }
        if self.killed {
            let kill = kill(name);
            out.put(Field::ProcKilled, &kill, None, 1.0);
            out.put_known(Field::OomLimit, &kill, None, self.limit);
            out.put_known(Field::LogClock, &kill, None, self.ended.map(|at| at as f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn a_state_that_says_so() {
        let whole = [
            "[",
            "    {",
            "        \"Id\": \"5e\",",
            "        \"State\": {",
            "            \"Status\": \"exited\",",
            "            \"OOMKilled\": true,",
            "            \"FinishedAt\": \"2026-05-04T10:00:00.118Z\"",
            "        },",
            "        \"Name\": \"/web\",",
            "        \"RestartCount\": 2,",
            "        \"HostConfig\": {",
            "            \"Memory\": 65536,",
            "            \"RestartPolicy\": {",
            "                \"Name\": \"always\"",
            "            }",
            "        }",
            "    }",
            "]",
        ]
        .join("\n");
        let recording = read(&whole);
        all_understood(&recording);
        let web = kill(Some("web".to_owned()));
        assert_eq!(values(&recording, Field::ProcKilled, &web), [1.0]);
        assert_eq!(values(&recording, Field::OomLimit, &web), [65536.0]);
        let one = "[{\"Name\":\"/web\",\"State\":{\"OOMKilled\":true,\"ExitCode\":137}}]\n";
        assert_eq!(values(&read(one), Field::ProcKilled, &web), [1.0]);
        let cut = read(
            &["            \"OOMKilled\": true,", "            \"ExitCode\": 137,"].join("\n"),
        );
        assert_eq!(values(&cut, Field::ProcKilled, &kill(None)), [1.0]);
        let alive = read("            \"OOMKilled\": false,\n");
        assert!(alive.hosts.iter().all(|host| host.series.is_empty()));
        let event = "2026-05-04T10:00:00.118+02:00 container oom 5e11 (image=web:1, name=web)\n";
        assert_eq!(values(&read(event), Field::ProcKilled, &web), [1.0]);
    }
}
