use super::*;
use hugewise_evidence::hugetlb::recorded::from_recording;
use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::readers::capture::sample;
use hugewise_evidence::recording::{Builder, Field, Subject};
use hugewise_scratch::Scratch;

/// A directory that looks like the root of a machine with these files.
struct Tree(Scratch);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(Scratch::new());
        for (path, text) in files {
            let path = tree.0.join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
            fs::write(path, text).expect("write");
        }
        tree
    }

    fn sampler(&self, options: Options) -> Sampler {
        Sampler::new(&Root::at(&self.0), options)
    }
}

const STAT: &str = " S 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 \
                    0 0 0 0 0 0 0 0 0 0 0 0";
const KERNEL_STAT: &str = " S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 \
                           0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0";

fn paths(text: &[u8]) -> Vec<String> {
    let (sample, _) = sample::split(text).expect("a sample");
    assert_eq!(sample.torn, None);
    sample.files.keys().map(|path| (*path).to_owned()).collect()
}

fn machine() -> Vec<(&'static str, String)> {
    vec![
        ("proc/loadavg", "1.00 2.00 3.00 1/2 3\n".to_owned()),
        ("proc/cmdline", "root=secret\n".to_owned()),
        ("proc/2/stat", format!("2 (kthreadd){KERNEL_STAT}")),
        ("proc/2/status", "Name:\tkthreadd\n".to_owned()),
        ("proc/10/stat", format!("10 (a){STAT}")),
        ("proc/10/status", "RssAnon:\t 4 kB\nRssFile:\t 0 kB\nRssShmem:\t 0 kB\n".to_owned()),
        ("proc/10/cmdline", "a\0secret\0".to_owned()),
        ("proc/10/environ", "SECRET=1\0".to_owned()),
        ("proc/11/stat", format!("11 (b){STAT}")),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n".to_owned()),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n".to_owned()),
        ("sys/fs/cgroup/a/b/cpu.stat", "nr_periods 1\n".to_owned()),
        ("sys/fs/cgroup/1/2/3/4/5/cpu.stat", "nr_periods 1\n".to_owned()),
    ]
}

