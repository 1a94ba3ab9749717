//! Tables whose cells are parted by bars: Markdown, and frames of signs.

use super::line::{Judge, NumberedLine};
use super::prefix::is_better;
use std::borrow::Cow;

/// Fewer lines are no table.
const LINES_MIN: usize = 2;

/// Takes the bars where more is understood without them. Whether any were taken.
pub(super) fn strip(lines: &mut [NumberedLine<'_>], judge: Judge<'_>) -> bool {
    let mut changed = false;
    let mut at = 0;
    while at < lines.len() {
        let rest = lines.get_mut(at..).unwrap_or_default();
        let length = rest.iter().take_while(|line| is_row(&line.text)).count();
        let table = rest.get_mut(..length).unwrap_or_default();
        if length >= LINES_MIN {
            let bare = bare(table);
            if is_better(judge, table, &bare) {
                table.iter_mut().zip(bare).for_each(|(line, bare)| *line = bare);
                changed = true;
            }
        }
        at += length.max(1);
    }
    changed
}

fn is_row(line: &str) -> bool {
    let line = line.trim();
    let bar = |c: char| matches!(c, '|' | '\u{2502}' | '\u{2503}');
    is_rule(line) || line.len() > 1 && line.starts_with(bar) && line.ends_with(bar)
}

/// A line between rows: `|---|:-:|`, `+----+`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let sign = |c: char| "|+-=: ".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    line.len() > 1
        && line.starts_with(['|', '+', '\u{250c}', '\u{251c}', '\u{2514}'])
        && line.chars().all(sign)
}

/// The rows without bars. A rule goes above the row that it follows: a listing has its heading
/// right above its rows.
fn bare<'a>(table: &[NumberedLine<'a>]) -> Vec<NumberedLine<'a>> {
    let bars = |c: char| if matches!(c, '|' | '\u{2502}' | '\u{2503}') { ' ' } else { c };
    let mut out: Vec<NumberedLine<'a>> = Vec::with_capacity(table.len());
    for line in table {
        let rule = is_rule(&line.text);
        let text = if rule { String::new() } else { line.text.chars().map(bars).collect() };
        let text = text.trim().trim_matches('`').to_owned();
        out.push(NumberedLine { number: line.number, text: Cow::Owned(text) });
        let (below, above) = (out.len() - 1, out.len().saturating_sub(2));
        if rule && above < below {
            let moved = std::mem::take(&mut out[above].text);
            out[below].text = moved;
        }
    }
    out
}
