//! Which rules count: those of the program, those of its package, those of the site.

use crate::cli::{AdviseLintArgs, AdviseRulesArgs, AdviseShowArgs, Global};
use crate::exit::{self, coded};
use crate::output::Output;
use crate::render::view::advise::rules as view;
use anyhow::Context;
use hugewise_evidence::advice::book::{Book, FILE_BYTES_MAX, Origin, read};
use hugewise_evidence::advice::lint;
use hugewise_evidence::advice::rule::Product;
use hugewise_linux::{regular, trust};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where rules are beside those of the program, the later ones before the earlier ones.
const FOLDERS: [&str; 2] = ["/usr/share/hugewise/rules.d", "/etc/hugewise/rules.d"];
/// Most files of a folder.
const FILES_MAX: usize = 1000;

/// All rules that count.
///
/// # Errors
/// What is wrong with a file, and in which line; exit code 6 where root is asked to believe a file
/// that others can change.
pub(super) fn book(args: &AdviseRulesArgs) -> anyhow::Result<Book> {
    let mut book = Book::built_in();
    let mut changed = BTreeSet::new();
    for file in files(&folders(&args.rules))? {
        let product = product(&file)?;
        changed.insert(product.id.clone());
        book.add(product, &Origin::File(file.display().to_string()));
    }
    let changed = changed.iter().filter_map(|id| book.product(id));
    let wrong: Vec<String> = changed.flat_map(faults).collect();
    anyhow::ensure!(wrong.is_empty(), "rules of this host:\n  {}", wrong.join("\n  "));
    Ok(book)
}

/// The folders that were named, which must be there; or the usual ones that are.
fn folders(named: &[PathBuf]) -> Vec<PathBuf> {
    match named {
        [] => FOLDERS.iter().map(PathBuf::from).filter(|folder| folder.is_dir()).collect(),
        some => some.to_vec(),
    }
}

/// Files of rules in these folders, by name; a file stands for itself.
fn files(places: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for place in places {
        if !place.is_dir() {
            all.push(place.clone());
            continue;
        }
        trust::check("the directory of rules", place, &fs::metadata(place)?)?;
        let entries = fs::read_dir(place).with_context(|| format!("{}", place.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_rules = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
        let mut found: Vec<PathBuf> = paths.filter(is_rules).take(FILES_MAX + 1).collect();
        let (shown, count) = (place.display(), found.len());
        anyhow::ensure!(count <= FILES_MAX, "{shown}: more than {FILES_MAX} files of rules");
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

fn product(path: &Path) -> anyhow::Result<Product> {
    let shown = path.display().to_string();
    let file = regular::open(path).with_context(|| format!("cannot read {shown}"))?;
    trust::check("the file of rules", path, &file.metadata()?)?;
    let mut text = String::new();
    let most = FILE_BYTES_MAX + 1;
    file.take(most).read_to_string(&mut text).with_context(|| format!("cannot read {shown}"))?;
    Ok(read(&shown, &text)?)
}

fn faults(product: &Product) -> Vec<String> {
    let wrong = lint::product(product).into_iter();
    wrong.map(|what| format!("{}: {what}", product.id)).collect()
}

/// `advise list`.
pub(super) fn list(global: &Global, args: &AdviseRulesArgs) -> anyhow::Result<Output> {
    let book = book(args)?;
    match global.json {
        true => Output::json(&view::json(&book, book.products()), exit::OK),
        false => Ok(Output::text(view::list(&book), exit::OK)),
    }
}

/// `advise show`.
pub(super) fn show(global: &Global, args: &AdviseShowArgs) -> anyhow::Result<Output> {
    let book = book(&args.rules)?;
    let mut shown: Vec<Product> = Vec::new();
    for id in &args.ids {
        if let Some(product) = book.product(id) {
            shown.push(product.clone());
            continue;
        }
        let Some((product, rule)) = book.rules().find(|(_, rule)| rule.id == *id) else {
            let text = format!("'{id}' is neither a rule nor a product: 'hugewise advise list'");
            return Err(coded(exit::USAGE, text));
        };
        shown.push(Product { rules: vec![rule.clone()], ..product.clone() });
    }
    match global.json {
        true => Output::json(&view::json(&book, shown.iter()), exit::OK),
        false => Ok(Output::text(view::show(&book, &shown), exit::OK)),
    }
}

/// `advise lint`.
pub(super) fn checked(global: &Global, args: &AdviseLintArgs) -> anyhow::Result<Output> {
    let mut book = Book::built_in();
    let mut wrong = Vec::new();
    let mut changed: BTreeSet<String> = match args.files.is_empty() {
        true => book.products().map(|product| product.id.clone()).collect(),
        false => BTreeSet::new(),
    };
    let mut count = if args.files.is_empty() { changed.len() } else { 0 };
    for file in files(&folders(&args.files))? {
        count += 1;
        match product(&file) {
            Ok(product) => {
                changed.insert(product.id.clone());
                book.add(product, &Origin::File(file.display().to_string()));
            }
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    wrong.extend(changed.iter().filter_map(|id| book.product(id)).flat_map(faults));
    let code = if wrong.is_empty() { exit::OK } else { exit::ERROR };
    if global.json {
        let json = serde_json::json!({ "schema": 1, "files": count, "faults": wrong });
        return Output::json(&json, code);
    }
    Ok(Output::text(view::linted(count, &wrong), code))
}
