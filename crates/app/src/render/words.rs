//! What libraries say, in the words of this program.

/// Pieces of messages, and what they mean to a user.
const WORDS: [(&str, &str); 14] = [
    ("invalid digit found in string", "it must be a whole number"),
    ("cannot parse integer from empty string", "it must be a whole number"),
    ("invalid float literal", "it must be a number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("stream did not contain valid UTF-8", "it is no text"),
    (", expected f64", ": wanted a number"),
    (", expected u64", ": wanted a whole number, 0 or more"),
    (", expected u32", ": wanted a whole number, 0 or more"),
    (", expected usize", ": wanted a whole number, 0 or more"),
    (", expected a boolean", ": wanted true or false"),
    ("found unit variant, expected string only", "this value is none of those that it can have"),
    ("invalid type: ", "found "),
    ("invalid value: ", "found "),
];

/// From here to the end of the line a parser talks of itself.
const PARSERS: [&str; 3] =
    [": expected value at line ", ": EOF while parsing ", ": key must be a "];

/// The message without codes of the system and words of libraries.
pub(crate) fn plain(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let end = PARSERS.iter().filter_map(|start| line.find(start)).min();
        let mut line = without_codes(end.map_or(line, |end| &line[..end]));
        // The order counts: what one leaves, a later one knows.
        for (theirs, ours) in WORDS.iter().rev().chain(&WORDS) {
            line = line.replace(theirs, ours);
        }
        missing_key(&line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Without ` (os error 2)`, whose meaning stands before it.
fn without_codes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(" (os error ") {
        let (before, code) = rest.split_at(at);
        out.push_str(before);
        rest = code.find(')').map_or("", |end| &code[end + 1..]);
    }
    out + rest
}

/// "missing field `name`", as parsers say it.
fn missing_key(line: &str) -> String {
    let Some((before, rest)) = line.split_once("missing field `") else { return line.to_owned() };
    match rest.split_once('`') {
        Some((name, after)) => format!("{before}the key '{name}' is missing{after}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_for_users() {
        for (theirs, ours) in [
            ("'x': No such file or directory (os error 2)", "'x': No such file or directory"),
            ("a (os error 2): b (os error 13)", "a: b"),
            (
                "value 'abc': invalid digit found in string",
                "value 'abc': it must be a whole number",
            ),
            ("invalid type: string \"a\", expected f64", "found string \"a\": wanted a number"),
            ("g.txt: no plan: expected value at line 1 column 1", "g.txt: no plan"),
            ("in it: missing field `name`", "in it: the key 'name' is missing"),
            ("one\ntwo (os error 1)\n", "one\ntwo\n"),
            ("nothing to change", "nothing to change"),
        ] {
            assert_eq!(plain(theirs), ours);
        }
    }
}
