//! Statements of databases without their literals: those may be secrets, and of statements that
//! differ in nothing else the times are added up.

/// Longest statement that is reported.
const CHARS_MAX: usize = 160;

/// What a dialect writes in quotes: the characters that begin a text. Others begin a name.
pub(super) const SQL_TEXTS: &[char] = &['\''];
/// MySQL's: a text, too, is in double quotes.
pub(super) const MYSQL_TEXTS: &[char] = &['\'', '"'];

/// The statement with `?` for each text and number, lists of them as `?+`, blanks as one, and
/// without comments.
pub(super) fn plain(statement: &str, texts: &[char]) -> String {
    let mut out = String::with_capacity(statement.len().min(4 * CHARS_MAX));
    let mut rest = statement.chars().peekable();
    while let Some(c) = rest.next() {
        if out.len() > 4 * CHARS_MAX {
            break;
        }
        match c {
            c if c.is_alphabetic() || c == '_' => {
                out.push(c);
                let goes_on = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '$');
                while let Some(c) = rest.next_if(goes_on) {
                    out.push(c);
                }
            }
            c if texts.contains(&c) => {
                // Elsewhere than in MySQL only `E'...'` has escapes: a text may end with `\`.
                let mut before = out.chars().rev();
                let marked = matches!(before.next(), Some('e' | 'E'))
                    && !before.next().is_some_and(|c| c.is_alphanumeric() || c == '_');
                let escapes = texts == MYSQL_TEXTS || marked;
                // Up to its end, or that of the text.
                let mut escaped = false;
                let _ = rest.by_ref().find(|inner| {
                    let ends = *inner == c && !escaped;
                    escaped = *inner == '\\' && !escaped && escapes;
                    ends
                });
                literal(&mut out);
            }
            '#' if texts == MYSQL_TEXTS => {
                let _ = rest.by_ref().find(|c| *c == '\n');
            }
            '0'..='9' => {
                while rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
                literal(&mut out);
            }
            '$' => {
                let tag: String =
                    std::iter::from_fn(|| rest.next_if(|c| c.is_alphanumeric() || *c == '_'))
                        .collect();
                if rest.next_if_eq(&'$').is_some() {
                    until(&mut rest, &format!("${tag}$"));
                }
                literal(&mut out);
            }
            '-' if rest.peek() == Some(&'-') => {
                let _ = rest.by_ref().find(|c| *c == '\n');
            }
            '/' if rest.peek() == Some(&'*') => until(&mut rest, "*/"),
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            ')' => {
                out.push(')');
                one_row(&mut out);
            }
            c => out.push(c),
        }
    }
    let all = out.trim().trim_end_matches(';');
    let end = all.char_indices().nth(CHARS_MAX).map_or(all.len(), |(at, _)| at);
    all.get(..end).unwrap_or_default().to_owned()
}

/// Passes over what comes before a mark, and the mark.
fn until(rest: &mut impl Iterator<Item = char>, mark: &str) {
    let last = mark.chars().next_back();
    let mut tail = String::new();
    for c in rest {
        tail.push(c);
        if tail.chars().count() > mark.chars().count() {
            tail.remove(0);
        }
        if Some(c) == last && tail == mark {
            return;
        }
    }
}

/// A text or number; one that follows another in a list is part of that.
fn literal(out: &mut String) {
    let before = out.trim_end();
    let list = before.strip_suffix(',').map(str::trim_end).filter(|list| list.ends_with('?'));
    let many = before.strip_suffix(',').map(str::trim_end).filter(|list| list.ends_with("?+"));
    match (list.map(str::len), many.map(str::len)) {
        (Some(length), _) => {
            out.truncate(length);
            out.push('+');
        }
        (None, Some(length)) => out.truncate(length),
        (None, None) => {
            // Two texts behind each other are one, as are the two parts of a doubled quote.
            if !out.ends_with('?') {
                out.push('?');
            }
        }
    }
}

/// Of rows of values that follow each other one is enough.
fn one_row(out: &mut String) {
    for row in ["(?+)", "(?)"] {
        let Some(before) = out.strip_suffix(row) else { continue };
        let before = before.trim_end();
        let first = before.strip_suffix(',').map(str::trim_end).filter(|f| f.ends_with(row));
        if let Some(length) = first.map(str::len) {
            out.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_left_out() {
        for (statement, wanted) in [
            (
                "SELECT a1 FROM t2 WHERE b = 'it''s' AND c=-5.5e3;",
                "SELECT a1 FROM t2 WHERE b = ? AND c=-?",
            ),
            ("insert into t values (1, 'x'),\n (2, 'y'), (3,'z')", "insert into t values (?+)"),
            ("select 1 /* pw=secret */ -- and 2\n, x in (1,2,3)", "select ? , x in (?+)"),
            ("update t set p = $x$it's$x$ where id = $1", "update t set p = ? where id = ?"),
            ("select 'no end of a secret", "select ?"),
            ("select E'a\\'b', c", "select E?, c"),
            ("select 'a\\' where b like'\\' or 'c'", "select ? where b like? or ?"),
        ] {
            assert_eq!(plain(statement, SQL_TEXTS), wanted);
        }
        assert_eq!(plain("select \"x y\"", MYSQL_TEXTS), "select ?");
        assert_eq!(plain("select 'a\\'b', c", MYSQL_TEXTS), "select ?, c");
        assert_eq!(plain("select 1 # 'pw\n, c", MYSQL_TEXTS), "select ? , c");
        assert_eq!(plain("select \"x y\"", SQL_TEXTS), "select \"x y\"");
        assert_eq!(plain(&"(1),".repeat(100_000), SQL_TEXTS).len(), 4);
    }
}
