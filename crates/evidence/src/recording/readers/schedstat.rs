//! `/proc/schedstat`, once or twice: how many tasks wait for a CPU.

use super::prelude::*;
use hugewise_base::parse::schedstat;

/// Begins at the version, above the time, or at a CPU with its numbers.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let headed = line.starts_with("version ") && lines.ahead(1).starts_with("timestamp ");
    // `/proc/stat` has lines of CPUs as well.
    let typed = schedstat::row(line).is_some() && out.latest_command().contains("schedstat");
    (headed || typed).then(|| lines.resume(SourceKind::Schedstat, Schedstat::default(), out))
}

#[derive(Default)]
struct Schedstat {
    cpus: u32,
    waited_ns: u64,
}

impl Reader for Schedstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(row) = schedstat::row(line) {
            // The first CPU again: another look.
            if row.cpu == 0 {
                self.end(out);
            }
            self.cpus += 1;
            self.waited_ns = self.waited_ns.saturating_add(row.waited_ns);
            return Taken::Yes;
        }
        let own = ["version ", "timestamp ", "domain"].iter().any(|start| line.starts_with(start));
        if own { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        let Self { cpus, waited_ns } = std::mem::take(self);
        if cpus == 0 {
            return;
        }
        out.put(Field::CpuCount, &Subject::Machine, None, f64::from(cpus));
        let waited_ms = waited_ns as f64 / 1e6;
        out.put(Field::RunDelayCount, &Subject::Machine, None, waited_ms);
        let grown = out.grown(Field::RunDelayCount, &Subject::Machine, (waited_ms, None));
        out.put_known(
            Field::RunDelay,
            &Subject::Machine,
            None,
            grown.map(|ms_a_second| ms_a_second / 1000.0),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn two_looks_tell_how_many_tasks_wait() {
        let look = |waited: u64| {
            format!(
                "version 15\ntimestamp 4295\ncpu0 0 0 1 2 3 4 5000 {waited} 7\n\
                 domain0 3 1 2 3\ncpu1 0 0 1 2 3 4 5000 1000 7\ndomain0 3 1 2 3\n"
            )
        };
        let typed = "db1$ cat /proc/schedstat; sleep 10; cat /proc/schedstat\n";
        let text = format!("{typed}{}{}", look(0), look(60_000_000_000));
        let recording = read(&text);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::RunDelay), [6.0]);
        assert_eq!(machine(&recording, Field::CpuCount), [2.0, 2.0]);
        assert_eq!(machine(&read(&look(7)), Field::RunDelay), [0.0; 0]);
    }
}
