//! Marks of HTML, Markdown and the languages of trackers: tags, entities, fences, emphasis.

use super::line::NumberedLine;
use std::borrow::Cow;

/// Elements around and within a text that was pasted: all others are left as they are, because
/// listings have words in such brackets, too.
const ELEMENTS: [&str; 36] = [
    "a",
    "b",
    "blockquote",
    "body",
    "br",
    "code",
    "del",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "head",
    "hr",
    "html",
    "i",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "tt",
];
/// Those behind which another line begins.
const ENDS_LINE: [&str; 11] =
    ["blockquote", "br", "div", "h1", "h2", "h3", "hr", "li", "p", "pre", "tr"];
/// Longest tag.
const TAG_BYTES_MAX: usize = 400;

/// Entities with what they stand for.
const ENTITIES: [(&str, &str); 11] = [
    ("lt", "<"),
    ("gt", ">"),
    ("amp", "&"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("ndash", "\u{2013}"),
    ("mdash", "\u{2014}"),
    ("shy", ""),
];
/// Longest name or number of an entity.
const ENTITY_BYTES_MAX: usize = 8;

/// Lines that only begin or end a part of a text, and such marks around a line.
const FENCES: [&str; 2] = ["```", "~~~"];
const BRACKETS: [&str; 8] =
    ["[code]", "[/code]", "[pre]", "[/pre]", "[quote]", "[/quote]", "{code}", "{noformat}"];
/// Marks on both sides of a line, the longest first.
const EMPHASIS: [&str; 7] = ["***", "**", "__", "~~", "``", "`", "*"];

/// Takes the marks from all lines; one may become several. Whether there were any.
pub(super) fn strip(lines: &mut Vec<NumberedLine<'_>>) -> bool {
    let mut changed = untag(lines);
    for line in lines {
        changed |= decode(line) | unfence(line) | plain(line);
    }
    changed
}

/// A tag at the start of a text: its name, whether it ends an element, and its length.
fn tag(text: &str) -> Option<(&'static str, bool, usize)> {
    let inside = text.strip_prefix('<')?;
    let (closes, inside) = inside.strip_prefix('/').map_or((false, inside), |rest| (true, rest));
    let length = inside.bytes().take(12).take_while(u8::is_ascii_alphanumeric).count();
    let own = inside.get(..length)?;
    let name = ELEMENTS.iter().find(|name| own.eq_ignore_ascii_case(name))?;
    let rest = inside.get(length..)?;
    if !rest.starts_with(['>', '/', ' ']) {
        return None;
    }
    let mut quote = None;
    let mut within = rest.bytes().take(TAG_BYTES_MAX).take_while(|byte| *byte != b'<');
    let end = within.position(|byte| {
        match quote {
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            Some(open) if open == byte => quote = None,
            _ => {}
        }
        byte == b'>' && quote.is_none()
    })?;
    Some((name, closes, text.len() - rest.len() + end + 1))
}

/// Whether a line has a tag that no text without HTML has.
fn has_tag(line: &str) -> bool {
    let tags = line.match_indices('<').filter_map(|(at, _)| tag(line.get(at..)?));
    let sure = |(name, closes, _)| closes || matches!(name, "br" | "pre" | "hr" | "table");
    tags.into_iter().any(sure)
}

/// Takes the tags of a text that is HTML; some of them end a line, or part two words.
fn untag(lines: &mut Vec<NumberedLine<'_>>) -> bool {
    if !lines.iter().any(|line| has_tag(&line.text)) {
        return false;
    }
    let mut out = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        if !line.text.contains('<') {
            out.push(line);
            continue;
        }
        let (mut text, mut rest) = (String::with_capacity(line.text.len()), line.text.as_ref());
        let mut push =
            |text: String| out.push(NumberedLine { number: line.number, text: text.into() });
        while let Some(at) = rest.find('<') {
            let (before, after) = rest.split_at(at);
            text.push_str(before);
            let Some((name, closes, length)) = tag(after) else {
                text.push('<');
                rest = after.get(1..).unwrap_or_default();
                continue;
            };
            rest = after.get(length..).unwrap_or_default();
            match name {
                "td" | "th" if closes => text.push(' '),
                _ if !ENDS_LINE.contains(&name) || rest.trim().is_empty() => {}
                // What a block begins behind is another line, too.
                "br" | "hr" => push(std::mem::take(&mut text)),
                _ if closes || !text.trim().is_empty() => push(std::mem::take(&mut text)),
                _ => {}
            }
        }
        text.push_str(rest);
        // What its last tag ended is a line already.
        if !text.is_empty() || out.last().is_none_or(|last| last.number != line.number) {
            out.push(NumberedLine { number: line.number, text: text.into() });
        }
    }
    *lines = out;
    true
}

/// Puts letters for entities.
fn decode(line: &mut NumberedLine<'_>) -> bool {
    let (mut out, mut rest) = (String::new(), line.text.as_ref());
    while let Some((at, (length, text))) = next_entity(rest) {
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push_str(&text);
        rest = rest.get(at + length..).unwrap_or_default();
    }
    if rest.len() == line.text.len() {
        return false;
    }
    out.push_str(rest);
    line.text = Cow::Owned(out);
    true
}

