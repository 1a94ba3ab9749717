//! Tests of `config`.

use super::source::{MAX_BYTES, distance};
use super::*;
use hugewise_base::units::Bytes;
use hugewise_manager::config::{Mode as Manner, Warm};
use hugewise_scratch::Scratch;
use proptest::prelude::*;
use rustix::fs::Mode;
use std::os::unix::fs::{PermissionsExt, symlink};

fn flags(set: &[&str]) -> Vec<String> {
    set.iter().map(|s| (*s).to_owned()).collect()
}

/// Loads `text` as the only file and gives the error.
fn error_of(text: impl AsRef<[u8]>) -> String {
    let dir = Scratch::new();
    let path = dir.join("x.toml");
    fs::write(&path, text).expect("written");
    let error = load(Some(&path), &[]).expect_err("wrong");
    assert_eq!(exit::of_error(&error), exit::ERROR);
    let error = format!("{error:#}");
    error.strip_prefix(&path.display().to_string()).map(str::to_owned).unwrap_or(error)
}

#[test]
fn nothing_at_all_gives_the_defaults() {
    let dir = Scratch::new();
    let loaded = load_from(dir.path(), None, &[]).expect("loads");
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.files.is_empty());
    assert!(loaded.origins.len() > 20);
    assert!(loaded.origins.values().all(|o| *o == Origin::Default));
}

#[test]
fn the_last_place_decides_and_is_remembered() {
    let dir = Scratch::new();
    let main = dir.join("hugewise.toml");
    let text = "mode = \"observe\"\n[promote]\nwarm = \"never\"\nutilization_percent = 80\n";
    fs::write(&main, text).expect("written");
    fs::create_dir(dir.join("hugewise.d")).expect("created");
    let one = dir.join("hugewise.d/10-a.toml");
    fs::write(&one, "promote.utilization_percent = 70\nscan.interval_ms = 500\n").expect("written");
    let two = dir.join("hugewise.d/20-b.toml");
    fs::write(&two, "[quota]\n\nbytes_per_s = 1048576\n[scan]\ninterval_ms=600").expect("written");
    fs::write(dir.join("hugewise.d/.30.toml"), "nonsense").expect("written");
    fs::write(dir.join("hugewise.d/30.toml~"), "nonsense").expect("written");
    let set = flags(&["scan.interval_ms=700", "journal.max_bytes = 65536", "mode=ingens"]);
    let loaded = load_from(dir.path(), None, &set).expect("loads");
    let config = &loaded.config;
    assert_eq!((config.mode, config.promote.warm), (Manner::Ingens, Warm::Never));
    assert!((config.promote.utilization_percent - 70.0).abs() < 1e-9);
    assert_eq!((config.scan.interval_ms, config.quota.bytes_per_s), (700, Bytes::mib(1)));
    assert_eq!(loaded.files, [main.clone(), one.clone(), two.clone()]);
    let origin = |key: &str| loaded.origins[key].clone();
    assert_eq!(origin("promote.warm"), Origin::File(main, 3));
    assert_eq!(origin("promote.utilization_percent"), Origin::File(one, 1));
    assert_eq!(origin("quota.bytes_per_s"), Origin::File(two, 3));
    assert_eq!(origin("scan.interval_ms"), Origin::Flag);
    assert_eq!(origin("scan.cpu_percent"), Origin::Default);
}

#[test]
fn sizes_may_have_units() {
    let dir = Scratch::new();
    fs::write(dir.join("hugewise.toml"), "quota.bytes_per_s = \"16 MiB\"").expect("written");
    let set = flags(&["select.min_anon_bytes=1.5GiB", "journal.max_bytes=128 MiB"]);
    let config = load_from(dir.path(), None, &set).expect("loads").config;
    assert_eq!(config.quota.bytes_per_s, Bytes::mib(16));
    assert_eq!(config.select.min_anon_bytes, Bytes::mib(1536));
    assert_eq!(config.journal.max_bytes, Bytes::mib(128));
}

#[test]
fn rules_of_later_files_are_tried_first() {
    let dir = Scratch::new();
    let rules = |names: &[&str]| {
        names.iter().fold(String::new(), |text, name| {
            text + &format!("[[rule]]\naction = \"exclude\"\nexe = \"{name}\"\n")
        })
    };
    fs::write(dir.join("hugewise.toml"), rules(&["/a", "/b"])).expect("written");
    fs::create_dir(dir.join("hugewise.d")).expect("created");
    fs::write(dir.join("hugewise.d/1.toml"), rules(&["/c", "/d"])).expect("written");
    fs::write(dir.join("hugewise.d/2.toml"), rules(&["/e"])).expect("written");
    let loaded = load_from(dir.path(), None, &[]).expect("loads");
    let order: Vec<_> = loaded.config.rules.iter().filter_map(|r| r.exe.as_deref()).collect();
    assert_eq!(order, ["/e", "/c", "/d", "/a", "/b"]);
    assert_eq!(loaded.origins["rule 3"], Origin::File(dir.join("hugewise.d/1.toml"), 4));
}

