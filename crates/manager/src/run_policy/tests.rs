//! The table of programs, policies and modes.

use super::form::{Form, Kind, Start, form};
use super::program::{Facts, Mark, Part, mark};
use super::*;
use hugewise_base::parse::elf::Elf;

/// A program by what its file says: its name, the libraries, the marks.
fn program(name: &str, libraries: &[&str], marks: &[(Mark, &str)]) -> Program {
    let libraries = libraries.iter().map(|library| (*library).to_owned()).collect();
    let elf = Elf { libraries, go: name == "gopher", ..Elf::default() };
    let marks = marks.iter().map(|(mark, text)| (*mark, (*text).to_owned())).collect();
    let (name, file) = (name.to_owned(), format!("/usr/bin/{name}"));
    let release = (name == "java").then(|| "JVM_VARIANT=\"Hotspot\"".to_owned());
    Program::of(&Facts { name, file, elf: Some(elf), marks, release, ..Facts::default() })
}

const TUNABLE: (Mark, &str) = (Mark::GlibcHugetlb, "glibc.malloc.hugetlb");

/// Every kind that the table knows.
fn kinds() -> [(&'static str, Program); 6] {
    let python = (Mark::PythonMalloc, "PYTHONMALLOC");
    let redis = (Mark::DisableThp, "disable-thp");
    let java = (Mark::HotSpot, "UseTransparentHugePages");
    [
        ("glibc", program("sort", &["libc.so.6"], &[TUNABLE])),
        ("jemalloc", program("shop", &["libjemalloc.so.2", "libc.so.6"], &[TUNABLE])),
        ("java", program("java", &["libjli.so", "libc.so.6"], &[TUNABLE, java])),
        ("go", program("gopher", &["libc.so.6"], &[TUNABLE])),
        ("python", program("python3", &["libc.so.6"], &[TUNABLE, python])),
        ("redis", program("redis-server", &["libjemalloc.so.2"], &[TUNABLE, redis])),
    ]
}

fn machine(mode: ThpMode) -> Machine {
    Machine {
        top: Some(mode),
        effective: Some(mode),
        except_advised: true,
        inherited: Disable::Off,
        manager: None,
    }
}

fn given(arguments: &[&str], environment: &[(&str, &str)]) -> Given {
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Given { arguments, environment: environment.iter().map(pair).collect() }
}

/// A plan in one line: what the process says, variables, arguments.
fn line(plan: &Plan) -> String {
    let call = &plan.switches;
    let variables = call.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let mut words: Vec<String> = variables.collect();
    words.extend(call.first.iter().cloned());
    words.extend(call.last.iter().cloned());
    format!("{:?} {}", plan.disable, words.join(" ")).trim_end().to_owned()
}

fn said(policy: Policy, program: &Program, machine: &Machine) -> String {
    match decide(policy, program, &Given::default(), machine) {
        Ok(plan) => line(&plan),
        Err(refused) => refused.why.key().to_owned(),
    }
}

#[test]
fn never_and_madvise_need_nothing_of_the_program() {
    use ThpMode::{Always, Madvise, Never};
    for (name, program) in kinds() {
        for mode in [Always, Madvise, Never] {
            assert_eq!(said(Policy::Never, &program, &machine(mode)), "Full", "{name}");
        }
        let of = |mode| said(Policy::Madvise, &program, &machine(mode));
        assert_eq!([Always, Madvise, Never].map(of), ["ExceptAdvised", "Off", "operator_never"]);
        let old = Machine { except_advised: false, ..machine(Always) };
        assert_eq!(said(Policy::Madvise, &program, &old), "needs_except_advised");
    }
}

#[test]
fn always_uses_the_programs_own_switch() {
    let wanted = [
        ("glibc", "Off", "Off GLIBC_TUNABLES=glibc.malloc.hugetlb=1"),
        ("jemalloc", "Off", "Off MALLOC_CONF=thp:always"),
        ("java", "Off", "Off -XX:+UseTransparentHugePages"),
        ("go", "Off", "no_manager"),
        ("python", "Off", "Off GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PYTHONMALLOC=malloc"),
        ("redis", "Off --disable-thp no", "Off MALLOC_CONF=thp:always"),
    ];
    for ((name, program), (kind, always, madvise)) in kinds().iter().zip(wanted) {
        assert_eq!(*name, kind);
        assert_eq!(said(Policy::Always, program, &machine(ThpMode::Always)), always, "{name}");
        assert_eq!(said(Policy::Always, program, &machine(ThpMode::Madvise)), madvise, "{name}");
        let never = said(Policy::Always, program, &machine(ThpMode::Never));
        assert_eq!(never, "operator_never", "{name}");
    }
}

#[test]
fn a_manager_serves_what_has_no_switch() {
    let [.., (_, go), _, (_, redis)] = kinds();
    let with = |mode| Machine { manager: Some("pid 7".into()), ..machine(mode) };
    assert_eq!(said(Policy::Always, &go, &with(ThpMode::Madvise)), "Off");
    assert_eq!(said(Policy::Managed, &go, &with(ThpMode::Madvise)), "Off");
    let redis = said(Policy::Managed, &redis, &with(ThpMode::Always));
    assert_eq!(redis, "ExceptAdvised --disable-thp no");
    let old = Machine { except_advised: false, ..with(ThpMode::Always) };
    assert_eq!(said(Policy::Managed, &go, &old), "Off");
    assert_eq!(said(Policy::Managed, &go, &machine(ThpMode::Madvise)), "no_manager");
    assert_eq!(said(Policy::Managed, &go, &with(ThpMode::Never)), "operator_never");
}

#[test]
fn the_file_of_the_size_decides_and_programs_read_the_top_file() {
    let [(_, glibc), .., (_, redis)] = kinds();
    let of = |top, effective| Machine { top: Some(top), ..machine(effective) };
    let by_size = of(ThpMode::Never, ThpMode::Madvise);
    let refused =
        decide(Policy::Always, &glibc, &Given::default(), &by_size).expect_err("asks not");
    assert!(refused.to_string().contains("top file"), "{refused}");
    let switched_off = of(ThpMode::Always, ThpMode::Never);
    assert_eq!(said(Policy::Always, &glibc, &switched_off), "operator_never");
    // Redis refuses where the top file says always, whatever the size has.
    let redis = said(Policy::Always, &redis, &of(ThpMode::Always, ThpMode::Always));
    assert_eq!(redis, "Off --disable-thp no");
    let none = Machine { top: None, effective: None, ..machine(ThpMode::Never) };
    assert_eq!(said(Policy::Always, &glibc, &none), "no_thp");
}

#[test]
fn what_is_set_already_is_kept_or_contradicts() {
    let [(_, glibc), (_, jemalloc), (_, java), _, _, (_, redis)] = kinds();
    let cases = [
        (
            &glibc,
            given(&[], &[("GLIBC_TUNABLES", "glibc.malloc.arena_max=2")]),
            "Off GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1",
        ),
        (&glibc, given(&[], &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]), "Off"),
        (&glibc, given(&[], &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")]), "switch_refused"),
        (
            &jemalloc,
            given(&[], &[("MALLOC_CONF", "narenas:1")]),
            "Off MALLOC_CONF=narenas:1,thp:always",
        ),
        (&jemalloc, given(&[], &[("MALLOC_CONF", "thp:always,thp:never")]), "switch_refused"),
        (&java, given(&["-XX:-UseTransparentHugePages", "X"], &[]), "switch_refused"),
        (&java, given(&["-XX:+UseTransparentHugePages", "X"], &[]), "Off"),
    ];
    for (program, given, wanted) in cases {
        let plan = decide(Policy::Always, program, &given, &machine(ThpMode::Madvise));
        let said = plan.map_or_else(|refused| refused.why.key().to_owned(), |plan| line(&plan));
        assert_eq!(said, wanted, "{given:?}");
    }
    let always = machine(ThpMode::Always);
    let yes = given(&["--port", "7000", "--disable-thp", "YES"], &[]);
    decide(Policy::Always, &redis, &yes, &always).expect_err("said yes");
    for not_a_server in ["--version", "--test-memory"] {
        let given = given(&[not_a_server], &[]);
        let plan = decide(Policy::Always, &redis, &given, &always).expect("runs");
        assert_eq!(line(&plan), "Off");
    }
}

#[test]
fn privileged_programs_lose_variables_and_say_so() {
    let [(_, mut glibc), ..] = kinds();
    glibc.privileged = Some("it is set-user-ID");
    let madvise = machine(ThpMode::Madvise);
    let refused = decide(Policy::Always, &glibc, &Given::default(), &madvise).expect_err("ignored");
    assert!(refused.to_string().contains("it is set-user-ID, and its loader"), "{refused}");
    assert_eq!(said(Policy::Never, &glibc, &madvise), "Full");
}

#[test]
fn an_inherited_word_is_taken_back() {
    let [(_, glibc), ..] = kinds();
    let machine = Machine { inherited: Disable::Full, ..machine(ThpMode::Always) };
    let plan = decide(Policy::Always, &glibc, &Given::default(), &machine).expect("possible");
    assert_eq!(plan.disable, Disable::Off);
    assert!(plan.used.join(" ").contains("taken back"), "{plan:?}");
}

#[test]
fn programs_are_told_by_their_files() {
    let of = |name: &str, libraries: &[&str], marks: &[(Mark, &str)]| {
        program(name, libraries, marks).parts
    };
    let prefixed = [(Mark::MallocConf, "_RJEM_MALLOC_CONF")];
    let jemalloc = |name: &str| Part::Jemalloc(name.to_owned());
    assert_eq!(of("a", &["libc.so.6"], &prefixed), [jemalloc("_RJEM_MALLOC_CONF")]);
    assert_eq!(of("a", &["libc.so.6"], &[]), [Part::OldGlibc]);
    assert_eq!(of("a", &["libc.musl-x86_64.so.1"], &[]), [Part::Other]);
    assert_eq!(of("a", &[], &[TUNABLE]), [Part::Glibc], "a static one");
    let tcmalloc = of("a", &["libtcmalloc_minimal.so.4", "libc.so.6"], &[TUNABLE]);
    assert_eq!(tcmalloc, [Part::Allocator("libtcmalloc_minimal.so.4".into())]);
    let node = of("node", &["libc.so.6"], &[TUNABLE, (Mark::NodeLargePages, "")]);
    assert_eq!(node, [Part::Node, Part::Glibc]);
    assert_eq!(of("java", &["libc.so.6"], &[TUNABLE]), [Part::OtherJvm]);
    let check = of("redis-check-rdb", &["libjemalloc.so.2"], &[(Mark::DisableThp, "")]);
    assert_eq!(check, [jemalloc("MALLOC_CONF")]);
    let embeds = of("server", &["libpython3.11.so.1.0", "libc.so.6"], &[TUNABLE]);
    assert_eq!(embeds, [Part::Python, Part::Glibc]);
    let facts = Facts {
        elf: Some(Elf { libraries: vec!["libc.so.6".into()], ..Elf::default() }),
        preloaded: vec!["/opt/lib/libjemalloc.so.2".into()],
        ..Facts::default()
    };
    assert_eq!(Program::of(&facts).parts, [jemalloc("MALLOC_CONF")]);
    let openj9 = Facts {
        file: "/opt/java".into(),
        release: Some("JVM_VARIANT=\"Openj9\"".into()),
        ..Facts::default()
    };
    assert_eq!(Program::of(&openj9).parts, [Part::OpenJ9]);
}

#[test]
fn marks_are_ends_of_strings() {
    for text in ["disable-thp", "MALLOC_CONF"] {
        assert_eq!(text.len(), super::program::MARK_BYTES_MIN, "{text} is the shortest");
    }
    let name = |text: &str| mark(text.as_bytes());
    assert_eq!(name("_RJEM_MALLOC_CONF"), Some((Mark::MallocConf, "_RJEM_MALLOC_CONF".into())));
    assert_eq!(name("variable MALLOC_CONF"), Some((Mark::MallocConf, "MALLOC_CONF".into())));
    assert_eq!(name("x-disable-thp"), Some((Mark::DisableThp, "disable-thp".into())));
    assert_eq!(name("disable-thp is set"), None);
    assert_eq!(name(""), None);
}

fn shown(kind: Kind, policy: Policy, program: &Program, systemd: u32) -> Form {
    let start = Start {
        hugewise: "/usr/bin/hugewise",
        program: "/usr/bin/shop",
        systemd: Some(systemd),
        except_advised: true,
    };
    form(kind, policy, program, &given(&["--rate", "50%"], &[]), &start).expect("no contrary")
}

#[test]
fn a_unit_has_memory_thp_where_systemd_has_it_and_the_wrapper_elsewhere() {
    let [(_, glibc), .., (_, redis)] = kinds();
    let text = |policy, program, systemd| {
        let text = shown(Kind::Unit, policy, program, systemd).text();
        text.split_once("[Service]\n").expect("a section").1.to_owned()
    };
    let wrapper = |policy: &str| {
        format!(
            "ExecStart=\nExecStart=/usr/bin/hugewise advise run --thp {policy} -- /usr/bin/shop \
             --rate 50%%\n"
        )
    };
    assert_eq!(text(Policy::Never, &glibc, 252), wrapper("never"));
    assert_eq!(text(Policy::Never, &glibc, 260), "MemoryTHP=disable\n");
    assert_eq!(text(Policy::Madvise, &glibc, 261), "MemoryTHP=madvise\n");
    assert_eq!(text(Policy::Always, &glibc, 261), wrapper("always"));
    let managed = text(Policy::Managed, &redis, 261);
    assert_eq!(
        managed,
        "MemoryTHP=madvise\nExecStart=\nExecStart=/usr/bin/shop --rate 50%% --disable-thp no\n"
    );
}

#[test]
fn a_container_has_variables_and_says_what_they_cannot() {
    let [(_, glibc), _, (_, java), (_, go), (_, python), (_, redis)] = kinds();
    let text = |policy, program: &Program| shown(Kind::Container, policy, program, 252).text();
    assert_eq!(text(Policy::Always, &glibc), "GLIBC_TUNABLES=glibc.malloc.hugetlb=1\n");
    assert_eq!(
        text(Policy::Always, &python),
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1\nPYTHONMALLOC=malloc\n"
    );
    assert_eq!(text(Policy::Always, &java), "JDK_JAVA_OPTIONS=-XX:+UseTransparentHugePages\n");
    assert_eq!(
        text(Policy::Always, &redis),
        "MALLOC_CONF=thp:always\n# behind the program's arguments: --disable-thp no\n"
    );
    assert!(text(Policy::Always, &go).starts_with("# a manager on the host"));
    assert_eq!(text(Policy::Never, &go), "GODEBUG=disablethp=1\n");
    for (policy, call) in [(Policy::Never, "PR_SET_THP_"), (Policy::Madvise, "PR_THP_DISABLE_")] {
        let text = text(policy, &java);
        assert!(text.starts_with(&format!("# {call}")) && text.contains("advise run"), "{text}");
    }
}
