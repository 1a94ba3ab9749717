//! Rules themselves.

use super::words::{accepted, setting};
use crate::render::text::{fit, left, width, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::rule::{Level, Product, Reads, Rule, Switch, SwitchKind, When};
use serde_json::{Value, json};

/// One line for each rule.
pub(crate) fn list(book: &Book) -> String {
    let rules: Vec<(&Product, &Rule)> = book.rules().collect();
    let wide = |cell: fn(&(&Product, &Rule)) -> String, most: usize| {
        rules.iter().map(|one| width(&cell(one))).max().unwrap_or(0).min(most)
    };
    let id = |(_, rule): &(&Product, &Rule)| printable(&rule.id);
    let about = |(_, rule): &(&Product, &Rule)| setting(&rule.setting);
    let (ids, settings) = (wide(id, 32), wide(about, 24));
    let mut out = String::new();
    for one in &rules {
        let values = accepted(&one.1.accept);
        let line = format!(
            "{}  {}  {values}",
            left(&id(one), ids),
            left(&fit(&about(one), settings), settings)
        );
        out += line.trim_end();
        out.push('\n');
    }
    let products = book.products().count();
    let count = counted(rules.len() as u64, "rule", "rules");
    let with = counted(products as u64, "product", "products");
    out + &wrap("", &format!("{count} of {with}; 'hugewise advise show ID' shows one in full."))
}

/// Products in full.
pub(crate) fn show(book: &Book, products: &[Product]) -> String {
    let mut out = String::new();
    for product in products {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &format!("{} ({})\n", printable(&product.name), printable(&product.id));
        let mut line =
            |name: &str, text: &str| out += &wrap(&format!("  {name}"), &printable(text));
        if let Some(note) = &product.note {
            line("", note);
        }
        if let Some(silent) = &product.silent {
            line("no rule: ", silent);
        }
        for one in &product.switches {
            line("own switch: ", &switch(one));
        }
        if let Some(experiment) = &product.experiment {
            line("proof on this host: ", &format!("hugewise lab run {experiment}"));
        }
        for one in &product.rules {
            out += &rule(book, one);
        }
    }
    out
}

fn switch(switch: &Switch) -> String {
    let how = match switch.kind {
        SwitchKind::Code => "by itself",
        SwitchKind::Configuration => "configuration",
        SwitchKind::Argument => "argument",
        SwitchKind::Environment => "environment",
    };
    let mode = match switch.mode.mode() {
        Some(mode) => mode.to_string(),
        None => "HugeTLB".to_owned(),
    };
    let mut text = format!("{mode}: {} ({how}", switch.text);
    if !switch.versions.is_all() {
        text += &format!(", versions {}", switch.versions);
    }
    if !switch.needs.is_empty() {
        let modes: Vec<String> = switch.needs.iter().map(ToString::to_string).collect();
        text += &format!(", under the global mode {}", modes.join(" or "));
    }
    text + &format!("); {}", switch.source)
}

fn rule(book: &Book, rule: &Rule) -> String {
    let level = match rule.level {
        Level::Required => "required",
        Level::Recommended => "recommended",
    };
    let mut out = format!("\n  {} (revision {}, {})\n", rule.id, rule.revision, rule.date);
    let mut line =
        |name: &str, text: String| out += &wrap(&format!("    {name}"), &printable(&text));
    line("", format!("{}: {}, {level}", setting(&rule.setting), accepted(&rule.accept)));
    line("why: ", rule.why.clone());
    if !rule.versions.is_all() {
        line("versions: ", rule.versions.to_string());
    }
    for (name, text) in conditions(&rule.when) {
        line(&format!("{name}: "), text);
    }
    if rule.reads == Reads::Global {
        line("", "the product reads the global file: a mode of its own is no help".to_owned());
    }
    if rule.check_reads == Reads::Global {
        line("", "a check of the vendor reads the global file".to_owned());
    }
    if let Some(prose) = &rule.prose {
        line("its prose says: ", prose.clone());
    }
    if let Some(conflicts) = &rule.conflicts {
        line("elsewhere: ", conflicts.clone());
    }
    line("source: ", format!("{} (read {})", rule.source, rule.read_on));
    if let Some(expires) = &rule.expires {
        line("until: ", expires.clone());
    }
    if let Some(file) = book.file_of(&rule.id) {
        line("from: ", file.to_owned());
    }
    if let Some(file) = rule.setting.file() {
        line("check: ", format!("cat /{file}"));
    }
    out
}

/// Where a rule holds, in words.
fn conditions(when: &When) -> Vec<(&'static str, String)> {
    let range = |range: &Option<hugewise_evidence::advice::version::Range>| {
        range.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let modes = when.global.iter().map(ToString::to_string).collect::<Vec<_>>();
    let pages = when.page_kib.iter().map(|kib| format!("{kib} KiB")).collect::<Vec<_>>();
    let file = when.file.iter().map(|file| format!("{} has '{}'", file.path, file.has));
    let virtually = when.is_virtual.iter().map(|is| if *is { "yes" } else { "no" }.to_owned());
    let all = [
        ("architecture", when.arch.clone()),
        ("distribution", when.os.clone()),
        ("kernel", range(&when.kernel)),
        ("kernel's name has", when.flavour.clone()),
        ("kernel's name has not", when.not_flavour.clone()),
        ("base page", pages),
        ("NUMA nodes", range(&when.nodes)),
        ("virtual machine", virtually.collect()),
        ("memory in GiB", range(&when.memory_gib)),
        ("memory of the process in GiB", range(&when.process_gib)),
        ("global mode", modes),
        ("together with", when.with.clone()),
        ("with argument", when.argument.iter().cloned().collect()),
        ("without argument", when.no_argument.iter().cloned().collect()),
        ("CPU", when.cpu.clone()),
        ("file", file.collect()),
        ("only if", when.only_if.iter().cloned().collect()),
    ];
    let given = all.into_iter().filter(|(_, values)| !values.is_empty());
    given.map(|(name, values)| (name, values.join(" or "))).collect()
}

/// What is wrong with files.
pub(crate) fn linted(count: usize, wrong: &[String]) -> String {
    let files = counted(count as u64, "file", "files");
    if wrong.is_empty() {
        return format!("{files} of rules: nothing is wrong.\n");
    }
    let faults: String = wrong.iter().map(|what| wrap("  ", &printable(what))).collect();
    format!("{files} of rules: {}:\n{faults}", counted(wrong.len() as u64, "fault", "faults"))
}

/// Products as JSON.
pub(crate) fn json<'a>(book: &Book, products: impl Iterator<Item = &'a Product>) -> Value {
    let products: Vec<&Product> = products.collect();
    let files: Vec<Value> = products
        .iter()
        .flat_map(|product| &product.rules)
        .filter_map(|rule| Some(json!({ "rule": rule.id, "file": book.file_of(&rule.id)? })))
        .collect();
    json!({ "schema": 1, "products": products, "from_files": files })
}
