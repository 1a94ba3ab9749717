//! Shapes that differ in one word again and again are one template with a value in its place.
//!
//! Known methods keep a tree of words with a bound on likeness for each system (Drain, He et al.,
//! ICWS 2017). Here a word is a constant until several lines that are alike otherwise have others,
//! which needs no bound for a system.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use super::token::{VALUE, tokens};

/// This many different words in one place make it a value.
const WORDS_MIN: usize = 5;
/// As many where it is the first word, which says most often what a line is about.
const FIRST_WORDS_MIN: usize = 15;
/// As many behind `=`, a quote, or the word `user`.
const VALUES_MIN: usize = 2;
/// A shape that a template covers, of which there are this many times as many lines, is one of its.
const COVERED_TIMES: u64 = 10;
/// Rounds after which shapes stay as they are.
const ROUNDS_MAX: usize = 8;

/// The number of [`VALUE`] among tokens.
const VALUE_ID: u32 = 0;

/// Tokens by number.
struct Ids<'a> {
    of: BTreeMap<&'a str, u32>,
    texts: Vec<&'a str>,
}

impl<'a> Ids<'a> {
    fn new() -> Self {
        Self { of: BTreeMap::from([(VALUE, VALUE_ID)]), texts: vec![VALUE] }
    }

    fn id(&mut self, text: &'a str) -> u32 {
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        *self.of.entry(text).or_insert_with(|| {
            self.texts.push(text);
            next
        })
    }

    fn text(&self, id: u32) -> &'a str {
        self.texts.get(id as usize).copied().unwrap_or_default()
    }

    fn is_word(&self, id: u32) -> bool {
        self.text(id).contains(|c: char| c.is_alphanumeric())
    }
}

type Shape = Vec<u32>;

/// For each shape, with how many lines have it, the template that it belongs to: a text with
/// [`VALUE`] for values. The same input gives the same output.
pub(super) fn merged(shapes: &[(&str, u64)]) -> Vec<String> {
    let mut ids = Ids::new();
    let mut spaces = Vec::new();
    let mut now: Vec<Shape> = Vec::new();
    for (shape, _) in shapes {
        let parts = tokens(shape);
        now.push(parts.iter().map(|(text, _)| ids.id(text)).collect());
        spaces.push(parts.iter().map(|(_, spaced)| *spaced).collect::<Vec<_>>());
    }
    for _ in 0..ROUNDS_MAX {
        if !merge_words(&ids, &mut now) {
            break;
        }
    }
    let counts: Vec<u64> = shapes.iter().map(|(_, count)| *count).collect();
    cover(&ids, &mut now, &counts);
    let mut texts = BTreeMap::new();
    for (at, shape) in now.iter().enumerate() {
        let spaces = &spaces[at];
        // A covered shape is longer than its template: the template's own line has its blanks.
        if spaces.len() == shape.len() {
            texts.entry(shape.clone()).or_insert_with(|| written(&ids, shape, spaces));
        }
    }
    let plain = |shape: &Shape| written(&ids, shape, &vec![true; shape.len()]);
    now.iter().map(|shape| texts.get(shape).cloned().unwrap_or_else(|| plain(shape))).collect()
}

fn written(ids: &Ids<'_>, shape: &[u32], spaces: &[bool]) -> String {
    let mut text = String::new();
    for (id, spaced) in shape.iter().zip(spaces) {
        if *spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(ids.text(*id));
    }
    text
}

/// Shapes that are alike but for one place, and the words there.
#[derive(Default)]
struct Alike {
    words: BTreeSet<u32>,
    members: Vec<usize>,
}

/// How many words a place needs to be a value.
fn wanted(ids: &Ids<'_>, shape: &[u32], place: usize) -> usize {
    let before = place.checked_sub(1).and_then(|at| shape.get(at)).map(|id| ids.text(*id));
    let words_before = shape.iter().take(place).any(|id| ids.is_word(*id));
    if !words_before {
        return FIRST_WORDS_MIN;
    }
    match before {
        Some("=" | "\"" | "'" | "user") => VALUES_MIN,
        _ => WORDS_MIN,
    }
}

/// Makes values of the places with most words. Returns whether any was.
fn merge_words(ids: &Ids<'_>, now: &mut [Shape]) -> bool {
    let hasher = RandomState::new();
    let mut alike: BTreeMap<(usize, u64), Alike> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (at, shape) in now.iter().enumerate() {
        let words = shape.iter().filter(|id| ids.is_word(**id)).count();
        if words < 2 || !seen.insert(shape.clone()) {
            continue;
        }
        for (place, word) in shape.iter().enumerate() {
            if !ids.is_word(*word) {
                continue;
            }
            let (before, after) = (&shape[..place], &shape[place + 1..]);
            let group = alike.entry((place, hasher.hash_one((before, after)))).or_default();
            group.words.insert(*word);
            group.members.push(at);
        }
    }
    let mut groups: Vec<(usize, Alike)> =
        alike.into_iter().map(|((place, _), group)| (place, group)).collect();
    groups
        .retain(|(place, group)| group.words.len() >= wanted(ids, &now[group.members[0]], *place));
    // The most words first; then as the lines came.
    groups.sort_by_key(|(place, group)| {
        (std::cmp::Reverse(group.words.len()), group.members[0], *place)
    });
    let mut changed: BTreeMap<Shape, Shape> = BTreeMap::new();
    for (place, group) in &groups {
        for member in &group.members {
            let shape = &now[*member];
            if !changed.contains_key(shape) {
                let mut template = shape.clone();
                template[*place] = VALUE_ID;
                changed.insert(shape.clone(), template);
            }
        }
    }
    for shape in now.iter_mut() {
        if let Some(template) = changed.get(shape) {
            shape.clone_from(template);
        }
    }
    !changed.is_empty()
}