#[test]
fn an_explicit_file_replaces_the_others_and_must_exist() {
    let dir = Scratch::new();
    fs::write(dir.join("hugewise.toml"), "mode = \"observe\"").expect("written");
    fs::write(dir.join("own.toml"), "").expect("written");
    let loaded = load_from(dir.path(), Some(&dir.join("own.toml")), &[]).expect("loads");
    assert_eq!(loaded.config.mode, Manner::Ingens);
    let error = load_from(dir.path(), Some(&dir.join("none.toml")), &[]).expect_err("missing");
    assert!(error.to_string().contains("none.toml"), "{error:#}");
}

#[test]
fn errors_name_place_key_and_the_nearest_known_key() {
    let near = error_of("\n[promote]\n  utilisation_percent = 3\n");
    assert!(near.starts_with(":3:3: unknown key 'promote.utilisation_percent'"), "{near}");
    assert!(near.contains("did you mean 'promote.utilization_percent'"), "{near}");
    let moved = error_of("bytes_per_s = 3");
    assert!(moved.contains("did you mean 'quota.bytes_per_s'"), "{moved}");
    let far = error_of("[zebra]\nx = 1");
    assert!(far.contains("'hugewise manage config show' lists"), "{far}");
    let rule = error_of("[[rule]]\naction = \"manage\"\nexee = \"/bin/x\"");
    assert!(rule.starts_with(":3:1: rule 1: unknown key 'exee': did you mean 'exe'?"), "{rule}");
}

#[test]
fn errors_of_type_name_place_and_key() {
    let wrong = error_of("[scan]\ncpu_percent = \"many\"");
    assert_eq!(wrong, ":2:1: 'scan.cpu_percent': found the text \"many\", wanted a number");
    let word = error_of("mode = \"turbo\"");
    let wanted = ":1:1: 'mode': unknown word 'turbo': it is one of ingens, guard, auto and observe";
    assert_eq!(word, wanted);
    let size = error_of("quota.bytes_per_s = true");
    assert!(size.contains("256 MiB"), "{size}");
    assert!(error_of("scan.interval_ms = -1").starts_with(":1:6: 'scan.interval_ms'"));
    assert!(error_of("scan = 3").contains("'scan' is a table"));
    assert!(error_of("mode.x = 3").contains("'mode'"));
    assert!(error_of("[rule]\naction = \"manage\"").contains("[[rule]]"));
    assert!(error_of("rule = [1]").contains("[[rule]]"));
    assert!(error_of("[[rule]]\nexe = \"/x\"").contains("the key 'action' is missing"));
    let share = error_of("[[rule]]\naction = \"manage\"\nuser = \"u\"\nshare = \"x\"");
    assert_eq!(share, ":4:1: rule 1: 'share': found the text \"x\", wanted a number");
    let bananas = error_of("quota.bytes_per_s = \"5 bananas\"");
    assert!(bananas.contains("': found '5 bananas', wanted a unit such as KiB"), "{bananas}");
}

#[test]
fn values_out_of_range_name_their_origin() {
    let range = error_of("\n[promote]\nutilization_percent = 140");
    assert!(range.starts_with(":3: 'promote.utilization_percent' is 140"), "{range}");
    let rule = error_of("\n[[rule]]\naction = \"manage\"");
    assert!(rule.starts_with(":2: rule 1: it has no condition"), "{rule}");
    let low = error_of("watermark.mem_available_low_percent = 20");
    let wanted = ":1: 'watermark.mem_available_low_percent' (20) must not be above \
                  'watermark.mem_available_high_percent' (8, the default)";
    assert_eq!(low, wanted);
    let high = error_of("\nwatermark.mem_available_high_percent = 2");
    let wanted = ":2: 'watermark.mem_available_low_percent' (5, the default) must not be above \
                  'watermark.mem_available_high_percent' (2)";
    assert_eq!(high, wanted);
    assert!(error_of("controller.cpu_percent = nan").contains("cpu_percent"));
}

