//! Text for a terminal: safe names, columns, wrapped lines.

use hugewise_core::units::Bytes;

/// Width of all text output.
pub(crate) const WIDTH: usize = 80;

/// A name that a program chose, safe to show: whatever is neither a letter nor a digit of some
/// script nor visible ASCII is written as an escape. So control sequences, line ends, bidi marks
/// and invisible characters cannot touch the terminal or pretend to be something else.
pub(crate) fn printable(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\\' => safe.push_str("\\\\"),
            ' '..='~' => safe.push(c),
            '\0'..='\u{ff}' if !c.is_alphanumeric() => {
                safe.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            _ if c.is_alphanumeric() => safe.push(c),
            _ => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    safe
}

/// Columns that a character takes: letters of East Asian scripts take two.
fn columns(c: char) -> usize {
    let wide = ['\u{1100}'..='\u{115f}', '\u{2e80}'..='\u{a4cf}', '\u{ac00}'..='\u{d7a3}'];
    let far = ['\u{f900}'..='\u{faff}', '\u{ff00}'..='\u{ff60}', '\u{20000}'..='\u{3fffd}'];
    if wide.iter().chain(&far).any(|range| range.contains(&c)) { 2 } else { 1 }
}

/// Columns that text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Cut to `wide` columns, a final `~` saying so.
pub(crate) fn fit(text: &str, wide: usize) -> String {
    if width(text) <= wide {
        return text.to_owned();
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        used += columns(c);
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

/// An amount in at most five columns: `640B`, `12K`, `1.5G`, `1023M`.
pub(crate) fn short(bytes: Bytes) -> String {
    const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];
    if bytes.0 < 1024 {
        return format!("{}B", bytes.0);
    }
    let mut value = bytes.0 as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}{}", UNITS[unit])
}

/// `text` wrapped at [`WIDTH`] columns behind `first`; further lines are indented as far.
pub(crate) fn wrap(first: &str, text: &str) -> String {
    wrap_at(first, text, WIDTH)
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

/// Spaces at line ends removed: they only get in the way of copying and comparing.
pub(crate) fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_cannot_touch_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\n\u{9b}2J"), "a\\x1b[31mb\\x0a\\x9b2J");
        assert_eq!(printable("x\u{202e}y\u{200b}z\u{feff}"), "x\\u{202e}y\\u{200b}z\\u{feff}");
        assert_eq!(printable("back\\x0a"), "back\\\\x0a");
        assert_eq!(printable("größe-漢字 7"), "größe-漢字 7");
    }

    #[test]
    fn columns_hold_whatever_the_name() {
        for name in ["", "short", "漢字漢字漢字漢字", "a-very-long-process-name"] {
            assert_eq!(width(&left(name, 10)), 10, "{name}");
            assert_eq!(width(&right(name, 10)), 10, "{name}");
        }
    }

    #[test]
    fn short_amounts_fit_five_columns() {
        let shown = |n| short(Bytes(n));
        assert_eq!(shown(0), "0B");
        assert_eq!(shown(1023), "1023B");
        assert_eq!(shown(1536), "1.5K");
        assert_eq!(shown(1023 << 20), "1023M");
        assert_eq!(shown((1 << 30) - 1), "1.0G");
        assert!((0..63).all(|bit| shown(1 << bit).len() <= 5 && shown((1 << bit) - 1).len() <= 5));
    }

    #[test]
    fn wrapped_text_keeps_its_indent() {
        let text = "word ".repeat(30);
        let wrapped = wrap("  key  ", &text);
        assert!(wrapped.lines().all(|l| width(l) <= WIDTH), "{wrapped}");
        assert!(wrapped.lines().skip(1).all(|l| l.starts_with("       w")), "{wrapped}");
    }
}
