//! What logs, containers, editors and people put before each line of a text.

use super::lead::lead;
use super::line::{Hosts, Judge, NumberedLine, score};
use super::quotes;
use std::borrow::Cow;

/// A part of a prefix.
#[derive(Clone, Copy)]
enum Part {
    /// A time, see [`lead`].
    Time,
    /// One of these texts, the same in all lines. A blank at the end of a line may be missing.
    One(&'static [&'static str]),
    /// The name of a machine, or of a pod or file of which each may be of another machine, the same
    /// in all lines.
    Host,
    /// Another name, the same in all lines.
    Name,
    /// The name of a program, the same in all lines, and what follows it in brackets.
    Tag,
    /// A word that may differ from line to line.
    Word,
    /// A number that grows from line to line.
    Count,
    /// Blanks, or none.
    Blanks,
}

use Part::{Blanks, Count, Host, Name, One, Tag, Time, Word};

/// When a prefix is taken.
#[derive(Clone, Copy, PartialEq)]
enum Taken {
    /// When more is understood without it: rows of no listing begin so.
    Better,
    /// When far more is, or all: rows of some listings begin so.
    FarBetter,
}

use Taken::{Better, FarBetter};

/// What may stand before each line of a text: the more particular ones come first.
// tidy: table
const PREFIXES: &[(Taken, &[Part])] = &[
    // syslog, `journalctl -o short`, `short-iso`, `short-full`, and all with names of units.
    (Better, &[Time, Host, GAP, Tag, One(&[": "])]),
    // RFC 3164 and 5424 with their priority.
    (Better, &[One(&["<"]), Word, One(&[">"]), Time, Host, GAP, Tag, One(&[": "])]),
    (
        Better,
        &[
            One(&["<"]),
            Word,
            One(&[">1 "]),
            Time,
            Name,
            GAP,
            Word,
            GAP,
            Word,
            GAP,
            Word,
            One(&[" - "]),
        ],
    ),
    // Files that the runtime of containers writes (CRI).
    (Better, &[Time, One(&["stdout F ", "stderr F ", "stdout P ", "stderr P "])]),
    // Hosted programs: a time and a process.
    (Better, &[Time, Tag, One(&[": "])]),
    (FarBetter, &[Time]),
    // `kubectl logs --prefix`, and other names in brackets.
    (Better, &[One(&["[pod/"]), Host, One(&["] "])]),
    (FarBetter, &[One(&["["]), Host, One(&["] out: ", "] err: ", "] "])]),
    // `docker compose logs`.
    (Better, &[Name, Blanks, One(&["| "])]),
    // Steps of an image that is built.
    (FarBetter, &[One(&["#"]), Word, GAP, Word, GAP]),
    // `cat -n`, `nl`, `less -N`, `bat`, `grep -n`, lists.
    (
        FarBetter,
        &[Blanks, Count, One(&["\t", " \u{2502} ", "\u{2502} ", ":", "-", ". ", ") ", " "])],
    ),
    // `pdsh`, `grep -H`, and whatever else has one name before each line.
    (FarBetter, &[Host, One(&[": "])]),
    (FarBetter, &[Host, One(&[":"])]),
    (FarBetter, &[Host, One(&["> "])]),
    (FarBetter, &[Host, GAP, Name, GAP]),
    (FarBetter, &[Host, GAP]),
    // Marks of lists and of what was added, bars at a side.
    (FarBetter, &[Blanks, One(&["- ", "* ", "\u{2022} ", "\u{b7} ", "\u{2013} "])]),
    (FarBetter, &[One(&["| ", "\u{2502} ", ": ", "; ", "% ", "# ", "// "])]),
    (FarBetter, &[One(&["+", "-"])]),
];

/// The blank between two words.
const GAP: Part = One(&[" "]);

/// Fewer lines share nothing.
const LINES_MIN: usize = 2;
/// Most prefixes before one line.
const LAYERS_MAX: usize = 3;
/// Lines of a run by which it is judged, and the most bytes of them.
const JUDGED_LINES: usize = 1000;
const JUDGED_BYTES: usize = 1 << 18;
/// Longest word or name.
const NAME_BYTES_MAX: usize = 128;
/// Longest text in the brackets behind a program.
const PID_BYTES_MAX: usize = 24;
/// Digits of the largest line number.
const COUNT_DIGITS_MAX: usize = 8;

/// A prefix as one line has it.
#[derive(Default)]
struct Found<'a> {
    /// Bytes that it takes.
    length: usize,
    /// What all lines of a run have in common.
    same: [&'a str; 4],
    count: Option<u32>,
    /// When, as text: canonical.
    at: Option<String>,
    host: Option<&'a str>,
}