/// Gives rare shapes to the frequent template that covers them.
fn cover(ids: &Ids<'_>, now: &mut [Shape], counts: &[u64]) {
    let mut lines: BTreeMap<Shape, u64> = BTreeMap::new();
    for (shape, count) in now.iter().zip(counts) {
        *lines.entry(shape.clone()).or_default() += count;
    }
    let mut sorted: Vec<(&Shape, u64)> =
        lines.iter().map(|(shape, count)| (shape, *count)).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let is_template = |shape: &[u32]| {
        let words = shape.iter().filter(|id| ids.is_word(**id)).count();
        words >= 2 && shape.contains(&VALUE_ID)
    };
    let templates: Vec<(&Shape, u64)> =
        sorted.iter().filter(|(shape, _)| is_template(shape)).copied().collect();
    let mut covered: BTreeMap<&Shape, &Shape> = BTreeMap::new();
    for (rare, count) in &sorted {
        let enough = templates.iter().take_while(|(_, lines)| *lines >= COVERED_TIMES * count);
        let found = enough.map(|(template, _)| *template).find(|template| covers(template, rare));
        if let Some(template) = found {
            covered.insert(rare, template);
        }
    }
    let changes: BTreeMap<Shape, Shape> =
        covered.into_iter().map(|(rare, template)| (rare.clone(), template.clone())).collect();
    for shape in now.iter_mut() {
        if let Some(template) = changes.get(shape) {
            shape.clone_from(template);
        }
    }
}

/// Whether a template is a shape where each of its values stands for one token or more.
fn covers(template: &[u32], shape: &[u32]) -> bool {
    let (mut at, mut place) = (0, 0);
    // The latest value, and how far it reaches.
    let mut value = None;
    while place < shape.len() {
        let wanted = template.get(at);
        if wanted == Some(&VALUE_ID) {
            value = Some((at, place + 1));
            (at, place) = (at + 1, place + 1);
        } else if wanted == Some(&shape[place]) {
            (at, place) = (at + 1, place + 1);
        } else if let Some((from, reach)) = value {
            value = Some((from, reach + 1));
            (at, place) = (from + 1, reach + 1);
        } else {
            return false;
        }
    }
    at == template.len() && place == shape.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn templates(shapes: &[(&str, u64)]) -> Vec<String> {
        merged(shapes).into_iter().map(|text| text.replace(VALUE, "*")).collect()
    }

    #[test]
    fn a_word_is_a_value_once_there_are_many() {
        let names = ["ann", "bob", "cat", "dan", "eve"];
        let lines: Vec<String> =
            names.iter().map(|name| format!("job of {name} is done")).collect();
        let shapes: Vec<(&str, u64)> = lines.iter().map(|line| (line.as_str(), 1)).collect();
        assert!(templates(&shapes).iter().all(|text| text == "job of * is done"));
        let few = templates(&shapes[..4]);
        assert_eq!(few[0], "job of ann is done");
        let states = [("VM started here", 5), ("VM stopped here", 5), ("VM paused here", 5)];
        assert_eq!(templates(&states)[1], "VM stopped here");
        assert_eq!(templates(&[("a user=x b", 1), ("a user=y b", 1)])[0], "a user=* b");
    }

    #[test]
    fn a_rare_shape_belongs_to_what_covers_it() {
        let shapes =
            [("bound to \u{1}, level \u{1}", 50), ("bound to LOCAL(\u{1}), level \u{1}", 1)];
        assert_eq!(templates(&shapes)[1], "bound to *, level *");
        assert_eq!(
            templates(&[shapes[1], ("bound to \u{1}, level \u{1}", 5)])[0],
            "bound to LOCAL(*), level *"
        );
    }

    #[test]
    fn values_reach_over_tokens() {
        let (v, a, b) = (VALUE_ID, 1, 2);
        for (template, shape, wanted) in [
            (vec![v, a], vec![b, b, a], true),
            (vec![v, a], vec![a, b], false),
            (vec![v, a, v], vec![b, a, b, a, b], true),
            (vec![v], vec![], false),
            (vec![], vec![], true),
            (vec![a, v], vec![a], false),
            (vec![v, v], vec![a], false),
        ] {
            assert_eq!(covers(&template, &shape), wanted, "{template:?} {shape:?}");
        }
    }

    proptest! {
        #[test]
        fn any_shapes_have_templates(
            all in prop::collection::vec(("[a-c\u{1}=, ]{0,12}", 1..50_u64), 0..40),
        ) {
            let shapes: Vec<(&str, u64)> = all.iter().map(|(s, c)| (s.as_str(), *c)).collect();
            let first = merged(&shapes);
            prop_assert_eq!(first.len(), shapes.len());
            prop_assert_eq!(first, merged(&shapes));
        }
    }
}
