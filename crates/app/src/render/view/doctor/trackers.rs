//! One entry for each way to track accesses: it works, or what is missing. Pure.

use super::parts::{KEY_WIDTH, STATE_WIDTH, push};
use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_linux::track::Found;
use hugewise_manager::reason::SkipReason;

/// The section, or nothing where nothing was looked for.
pub(super) fn section(out: &mut String, trackers: &[Found], paint: Paint) {
    if trackers.is_empty() {
        return;
    }
    let title = wrap("", "How it is known which memory a program uses ('track.by')");
    push(out, &paint.bold(title.trim_end()));
    let head = format!("{:<KEY_WIDTH$} {:<STATE_WIDTH$} {}", "tracker", "state", "how");
    push(out, &paint.dim(&format!("  {head}")));
    for found in trackers {
        let word = match found.refused {
            None => "yes",
            Some(SkipReason::TrackerBusy) => "busy",
            Some(SkipReason::NoPermission) => "refused",
            Some(_) => "absent",
        };
        let state = format!("{word:<STATE_WIDTH$}");
        let state = if found.refused.is_none() { paint.good(&state) } else { paint.dim(&state) };
        let (how, needs) = found.tracker.text();
        out.push_str(&wrap(&format!("  {:<KEY_WIDTH$} {state} ", found.tracker.key()), how));
        if let Some(why) = &found.why {
            out.push_str(&wrap("      ", &format!("why: {why}")));
        }
        if !needs.is_empty() {
            out.push_str(&wrap("      ", needs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::access::Tracker;

    #[test]
    fn each_has_a_state_and_the_reason_for_it() {
        let found = |tracker, refused, why: Option<&str>| Found {
            tracker,
            refused,
            why: why.map(str::to_owned),
        };
        let all = [
            found(Tracker::Referenced, None, None),
            found(Tracker::Damon, Some(SkipReason::TrackerBusy), Some("set up by somebody")),
        ];
        let mut text = String::new();
        section(&mut text, &all, Paint::plain());
        let line = |key: &str| text.lines().find(|line| line.trim_start().starts_with(key));
        assert!(line("referenced ").is_some_and(|line| line.contains(" yes ")), "{text}");
        assert!(line("damon ").is_some_and(|line| line.contains(" busy ")), "{text}");
        assert!(text.contains("why: set up by somebody"), "{text}");
        assert!(text.lines().all(|line| line.len() <= crate::render::text::WIDTH), "{text}");
        let mut nothing = String::new();
        section(&mut nothing, &[], Paint::plain());
        assert_eq!(nothing, "");
    }
}
