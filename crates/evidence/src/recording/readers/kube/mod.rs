//! What `kubectl` shows of pods, nodes and events: kills at a container's limit, restarts, how much
//! of a node is promised, its conditions.

mod events;
mod pod;

use super::prelude::*;
use crate::recording::Shortage;

pub(super) use pod::begins;

/// A duration, `4m12s`, `3h2m` or `12d`, in milliseconds.
fn duration_ms(word: &str) -> Option<f64> {
    let (mut rest, mut total) = (word, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let (digits, after) = rest.split_at_checked(end)?;
        let (unit, after) = after.split_at_checked(after.chars().next()?.len_utf8())?;
        let factor = match unit {
            "s" => 1e3,
            "m" => 6e4,
            "h" => 3.6e6,
            "d" => 8.64e7,
            "y" => 3.1536e10,
            _ => return None,
        };
        total += count(digits)? as f64 * factor;
        rest = after;
    }
    (!word.is_empty()).then_some(total)
}

/// An amount of memory, `512Mi`, `2G` or `536870912`.
fn memory(word: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(word)?;
    if let Some(prefix) = unit.strip_suffix('i') {
        return Some(number * binary_factor(prefix)?);
    }
    let power = ["", "k", "M", "G", "T", "P"].iter().position(|known| *known == unit)?;
    Some(number * 1000_f64.powi(i32::try_from(power).ok()?))
}

/// The kill of a container at its own limit.
fn container(name: &str) -> Subject {
    let name = Some(name.to_owned()).filter(|name| !name.is_empty());
    Subject::Kill { scope: Shortage::Container, limited: name.clone(), victim: name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_amounts() {
        assert_eq!(duration_ms("4m12s"), Some(252_000.0));
        assert_eq!(duration_ms("2d3h"), Some(183_600_000.0));
        for wrong in ["", "m", "4", "4x", "<unknown>"] {
            assert_eq!(duration_ms(wrong), None, "{wrong}");
        }
        assert_eq!(memory("512Mi"), Some(536_870_912.0));
        assert_eq!(memory("2G"), Some(2e9));
        assert_eq!(memory("128974848"), Some(128_974_848.0));
        assert_eq!(memory("100m"), None);
    }
}
