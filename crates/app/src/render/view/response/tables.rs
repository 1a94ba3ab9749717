//! The tables: where the time passes, over time, and by what requests have in common.

use super::words::{clock, day, few, percent, shown, time};
use crate::render::colour::Paint;
use crate::render::text::{left, right, trimmed};
use hugewise_base::escape::printable;
use hugewise_evidence::response::{Account, Named, Part, Times};

/// Most rows of a table of names.
const NAMES_SHOWN: usize = 10;
/// Columns for a name.
const NAME_WIDE: usize = 34;

/// All tables.
pub(super) fn text(account: &Account, paint: Paint) -> String {
    let mut text = String::new();
    if account.times.requests > 0 {
        text.push_str(&parts(account, paint));
        text.push_str(&rows(account, paint));
    }
    let all = [
        ("By service", &account.services),
        ("By server", &account.servers),
        ("By status", &account.classes),
        ("By endpoint", &account.endpoints),
    ];
    for (title, names) in all {
        if !names.is_empty() {
            text.push_str(&named(title, names, paint));
        }
    }
    trimmed(&text)
}

fn parts(account: &Account, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold("Where the time of all requests passes"));
    for part in &account.parts {
        let whole = part.part == Part::Rest && account.parts.len() == 1;
        let name = if whole { "all of it: the log has no parts" } else { part.name };
        text += &format!(
            "  {}  {} {}\n",
            left(name, 56),
            right(&percent(part.share), 6),
            right(&time(part.mean_us), 9)
        );
    }
    text
}

fn times_text(times: &Times) -> String {
    let of = |us: Option<u64>| right(&us.map_or("-".to_owned(), |us| time(us as f64)), 9);
    format!("{}{}{}{}", of(times.median_us), of(times.p90_us), of(times.p99_us), of(times.max_us))
}

fn rows(account: &Account, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold("Over time, by when requests ended"));
    let days = account.rows.first().zip(account.rows.last());
    let several = days.is_some_and(|(first, last)| day(&first.from) != day(&last.from));
    text += &paint.dim(&format!(
        "  {}  {}{}{}   median      p90      p99      max",
        left("from", if several { 11 } else { 8 }),
        right("done/s", 8),
        right("5xx", 7),
        right("under way", 11)
    ));
    text.push('\n');
    for row in &account.rows {
        let at = match several {
            // Month and day: a log is of one year.
            true => shown(&row.from).get(5..16).unwrap_or_default().to_owned(),
            false => clock(&row.from),
        };
        let line = format!(
            "{} {at}  {}{}{}{}",
            if row.slow { "*" } else { " " },
            right(&few(row.rate_per_s), 8),
            right(&row.errors.to_string(), 7),
            right(&few(row.in_flight), 11),
            times_text(&row.times)
        );
        let line = if row.slow { paint.warn(&line) } else { line };
        text += &format!("{line}\n");
    }
    if account.rows.iter().any(|row| row.slow) {
        text += "  * slow, in part or whole\n";
    }
    text
}

fn named(title: &str, names: &[Named], paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold(title));
    text += &paint.dim(&format!(
        "  {}{}{}   median      p99",
        left("", NAME_WIDE),
        right("requests", 11),
        right("of time", 9)
    ));
    text.push('\n');
    for name in names.iter().take(NAMES_SHOWN) {
        let of = |us: Option<u64>| right(&us.map_or("-".to_owned(), |us| time(us as f64)), 9);
        text += &format!(
            "  {}{}{}{}{}\n",
            left(&printable(&name.name), NAME_WIDE),
            right(&name.requests.to_string(), 11),
            right(&percent(name.share), 9),
            of(name.times.median_us),
            of(name.times.p99_us)
        );
    }
    if let Some(more) = names.len().checked_sub(NAMES_SHOWN).filter(|more| *more > 0) {
        text += &format!("  and {more} more (--json)\n");
    }
    text
}
