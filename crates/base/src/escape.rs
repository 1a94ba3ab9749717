//! Text that others chose, made safe to show: in a terminal, and in HTML and SVG.

use std::fmt::Write;

/// A name that a program chose, safe to show in a terminal: whatever is neither a letter nor a
/// digit of some script nor visible ASCII is written as an escape. So control sequences, line ends,
/// bidi marks and invisible characters cannot touch the terminal or pretend to be something else.
pub fn printable(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        // Writing into a string cannot fail.
        let _ = match c {
            '\\' => safe.write_str("\\\\"),
            ' '..='~' => safe.write_char(c),
            _ if c.is_alphanumeric() => safe.write_char(c),
            '\0'..='\u{ff}' => write!(safe, "\\x{:02x}", u32::from(c)),
            _ => write!(safe, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    safe
}

/// Text for HTML and SVG, also inside attribute values. XML has no escape for control characters,
/// and refuses a document with one: they become U+FFFD.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other if other.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
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
    fn xml_stays_xml() {
        assert_eq!(markup("<a & 'b' \"c\">"), "&lt;a &amp; &#39;b&#39; &quot;c&quot;&gt;");
        assert_eq!(markup("a\x1b[1m\0\n\u{ffff}"), "a\u{fffd}[1m\u{fffd}\n\u{fffd}");
    }
}
