//! Whether a host is as its products want it.

use super::words::{accepted, because, named, processes, setting, way};
use crate::render::colour::Paint;
use crate::render::text::{capital, columns, fit, left, width, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::advice::detect::Running;
use hugewise_evidence::advice::facts::{Machine, Process};
use hugewise_evidence::advice::owners::{Owned, Statement};
use hugewise_evidence::advice::resolve::{Resolution, Step, Wanted, Way};
use hugewise_evidence::advice::rule::{Level, Reads};
use hugewise_evidence::advice::setting::Setting;
use hugewise_evidence::advice::verdict::{Findings, Row, Verdict};
use serde_json::{Value, json};

/// How to get the estimate.
pub(crate) const ESTIMATE: &str =
    "\nWhat each mode, pools and a manager would cost: 'hugewise advise --estimate'.\n";

/// All that is said of a host.
pub(crate) struct View<'a> {
    /// The machine.
    pub(crate) machine: &'a Machine,
    /// Rules and what they find.
    pub(crate) findings: Findings<'a>,
    /// What to do.
    pub(crate) resolution: Resolution<'a>,
    /// Who sets the settings.
    pub(crate) owners: Vec<Owned>,
    /// What could not be read.
    pub(crate) missing: Vec<String>,
}

impl View<'_> {
    /// Demands that are not satisfied.
    pub(crate) fn required(&self) -> usize {
        self.wrong(Level::Required)
    }

    fn wrong(&self, level: Level) -> usize {
        let rows = self.findings.rows.iter();
        rows.filter(|row| row.verdict == Verdict::Wrong && row.rule.level == level).count()
    }

    fn right(&self) -> usize {
        self.findings.rows.iter().filter(|row| row.verdict == Verdict::Right).count()
    }
}

/// The whole text. `all`: also what is right, and what cannot be told.
pub(crate) fn text(view: &View<'_>, all: bool, paint: Paint) -> String {
    let mut out = first_line(view, paint);
    out += &table(view, all, paint);
    out += &reasons(view);
    out += &steps(&view.resolution);
    out += &settings(&view.resolution);
    out += &owners(view, all);
    out += &rest(view, all);
    out
}

fn first_line(view: &View<'_>, paint: Paint) -> String {
    let (required, recommended) = (view.wrong(Level::Required), view.wrong(Level::Recommended));
    let rules = |count: usize| counted(count as u64, "rule", "rules");
    let right = view.right();
    let text = match (required, recommended, right) {
        (0, 0, 0) if view.findings.rows.is_empty() => {
            "No rule is known that holds for what runs here.".to_owned()
        }
        (0, 0, 0) => "Of the rules for what runs here none could be checked.".to_owned(),
        (0, 0, _) => {
            let all = rules(right);
            paint.good(&format!("This host is as its products want it: {all} satisfied."))
        }
        (0, some, _) => {
            let some = counted(some as u64, "recommendation", "recommendations");
            let right = rules(right);
            paint.warn(&format!(
                "This host is as its products demand; {some} not followed, {right} satisfied."
            ))
        }
        (some, _, _) => {
            let more = match recommended {
                0 => String::new(),
                more => {
                    let more = counted(more as u64, "recommendation", "recommendations");
                    format!(" and {more}")
                }
            };
            let some = counted(some as u64, "demand", "demands");
            let right = rules(right);
            paint.bad(&format!(
                "This host is NOT as its products want it: {some}{more} not satisfied, {right} \
                 satisfied."
            ))
        }
    };
    let global = view.machine.global().map_or("unknown".to_owned(), |mode| mode.to_string());
    let globally = format!("Transparent huge pages are '{global}' globally.");
    let mut out = wrap("", &text) + &wrap("", &globally);
    // What is recognised by a library alone, such as that of C, is in most programs.
    let is_program = |one: &&Running<'_>| {
        let product = one.product;
        let by_name = !product.programs.is_empty() || !product.arguments.is_empty();
        !one.processes.is_empty() && (by_name || product.go)
    };
    let running = view.findings.running.iter().filter(is_program);
    let products: Vec<String> =
        running.map(|one| named(one.product, one.version.as_ref())).collect();
    if !products.is_empty() {
        out += &wrap("Products that run: ", &format!("{}.", products.join(", ")));
    }
    out
}

