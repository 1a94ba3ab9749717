//! Tickets and mails: listings behind `> `, or set in by four blanks or a tab.

use super::line_end::line_end;
use std::borrow::Cow;
use std::ops::Range;

/// Largest text that can be a ticket; a recording of days is larger, and nobody quotes it.
pub(super) const TICKET_BYTES_MAX: usize = 4 << 20;
/// How far code is set in where texts are written in Markdown.
const INDENT: usize = 4;
/// Fewer lines are no listing: some tables have a header that is set in.
const LINES_MIN: usize = 3;
/// Fewer lines with a bar before them are no habit.
const BARRED_MIN: usize = 2;
/// Deepest quote of a quote.
const DEPTH_MAX: usize = 8;
/// Most times that a text was set in and quoted in turn.
const PASSES_MAX: usize = 3;

/// The text without marks of quotation and indents of whole listings. Lines stay lines.
pub(super) fn unquoted(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len() > TICKET_BYTES_MAX {
        return Cow::Borrowed(bytes);
    }
    let (mut lines, mut rest) = (Vec::new(), bytes);
    while let Some(end) = line_end(rest) {
        lines.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    lines.push(rest);
    // A quote can be set in, and what was set in can be quoted.
    for _ in 0..PASSES_MAX {
        lines.iter_mut().for_each(|line| *line = unmarked(line));
        unbarred(&mut lines);
        let all = regions(&lines);
        if all.is_empty() {
            break;
        }
        all.into_iter().for_each(|region| set_out(&mut lines, region));
    }
    let length: usize = lines.iter().map(|line| line.len() + 1).sum();
    match length == bytes.len() + 1 {
        true => Cow::Borrowed(bytes),
        false => Cow::Owned(lines.join(&b'\n')),
    }
}

/// Takes the bars from stretches of lines that all begin with one, as some mark what they paste.
/// A table has bars between its columns, too: at the ends of its lines.
fn unbarred(lines: &mut [&[u8]]) {
    let mut at = 0;
    while at < lines.len() {
        let barred = |line: &&&[u8]| line.starts_with(b"| ") || **line == b"|";
        let length = lines[at..].iter().take_while(barred).count();
        let stretch = lines.get_mut(at..at + length).unwrap_or_default();
        let ends = stretch.iter().filter(|line| line.trim_ascii_end().ends_with(b"|")).count();
        if length >= BARRED_MIN && ends * 2 < length {
            for line in stretch {
                *line = line.strip_prefix(b"| ").unwrap_or_default();
            }
        }
        at += length.max(1);
    }
}

/// Takes from all lines of a region what the least indented one is set in by.
fn set_out(lines: &mut [&[u8]], region: Range<usize>) {
    let part = lines.get(region.clone()).unwrap_or_default();
    let by = part.iter().filter(|line| !is_blank(line)).map(|line| indent(line)).min();
    for line in lines.get_mut(region).into_iter().flatten() {
        *line = line.get(cut(line, by.unwrap_or(0))..).unwrap_or_default();
    }
}

/// The line without `> `, as often as it was quoted.
fn unmarked(line: &[u8]) -> &[u8] {
    let mut rest = line;
    for _ in 0..DEPTH_MAX {
        let inner = rest.strip_prefix(b">").or_else(|| rest.strip_prefix(b" >"));
        match inner {
            Some(inner) if inner.is_empty() || matches!(inner[0], b' ' | b'>' | b'\r') => {
                rest = inner.strip_prefix(b" ").unwrap_or(inner);
            }
            _ => return rest,
        }
    }
    rest
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Columns that a line is set in by.
fn indent(line: &[u8]) -> usize {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.map(|byte| if *byte == b'\t' { INDENT } else { 1 }).sum()
}

/// Bytes that take `columns` at the start of a line.
fn cut(line: &[u8], columns: usize) -> usize {
    let mut left = columns;
    let blanks = line.iter().take_while(|byte| {
        let wide = if **byte == b'\t' { INDENT } else { 1 };
        let fits = matches!(byte, b' ' | b'\t') && left >= wide;
        left = left.saturating_sub(wide);
        fits
    });
    blanks.count()
}

/// Stretches of lines that are all set in, as far as the first of them at least.
fn regions(lines: &[&[u8]]) -> Vec<Range<usize>> {
    let set_in = |line: &&[u8]| is_blank(line) || indent(line) >= INDENT;
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let length = lines[at..].iter().take_while(|line| set_in(line)).count();
        let region = at..at + length;
        let text: Vec<_> = lines[region.clone()].iter().filter(|line| !is_blank(line)).collect();
        let first = text.first().map_or(0, |line| indent(line));
        let least = text.iter().map(|line| indent(line)).min();
        // A blank line before it, as Markdown wants: sections of `netstat -s` are set in, too.
        let apart = at == 0 || lines.get(at).is_some_and(|line| is_blank(line));
        if apart && text.len() >= LINES_MIN && least == Some(first) {
            found.push(region);
        }
        at += length.max(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        String::from_utf8_lossy(&unquoted(text.as_bytes())).into_owned()
    }

    #[test]
    fn quotes_of_quotes_go() {
        let text =
            "On Monday Jo wrote:\n> > $ free -m\n> >        total\n> > Mem:   7\n>\n> yes\n>5\n";
        let wanted = "On Monday Jo wrote:\n$ free -m\n       total\nMem:   7\n\nyes\n>5\n";
        assert_eq!(plain(text), wanted);
    }

    #[test]
    fn bars_before_lines_go_and_those_of_tables_stay() {
        assert_eq!(
            plain("so:\n\n| $ free\n|   total\n| Mem: 7\n\nwell\n"),
            "so:\n\n$ free\n  total\nMem: 7\n\nwell\n"
        );
        let table = "| a | b |\n| 1 | 2 |\n| 3 | 4 |\n";
        assert_eq!(plain(table), table);
    }

    #[test]
    fn listings_that_are_set_in_keep_their_shape() {
        let text = "look:\n\n    $ vmstat 1\n     r  b\n     1  0\n\n    # end\nwell\n";
        assert_eq!(plain(text), "look:\n\n$ vmstat 1\n r  b\n 1  0\n\n# end\nwell\n");
        assert_eq!(plain("x:\n\n\ta\n\tb\n\t c\n"), "x:\n\na\nb\n c\n");
        assert_eq!(
            plain("    > $ free\n    >   total\n    > Mem: 7\n"),
            "$ free\n  total\nMem: 7\n"
        );
    }

    #[test]
    fn tables_stay_as_they_are() {
        for text in [
            "              total        used\nMem:          7 5\nSwap:         1 0\n",
            "           CPU0       CPU1\n  0:         12          0\n",
            "Tasks: 5\n\n    PID USER      PR\n  12345 root      20\n      1 root      20\n",
            "a > b\n-> c\n>x\n",
            "Tcp:\n    5 resets\n    6 failed\n    7 sent\nUdp:\n",
        ] {
            assert_eq!(plain(text), text);
        }
    }
}
