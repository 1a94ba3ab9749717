//! Lines of a text, in bytes.

use std::io::BufRead;

/// Where the first line ends. The C library searches some sixteen bytes at a time.
pub(super) fn line_end(text: &[u8]) -> Option<usize> {
    let mut after = text;
    let length = after.skip_until(b'\n').ok()?;
    length.checked_sub(1).filter(|end| text.get(*end) == Some(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_ends_at_its_sign() {
        assert_eq!(line_end(b"ab\nc\n"), Some(2));
        assert_eq!(line_end(b"\n"), Some(0));
        assert_eq!(line_end(b"ab"), None);
        assert_eq!(line_end(b""), None);
    }
}
