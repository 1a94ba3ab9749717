//! The targets of the fuzzers, which no other build compiles: each runs here on a few inputs, in
//! place of libfuzzer's millions.

/// What libfuzzer's macro is to a target: a function that takes an input.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub(crate) fn run($bytes: &[u8]) $body
    };
    (|$text:ident: &str| $body:block) => {
        pub(crate) fn run(bytes: &[u8]) {
            let text = String::from_utf8_lossy(bytes);
            let target = |$text: &str| $body;
            target(&text);
        }
    };
}

/// Modules of the targets, and the list of them.
macro_rules! targets {
    ($($name:ident $path:literal;)*) => {
        $(
            #[path = $path]
            #[allow(
                unused_attributes,
                unused_imports,
                reason = "a target is the root of a program elsewhere"
            )]
            mod $name;
        )*
        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run)),*];
    };
}

targets! {
    atop "../../../fuzz/fuzz_targets/atop.rs";
    capture "../../../fuzz/fuzz_targets/capture.rs";
    experiment "../../../fuzz/fuzz_targets/experiment.rs";
    listings "../../../fuzz/fuzz_targets/listings.rs";
    load_reports "../../../fuzz/fuzz_targets/load_reports.rs";
    logs "../../../fuzz/fuzz_targets/logs.rs";
    mappings "../../../fuzz/fuzz_targets/mappings.rs";
    netlink "../../../fuzz/fuzz_targets/netlink.rs";
    normalise "../../../fuzz/fuzz_targets/normalise.rs";
    process "../../../fuzz/fuzz_targets/process.rs";
    shared_memory "../../../fuzz/fuzz_targets/shared_memory.rs";
    sysstat "../../../fuzz/fuzz_targets/sysstat.rs";
    system "../../../fuzz/fuzz_targets/system.rs";
    user "../../../fuzz/fuzz_targets/user.rs";
}

/// Inputs of each target: pieces of what they read, and of nothing.
const INPUTS: u64 = 40;
const PIECES: [&[u8]; 10] = [
    b"top - 11:02:44 up 9 days, load average: 1.31, 1.22, 1.15\n",
    b"MemTotal:       131841732 kB\nHugePages_Total:       4\n",
    b"Node 0, zone   Normal    835    603    182 \n",
    b"7f04d8000000-7f04da000000 rw-p 00000000 00:00 0   [heap]\n",
    b"{\"host\": \"vm\", \"timestamp\": 1795318990}\n",
    b"name = \"x\"\n[workload]\nkind = \"gups\"\n[[variant]]\nname = \"a\"\n",
    b"2026-01-01T00:00:00 ERROR timeout after 30 s\n",
    b"\x1b[31m\xff\xfe\0\r\n",
    b"32\0\0\x14\0\0\0",
    b"-Xmx4g\0-XX:+UseLargePages\0",
];

#[test]
fn targets_of_the_fuzzers_run() {
    let mut rng = hugewise_base::rng::Rng::new(20_261_201);
    for (name, run) in TARGETS {
        for _ in 0..INPUTS {
            let mut input = Vec::new();
            for _ in 0..rng.next() % 8 {
                let piece = usize::try_from(rng.next() % PIECES.len() as u64).expect("small");
                input.extend_from_slice(PIECES[piece]);
            }
            if let Some(at) = rng.next().checked_rem(input.len() as u64) {
                let at = usize::try_from(at).expect("small");
                input[at] ^= rng.next().to_le_bytes()[0];
            }
            eprintln!("{name}: {}", input.escape_ascii());
            run(&input);
        }
    }
}

#[test]
fn every_target_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/fuzz_targets");
    let entries = std::fs::read_dir(folder).expect("readable");
    let mut found: Vec<String> = entries
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let listed: Vec<String> = TARGETS.iter().map(|(name, _)| format!("{name}.rs")).collect();
    assert_eq!(found, listed);
}
