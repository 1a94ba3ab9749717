//! Controllers of disks (MegaCli, storcli, perccli, ssacli): whether their write cache is off
//! because its battery failed.

use super::prelude::*;

/// The setting that says why a controller's write cache is off.
pub const WRITE_CACHE: &str = "write cache of the controller";

/// A line that says so, in small letters: MegaCli and its kin name the policy in force, ssacli the
/// state of cache and battery.
fn off(line: &str) -> bool {
    let text = line.to_ascii_lowercase();
    let Some((name, value)) = text.split_once(':') else { return false };
    let (name, value) = (name.trim(), value.trim());
    match name {
        "current cache policy" => value.starts_with("writethrough"),
        "cache status" => value.contains("disabled"),
        "battery state" | "battery/capacitor status" | "battery status" | "bbu state" => {
            ["fail", "missing", "replace", "degraded", "not charg"]
                .iter()
                .any(|w| value.contains(w))
        }
        _ => false,
    }
}

/// Other lines of these tools.
fn is_known(line: &str) -> bool {
    const NAMES: [&str; 14] = [
        "default cache policy",
        "current cache policy",
        "disk cache policy",
        "raid level",
        "state",
        "cache status",
        "battery state",
        "battery status",
        "battery/capacitor status",
        "battery/capacitor count",
        "bbu state",
        "battery pack missing",
        "battery replacement required",
        "virtual drive",
    ];
    let name = line.split_once(':').map(|(name, _)| name.trim().to_ascii_lowercase());
    name.is_some_and(|name| NAMES.contains(&name.as_str()))
}

/// Begins at a line about a cache or its battery.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let asked = ["MegaCli", "storcli", "perccli", "ssacli", "hpssacli", "hpacucli"];
    let asked = asked.iter().any(|tool| out.latest_command().contains(tool));
    let policy = line.trim_start().starts_with("Current Cache Policy:");
    (policy || asked && is_known(line))
        .then(|| lines.begin(SourceKind::Controller, PastBlanks(Controller), out))
}

struct Controller;

impl Reader for Controller {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if !is_known(line) {
            return Taken::No;
        }
        if off(line) {
            out.setting(WRITE_CACHE, line.trim());
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read};
    use super::*;

    #[test]
    fn a_cache_that_is_off() {
        let said = |text: &str| {
            let recording = read(text);
            all_understood(&recording);
            recording.hosts[0].settings.get(WRITE_CACHE).map(|quote| quote.text.clone())
        };
        let mega =
            "Default Cache Policy: WriteBack, ReadAdaptive, Direct, No Write Cache if Bad BBU\n";
        let off = "Current Cache Policy: WriteThrough, ReadAdaptive";
        assert_eq!(said(&format!("{off}\n{mega}")).as_deref(), Some(off));
        assert_eq!(said(&format!("Current Cache Policy: WriteBack, Direct\n{mega}")), None);
        let hp = "# ssacli ctrl slot=0 show status\n   Cache Status: Temporarily Disabled\n   \
                  Battery/Capacitor Status: Failed (Replace Batteries)\n";
        assert_eq!(
            said(hp).as_deref(),
            Some("Battery/Capacitor Status: Failed (Replace Batteries)")
        );
    }
}