/// Rows as they are listed: what is wrong first.
fn listed<'v, 'a>(view: &'v View<'a>, all: bool) -> Vec<&'v Row<'a>> {
    let is_shown = |row: &&Row<'_>| match row.verdict {
        Verdict::Wrong | Verdict::Right | Verdict::Unknown => true,
        Verdict::Depends(_) | Verdict::Moot => all,
    };
    let mut rows: Vec<&Row<'_>> = view.findings.rows.iter().filter(is_shown).collect();
    rows.sort_by_key(|row| (&row.verdict, row.rule.level == Level::Recommended));
    rows
}

/// How a verdict is written in a column.
fn verdict(row: &Row<'_>) -> &'static str {
    match (&row.verdict, row.rule.level) {
        (Verdict::Right, _) => "yes",
        (Verdict::Wrong, Level::Required) => "NO",
        (Verdict::Wrong, Level::Recommended) => "no",
        (Verdict::Unknown, _) => "?",
        (Verdict::Depends(_), _) => "depends",
        (Verdict::Moot, _) => "moot",
    }
}

fn table(view: &View<'_>, all: bool, paint: Paint) -> String {
    let rows = listed(view, all);
    if rows.is_empty() {
        return String::new();
    }
    let unknown = || "?".to_owned();
    let mut cells = vec![["PRODUCT", "SETTING", "EXPECTED", "ACTUAL", "OK"].map(str::to_owned)];
    for row in &rows {
        let actual = row.actual.as_ref().map_or_else(unknown, |value| printable(value));
        cells.push([
            named(row.product, row.version.as_ref()),
            setting(&row.rule.setting),
            accepted(&row.rule.accept),
            actual,
            verdict(row).to_owned(),
        ]);
    }
    // The widest columns give way on a narrow screen.
    let mut wide = [0; 5];
    for line in &cells {
        for (most, cell) in wide.iter_mut().zip(line) {
            *most = width(cell).max(*most);
        }
    }
    while wide.iter().sum::<usize>() + 2 * (wide.len() - 1) > columns() {
        let Some(widest) = wide.iter_mut().max() else { break };
        if *widest <= 8 {
            break;
        }
        *widest -= 1;
    }
    let mut out = "\n".to_owned();
    for line in &cells {
        let fitted = line.iter().zip(wide).map(|(cell, wide)| left(&fit(cell, wide), wide));
        let text = fitted.collect::<Vec<_>>().join("  ");
        let text = text.trim_end();
        out += &match line.last().map(String::as_str) {
            Some("OK") => paint.bold(text),
            Some("NO") => paint.bad(text),
            Some("no" | "?") => paint.warn(text),
            _ => text.to_owned(),
        };
        out.push('\n');
    }
    out
}

/// Why what is wrong is wrong.
fn reasons(view: &View<'_>) -> String {
    let mut out = String::new();
    let mut said: Vec<&str> = Vec::new();
    for row in listed(view, false).into_iter().filter(|row| row.verdict == Verdict::Wrong) {
        let rule = row.rule;
        if said.contains(&rule.id.as_str()) {
            continue;
        }
        said.push(&rule.id);
        let name = named(row.product, row.version.as_ref());
        let verb = if rule.level == Level::Required { "demands" } else { "recommends" };
        let mut text = format!(
            "{name} ({}) {verb} '{}' for {}: {}.",
            processes(&row.processes),
            accepted(&rule.accept),
            setting(&rule.setting),
            printable(&rule.why)
        );
        if let Some(why) = &row.because {
            text +=
                &format!(" It has '{}': {}.", row.actual.as_deref().unwrap_or("?"), because(why));
        }
        if let Some(prose) = &rule.prose {
            text += &format!(" Its prose says '{}'; its command counts.", printable(prose));
        }
        if let Some(conflicts) = &rule.conflicts {
            text += &format!(" {}.", capital(&printable(conflicts)));
        }
        text += &format!(" Rule {}", rule.id);
        // Experiments of products compare modes of huge pages.
        let is_mode = matches!(rule.setting, Setting::Thp | Setting::ThpFile(_));
        text += &match row.product.experiment.as_ref().filter(|_| is_mode) {
            Some(name) => {
                format!("; a proof on this host: 'hugewise lab run {}'.", printable(name))
            }
            None => ".".to_owned(),
        };
        out += &format!("\n{}", wrap("", &text));
    }
    out
}

fn steps(resolution: &Resolution<'_>) -> String {
    let is_needed = |step: &&Step<'_>| step.way != Way::Nothing;
    let steps: Vec<&Step<'_>> = resolution.steps.iter().filter(is_needed).collect();
    let changed = resolution.wanted_global.filter(|mode| Some(*mode) != resolution.global);
    if steps.is_empty() && changed.is_none() {
        return String::new();
    }
    let mut out = "\nWhat to do, with the least reach:\n".to_owned();
    if resolution.is_conflict {
        out += &wrap("  ", "No global mode is right for all of these products.");
    }
    if let Some(mode) = changed {
        let mut text = format!("Set the global mode to '{mode}'");
        if !resolution.touched.is_empty() {
            text += &format!("; it touches {}", names(&resolution.touched));
        }
        out += &wrap("  ", &format!("{text}."));
    }
    for step in steps {
        let name = named(step.product, step.version.as_ref());
        let who = processes(&step.processes);
        let mut text = format!("{name} ({who}), {}: ", accepted(&step.rule.accept));
        text += &way(&step.way);
        if step.rule.check_reads == Reads::Global {
            text += ". Its vendor's check reads the global file, and may still fail";
        }
        out += &wrap("  ", &format!("{text}."));
    }
    out += "'hugewise advise apply --dry-run' shows what would be changed.\n";
    out
}

/// Some processes by name, the rest by number.
pub(crate) fn names(all: &[&Process]) -> String {
    const SHOWN: usize = 5;
    let shown = all.iter().take(SHOWN);
    let shown: Vec<String> =
        shown.map(|one| format!("{} ({})", printable(&one.name), one.pid)).collect();
    match all.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => {
            let more = counted(more as u64, "other process", "other processes");
            format!("{} and {more}", shown.join(", "))
        }
    }
}