#[test]
fn all_faults_are_told_at_once() {
    let dir = Scratch::new();
    let main = "mode = \"turbo\"\nscan.interval_ms = -1\n[[rule]]\naction = \"manag\"\n\
                exe = \"/x\"\n[[rule]]\naction = \"exclude\"\nexe = \"x\"\n";
    fs::write(dir.join("hugewise.toml"), main).expect("written");
    fs::create_dir(dir.join("hugewise.d")).expect("created");
    fs::write(dir.join("hugewise.d/1.toml"), "a = \n[[hint]]\nexe =\n").expect("written");
    fs::write(dir.join("hugewise.d/2.toml"), "demote.enabled = 1\n").expect("written");
    let error = load_from(dir.path(), None, &flags(&["nope=1"])).expect_err("wrong");
    assert_eq!(exit::of_error(&error), exit::ERROR);
    let said = error.to_string().replace(&dir.path().display().to_string(), "");
    let lines: Vec<_> = said.lines().map(str::trim).collect();
    for (at, start) in [
        "8 faults in the configuration:",
        "/hugewise.toml:1:1: 'mode': unknown word 'turbo'",
        "/hugewise.toml:2:6: 'scan.interval_ms': found the number -1, wanted a whole number",
        "/hugewise.toml:4:1: rule 1: 'action': unknown word 'manag'",
        "/hugewise.d/1.toml:1:",
        "/hugewise.d/1.toml:3:",
        "/hugewise.d/2.toml:1:8: 'demote.enabled': found the number 1, wanted true or false",
        "--set nope=1: unknown key 'nope'",
        // The second of its file, though the first was refused.
        "/hugewise.toml:6: rule 2: exe = \"x\" can never match: it is a whole path",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(lines.get(at).is_some_and(|line| line.starts_with(start)), "{start} in {said}");
    }
    let rules = error_of("[[rule]]\n".repeat(70));
    assert!(rules.ends_with("and 20 more"), "{rules}");
}

#[test]
fn users_who_are_not_here_are_a_warning() {
    let dir = Scratch::new();
    let path = dir.join("x.toml");
    let text = ["postgres", "nosuch", "#7", "p*", "q*"]
        .map(|user| format!("[[rule]]\naction = \"exclude\"\nuser = \"{user}\"\n"));
    fs::write(&path, text.concat()).expect("written");
    let loaded = load(Some(&path), &[]).expect("loads");
    let said = strangers(&loaded.config, &BTreeSet::from(["postgres".to_owned()]));
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("'nosuch'") && said[1].contains("'q*'"), "{said:?}");
}

#[test]
fn nonsense_is_an_error_with_a_place() {
    assert!(error_of("mode = ").starts_with(":1:8: "));
    assert!(error_of("a = 1\na = 2").starts_with(":2:"));
    assert!(error_of("x = 99999999999999999999999").starts_with(":1:"));
    assert!(error_of(b"# \xc3\xa4\n\xff").starts_with(":2:1: not UTF-8"));
    assert!(error_of("#".repeat(MAX_BYTES + 1)).contains("1 MiB"));
    assert!(error_of("[".repeat(100_000)).starts_with(":1:"));
    assert!(error_of(format!("x = {}", "[".repeat(100_000))).starts_with(":1:"));
    assert!(error_of(format!("{} = 1", "a.".repeat(5_000) + "a")).len() < 400);
    let long = error_of(format!("{} = 1", "k".repeat(500_000)));
    assert!(long.len() < 400, "{long}");
}

#[test]
fn wrong_flags_are_wrong_usage() {
    let dir = Scratch::new();
    for flag in [
        "mode",
        "=",
        "mode=turbo",
        "scan=3",
        "nope=1",
        "rule=[]",
        "scan.interval_ms=1",
        "mode=\"observe\"\nscan.interval_ms=500",
        "..=1",
        "",
    ] {
        let error = load_from(dir.path(), None, &flags(&[flag])).expect_err(flag);
        assert_eq!(exit::of_error(&error), exit::USAGE, "{error:#}");
        assert!(error.to_string().contains("--set"), "{error:#}");
    }
}

#[test]
fn what_is_no_file_is_an_error() {
    let dir = Scratch::new();
    assert!(load(Some(dir.path()), &[]).is_err());
    assert!(load(Some(Path::new("/dev/zero")), &[]).is_err());
    let fifo = dir.join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .expect("created");
    assert!(load(Some(&fifo), &[]).is_err());
}

#[test]
fn root_believes_only_what_root_alone_can_change() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = Scratch::new();
    let inner = dir.join("etc");
    fs::create_dir(&inner).expect("created");
    let path = inner.join("hugewise.toml");
    fs::write(&path, "").expect("written");
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root");
    };
    let refused = |path: &Path| {
        let error = load(Some(path), &[]).expect_err("refused");
        assert_eq!(exit::of_error(&error), exit::REFUSED, "{error:#}");
    };
    load(Some(&path), &[]).expect("trusted");
    chmod(&path, 0o664);
    refused(&path);
    chmod(&path, 0o644);
    chmod(&inner, 0o1777);
    refused(&path);
    // A link from a good directory does not make a bad one good.
    symlink(&path, dir.join("link.toml")).expect("linked");
    refused(&dir.join("link.toml"));
    chmod(&inner, 0o755);
    load(Some(&dir.join("link.toml")), &[]).expect("trusted");
    std::os::unix::fs::chown(&path, Some(65_534), None).expect("root");
    refused(&path);
    std::os::unix::fs::chown(&path, Some(0), None).expect("root");
    std::os::unix::fs::chown(&inner, Some(65_534), None).expect("root");
    assert!(load_from(&inner, None, &[]).is_err());
}