/// The place of the first entity, its length, and what it stands for.
fn next_entity(text: &str) -> Option<(usize, (usize, Cow<'static, str>))> {
    text.match_indices('&').find_map(|(at, _)| Some((at, entity(text.get(at + 1..)?)?)))
}

fn entity(text: &str) -> Option<(usize, Cow<'static, str>)> {
    let end = text.bytes().take(ENTITY_BYTES_MAX + 1).position(|byte| byte == b';')?;
    let name = text.get(..end)?;
    let length = end + 2;
    if let Some((_, letter)) = ENTITIES.iter().find(|(known, _)| *known == name) {
        return Some((length, Cow::Borrowed(letter)));
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    let letter = char::from_u32(code.ok()?)?;
    let seen = super::terminal::seen(letter.encode_utf8(&mut [0; 4])).into_owned();
    Some((length, Cow::Owned(seen)))
}

/// Takes fences and the brackets of trackers: a line of them is left blank.
fn unfence(line: &mut NumberedLine<'_>) -> bool {
    let text = line.text.trim();
    let named = text.starts_with("{code:") && text.ends_with('}');
    for fence in FENCES {
        let begins = text.strip_prefix(fence).filter(|rest| !rest.contains(fence));
        let ends = text.strip_suffix(fence).filter(|rest| !rest.contains(fence));
        let Some(rest) = begins.or(ends) else { continue };
        // Behind a fence the language is named, unless more follows.
        let alone = rest.split_whitespace().count() <= usize::from(begins.is_some());
        line.text = Cow::Owned(if alone { String::new() } else { rest.to_owned() });
        return true;
    }
    if named {
        line.text = Cow::Borrowed("");
        return true;
    }
    if !text.starts_with(['[', '{']) && !text.ends_with([']', '}']) {
        return false;
    }
    let mut inside = line.text.as_ref();
    for bracket in BRACKETS {
        let start = inside.get(..bracket.len()).filter(|start| start.eq_ignore_ascii_case(bracket));
        inside = inside.get(start.map_or(0, str::len)..).unwrap_or_default();
        let trimmed = inside.trim_end();
        let at = trimmed.len().checked_sub(bracket.len()).unwrap_or(trimmed.len());
        let ends = trimmed.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(bracket));
        inside = if ends { trimmed.get(..at).unwrap_or_default() } else { inside };
    }
    if inside.len() == line.text.len() {
        return false;
    }
    line.text = Cow::Owned(inside.to_owned());
    true
}

/// Takes emphasis around a line or its words, and the sign before an underscore that is meant.
fn plain(line: &mut NumberedLine<'_>) -> bool {
    let text = line.text.as_ref();
    if !text.contains(['*', '`', '~', '_']) {
        return false;
    }
    let inner = EMPHASIS.iter().find_map(|mark| {
        let inside = text.trim().strip_prefix(mark)?.strip_suffix(mark)?;
        let first = mark.chars().next()?;
        let whole = !inside.contains(first) || mark.len() == 2 && !inside.contains(mark);
        let tight = !inside.starts_with(char::is_whitespace) && !inside.is_empty();
        // `__FRAME_END__` is a symbol, on a line of its own in a call chain.
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let symbol = *mark == "__" && inside.chars().all(of_name);
        (whole && tight && !symbol).then_some(inside)
    });
    let mut out = Cow::Borrowed(inner.unwrap_or(text));
    // `HugePages_Total: **0**`: pairs, each of which encloses a word or more.
    let parts: Vec<&str> = out.split("**").collect();
    let inside = parts.iter().skip(1).step_by(2);
    let tight = |part: &&str| !part.is_empty() && part.trim().len() == part.len();
    let paired = parts.len() > 2 && parts.len() % 2 == 1 && inside.into_iter().all(tight);
    // Emphasis that begins on one line and ends on another.
    let open = match parts.as_slice() {
        [before, behind] if before.trim().is_empty() => behind.starts_with(char::is_alphanumeric),
        [before, behind] => behind.trim().is_empty() && before.ends_with(char::is_alphanumeric),
        _ => false,
    };
    if paired || open {
        out = Cow::Owned(parts.concat());
    }
    if out.contains("\\_") {
        out = Cow::Owned(out.replace("\\_", "_"));
    }
    if out.len() == line.text.len() {
        return false;
    }
    line.text = Cow::Owned(out.into_owned());
    true
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain;

    #[test]
    fn html_is_taken_away() {
        for (text, wanted) in [
            ("<pre>MemTotal: 5<br>MemFree: 4<br/></pre>", "MemTotal: 5\nMemFree: 4"),
            ("<p>a</p><p>b &lt;c&gt; &amp;amp; &#100;&#x65;&nbsp;f</p>", "a\nb <c> & de f"),
            ("<span class=\"x > y\">a</span> <b>b</b>", "a b"),
            (
                "<table><tr><th>r</th><th>b</th></tr><tr><td>1</td><td>0</td></tr></table>",
                "r b \n1 0 ",
            ),
            ("a &lt; b &unknown; &#xd800; &", "a < b &unknown; &#xd800; &"),
            ("List<b> <init> <0x7f> <a", "List<b> <init> <0x7f> <a"),
        ] {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }

    #[test]
    fn markdown_and_brackets_are_taken_away() {
        for (text, wanted) in [
            ("```text\n$ free\n```\n", "\n$ free\n\n"),
            (
                "**MemTotal: 5 kB**\n*MemFree: 4 kB*\n`Cached: 3 kB`\n",
                "MemTotal: 5 kB\nMemFree: 4 kB\nCached: 3 kB\n",
            ),
            ("HugePages\\_Total: **0**\n", "HugePages_Total: 0\n"),
            ("[CODE]$ free\nx[/CODE]\n{noformat}\n{code:title=x}\n", "$ free\nx\n\n\n"),
            ("ls * x*\nchar **p\n", "ls * x*\nchar **p\n"),
            ("__of all__\n   __FRAME_END__\n", "of all\n   __FRAME_END__\n"),
        ] {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }

    #[test]
    fn many_beginnings_take_no_longer_than_their_number() {
        for start in ["<", "<a ", "&", "&#", "&amp;", "**", "`", "<br>", "\\_", "</"] {
            plain(&start.repeat(100_000));
        }
    }
}
