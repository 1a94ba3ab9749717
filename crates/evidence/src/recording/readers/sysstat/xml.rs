//! `sadf -x`: the XML of a sysstat binary. `sadf` prints an element a line, with the names of
//! `sadf -j`.

use serde_json::{Map, Value};

use super::sadf::{put_interrupts, put_section, stamp};
use crate::recording::readers::prelude::*;

/// Lines before the machine: the declaration and the schema.
const LEAD: usize = 8;
/// Elements inside each other: `sadf` needs 5.
const DEPTH_MAX: usize = 16;
/// Attributes and texts of one element: `memory` has 30.
const VALUES_MAX: usize = 256;

/// An element that a line begins, or all of it.
struct Element<'a> {
    name: &'a str,
    values: Map<String, Value>,
    /// It has neither a text nor others inside.
    empty: bool,
    text: Option<&'a str>,
}

/// A number where it is one.
fn value(text: &str) -> Value {
    let number = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The keys of `sadf -j` for those that differ, outside the elements that share them.
fn key(name: &str) -> &str {
    match name {
        "number" => "cpu",
        "dev" => "disk-device",
        "fsname" => "filesystem",
        other => other,
    }
}

/// `<disk-device dev="sda" tps="1.00"/>`, `<memfree>1437740</memfree>` or `<disk per="second">`.
fn element(line: &str) -> Option<Element<'_>> {
    let (inside, rest) = line.trim().strip_prefix('<')?.split_once('>')?;
    let (inside, empty) = inside.strip_suffix('/').map_or((inside, false), |text| (text, true));
    let (name, mut attributes) = inside.split_once(' ').unwrap_or((inside, ""));
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut values = Map::new();
    while let Some((name, after)) = attributes.split_once("=\"") {
        let (text, after) = after.split_once('"')?;
        // A CPU's number is a name.
        let plain = matches!(name.trim(), "number" | "cpu" | "intr" | "date" | "time");
        let value = if plain { Value::String(text.to_owned()) } else { value(text) };
        if values.len() < VALUES_MAX {
            values.insert(key(name.trim()).to_owned(), value);
        }
        attributes = after;
    }
    let text = rest.strip_suffix('>').and_then(|rest| rest.rsplit_once("</")).map(|(text, _)| text);
    Some(Element { name, values, empty, text })
}

/// Begins at the declaration, or at a part of the text that somebody took out of it.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let is_ours = |line: &str| {
        let line = line.trim_start();
        line.starts_with("<host nodename=") || line.starts_with("<timestamp date=")
    };
    let declared = lines.ahead(0).trim_start().starts_with("<?xml");
    let ahead = if declared { LEAD } else { 0 };
    let found = (0..=ahead).find(|by| is_ours(lines.ahead(*by)))?;
    if let Some(Value::String(name)) =
        element(lines.ahead(found)).and_then(|mut host| host.values.remove("nodename"))
    {
        out.host(&name);
    }
    let reader = Xml { lead: found, at: None, open: Vec::new() };
    Some(lines.begin(SourceKind::SadfXml, PastBlanks(reader), out))
}

struct Xml {
    /// Lines until the machine.
    lead: usize,
    /// The time of the sample.
    at: Option<Stamp>,
    /// The elements around this line, with the values that stand directly in them.
    open: Vec<(String, Map<String, Value>)>,
}

impl Xml {
    /// An element without others inside: a row, or a part of one.
    fn leaf(&mut self, element: Element<'_>, out: &mut Builder) {
        let mut values = element.values;
        let Some((section, row)) = self.open.last_mut() else { return };
        match element.name {
            "boot" => {
                let at = stamp(&Value::Object(values), out);
                out.restart(at);
            }
            "irq" => {
                let cpu = match values.remove("cpu") {
                    Some(Value::String(cpu)) if cpu != "all" => format!("CPU{cpu}"),
                    _ => "all".to_owned(),
                };
                let amount = values.remove("value").unwrap_or_default();
                values.insert(cpu, amount);
                put_interrupts(&[Value::Object(values)], self.at, out);
            }
            // Reads and writes are parts of one row.
            _ if section == "io" => row.extend(values),
            name => {
                let row = Value::Object(values);
                put_section(section, &row, self.at, out);
                put_section(name, &row, self.at, out);
            }
        }
    }

