//! Files about the whole machine. Run with `cargo +nightly fuzz run system`.
#![no_main]

use hugewise_base::parse::{
    buddyinfo, kallsyms, meminfo, pagetypeinfo, pressure, thp_choice, vmstat,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = meminfo::parse(text);
    let _ = kallsyms::parse(text).function(u64::MAX);
    let _ = pressure::parse(text);
    let _ = thp_choice::parse(text);
    let stat = vmstat::parse(text).value;
    assert!(stat.delta(&stat).values().all(|growth| *growth == Some(0)));
    let zones = buddyinfo::parse(text).value;
    let index = buddyinfo::fmfi_total(&zones, 9);
    assert!(index.is_none_or(|index| (0.0..=1.0).contains(&index)));
    let _ = pagetypeinfo::unmovable_percent(&pagetypeinfo::parse(text).value, 0);
});