fn settings(resolution: &Resolution<'_>) -> String {
    let mut out = String::new();
    let is_wrong = |wanted: &&Wanted<'_>| wanted.value.is_none() || wanted.value != wanted.actual;
    for wanted in resolution.settings.iter().filter(is_wrong) {
        let name = setting(&wanted.setting);
        let ids = |rules: &[&hugewise_evidence::advice::rule::Rule]| {
            rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        let text = match &wanted.value {
            None => format!("{name}: no value is right for {}", ids(&wanted.rules)),
            Some(value) => {
                let actual = wanted.actual.as_deref().unwrap_or("not there");
                let mut text = format!(
                    "{name}: set it to {} (it is {}), for {}",
                    printable(value),
                    printable(actual),
                    ids(&wanted.rules)
                );
                if !wanted.against.is_empty() {
                    text += &format!("; against {}", ids(&wanted.against));
                }
                text
            }
        };
        out += &wrap("  ", &format!("{text}."));
    }
    match out.is_empty() {
        true => out,
        false => format!("\nSettings of the machine:\n{out}"),
    }
}

fn owners(view: &View<'_>, all: bool) -> String {
    let mut out = String::new();
    let is_asked = |setting: &Setting| {
        view.findings.rows.iter().any(|row| row.rule.setting == *setting)
            || *setting == Setting::Thp
    };
    for owned in view.owners.iter().filter(|owned| all || is_asked(&owned.setting)) {
        let place = |one: &Statement| {
            let (file, owner) = (printable(&one.file), one.owner.name());
            let ignored = one.ignored.map(|why| format!(": {why}")).unwrap_or_default();
            format!("'{}' by {owner} ({file}, line {}){ignored}", printable(&one.value), one.line)
        };
        let statements = owned.owners.iter().chain(&owned.others);
        let places: Vec<String> = statements.map(place).collect();
        let mut text = format!("{}: {}", setting(&owned.setting), places.join("; "));
        if owned.is_fight() {
            text += ". They want different values: the last one that runs wins";
        } else if owned.owners.is_empty() {
            let value = owned.value.as_deref().unwrap_or("unknown");
            text += &format!(". It is '{}': somebody set it since", printable(value));
        }
        out += &wrap("  ", &format!("{text}."));
    }
    if view.owners.iter().all(|owned| owned.setting != Setting::Thp) {
        let text = "no file sets it: it is the kernel's default, or was set by hand.";
        out += &wrap("  ", &format!("{}: {text}", setting(&Setting::Thp)));
    }
    format!("\nWho sets these settings:\n{out}")
}

fn rest(view: &View<'_>, all: bool) -> String {
    let mut out = String::new();
    let rows = &view.findings.rows;
    let mut paragraph = |text: String| out += &wrap("", &text);
    let depends: Vec<&Row<'_>> =
        rows.iter().filter(|row| matches!(row.verdict, Verdict::Depends(_))).collect();
    if all {
        for row in &depends {
            if let Verdict::Depends(on) = &row.verdict {
                paragraph(format!("{} holds only if {}.", row.rule.id, printable(on)));
            }
        }
    } else if !depends.is_empty() {
        let count = counted(depends.len() as u64, "rule depends", "rules depend");
        paragraph(format!("{count} on what no program can see: 'hugewise advise --all'."));
    }
    let silent = view.findings.running.iter().filter(|one| one.product.rules.is_empty());
    for one in silent {
        let why = one.product.silent.as_deref().unwrap_or("no rule");
        paragraph(format!("{}: no rule, as {}.", printable(&one.product.name), printable(why)));
    }
    for missing in &view.missing {
        paragraph(format!("Not read: {}.", printable(missing)));
    }
    match out.is_empty() {
        true => out,
        false => format!("\n{out}"),
    }
}

/// The whole as JSON.
pub(crate) fn json(view: &View<'_>) -> Value {
    let pids = |all: &[&Process]| all.iter().map(|one| one.pid).collect::<Vec<_>>();
    let rows = view.findings.rows.iter().map(|row| {
        let version = row.version.as_ref().map(ToString::to_string);
        json!({
            "product": row.product.id, "version": version, "rule": row.rule.id,
            "setting": row.rule.setting, "level": row.rule.level, "accept": row.rule.accept,
            "actual": row.actual, "because": row.because, "verdict": row.verdict,
            "pids": pids(&row.processes), "why": row.rule.why, "source": row.rule.source,
            "read_on": row.rule.read_on,
        })
    });
    let steps = view.resolution.steps.iter().map(|step| {
        json!({
            "product": step.product.id, "rule": step.rule.id, "pids": pids(&step.processes),
            "way": step.way,
        })
    });
    let settings = view.resolution.settings.iter().map(|wanted| {
        let ids = |rules: &[&hugewise_evidence::advice::rule::Rule]| {
            rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>()
        };
        json!({
            "setting": wanted.setting, "actual": wanted.actual, "value": wanted.value,
            "rules": ids(&wanted.rules), "against": ids(&wanted.against),
        })
    });
    let silent = view.findings.running.iter().filter(|one| one.product.rules.is_empty());
    json!({
        "schema": 1,
        "ok": view.required() == 0,
        "global": view.machine.global(),
        "wanted_global": view.resolution.wanted_global,
        "is_conflict": view.resolution.is_conflict,
        "rows": rows.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
        "touched_pids": pids(&view.resolution.touched),
        "owners": view.owners,
        "without_rules": silent.map(|one| one.product.id.clone()).collect::<Vec<_>>(),
        "missing": view.missing,
    })
}