fn tree(files: &[(&'static str, String)]) -> Tree {
    Tree::new(&files.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>())
}

#[test]
fn arguments_are_taken_on_request_and_environments_never() {
    let tree = tree(&machine());
    let plain = tree.sampler(Options::default()).sample();
    assert!(!String::from_utf8_lossy(&plain).to_lowercase().contains("secret"));
    let all = tree.sampler(Options { arguments: true, ..Options::default() }).sample();
    let text = String::from_utf8_lossy(&all).into_owned();
    assert!(text.contains("a\0secret\0") && text.contains("root=secret"));
    assert!(!text.contains("SECRET"));
}

#[test]
fn what_is_there_is_taken_and_what_is_not_is_told() {
    let tree = tree(&machine());
    let mut sampler = tree.sampler(Options::default());
    let text = sampler.sample();
    let paths = paths(&text);
    let wanted = [
        "/proc/10/stat",
        "/proc/10/status",
        "/proc/11/stat",
        "/proc/2/stat",
        "/proc/loadavg",
        "/sys/fs/cgroup/a/b/cpu.stat",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ];
    assert_eq!(paths, wanted);
    let unreadable = &sampler.left_out().unreadable;
    let missing = unreadable.iter().find(|file| file.path == "/proc/stat");
    assert_eq!(missing.expect("it is not there").times, 1);
    // A process without this file is one that ended.
    assert!(!unreadable.iter().any(|file| file.path.contains("PID")));
    let mut out = Builder::new();
    out.read("x", &text).expect("a capture");
    let recording = out.finish();
    let host = &recording.hosts[0];
    let rss = host.series(Field::ProcRss, &Subject::process(Some(10), "a")).expect("read");
    assert_eq!(rss.points[0].value, 4096.0);
}

#[test]
fn a_capture_knows_pools_and_segments() {
    let mut files = machine();
    let pool = "sys/kernel/mm/hugepages/hugepages-2048kB";
    let share = "sys/devices/system/node/node0/hugepages/hugepages-2048kB";
    let shm = "key shmid perms size cpid lpid nattch\n0 7 600 536870912 8 9 12\n";
    let status = "VmPTE:\t 40 kB\n".to_owned();
    files.retain(|(path, _)| *path != "proc/10/status");
    files.extend([
        ("proc/10/status", status),
        ("proc/sysvipc/shm", shm.to_owned()),
        ("proc/sys/kernel/shmmax", "4096\n".to_owned()),
        ("proc/sys/vm/hugetlb_shm_group", "26\n".to_owned()),
    ]);
    let tree = tree(&files);
    for (folder, file, text) in [
        (pool, "nr_hugepages", "64\n"),
        (pool, "free_hugepages", "60\n"),
        (pool, "demote", "1\n"),
        (share, "nr_hugepages", "64\n"),
        (share, "free_hugepages", "60\n"),
    ] {
        fs::create_dir_all(tree.0.join(folder)).expect("mkdir");
        fs::write(tree.0.join(folder).join(file), text).expect("write");
    }
    let text = tree.sampler(Options::default()).sample();
    assert!(!paths(&text).iter().any(|path| path.ends_with("demote")));
    let mut out = Builder::new();
    out.read("x", &text).expect("a capture");
    let recording = out.finish();
    let facts = from_recording(&recording.hosts[0], "x");
    assert_eq!((facts.pools[0].total, facts.pools[0].nodes[0].free), (64, 60));
    assert_eq!((facts.objects[0].bytes.0, facts.objects[0].attached), (512 << 20, 12));
    assert_eq!(facts.processes[&10].page_tables.map(|bytes| bytes.0), Some(40 << 10));
    assert_eq!(facts.limits.shmmax.map(|bytes| bytes.0), Some(4096));
    assert_eq!(facts.limits.shm_group, Some(26));
}

#[test]
fn tables_of_sockets_are_not_taken_each_time() {
    let mut files = machine();
    files.push(("proc/net/tcp", "  sl  local_address\n".to_owned()));
    let tree = tree(&files);
    let mut sampler = tree.sampler(Options::default());
    let table = "/proc/net/tcp".to_owned();
    assert!(paths(&sampler.sample()).contains(&table));
    assert!(!paths(&sampler.sample()).contains(&table));
    sampler.sockets_due_ns = 0;
    assert!(paths(&sampler.sample()).contains(&table));
}

#[test]
fn processes_beyond_the_limit_are_counted() {
    let tree = tree(&machine());
    let mut sampler = tree.sampler(Options { processes_max: 2, ..Options::default() });
    let paths = paths(&sampler.sample());
    assert!(paths.contains(&"/proc/10/stat".to_owned()));
    assert!(!paths.contains(&"/proc/11/stat".to_owned()));
    assert_eq!(sampler.left_out().processes_left_out, 1);
}

/// Two samples of the machine at hand give rates, whatever machine it is.
#[test]
fn this_machine_can_be_sampled() {
    let mut sampler = Sampler::new(&Root::live(), Options::default());
    let first = sampler.sample();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let second = sampler.sample();
    let (mut out, mut capture) = (Builder::new(), Capture::new("this machine"));
    capture.take(&first, &mut out);
    capture.take(&second, &mut out);
    capture.end(&mut out);
    let recording = out.finish();
    assert_eq!(recording.problems, []);
    let host = &recording.hosts[0];
    for field in [Field::MemTotal, Field::ContextSwitches, Field::Faults] {
        assert!(host.series(field, &Subject::Machine).is_some(), "{field:?}");
    }
    assert!(host.subjects(Field::ProcCpu).next().is_some());
    let points = &host.series(Field::MemTotal, &Subject::Machine).expect("seen").points;
    assert!(points.iter().all(|point| point.at.is_some()));
}