#[test]
fn words_are_compared_letter_by_letter() {
    assert_eq!(distance("", "abc"), 3);
    assert_eq!(distance("kitten", "sitting"), 3);
    assert_eq!(distance("same", "same"), 0);
}

/// Text that is near enough to a configuration to get past the TOML parser often.
fn near_toml() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("mode"),
        Just("promote"),
        Just("promote.warm"),
        Just("rule"),
        Just("[rule]"),
        Just("[[rule]]"),
        Just("action"),
        Just("exe"),
        Just("scan.interval_ms"),
        Just("\"\""),
        Just("ä"),
    ];
    let value = prop_oneof![
        Just("1"),
        Just("-1"),
        Just("nan"),
        Just("true"),
        Just("\"manage\""),
        Just("[{}]"),
        Just("{ warm = \"auto\" }"),
        Just("1979-05-27"),
        Just("\"\\u0000\""),
    ];
    let line = (key, value).prop_map(|(key, value)| match key.starts_with('[') {
        true => format!("{key}\n"),
        false => format!("{key} = {value}\n"),
    });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = Scratch::new();
        let path = dir.join("x.toml");
        fs::write(&path, &bytes).expect("written");
        let _ = load(Some(&path), &[]);
    }

    #[test]
    fn no_near_configuration_makes_it_panic(text in near_toml(), flag in "\\PC{0,40}") {
        let dir = Scratch::new();
        let path = dir.join("x.toml");
        fs::write(&path, &text).expect("written");
        if let Ok(loaded) = load(Some(&path), &[]) {
            prop_assert_eq!(loaded.config.faults(), []);
        }
        let _ = load(Some(&path), std::slice::from_ref(&flag));
        let _ = load_from(dir.path(), None, &[format!("promote.warm={flag}")]);
    }
}

#[test]
fn each_of_many_rules_has_its_line() {
    let dir = Scratch::new();
    let path = dir.join("x.toml");
    let rules = |count: usize| "[[rule]]\naction = \"exclude\"\nexe = \"/x\"\n".repeat(count);
    fs::write(&path, rules(1000)).expect("written");
    let loaded = load(Some(&path), &[]).expect("as many as there may be");
    for index in [0, 1, 999] {
        let origin = &loaded.origins[&part("rule", index + 1)];
        assert_eq!(*origin, Origin::File(path.clone(), 3 * index + 1));
    }
    let error = error_of(rules(25_000));
    assert!(error.starts_with(":3001: more than 1000 rules in all files"), "{error}");
}

#[test]
fn rules_of_all_files_count() {
    let dir = Scratch::new();
    fs::create_dir(dir.join("hugewise.d")).expect("created");
    let rules = "[[rule]]\naction = \"exclude\"\nexe = \"/x\"\n".repeat(600);
    for name in ["hugewise.toml", "hugewise.d/1.toml"] {
        fs::write(dir.join(name), &rules).expect("written");
    }
    let error = load_from(dir.path(), None, &[]).expect_err("too many").to_string();
    assert!(error.contains("1.toml:1201: more than 1000 rules"), "{error}");
}

#[test]
fn places_are_lines_and_columns() {
    let text = Text::new(Path::new("x"), "a\n\u{e4}b\n\nc".to_owned());
    let places: Vec<_> = [0, 1, 2, 4, 5, 6, 7, 8, 99].map(|offset| text.place(offset)).into();
    let wanted = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (4, 1), (4, 2), (4, 2)];
    assert_eq!(places, wanted);
}

#[test]
fn a_later_version_is_the_only_fault() {
    let rest = "[promote]\nwarm = \"of later\"\nunheard_of = 1\n";
    let error = error_of(format!("version = 2\n{rest}"));
    assert!(error.contains(":1:1: the configuration has version 2"), "{error}");
    assert!(!error.contains("unheard_of"), "{error}");
    for wrong in ["version = 0\n", "version = \"1\"\n", "version = -1\n"] {
        assert!(error_of(wrong).contains("'version' is a number"), "{wrong}");
    }
    let error = error_of(format!("version = 1\n{rest}"));
    assert!(error.contains("unheard_of") && !error.contains("version"), "{error}");
}
