//! Rules of the program, and what follows from them on made-up hosts.

use super::book::Book;
use super::facts::{Machine, Process, VersionSources};
use super::resolve::{Obstacle, Resolution, Way, resolve};
use super::rule::{Level, Reads, Rule, When};
use super::setting::{Mode, Setting};
use super::verdict::{Verdict, findings};
use super::{change, lint};

const TODAY: &str = "2026-11-30";

/// A rule about a setting that accepts these values.
pub(super) fn rule(setting: &str, accept: &[&str]) -> Rule {
    Rule {
        id: "x-1".into(),
        revision: 1,
        date: TODAY.into(),
        versions: Default::default(),
        setting: Setting::try_from(setting.to_owned()).expect("a setting"),
        accept: accept.iter().map(|one| (*one).to_owned()).collect(),
        level: Level::Required,
        reads: Reads::Process,
        check_reads: Reads::Process,
        prose: None,
        why: "w".into(),
        source: "s".into(),
        read_on: TODAY.into(),
        expires: None,
        conflicts: None,
        when: When::default(),
    }
}

#[test]
fn rules_of_the_program_are_right() {
    let book = Book::built_in();
    let mut wrong = Vec::new();
    for product in book.products() {
        wrong.extend(
            lint::product(product).into_iter().map(|what| format!("{}: {what}", product.id)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the list of files is checked against the folder")]
fn every_file_of_rules_is_part_of_the_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/rules");
    let listed = super::files::BUILT_IN.len();
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), listed);
    for (file, text) in super::files::BUILT_IN {
        let product = super::book::read(file, text).expect("a product");
        assert_eq!(format!("{}.toml", product.id), *file);
    }
}

fn machine(global: &str) -> Machine {
    let mut machine = Machine {
        arch: Some("x86_64".into()),
        kernel: Some("6.12.5-amd64".into()),
        os: vec!["debian".into()],
        except_advised: Some(false),
        ..Machine::default()
    };
    machine.settings.insert(Setting::Thp, global.into());
    machine.settings.insert(Setting::Sysctl("vm.overcommit_memory".into()), "1".into());
    machine
}

fn process(pid: u32, exe: &str, package: (&str, &str)) -> Process {
    let packages = vec![(package.0.to_owned(), package.1.to_owned())];
    Process {
        pid,
        name: super::detect::file_name(exe).into(),
        exe: exe.into(),
        arguments: vec![exe.into()],
        environment: Some(Default::default()),
        thp_disabled: Some(false),
        version_sources: VersionSources { packages, ..VersionSources::default() },
        ..Process::default()
    }
}

/// MongoDB 8, OceanBase, OpenJ9 and Redis: vendors who want three different global modes.
fn quarrel() -> Vec<Process> {
    let mut java = process(3, "/opt/semeru/bin/java", ("ibm-semeru-open-17-jre", "17.0.9"));
    java.libraries = vec!["/opt/semeru/lib/default/libj9vm29.so".into()];
    let mut redis = process(4, "/usr/bin/redis-server", ("redis-server", "7.0.15"));
    redis.thp_disabled = Some(true);
    vec![
        process(1, "/usr/bin/mongod", ("mongodb-org-server", "8.0.4")),
        process(2, "/home/admin/oceanbase/bin/observer", ("oceanbase-ce", "4.3.5.1")),
        java,
        redis,
    ]
}

fn ways(resolution: &Resolution<'_>) -> Vec<(u32, Way)> {
    let steps = resolution
        .steps
        .iter()
        .flat_map(|step| step.processes.iter().map(|process| (process.pid, step.way.clone())));
    let mut all: Vec<_> = steps.collect();
    all.sort();
    all
}

#[test]
fn where_no_mode_is_right_for_all_each_product_gets_its_own() {
    let (book, processes) = (Book::built_in(), quarrel());
    for global in ["always", "madvise", "never"] {
        let mut machine = machine(global);
        let found = findings(&book, &machine, &processes, TODAY);
        let resolution = resolve(&found, &machine, &processes);
        assert!(resolution.is_conflict);
        assert_eq!(resolution.wanted_global, Some(Mode::Madvise), "{global}");
        let run = Way::Run { policy: Mode::Never };
        let wanted = [(1, Way::Manage), (2, run), (3, Way::Nothing), (4, Way::Nothing)];
        assert_eq!(ways(&resolution), wanted, "{global}");
        assert_eq!(resolution.unresolved().count(), 0);
        // ... by a unit, where systemd has the setting for it.
        machine.systemd = Some(260);
        let resolution = resolve(&found, &machine, &processes);
        let set = "MemoryTHP=disable".to_owned();
        let unit = Way::Unit { unit: "oceanbase.service".into(), set };
        assert_eq!(ways(&resolution)[1], (2, unit), "{global}");
        let changes = change::changes(&resolution, &[]);
        let drop_in = &changes.drop_ins[0];
        assert!(drop_in.text.ends_with("[Service]\nMemoryTHP=disable\n"), "{}", drop_in.text);
        assert!((change::FILES.owns)(&drop_in.path), "{}", drop_in.path);
        let changed: Vec<_> = changes.settings.iter().map(|one| one.to.as_str()).collect();
        assert_eq!(changed, if global == "madvise" { vec![] } else { vec!["madvise"] });
        assert_eq!(changes.by_hand.len(), 1, "{:?}", changes.by_hand);
    }
}

#[test]
fn nothing_changes_where_all_is_as_wanted() {
    let book = Book::built_in();
    let processes = [quarrel().remove(3)];
    let machine = machine("always");
    let found = findings(&book, &machine, &processes, TODAY);
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Right), "{:?}", found.rows);
    let resolution = resolve(&found, &machine, &processes);
    assert!(change::changes(&resolution, &[]).is_empty());
    assert_eq!(resolution.wanted_global, Some(Mode::Always), "it refuses them for itself");
}