    fn text(&mut self, name: &str, text: &str, out: &mut Builder) {
        match name {
            "machine" => out.machine(text),
            "release" => out.setting("kernel", text),
            "number-of-cpus" => {
                let cpus = text.parse::<f64>().ok().filter(|cpus| *cpus > 0.0);
                out.put_known(Field::CpuCount, &Subject::Machine, None, cpus);
            }
            _ => {
                if let Some((_, row)) = self.open.last_mut()
                    && row.len() < VALUES_MAX
                {
                    row.insert(name.to_owned(), value(text));
                }
            }
        }
    }

    fn close(&mut self, out: &mut Builder) {
        if let Some((section, row)) = self.open.pop()
            && !row.is_empty()
        {
            put_section(&section, &Value::Object(row), self.at, out);
        }
    }
}

impl Reader for Xml {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if self.lead > 0 {
            self.lead -= 1;
            return Taken::Yes;
        }
        if line.trim_start().starts_with("</") {
            self.close(out);
            return Taken::Yes;
        }
        let Some(element) = element(line) else { return Taken::No };
        match element.text {
            Some(text) => self.text(element.name, text, out),
            None if element.empty => self.leaf(element, out),
            None => {
                if element.name == "timestamp" {
                    self.at = stamp(&Value::Object(element.values), out);
                }
                if self.open.len() < DEPTH_MAX {
                    self.open.push((element.name.to_owned(), Map::new()));
                }
            }
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, machine, read, values};
    use crate::recording::{Clock, Field, Subject};

    #[test]
    fn elements_are_the_tables_of_sadf_j() {
        let recording = read(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<sysstat
xmlns="https://sysstat.github.io">
	<host nodename="vm7">
		<release>6.1.0-9</release>
		<number-of-cpus>2</number-of-cpus>
		<statistics>
			<timestamp date="2026-03-04" time="05:06:07" tz="UTC" interval="60">
				<cpu-load>
					<cpu number="all" usr="61.00" nice="0.00" sys="9.00" iowait="5.00" idle="25.00"/>
					<cpu number="1" usr="55.00" nice="0.00" sys="9.00" iowait="7.00" idle="29.00"/>
				</cpu-load>
				<interrupts>
					<int-global per="second">
						<irq intr="sum" cpu="all" value="700.00"/>
						<irq intr="24" cpu="1" value="90.00"/>
					</int-global>
				</interrupts>
				<io per="second">
					<tps>12.00</tps>
					<io-reads rtps="8.00" bread="16.00"/>
					<io-writes wtps="4.00" bwrtn="2.00"/>
				</io>
				<memory unit="kB">
					<memfree>2048</memfree>
				</memory>
				<queue runq-sz="3" plist-sz="90" ldavg-1="1.50" blocked="1"/>
				<disk per="second">
					<disk-device dev="vda" tps="12.00" rkB="8.00" util-percent="4.00"/>
				</disk>
				<filesystems>
					<filesystem fsname="/dev/vda1" fsused-percent="95.00" Iused-percent="7.00"/>
				</filesystems>
			</timestamp>
		</statistics>
		<restarts>
			<boot date="2026-03-04" time="05:00:00" tz="UTC" cpu_count="2"/>
		</restarts>
	</host>
</sysstat>
"#,
        );
        all_understood(&recording);
        assert_eq!(recording.hosts[0].name.as_deref(), Some("vm7"));
        assert_eq!(recording.sources[0].clock, Clock::Utc);
        assert_eq!(recording.hosts[0].restarts.len(), 1);
        for (field, wanted) in [
            (Field::CpuUser, 61.0),
            (Field::CpuCount, 2.0),
            (Field::Interrupts, 700.0),
            (Field::DiskReads, 8.0),
            (Field::DiskWriteBytes, 1024.0),
            (Field::MemFree, 2_097_152.0),
            (Field::RunQueue, 3.0),
        ] {
            assert_eq!(machine(&recording, field), [wanted], "{field:?}");
        }
        let vector = Subject::Vector { name: "24".to_owned(), cpu: Some(1) };
        assert_eq!(values(&recording, Field::IrqRate, &vector), [90.0]);
        assert_eq!(values(&recording, Field::CpuIowait, &Subject::Cpu(1)), [7.0]);
        let disk = Subject::Disk("vda".to_owned());
        assert_eq!(values(&recording, Field::DiskBusy, &disk), [4.0]);
        let filesystem = Subject::Filesystem("/dev/vda1".to_owned());
        assert_eq!(values(&recording, Field::FsUsed, &filesystem), [95.0]);
    }
}
