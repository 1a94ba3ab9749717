//! Every variant against the baseline: the deciding metrics together as one family, the others each
//! by itself and without a judgement.

use super::figures::{Against, Row};
use super::material::Material;
use crate::compare::{Judgement, Rule, compare, judge, visible_percent};
use hugewise_base::stats::adjust::benjamini_hochberg;

/// How much of what catches the eye among the metrics for information is chance.
fn share_of_chance(rows: &mut [Row]) {
    let shown = rows.iter_mut().filter(|row| !row.decides);
    let cells = shown.flat_map(|row| &mut row.cells).filter_map(|cell| cell.against.as_mut());
    let mut all: Vec<_> = cells.filter_map(|against| Some((against.p?, against))).collect();
    let p: Vec<f64> = all.iter().map(|(p, _)| *p).collect();
    for ((_, against), q) in all.iter_mut().zip(benjamini_hochberg(&p).unwrap_or_default()) {
        against.q = Some(q);
    }
}

/// The rows with all comparisons that their values allow.
pub(super) fn fill(rows: &mut [Row], material: &Material<'_>) {
    let Some(baseline) = material.baseline else { return };
    let alpha = material.checked.experiment.level();
    let plain = |row: &Row, index: usize| -> Vec<f64> {
        let values = row.cells.get(index).map(|cell| &cell.values);
        values.into_iter().flatten().map(|one| one.value).collect()
    };
    let mut family = Vec::new();
    for (place, row) in rows.iter_mut().enumerate() {
        let equal_within_percent = row.equal_within_percent;
        let rule = Rule { alpha, equal_within_percent, better: row.better };
        let base = plain(row, baseline);
        if base.is_empty() {
            continue;
        }
        for index in (0..row.cells.len()).filter(|index| *index != baseline) {
            let values = plain(row, index);
            if values.is_empty() {
                continue;
            }
            let comparison = compare(&base, &values, &rule);
            row.cells[index].against = Some(Against::alone(&comparison));
            if row.decides {
                family.push(((place, index, base.clone(), values), comparison, rule));
            }
        }
    }
    share_of_chance(rows);
    let name = material.active.get(baseline).map_or("", |variant| variant.name.as_str());
    for judged in judge(family) {
        let sentence_in = |unit: &str| judged.sentence(name, unit);
        let (place, index, base, values) = &judged.key;
        let (place, index) = (*place, *index);
        let Some(row) = rows.get_mut(place) else { continue };
        let sentence = sentence_in(&row.unit);
        let Some(against) = row.cells.get_mut(index).and_then(|cell| cell.against.as_mut()) else {
            continue;
        };
        (against.ratio, against.shift, against.p) = (judged.ratio, judged.shift, judged.p_adjusted);
        // What could have been seen at the level at which the decision fell, not by itself.
        against.smallest_visible_percent = match judged.judgement {
            Judgement::TooFew { .. } | Judgement::Unknown(_) => None,
            _ => visible_percent(base, values, judged.level),
        };
        against.judgement = Some(judged.judgement);
        against.sentence = Some(sentence);
    }
}