impl<'a> Found<'a> {
    /// Reads the prefix of a line, part by part.
    fn of(parts: &[Part], line: &'a str) -> Option<Self> {
        let (mut found, mut names) = (Self::default(), 0);
        for part in parts {
            let rest = line.get(found.length..)?;
            let (length, same) = match part {
                Time => {
                    let lead = lead(rest)?;
                    found.at = found.at.or_else(|| Some(lead.at.to_string()));
                    (lead.length, None)
                }
                One(texts) => {
                    let text = texts.iter().find(|text| {
                        rest.starts_with(**text) || rest == text.trim_end() && !rest.is_empty()
                    })?;
                    (text.len().min(rest.len()), Some(text.trim_end()).filter(|_| texts.len() > 1))
                }
                Name | Host => {
                    let name = name(rest)?;
                    found.host = found.host.or(Some(name).filter(|_| matches!(part, Host)));
                    (name.len(), Some(name))
                }
                Tag => {
                    let name = name(rest)?;
                    let pid = rest.get(name.len()..).and_then(|rest| rest.strip_prefix('['));
                    let end = |pid: &str| pid.bytes().take(PID_BYTES_MAX).position(|b| b == b']');
                    let inside = pid.and_then(end);
                    (name.len() + inside.map_or(0, |inside| inside + 2), Some(name))
                }
                Word => {
                    let ends = |c: char| c.is_whitespace() || matches!(c, ']' | '>');
                    let word = rest.get(..rest.find(ends)?)?;
                    (Some(word.len()).filter(|length| (1..=NAME_BYTES_MAX).contains(length))?, None)
                }
                Count => {
                    let most = COUNT_DIGITS_MAX + 1;
                    let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
                    found.count = Some(rest.get(..digits)?.parse().ok()?);
                    (digits, None)
                }
                Blanks => (rest.len() - rest.trim_start_matches(' ').len(), None),
            };
            found.length += length;
            if let Some(same) = same {
                *found.same.get_mut(names)? = same;
                names += 1;
            }
        }
        Some(found)
    }

    /// Whether a line below has the same prefix.
    fn goes_on(&self, below: &Self) -> bool {
        let counts = match (self.count, below.count) {
            (Some(above), Some(below)) => above < below,
            (above, below) => above == below,
        };
        self.same == below.same && counts
    }
}

/// A name: letters, digits and signs as machines, units, pods and files have them. No number.
fn name(text: &str) -> Option<&str> {
    let usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./@".contains(byte);
    let length = text.bytes().take(NAME_BYTES_MAX + 1).take_while(usual).count();
    let name = text.get(..length)?;
    let named = name.bytes().any(|byte| byte.is_ascii_alphabetic());
    (named && length <= NAME_BYTES_MAX).then_some(name)
}

