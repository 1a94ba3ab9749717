//! The verbose log of OpenJ9 and IBM's Java since 5.0: XML, an element a line. Before 6.26 a pause
//! is an element that holds its collections, since then it lies between `exclusive-start` and its
//! end.

use super::pause::Pause;
use crate::recording::readers::kernel_log::date_and_time;
use crate::recording::readers::prelude::*;

/// The text of an attribute.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.match_indices(name).find_map(|(at, _)| {
        let apart = line[..at].ends_with(' ');
        let (_, rest) = line[at + name.len()..].split_at_checked(2).filter(|(m, _)| *m == "=\"")?;
        rest.split('"').next().filter(|_| apart)
    })
}

fn amount(line: &str, name: &str) -> Option<f64> {
    number(attribute(line, name)?)
}

fn stamp(line: &str) -> Option<Stamp> {
    date_and_time(attribute(line, "timestamp")?)
}

/// Begins at the log's head, or where the program is about to stop for a collection.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim_start();
    let known = ["<verbosegc ", "<exclusive-start id=", "<gc-start id=", "<gc-end id="];
    let starts = |line: &str| known.iter().any(|start| line.starts_with(start));
    let next = (1..LINES_AROUND).map(|by| lines.ahead(by)).find(|line| !line.trim().is_empty());
    let head = line.starts_with("<?xml ") && next.is_some_and(starts);
    let older = (line.starts_with("<af ") || line.starts_with("<sys "))
        && attribute(line, "intervalms").is_some();
    (head || older || starts(line)).then(|| lines.resume(SourceKind::GcLog, OpenJ9::default(), out))
}

#[derive(Default)]
struct OpenJ9 {
    /// The collection that ended last: the program still stands.
    pause: Option<Pause>,
    /// Whether the lines of its end follow.
    ends: bool,
}

impl OpenJ9 {
    fn put(&mut self, out: &mut Builder) {
        let pause = self.pause.take().filter(|pause| pause.ms > 0.0);
        pause.into_iter().for_each(|pause| pause.put(out));
    }

    /// An element of the older form.
    fn before_6_26(&mut self, element: &str, line: &str, out: &mut Builder) {
        match element {
            "af" | "sys" if line.starts_with("</") => self.put(out),
            "af" | "sys" => {
                self.put(out);
                let explicit = line.starts_with("<sys").then(|| "System.gc()".to_owned());
                self.pause = Some(Pause { at: stamp(line), cause: explicit, ..Pause::default() });
            }
            "gc" if attribute(line, "type") == Some("global") => {
                if let Some(pause) = &mut self.pause {
                    "Full".clone_into(&mut pause.kind);
                }
            }
            "timesms" => {
                let Some(pause) = &mut self.pause else { return };
                pause.ms += amount(line, "total").unwrap_or_default();
                let parts = ["mark", "sweep", "compact"].into_iter();
                pause.parts =
                    parts.filter_map(|n| Some((n.to_owned(), amount(line, n)?))).collect();
            }
            "tenured" => {
                let sizes = amount(line, "freebytes").zip(amount(line, "totalbytes"));
                if let (Some(pause), Some((free, total))) = (&mut self.pause, sizes) {
                    pause.heaps = vec![(total - free, total)];
                }
            }
            "time" => {
                if let (Some(pause), Some(ms)) = (&mut self.pause, amount(line, "totalms")) {
                    pause.ms = ms.max(pause.ms);
                }
            }
            _ => {}
        }
    }
}

