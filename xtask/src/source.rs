//! A view of Rust source that is good enough for house rules: code without comments and literals,
//! and where functions begin and end. Not a parser: rustc has already accepted the file.

/// Replaces comments and the contents of string and character literals by spaces. Lines and
/// columns (counted in characters) stay where they were.
pub fn mask(text: &str) -> String {
    blank(text, |_| true)
}

/// Replaces comments by spaces, and leaves literals.
pub fn without_comments(text: &str) -> String {
    blank(text, |first| first == '/')
}

/// Replaces the comments and literals that `blanked` accepts by their first character.
fn blank(text: &str, blanked: fn(char) -> bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at).max(at + 1);
        let keep = end == at + 1 || !blanked(chars[at]);
        for &c in &chars[at..end] {
            out.push(if keep || c == '\n' { c } else { ' ' });
        }
        at = end;
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` when none starts there.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = |n: usize| chars.get(at + n).copied().unwrap_or('\0');
    match (chars[at], next(1)) {
        ('/', '/') => find(chars, at, &['\n']).unwrap_or(chars.len()),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => string_end(chars, at),
        ('r', '"' | '#') if !in_word(chars, at) => raw_string_end(chars, at),
        ('b' | 'c', 'r') if !in_word(chars, at) => raw_string_end(chars, at + 1).max(at),
        ('\'', '\\') => find(chars, at + 3, &['\'']).map_or(chars.len(), |end| end + 1),
        ('\'', _) if next(2) == '\'' => at + 3,
        _ => at,
    }
}

fn in_word(chars: &[char], at: usize) -> bool {
    at > 0 && is_word(chars[at - 1])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn find(chars: &[char], from: usize, what: &[char]) -> Option<usize> {
    (from..chars.len()).find(|&i| chars[i..].starts_with(what))
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}

/// `at` is the `r` of `r"..."` or `r#"..."#`; a raw identifier (`r#type`) is no literal.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    if chars.get(at + 1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut close = vec!['"'];
    close.resize(1 + hashes, '#');
    find(chars, at + 2 + hashes, &close).map_or(chars.len(), |i| i + close.len())
}

/// The byte offsets at which `word` stands as a whole word.
pub fn words(text: &str, word: &str) -> Vec<usize> {
    let whole = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    text.match_indices(word).map(|(at, _)| at).filter(|&at| whole(at)).collect()
}

/// The line, counted from 1, of a byte offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// A function with a body; lines are counted from 1 and inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub first: usize,
    pub last: usize,
}

/// All functions with a body in masked source.
pub fn functions(masked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in words(masked, "fn") {
        let name: String =
            masked[at + 2..].trim_start().chars().take_while(|&c| is_word(c)).collect();
        if name.is_empty() {
            continue; // a function pointer type
        }
        if let Some(end) = body_end(&masked[at..]) {
            let (first, last) = (line_of(masked, at), line_of(masked, at + end));
            found.push(Function { name, first, last });
        }
    }
    found
}

/// The offset of the brace that closes the first body; `None` for a declaration without body.
fn body_end(text: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if c == '}' && braces == 0 {
            return Some(at);
        }
    }
    None
}

/// The line (from 1) at which the closing `#[cfg(test)] mod tests` starts, if there is one.
pub fn test_tail(masked: &str) -> Option<usize> {
    let lines: Vec<&str> = masked.lines().collect();
    (0..lines.len()).find_map(|i| {
        let is_tail = lines[i].trim() == "#[cfg(test)]"
            && lines[i + 1..]
                .iter()
                .find(|l| !l.trim().starts_with("#[") && !l.trim().is_empty())
                .is_some_and(|l| l.trim_start().starts_with("mod tests {"));
        is_tail.then_some(i + 1)
    })
}

/// Masked source with every item under `#[cfg(test)]` replaced by spaces.
pub fn without_tests(masked: &str) -> String {
    const TESTS: &str = "#[cfg(test)]";
    let mut code = String::with_capacity(masked.len());
    let mut rest = masked;
    while let Some(at) = rest.find(TESTS) {
        code.push_str(&rest[..at]);
        let end = item_end(&rest[at + TESTS.len()..]).map_or(rest.len(), |n| at + TESTS.len() + n);
        code.extend(rest[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    code + rest
}

/// The offset behind the first item: behind its body, or behind its semicolon.
fn item_end(text: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if braces == 0 && brackets == 0 && matches!(c, '}' | ';') {
            return Some(at + 1);
        }
    }
    None
}

/// The paths of a `use`, each with the name by which the file knows its end:
/// `a::{b, c::d as e}` gives `a::b` as `b` and `a::c::d` as `e`.
pub fn expand(tree: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    expand_below("", tree, &mut found);
    found
}

fn expand_below(prefix: &str, tree: &str, out: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = format!("{prefix}{}", path.trim());
        let path = path.trim_start_matches("::");
        let path = path.strip_suffix("::self").unwrap_or(path);
        let last = path.rsplit("::").next().unwrap_or(path);
        let alias = if alias.is_empty() { last } else { alias.trim() };
        if !path.is_empty() {
            out.push((path.to_string(), alias.to_string()));
        }
        return;
    };
    let close = tree.rfind('}').unwrap_or(tree.len());
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let (mut depth, mut start) = (0, open + 1);
    for (at, c) in tree[..close].char_indices().skip_while(|&(at, _)| at <= open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand_below(&prefix, &tree[start..at], out);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand_below(&prefix, &tree[start..close], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_comments_and_literals_only() {
        let text = "let a = \"x // { y\"; // b {\nlet c = '{'; /* d /* e */ } */ f::<'a>(r#\"}\"#)";
        let masked = mask(text);
        assert_eq!(masked.chars().count(), text.chars().count());
        let code: String = masked.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, "let a = ; let c = ; f::<'a>( )");
    }

    #[test]
    fn masks_escapes_and_byte_strings() {
        let masked = mask(r#"a("\"{"); b('\''); c(b"{"); d('\u{7b}'); r#type"#);
        assert!(!masked.contains('{'), "{masked}");
        assert!(masked.ends_with("r#type"));
    }

    #[test]
    fn finds_functions_with_bodies() {
        let text = "trait T { fn a(&self) -> [u8; 2]; }\nfn b(f: fn(u8)) {\n if x { y }\n}\n";
        let found = functions(&mask(text));
        assert_eq!(found, [Function { name: "b".into(), first: 2, last: 4 }]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("unsafe_code unsafe", "unsafe"), [12]);
    }

    #[test]
    fn finds_the_test_tail() {
        assert_eq!(test_tail("fn a() {}\n#[cfg(test)]\nmod tests {\n}\n"), Some(2));
        assert_eq!(test_tail("#[cfg(test)]\nfn helper() {}\n"), None);
    }
}