/// Takes from the lines of a run what they share, where more of what remains is understood. The
/// time goes with it, unless the lines are read as well with it before them, as those of `vmstat`
/// are. Whether anything was taken. The machines that were named there are added to `hosts`.
pub(super) fn strip(lines: &mut [NumberedLine<'_>], judge: Judge<'_>, hosts: &mut Hosts) -> bool {
    strip_to(1, lines, judge, hosts)
}

/// The same, looking so often into parts of a run.
fn strip_to(
    depth: usize,
    lines: &mut [NumberedLine<'_>],
    judge: Judge<'_>,
    hosts: &mut Hosts,
) -> bool {
    let mut changed = false;
    for (taken, parts) in PREFIXES {
        let mut at = 0;
        while at < lines.len() {
            let rest = lines.get_mut(at..).unwrap_or_default();
            // Nothing begins at a blank line.
            let blank = rest.iter().take_while(|line| line.text.is_empty()).count();
            at += blank;
            let rest = rest.get_mut(blank..).unwrap_or_default();
            let (length, sharing) = run(parts, rest.iter().map(|line| line.text.as_ref()));
            let run = rest.get_mut(..length).unwrap_or_default();
            if sharing >= LINES_MIN {
                let host = host(parts, run);
                if peel(depth, (*taken, parts), run, judge) {
                    changed = true;
                    hosts.extend(host);
                }
            }
            at += length.max(1);
        }
    }
    changed
}

/// The machine that the prefix of a run names, with the number of its first line.
fn host(parts: &[Part], run: &[NumberedLine<'_>]) -> Option<(usize, String)> {
    let first = run.first()?;
    Some((first.number, Found::of(parts, &first.text)?.host?.to_owned()))
}

/// How many lines begin with one prefix, blank ones among them that lost it, and without these.
fn run<'a>(parts: &[Part], lines: impl Iterator<Item = &'a str>) -> (usize, usize) {
    let (mut latest, mut length, mut sharing): (Option<Found<'_>>, _, _) = (None, 0, 0);
    for (at, line) in lines.enumerate() {
        let found = Found::of(parts, line);
        match (&latest, found) {
            (None, Some(found)) => latest = Some(found),
            (Some(above), Some(found)) if above.goes_on(&found) => latest = Some(found),
            (Some(_), None) if line.trim().is_empty() => continue,
            _ => break,
        }
        (length, sharing) = (at + 1, sharing + 1);
    }
    (length, sharing)
}

/// Takes as many prefixes from a run as make most of it understood.
fn peel(
    depth: usize,
    (taken, parts): (Taken, &[Part]),
    run: &mut [NumberedLine<'_>],
    judge: Judge<'_>,
) -> bool {
    let judged = judged(run);
    let before = score(judge, judged);
    let filled = judged.iter().filter(|line| !line.text.trim().is_empty()).count();
    if before >= filled {
        return false;
    }
    let mut layers: Vec<&[Part]> = vec![parts];
    let enough = if taken == Better { before } else { before * 5 / 4 };
    let (mut best, mut found) = (enough.min(filled - 1), 0);
    let mut rest: Vec<NumberedLine<'_>> = judged.to_vec();
    while let Some(layer) = layers.last() {
        rest.iter_mut().for_each(|line| cut(line, layer));
        let after = score(judge, &rest);
        if after > best {
            (best, found) = (after, layers.len());
        }
        let texts = || rest.iter().map(|line| line.text.as_ref());
        let whole = |parts| {
            let (length, sharing) = self::run(parts, texts());
            length == rest.len() && sharing >= LINES_MIN
        };
        let inner = PREFIXES.iter().find(|(_, parts)| whole(parts));
        match inner.map(|(_, parts)| *parts).filter(|_| layers.len() < LAYERS_MAX && after < filled)
        {
            Some(inner) => layers.push(inner),
            None => break,
        }
    }
    layers.truncate(found.max(1));
    // Parts of what remains may have prefixes and marks of their own.
    if depth > 0 && best * 2 < filled {
        let mut inner: Vec<NumberedLine<'_>> = judged.to_vec();
        layers.iter().for_each(|layer| inner.iter_mut().for_each(|line| cut(line, layer)));
        let after = inside(inner, judge);
        if after > best {
            (best, found) = (after, layers.len());
        }
    }
    layers.truncate(found);
    if layers.is_empty() {
        return false;
    }
    let keep = rows_want_time(judged, &layers, judge, best);
    for line in run {
        if keep {
            with_time(line, &layers);
        } else {
            layers.iter().for_each(|layer| cut(line, layer));
        }
    }
    true
}

/// Whether lines have no time of their own, and as much is understood with that of their prefix.
fn rows_want_time(
    run: &[NumberedLine<'_>],
    layers: &[&[Part]],
    judge: Judge<'_>,
    enough: usize,
) -> bool {
    if !layers.iter().any(|parts| parts.iter().any(|part| matches!(part, Time))) {
        return false;
    }
    let (mut timed, mut bare) = (run.to_vec(), run.to_vec());
    timed.iter_mut().for_each(|line| with_time(line, layers));
    layers.iter().for_each(|layer| bare.iter_mut().for_each(|line| cut(line, layer)));
    let own = bare.iter().any(|line| lead(&line.text).is_some());
    !own && score(judge, &timed) >= enough
}

/// Whether so much more is understood of some lines than of others that these stand for them.
pub(super) fn is_better(
    judge: Judge<'_>,
    before: &[NumberedLine<'_>],
    after: &[NumberedLine<'_>],
) -> bool {
    let enough = score(judge, before) * 5 / 4;
    score(judge, after) > enough || inside(after.to_vec(), judge) > enough
}

/// How many lines are understood where parts of them have prefixes and marks of their own.
fn inside(mut lines: Vec<NumberedLine<'_>>, judge: Judge<'_>) -> usize {
    quotes::strip(&mut lines);
    strip_to(0, &mut lines, judge, &mut Hosts::new());
    score(judge, &lines)
}

/// As much of a run as shows what it is.
fn judged<'l, 'a>(run: &'l [NumberedLine<'a>]) -> &'l [NumberedLine<'a>] {
    let mut bytes = 0;
    let fits = run.iter().take(JUDGED_LINES).take_while(|line| {
        bytes += line.text.len();
        bytes <= JUDGED_BYTES
    });
    let count = fits.count().max(1);
    run.get(..count).unwrap_or_default()
}

fn cut(line: &mut NumberedLine<'_>, parts: &[Part]) {
    let length = Found::of(parts, &line.text).map_or(0, |found| found.length);
    line.cut(length);
}

/// Leaves nothing before a line but the first time of its prefixes.
fn with_time(line: &mut NumberedLine<'_>, layers: &[&[Part]]) {
    let mut at = None;
    for layer in layers {
        let Some(found) = Found::of(layer, &line.text) else { continue };
        let length = found.length;
        at = at.or(found.at);
        line.cut(length);
    }
    if let Some(at) = at.filter(|_| !line.text.trim().is_empty()) {
        line.text = Cow::Owned(format!("{at} {}", line.text));
    }
}
