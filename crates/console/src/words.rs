//! What libraries say, in the words of this program.

/// Pieces of messages, and what they mean to a user.
const WORDS: [(&str, &str); 8] = [
    ("must be quoted, expected literal string", "must be quoted"),
    ("wanted string or table", "wanted a word in quotation marks"),
    ("invalid digit found in string", "it must be a whole number"),
    ("cannot parse integer from empty string", "it must be a whole number"),
    ("invalid float literal", "it must be a number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("stream did not contain valid UTF-8", "it is no text"),
];

/// Starts of what parsers call a value that they found, and ours.
const FOUND: [(&str, &str); 8] = [
    ("string ", "the text "),
    ("integer ", "the number "),
    ("floating point ", "the number "),
    ("boolean ", ""),
    ("sequence", "a list"),
    ("map", "a table"),
    ("unit variant", "another kind of value"),
    ("datetime", "a date"),
];

/// Starts of what parsers expected, and ours. The longer ones first.
const WANTED: [(&str, &str); 13] = [
    ("f64", "a number"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u16", "a whole number from 0 to 65535"),
    ("i64", "a whole number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotation marks"),
    ("string or table", "a word in quotation marks"),
    ("string only", "a word in quotation marks"),
    ("a sequence", "a list in square brackets"),
    ("a map", "a table"),
    ("any valid TOML value", "a number below 2 to the power 63"),
];

/// From here to the end of the line a parser talks of itself.
const PARSERS: [&str; 6] = [
    ": expected value at line ",
    ": expected ident at line ",
    ": invalid number at line ",
    ": trailing characters at line ",
    ": EOF while parsing ",
    ": key must be a ",
];

/// The message without codes of the system and words of libraries.
pub fn plain(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let end = PARSERS.iter().filter_map(|start| line.find(start)).min();
        let mut line = without_codes(end.map_or(line, |end| &line[..end]));
        for (theirs, ours) in WORDS {
            line = line.replace(theirs, ours);
        }
        for ours in [missing_key, wrong_type, unknown_word] {
            line = ours(&line).unwrap_or(line);
        }
        line
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
fn missing_key(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("missing field `")?;
    let (name, after) = rest.split_once('`')?;
    Some(format!("{before}the key '{name}' is missing{after}"))
}

/// "invalid type: string "many", expected f64".
fn wrong_type(line: &str) -> Option<String> {
    let theirs = ["invalid type: ", "invalid value: ", "invalid length "];
    let (before, rest) = theirs.iter().find_map(|start| line.split_once(start))?;
    let (found, wanted) = rest.rsplit_once(", expected ")?;
    let known = |all: &[(&str, &str)], text: &str| {
        let (theirs, ours) = all.iter().find(|(theirs, _)| text.starts_with(theirs))?;
        Some(format!("{ours}{}", &text[theirs.len()..]))
    };
    let found = known(&FOUND, found).unwrap_or_else(|| found.to_owned()).replace('`', "");
    let wanted = known(&WANTED, wanted).unwrap_or_else(|| wanted.to_owned());
    Some(format!("{before}found {}, wanted {wanted}", found.trim_end_matches(" as i128")))
}

/// "unknown variant `turbo`, expected one of `never`, `once`", and the same of a field.
fn unknown_word(line: &str) -> Option<String> {
    for (theirs, ours) in
        [("unknown variant `", "unknown word"), ("unknown field `", "unknown key")]
    {
        let Some((before, rest)) = line.split_once(theirs) else { continue };
        let (found, rest) = rest.split_once('`')?;
        let known: Vec<_> = rest.split('`').skip(1).step_by(2).collect();
        let known = match known.as_slice() {
            [] => String::new(),
            [only] => format!(": it can only be {only}"),
            [all @ .., last] => format!(": it is one of {} and {last}", all.join(", ")),
        };
        return Some(format!("{before}{ours} '{found}'{known}"));
    }
    None
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
            (
                "'x': invalid type: string \"a\", expected f64",
                "'x': found the text \"a\", wanted a number",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "found the number -1, wanted a whole number from 0 to 4294967295",
            ),
            (
                "invalid type: boolean `true`, expected a sequence",
                "found true, wanted a list in square brackets",
            ),
            (
                "invalid value: integer `18446744073709551616` as i128, expected any valid TOML \
                 value",
                "found the number 18446744073709551616, wanted a number below 2 to the power 63",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`, `c`",
                "unknown word 'x': it is one of a, b and c",
            ),
            ("unknown field `x`, expected `a` or `b`", "unknown key 'x': it is one of a and b"),
            ("g.txt: no plan: expected value at line 1 column 1", "g.txt: no plan"),
            ("in it: missing field `name`", "in it: the key 'name' is missing"),
            ("one\ntwo (os error 1)\n", "one\ntwo\n"),
            ("nothing to change", "nothing to change"),
        ] {
            assert_eq!(plain(theirs), ours);
        }
    }
}
