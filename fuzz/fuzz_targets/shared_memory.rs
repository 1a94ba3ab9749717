//! What sizes HugeTLB pools: files of the machine, arguments of programs. Run with
//! `cargo +nightly fuzz run shared_memory`.
#![no_main]

use hugewise_evidence::hugetlb::{java, pools};
use hugewise_base::parse::{arguments, mountinfo, passwd, pid_limits, smaps, sysctl, sysv_shm};
use libfuzzer_sys::fuzz_target;

const KEYS: [&str; 2] = ["vm.nr_hugepages", "hugepages"];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for mount in mountinfo::parse(bytes).value {
        let _ = (mount.is_hugetlb(), mount.size_option("pagesize"));
    }
    let _ = passwd::parse(bytes);
    let _ = smaps::parse(bytes);
    let _ = pid_limits::parse(&text);
    let _ = sysv_shm::parse(&text);
    let _ = sysctl::parse(&text, &KEYS);
    let _ = sysctl::kernel_parameters(&text, &KEYS);
    let _ = arguments::postgres_directory(bytes);
    let _ = java::need(&arguments::java_memory_flags(bytes), None);
    let path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let _ = pools::from_files([(path, &*text), (&*text, "1")].into_iter());
});