#[test]
fn what_reads_the_global_file_is_not_helped_by_a_policy_of_its_own() {
    let book = Book::built_in();
    let mut processes = quarrel();
    // One that demands `never` of the global file, too.
    let mut rule = rule("thp", &["never"]);
    (rule.id, rule.reads) = ("oceanbase-thp".into(), Reads::Global);
    let mut product = book.product("oceanbase").expect("a product").clone();
    product.rules = vec![rule];
    let mut book = book.clone();
    book.add(product, &super::book::Origin::File("/etc/x".into()));
    let machine = machine("madvise");
    let found = findings(&book, &machine, &processes, TODAY);
    let resolution = resolve(&found, &machine, &processes);
    let unresolved: Vec<_> =
        resolution.unresolved().map(|step| (step.product.id.as_str(), &step.way)).collect();
    let why = Obstacle::ReadsGlobal;
    // MongoDB demands `always`, which nothing gives it under `never`: one is left in any case.
    assert_eq!(unresolved, [("oceanbase", &Way::None { why })]);
    processes.remove(0);
    let found = findings(&book, &machine, &processes, TODAY);
    let resolution = resolve(&found, &machine, &processes);
    assert_eq!(resolution.wanted_global, Some(Mode::Never), "a demand before a recommendation");
}

#[test]
fn settings_of_the_machine_get_a_value_that_suits_all_or_those_that_demand_it() {
    let book = Book::built_in();
    let mut machine = machine("madvise");
    let overcommit = Setting::Sysctl("vm.overcommit_memory".into());
    machine.settings.insert(overcommit.clone(), "0".into());
    let processes = [quarrel().remove(3)];
    let found = findings(&book, &machine, &processes, TODAY);
    let resolution = resolve(&found, &machine, &processes);
    let changes = change::changes(&resolution, &[]);
    assert_eq!(changes.settings.len(), 1, "{changes:?}");
    let change = &changes.settings[0];
    assert_eq!((&change.setting, change.to.as_str()), (&overcommit, "1"));
    assert!((change::OWNER.owns)(&change.file));
    let persistent = changes.persistent();
    assert_eq!(persistent[0].0, change::SYSCTL);
    assert!(persistent[0].1.ends_with("vm.overcommit_memory = 1\n"), "{persistent:?}");
    assert!(change::changes(&resolution, &["mongodb".to_owned()]).is_empty(), "not asked for");
}

#[test]
fn only_names_of_services_become_paths() {
    for wrong in
        ["../x.service", "a/b.service", "x", "x.socket", ".service", "a b.service", "..service"]
    {
        assert!(!change::is_unit(wrong), "{wrong}");
    }
    assert!(change::is_unit("postgresql@15-main.service"));
    assert!(!(change::FILES.owns)("etc/systemd/system/../../x.d/50-hugewise-advice.conf"));
    assert!(!(change::OWNER.owns)("etc/passwd"));
}

#[test]
fn products_of_pools_have_rules_of_that_name() {
    use crate::hugetlb::product::Product;
    let book = Book::built_in();
    for product in [Product::Oracle, Product::PostgreSql, Product::Java, Product::Qemu] {
        assert!(product.rules().is_none_or(|id| book.product(id).is_some()), "{product:?}");
    }
}
