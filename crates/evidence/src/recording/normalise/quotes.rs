//! Tickets and mails: listings behind `> `, or set in by four blanks or a tab.

use super::line::NumberedLine;
use std::ops::Range;

/// How far code is set in where texts are written in Markdown.
const INDENT: usize = 4;
/// Fewer lines are no listing: some tables have a header that is set in.
const LINES_MIN: usize = 3;
/// Deepest quote of a quote.
const DEPTH_MAX: usize = 8;

/// Takes marks of quotation and indents of whole listings. Whether there were any.
pub(super) fn strip(lines: &mut [NumberedLine<'_>]) -> bool {
    let mut changed = false;
    for line in lines.iter_mut() {
        let length = marks(&line.text);
        line.cut(length);
        changed |= length > 0;
    }
    let all = regions(lines);
    changed |= !all.is_empty();
    all.into_iter().for_each(|region| set_out(lines, region));
    changed
}

/// Takes from all lines of a region what the least indented one is set in by.
fn set_out(lines: &mut [NumberedLine<'_>], region: Range<usize>) {
    let part = lines.get(region.clone()).unwrap_or_default();
    let by = part.iter().filter(|line| !is_blank(line)).map(indent).min();
    for line in lines.get_mut(region).into_iter().flatten() {
        line.cut(width(&line.text, by.unwrap_or(0)));
    }
}

/// Bytes of the marks `> ` before a line, as often as it was quoted.
fn marks(line: &str) -> usize {
    let mut rest = line;
    for _ in 0..DEPTH_MAX {
        let inner = rest.strip_prefix('>').or_else(|| rest.strip_prefix(" >"));
        match inner {
            Some(inner) if inner.is_empty() || inner.starts_with([' ', '>']) => {
                rest = inner.strip_prefix(' ').unwrap_or(inner);
            }
            _ => break,
        }
    }
    line.len() - rest.len()
}

fn is_blank(line: &NumberedLine<'_>) -> bool {
    line.text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Columns that a line is set in by.
fn indent(line: &NumberedLine<'_>) -> usize {
    let blanks = line.text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.map(|byte| if byte == b'\t' { INDENT } else { 1 }).sum()
}

/// Bytes that take `columns` at the start of a line.
fn width(line: &str, columns: usize) -> usize {
    let mut left = columns;
    let blanks = line.bytes().take_while(|byte| {
        let wide = if *byte == b'\t' { INDENT } else { 1 };
        let fits = matches!(byte, b' ' | b'\t') && left >= wide;
        left = left.saturating_sub(wide);
        fits
    });
    blanks.count()
}

/// Stretches of lines that are all set in, as far as the first of them at least.
fn regions(lines: &[NumberedLine<'_>]) -> Vec<Range<usize>> {
    let set_in = |line: &&NumberedLine<'_>| is_blank(line) || indent(line) >= INDENT;
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let length = lines[at..].iter().take_while(set_in).count();
        let region = at..at + length;
        let mut text = lines[region.clone()].iter().filter(|line| !is_blank(line)).map(indent);
        let first = text.clone().next().unwrap_or(0);
        // A blank line before it, as Markdown wants: sections of `netstat -s` are set in, too.
        let apart = at == 0 || lines.get(at).is_some_and(is_blank);
        if apart && text.clone().count() >= LINES_MIN && text.all(|own| own >= first) {
            found.push(region);
        }
        at += length.max(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain;

    #[test]
    fn quotes_of_quotes_go() {
        let text =
            "On Monday Jo wrote:\n> > $ free -m\n> >        total\n> > Mem:   7\n>\n> yes\n>5\n";
        let wanted = "On Monday Jo wrote:\n$ free -m\n       total\nMem:   7\n\nyes\n>5\n";
        assert_eq!(plain(text), wanted);
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
