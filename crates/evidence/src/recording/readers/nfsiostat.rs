//! `nfsiostat`: how long requests to a file server take (nfsiostat(8)).

use super::prelude::*;

/// `filer:/export mounted on /mnt:`.
fn mount(line: &str) -> Option<&str> {
    let (source, path) = line.trim().strip_suffix(':')?.split_once(" mounted on ")?;
    (source.contains(':') && path.starts_with('/')).then_some(path)
}

/// Begins at a mount.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    mount(lines.ahead(0))?;
    Some(lines.resume(
        SourceKind::Nfsiostat,
        Nfsiostat { mount: String::new(), of: None, columns: Vec::new() },
        out,
    ))
}

struct Nfsiostat {
    mount: String,
    /// The direction whose numbers the next line has.
    of: Option<Field>,
    columns: Vec<String>,
}

/// `avg RTT (ms)` and the others are several words: the columns, by what begins each.
fn columns(line: &str) -> Vec<String> {
    let text = line.replace("avg ", "avg_").replace(" (", "_(");
    let text = text.replace("ops/s", " ops/s").replace("kB/", " kB/");
    text.split_whitespace().map(str::to_owned).collect()
}

impl Reader for Nfsiostat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            return Taken::Yes;
        }
        if let Some(path) = mount(line) {
            (self.mount, self.of) = (path.to_owned(), None);
            return Taken::Yes;
        }
        if let Some((name, rest)) = trimmed.split_once(':') {
            self.of = match name {
                "read" => Some(Field::RemoteReadAwait),
                "write" => Some(Field::RemoteWriteAwait),
                _ => return Taken::No,
            };
            self.columns = columns(rest);
            return Taken::Yes;
        }
        let cells = words(line);
        let head = cells.contains(&"ops/s") || cells.contains(&"bklog") || cells.contains(&"rpc");
        if !head && !cells.iter().all(|word| number(word.trim_matches(['(', ')', '%'])).is_some()) {
            return Taken::No;
        }
        let Some(field) = self.of.take() else { return Taken::Yes };
        // `1 (0.5%)` counts as two cells of one column.
        let cells: Vec<f64> =
            cells.iter().filter(|w| !w.starts_with('(')).filter_map(|w| number(w)).collect();
        let place = |name: &str| self.columns.iter().position(|column| column.starts_with(name));
        let cell = |name: &str| place(name).and_then(|at| cells.get(at)).copied();
        let idle = cell("ops/s").is_none_or(|rate| rate <= 0.0);
        let mount = Subject::Filesystem(self.mount.clone());
        if let (Some(await_ms), false) = (cell("avg_exe"), idle) {
            out.put(field, &mount, None, await_ms);
        }
        if let (Some(trip_ms), false) = (cell("avg_RTT"), idle) {
            out.put(Field::RemoteRoundTrip, &mount, None, trip_ms);
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn old_and_new_versions() {
        let title = "filer1:/vol/home mounted on /home:\n\n";
        let columns = "ops/s   kB/s   kB/op  retrans  avg RTT (ms)  avg exe (ms)";
        let reads = "400.100  6401.600  16.000  2 (0.5%)  412.300  419.000";
        let new = format!(
            "{title}  ops/s    rpc bklog\n  812.400   0.000\n\n\
             read:  {columns}  avg queue (ms)  errors\n  {reads}   3.100   0 (0.0%)\n\
             write: {columns}\n  0.000  0.000  0.000  0 (0.0%)  0.000  0.000\n"
        );
        let old = format!(
            "{title}   op/s\t\trpc bklog\n 812.40 \t   0.00\nread:   {columns}\n\t\t {reads}\n"
        );
        let home = Subject::Filesystem("/home".to_owned());
        for text in [new, old] {
            let recording = read(&text);
            all_understood(&recording);
            assert_eq!(values(&recording, Field::RemoteReadAwait, &home), [419.0], "{text}");
            assert!(values(&recording, Field::RemoteWriteAwait, &home).is_empty());
        }
    }
}
