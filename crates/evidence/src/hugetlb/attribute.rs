//! Which memory on HugeTLB pages is that of a described program, once it runs.
//!
//! A plan made beforehand takes nothing for a described program: pages in use then are somebody
//! else's. After it was applied, the program is searched for: by its product, its kind of memory,
//! its directory and its size.

use super::demand::{self, Demand, Origin, java_holds, pages};
use super::facts::{Facts, Object, ObjectKind};
use super::input::Inputs;
use super::planned::HugetlbPlan;
use super::product::Product;

/// What runs now of a plan. Processes that it was made for (`--pid`) have ended where a program
/// was started again: then it is searched for as those that were described.
pub(super) fn of_plan(facts: &Facts, plan: &HugetlbPlan) -> Vec<Demand> {
    let mut now = demand::demands(facts, &plan.inputs).all;
    if plan.inputs.describe_programs() {
        held(facts, &plan.inputs, &mut now);
        return now;
    }
    if plan.inputs.pids.is_empty() || !now.is_empty() {
        return now;
    }
    let planned = plan.demands().cloned();
    let ended = planned.map(|demand| Demand {
        origin: Origin::Input,
        held_pages: 0,
        pids: Vec::new(),
        tables_now_bytes: None,
        ..demand
    });
    let mut again: Vec<Demand> = ended.collect();
    held(facts, &plan.inputs, &mut again);
    for demand in again.iter_mut().filter(|demand| !demand.pids.is_empty()) {
        demand.name.push_str(", started again");
    }
    again
}

/// Gives each demand the memory that is likely its own: first what has exactly its size, then
/// parts of at least a quarter of it, as long as they fit.
pub(super) fn held(facts: &Facts, inputs: &Inputs, all: &mut [Demand]) {
    let mut huge: Vec<(&Object, u64)> = facts
        .objects
        .iter()
        .filter_map(|object| Some((object, pages(object.bytes, object.page?))))
        .collect();
    huge.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    for exact in [true, false] {
        for demand in &mut *all {
            huge.retain(|(object, pages)| {
                let room = demand.pages - demand.held_pages;
                let fits = match exact {
                    true => *pages == demand.pages && demand.held_pages == 0,
                    false => *pages <= room && pages.saturating_mul(4) >= demand.pages,
                };
                let its = fits && is_its(facts, inputs, demand, object, *pages);
                if its {
                    demand.held_pages += pages;
                    demand.pids.extend(&object.pids);
                }
                !its
            });
        }
    }
    for demand in all.iter_mut().filter(|demand| !demand.pids.is_empty()) {
        let (pids, attached) = (std::mem::take(&mut demand.pids), demand.attached);
        let (users, units) = (demand.users.clone(), demand.units.clone());
        let known = demand.clone().with_processes(facts, &pids);
        let known = Demand { users, units, ..known };
        *demand = match attached {
            Some(_) => known.shared_by(attached),
            None => known,
        };
    }
}

fn is_its(
    facts: &Facts,
    inputs: &Inputs,
    demand: &Demand,
    object: &Object,
    object_pages: u64,
) -> bool {
    if object.page != Some(demand.page_bytes) {
        return false;
    }
    let product = demand::product(facts, object);
    match demand.product {
        Some(Product::Java) => java_holds(object) && product == Some(Product::Java),
        Some(Product::PostgreSql) => {
            product == Some(Product::PostgreSql)
                && is_of_directory(facts, inputs, demand, object)
                    .unwrap_or(object_pages == demand.pages)
        }
        Some(_) => product == demand.product,
        // Shared memory of nobody in particular: Oracle's, or that of a program not known here.
        None => {
            object.kind != ObjectKind::PrivateHuge
                && product.is_none_or(|product| product == Product::Oracle)
        }
    }
}

/// Whether a segment is that of the server whose directory was given; `None`: no server with that
/// directory runs, as it was written.
fn is_of_directory(
    facts: &Facts,
    inputs: &Inputs,
    demand: &Demand,
    object: &Object,
) -> Option<bool> {
    let asked = inputs.postgres.iter().find(|answer| demand.name.ends_with(&answer.directory))?;
    let is_asked = |directory: &Option<String>| directory.as_ref() == Some(&asked.directory);
    if !facts.processes.values().any(|process| is_asked(&process.directory)) {
        return None;
    }
    let of_object = object.pids.iter().filter_map(|pid| facts.processes.get(pid));
    Some(of_object.into_iter().any(|process| is_asked(&process.directory)))
}
