//! Where a trial ran, as far as it matters for its numbers.

use hugewise_base::calendar::{self, DAY_S};
use hugewise_base::parse::{meminfo, thp_choice};
use hugewise_base::units::Bytes;
use hugewise_linux::root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::time::SystemTime;

const THP: &str = "sys/kernel/mm/transparent_hugepage";
/// The settings that decide where huge pages come from.
const FILES: [&str; 6] = [
    "enabled",
    "hugepages-2048kB/enabled",
    "defrag",
    "khugepaged/defrag",
    "khugepaged/max_ptes_none",
    "khugepaged/scan_sleep_millisecs",
];

/// Versions, processors and memory of this machine; `None` where it does not say.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Version of hugewise.
    pub hugewise: String,
    /// When, in UTC.
    pub time: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors that can be used.
    pub cpus: Option<usize>,
    /// Whether a hypervisor is below.
    pub virtual_machine: Option<bool>,
    /// Memory of the machine.
    pub mem_total: Option<Bytes>,
    /// Memory that new work could get.
    pub mem_available: Option<Bytes>,
    /// Size of a huge page.
    pub huge_page: Option<Bytes>,
    /// Settings below the kernel's directory for transparent huge pages.
    pub settings: BTreeMap<String, String>,
}

impl Environment {
    /// Reads it.
    pub fn read(root: &Root) -> Self {
        let cpuinfo = root.read_text("proc/cpuinfo").ok();
        let value = |key: &str| {
            let lines = cpuinfo.as_deref()?.lines();
            let mut pairs = lines.filter_map(|line| line.split_once(':'));
            pairs.find(|(k, _)| k.trim() == key).map(|(_, value)| value.trim().to_owned())
        };
        let memory = root.read_text("proc/meminfo").ok().map(|text| meminfo::parse(&text).value);
        let settings = FILES.iter().filter_map(|file| {
            let text = root.read_line(format!("{THP}/{file}")).ok()?;
            Some(((*file).to_owned(), text))
        });
        let huge_page = root.read_line(format!("{THP}/hpage_pmd_size")).ok();
        Self {
            hugewise: env!("CARGO_PKG_VERSION").to_owned(),
            time: utc(SystemTime::now()),
            kernel: root.read_line("proc/sys/kernel/osrelease").ok(),
            cpu: value("model name"),
            cpus: std::thread::available_parallelism().ok().map(usize::from),
            virtual_machine: value("flags")
                .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            mem_total: memory.as_ref().and_then(|m| m.mem_total_bytes).map(Bytes),
            mem_available: memory.as_ref().and_then(|m| m.mem_available_bytes).map(Bytes),
            huge_page: huge_page.and_then(|text| text.parse().ok()).map(Bytes),
            settings: settings.collect(),
        }
    }

    /// The switch in force for huge pages: `always`, `madvise` or `never`.
    pub fn switch(&self) -> Option<String> {
        let chosen = |file: &str| {
            let text = self.settings.get(file)?;
            thp_choice::parse(text).ok().map(|choice| choice.selected)
        };
        // From 6.8 on the file of the size decides, unless it says to follow the other.
        let of_size = chosen("hugepages-2048kB/enabled").filter(|chosen| chosen != "inherit");
        of_size.or_else(|| chosen("enabled"))
    }
}

/// This program by its bytes: its version stays the same while it is worked on.
///
/// # Errors
/// When it cannot be read.
pub fn build() -> std::io::Result<String> {
    let (mut program, mut hasher) = (File::open("/proc/self/exe")?, DefaultHasher::new());
    let mut piece = vec![0; 1 << 20];
    loop {
        match program.read(&mut piece)? {
            0 => return Ok(format!("{:016x}", hasher.finish())),
            length => hasher.write(&piece[..length]),
        }
    }
}

/// `2026-01-31 12:34:56 UTC`.
pub fn utc(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let seconds = i64::try_from(seconds).ok()?;
    let (year, month, day) = calendar::date(seconds / DAY_S);
    let second = seconds % DAY_S;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    Some(format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_right_around_leap_days() {
        let at = |seconds| utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0).as_deref(), Some("1970-01-01 00:00:00 UTC"));
        assert_eq!(at(951_782_399).as_deref(), Some("2000-02-28 23:59:59 UTC"));
        assert_eq!(at(951_782_400).as_deref(), Some("2000-02-29 00:00:00 UTC"));
        assert_eq!(at(1_709_251_200).as_deref(), Some("2024-03-01 00:00:00 UTC"));
        assert_eq!(at(1_767_225_599).as_deref(), Some("2025-12-31 23:59:59 UTC"));
    }

    #[test]
    fn the_file_of_the_size_decides() {
        let mut environment = Environment::default();
        assert_eq!(environment.switch(), None);
        environment.settings.insert("enabled".into(), "always [madvise] never".into());
        assert_eq!(environment.switch().as_deref(), Some("madvise"));
        let of_size = "always [inherit] madvise never";
        environment.settings.insert("hugepages-2048kB/enabled".into(), of_size.into());
        assert_eq!(environment.switch().as_deref(), Some("madvise"));
        let of_size = "[always] inherit madvise never";
        environment.settings.insert("hugepages-2048kB/enabled".into(), of_size.into());
        assert_eq!(environment.switch().as_deref(), Some("always"));
    }
}
