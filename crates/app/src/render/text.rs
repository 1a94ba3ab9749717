//! Text for a terminal: columns and wrapped lines.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Width of all text output, unless the terminal is narrower.
pub(crate) const WIDTH: usize = 80;
/// Narrowest width that is honoured; below, words would stand under each other.
const NARROWEST: usize = 40;

static COLUMNS: AtomicUsize = AtomicUsize::new(WIDTH);

/// Says how wide the terminal is. Lines never become longer than [`WIDTH`].
pub(crate) fn set_columns(columns: usize) {
    COLUMNS.store(columns.clamp(NARROWEST, WIDTH), Ordering::Relaxed);
}

/// Columns that a line may take.
pub(crate) fn columns() -> usize {
    COLUMNS.load(Ordering::Relaxed)
}

/// Columns that a character takes: letters of East Asian scripts take two.
fn columns_of(c: char) -> usize {
    let wide = ['\u{1100}'..='\u{115f}', '\u{2e80}'..='\u{a4cf}', '\u{ac00}'..='\u{d7a3}'];
    let far = ['\u{f900}'..='\u{faff}', '\u{ff00}'..='\u{ff60}', '\u{20000}'..='\u{3fffd}'];
    if wide.iter().chain(&far).any(|range| range.contains(&c)) { 2 } else { 1 }
}

/// Columns that text takes. What [`super::colour::Paint`] adds takes none.
pub(crate) fn width(text: &str) -> usize {
    let mut wide = 0;
    let mut rest = text;
    while let Some((before, painted)) = rest.split_once("\x1b[") {
        wide += before.chars().map(columns_of).sum::<usize>();
        rest = painted.split_once('m').map_or("", |(_, after)| after);
    }
    wide + rest.chars().map(columns_of).sum::<usize>()
}

/// Cut to `wide` columns, a final `~` saying so.
pub(crate) fn fit(text: &str, wide: usize) -> String {
    if width(text) <= wide {
        return text.to_owned();
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        used += columns_of(c);
        if used >= wide {
            break;
        }
        cut.push(c);
    }
    cut.push('~');
    cut
}

/// Cut or filled up to `wide` columns, text at the left.
pub(crate) fn left(text: &str, wide: usize) -> String {
    let text = fit(text, wide);
    let fill = wide.saturating_sub(width(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// Cut or filled up to `wide` columns, text at the right.
pub(crate) fn right(text: &str, wide: usize) -> String {
    let text = fit(text, wide);
    let fill = wide.saturating_sub(width(&text));
    format!("{}{text}", " ".repeat(fill))
}

/// `text` wrapped at [`columns`] behind `first`; further lines are indented as far.
pub(crate) fn wrap(first: &str, text: &str) -> String {
    wrap_at(first, text, columns())
}

/// As [`wrap`], at `most` columns.
pub(crate) fn wrap_at(first: &str, text: &str, most: usize) -> String {
    let indent = width(first);
    let mut out = first.to_owned();
    let mut column = indent;
    for word in text.split_whitespace() {
        let wide = width(word);
        if column > indent {
            if column + 1 + wide > most {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(word);
        column += wide;
    }
    out.push('\n');
    out
}

/// Each line wrapped behind its own indent.
pub(crate) fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words = line.trim_start();
        out.push_str(&wrap(&line[..line.len() - words.len()], words));
    }
    out
}

/// The first `most` of some texts, and how many more there are.
pub(crate) fn listed(texts: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = texts.len().saturating_sub(most);
    let mut shown: Vec<String> = texts.take(most).collect();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join("; ")
}

/// Text that begins with a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Spaces at line ends removed: they only get in the way of copying and comparing.
pub(crate) fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_whatever_the_name() {
        for name in ["", "short", "漢字漢字漢字漢字", "a-very-long-process-name"] {
            assert_eq!(width(&left(name, 10)), 10, "{name}");
            assert_eq!(width(&right(name, 10)), 10, "{name}");
        }
    }

    #[test]
    fn colour_takes_no_columns() {
        let paint = crate::render::colour::Paint::new(Some(true), false, false);
        let (head, words) =
            (paint.bad("CRITICAL"), format!("{} {}", paint.bold("a"), "b ".repeat(50)));
        assert_eq!(width(&head), 8);
        let coloured = wrap(&format!("{head} "), &words);
        let plain = wrap("CRITICAL ", &format!("a {}", "b ".repeat(50)));
        let mut bare = coloured;
        ["\x1b[31m", "\x1b[1m", "\x1b[0m"].iter().for_each(|code| bare = bare.replace(code, ""));
        assert_eq!(bare, plain);
    }

    #[test]
    fn wrapped_text_keeps_its_indent() {
        let text = "word ".repeat(30);
        let wrapped = wrap("  key  ", &text);
        assert!(wrapped.lines().all(|l| width(l) <= WIDTH), "{wrapped}");
        assert!(wrapped.lines().skip(1).all(|l| l.starts_with("       w")), "{wrapped}");
    }
}