impl Reader for OpenJ9 {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim();
        if line.is_empty() {
            return Taken::Yes;
        }
        if !line.starts_with('<') {
            return Taken::No;
        }
        let element = line.trim_start_matches(['<', '/']).split([' ', '>']).next();
        match element.unwrap_or_default() {
            "gc-end" if line.starts_with("</") => self.ends = false,
            "gc-end" => {
                let Some(ms) = amount(line, "durationms") else { return Taken::Yes };
                let last = self.pause.take();
                let before = last.as_ref().map_or(0.0, |last| last.ms);
                let global = attribute(line, "type") == Some("global");
                let cpu = amount(line, "usertimems").zip(amount(line, "systemtimems"));
                let mut pause = last.unwrap_or_default();
                (pause.at, pause.ms) = (stamp(line), before + ms);
                let full = global || pause.kind == "Full";
                pause.kind = if full { "Full".to_owned() } else { "Young".to_owned() };
                // Of two collections in one pause both.
                pause.cpu = match (pause.cpu, cpu) {
                    (Some(a), Some(b)) => Some((a.0 + b.0, a.1 + b.1)),
                    (a, b) => a.or(b),
                };
                self.pause = Some(pause);
                self.ends = !line.ends_with("/>");
            }
            "mem-info" if self.ends => {
                let sizes = amount(line, "free").zip(amount(line, "total"));
                let heap = sizes.map(|(free, total)| (total - free, total));
                if let (Some(pause), Some(heap)) = (&mut self.pause, heap) {
                    pause.heaps = vec![heap];
                }
            }
            "sys-start" => {
                let cause = attribute(line, "reason").unwrap_or("System.gc()").to_owned();
                self.pause = Some(Pause { cause: Some(cause), ..Pause::default() });
            }
            // The whole pause, until the program continues.
            "exclusive-end" => {
                let whole = amount(line, "durationms");
                if let (Some(pause), Some(whole)) = (&mut self.pause, whole) {
                    pause.ms = whole.max(pause.ms);
                }
                self.put(out);
            }
            "exclusive-start" => self.put(out),
            element => self.before_6_26(element, line, out),
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.put(out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, read, values};
    use crate::recording::{Field, Subject};

    #[test]
    fn a_pause_lasts_until_the_program_goes_on() {
        let recording = read(
            "<verbosegc version=\"x\">\n\n\
             <exclusive-start id=\"1\" timestamp=\"2020-01-02T03:04:05.1\">\n</exclusive-start>\n\
             <gc-start id=\"2\" type=\"global\" timestamp=\"2020-01-02T03:04:05.2\">\n\
             <mem-info id=\"3\" free=\"0\" total=\"67108864\" />\n</gc-start>\n\
             <gc-end id=\"4\" type=\"global\" durationms=\"1200.5\" usertimems=\"80.0\" \
             systemtimems=\"9.0\" timestamp=\"2020-01-02T03:04:06.3\">\n\
             <mem-info id=\"5\" free=\"16777216\" total=\"67108864\" />\n</gc-end>\n\
             <exclusive-end id=\"6\" durationms=\"1210.25\" />\n</verbosegc>\n",
        );
        all_understood(&recording);
        let java = Subject::process(None, "java");
        let of = |field| values(&recording, field, &java);
        assert_eq!(of(Field::GcPause), [1210.25]);
        assert_eq!(of(Field::GcSystem), [9.0]);
        assert_eq!(of(Field::GcHeapAfter), [50_331_648.0]);
    }

    #[test]
    fn before_6_26_a_pause_is_an_element() {
        let recording = read(
            "<?xml version=\"1.0\" ?>\n\n<verbosegc version=\"x\">\n\n\
             <af type=\"tenured\" id=\"1\" timestamp=\"Jan 02 03:04:05 2009\" \
             intervalms=\"0.000\">\n  <time exclusiveaccessms=\"0.5\" />\n  <gc type=\"global\" \
             id=\"1\" totalid=\"1\" intervalms=\"0.000\">\n    <timesms mark=\"900.5\" \
             sweep=\"50.0\" compact=\"0.000\" total=\"960.5\" />\n    <tenured \
             freebytes=\"16777216\" totalbytes=\"67108864\" percent=\"25\" >\n    </tenured>\n  \
             </gc>\n  <time totalms=\"961.25\" />\n</af>\n</verbosegc>\n",
        );
        all_understood(&recording);
        let java = Subject::process(None, "java");
        let of = |field| values(&recording, field, &java);
        assert_eq!(of(Field::GcPause), [961.25]);
        assert_eq!(of(Field::GcHeapAfter), [50_331_648.0]);
    }
}
