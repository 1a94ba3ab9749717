//! Processes.

use crate::account::{self, Accounts};
use crate::cgroup;
use crate::root::Root;
use hugewise_base::parse::{self, pid_stat::PidStat};
use hugewise_base::units::{Bytes, Geometry, Ns, ProcId};
use hugewise_manager::snapshot::{ListAsk, ProcessSample};
use hugewise_sys::cpu;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// Below this, further files of a process (owner, executable, cgroup) are not read: nothing this
/// small is managed unless it is named, and then only its identity matters.
const SMALL: Bytes = Bytes::mib(1);

/// Of those that were small when they were last read, about so many are read by each list: 11 us
/// each. More take turns, so that a user with thousands of processes makes no list much longer, and
/// delays the next one for nobody.
const SMALL_AT_ONCE: usize = 64;
/// The same while they are young, in lists: most programs fill their memory soon after they start.
const YOUNG_AT_ONCE: usize = 256;
/// A small one is read again after this part of the lists since it was first seen, until its turn
/// comes sooner.
const AGE_PART: u32 = 4;
/// Of large ones that are known, about so many are read by each list of what seldom changes: 65 us
/// each.
const KNOWN_AT_ONCE: usize = 8;
/// The same of those that something keeps from being managed for now, divided among their users.
const BARRED_AT_ONCE: usize = 16;
/// What a monitor has open: Firecracker closes the device itself.
const KVM: [&str; 2] = ["/dev/kvm", "anon_inode:kvm-vm"];
/// Most open files of a process that are looked at: a monitor opens these early.
const FILES: usize = 64;
/// Most threads of a process that are asked how they are scheduled: 0.3 us each.
const THREADS: usize = 1024;

/// Lists processes; keeps what does not change from list to list.
#[derive(Debug)]
pub struct Lister {
    users: BTreeMap<u32, String>,
    accounts: Accounts,
    isolated: BTreeSet<u32>,
    own_pid: Option<u32>,
    /// Lists so far.
    lists: Cell<u32>,
    /// Those that were smaller than asked for when they were last read.
    small: RefCell<BTreeMap<u32, Small>>,
    /// Those of the last list.
    known: RefCell<BTreeMap<u32, ProcessSample>>,
}

/// A small process: whose it is, in which list it was first seen, and last read.
#[derive(Debug, Clone, Copy)]
struct Small {
    user: Option<u32>,
    first: u32,
    read: u32,
}

/// Turns of processes of which so many are read at once, in equal parts by user.
#[derive(Debug)]
struct Turns {
    processes: BTreeMap<Option<u32>, usize>,
    of_each_user: usize,
}

impl Turns {
    /// Among processes of these users.
    fn of(users: impl Iterator<Item = Option<u32>>, at_once: usize) -> Self {
        let mut processes = BTreeMap::new();
        for user in users {
            *processes.entry(user).or_default() += 1;
        }
        let of_each_user = (at_once / processes.len().max(1)).max(1);
        Self { processes, of_each_user }
    }

    /// In how many lists one of this user is read once.
    fn lists(&self, user: Option<u32>) -> usize {
        self.processes.get(&user).map_or(1, |processes| processes.div_ceil(self.of_each_user))
    }
}

impl Lister {
    /// Reads user names and isolated CPUs of the root.
    pub fn new(root: &Root) -> Self {
        let isolated = root.read_line("sys/devices/system/cpu/isolated").unwrap_or_default();
        Self {
            users: users(root),
            accounts: Accounts::of(root),
            isolated: parse::cpulist::parse(&isolated).unwrap_or_default(),
            own_pid: root.is_live().then(std::process::id),
            lists: Cell::default(),
            small: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// Processes that can be seen and were asked for, ascending. Those that end while they are read
    /// are left out.
    ///
    /// # Errors
    /// When `/proc` itself cannot be listed.
    pub fn list(
        &self,
        root: &Root,
        geometry: Geometry,
        ask: &ListAsk,
    ) -> io::Result<Vec<ProcessSample>> {
        let mut all = match &ask.only {
            Some(named) => {
                let briefly = |pid: &u32| self.briefly(root, geometry, *pid, ask);
                named.iter().filter_map(briefly).collect()
            }
            None => self.large(root, geometry, ask)?,
        };
        if ask.most > 0 && all.len() > ask.most {
            all = self.largest_of_each_user(root, all, ask.most);
        }
        self.lists.set(self.lists.get().wrapping_add(1));
        let mut known = self.known.take();
        let barred = known.values().filter(|sample| is_barred(sample));
        let barred = Turns::of(barred.map(ProcessSample::account), BARRED_AT_ONCE);
        let known_turns = known.len() / KNOWN_AT_ONCE + 1;
        for sample in all.iter_mut().filter(|sample| sample.largest() >= SMALL) {
            let known = known.remove(&sample.id.pid).filter(|known| is_same(known, sample));
            let turns = match known.as_ref().filter(|known| is_barred(known)) {
                Some(known) => barred.lists(known.account()),
                None => known_turns,
            };
            let is_due = ask.only.is_some() || self.is_due(sample.id.pid, turns);
            match known.filter(|_| !is_due) {
                Some(known) => take_details(sample, known),
                None => self.details(root, sample),
            }
        }
        self.known.replace(all.iter().map(|sample| (sample.id.pid, sample.clone())).collect());
        all.sort_by_key(|sample| sample.id);
        Ok(all)
    }

    /// Whether it is the turn of a process that is read once in so many lists.
    fn is_due(&self, pid: u32, turns: usize) -> bool {
        (self.lists.get() as usize).wrapping_add(pid as usize).is_multiple_of(turns)
    }

    /// All that are as large as asked for. On a machine with thousands of processes those that have
    /// been small for a while would be most of the cost of a list.
    fn large(
        &self,
        root: &Root,
        geometry: Geometry,
        ask: &ListAsk,
    ) -> io::Result<Vec<ProcessSample>> {
        let list = self.lists.get();
        let pids = pids(root)?;
        let mut before = self.small.take();
        let late = self.late(&before);
        let (mut all, mut small) = (Vec::new(), BTreeMap::new());
        for pid in pids {
            let known = before.remove(&pid);
            if let Some(known) = known.filter(|_| !late.contains(&pid)) {
                small.insert(pid, known);
                continue;
            }
            match self.briefly(root, geometry, pid, ask) {
                Some(sample) => all.push(sample),
                None => {
                    let new = || Small { user: self.user_of(root, pid), first: list, read: list };
                    small.insert(pid, Small { read: list, ..known.unwrap_or_else(new) });
                }
            }
        }
        self.small.replace(small);
        Ok(all)
    }

    /// The small ones that are read again now: each at its turn, and in between those that were
    /// last read long ago for their age. Where these are many, those of whose user they are have to
    /// wait.
    fn late(&self, small: &BTreeMap<u32, Small>) -> BTreeSet<u32> {
        let list = self.lists.get();
        let is_late = |known: &Small| {
            let age = list.wrapping_sub(known.first);
            list.wrapping_sub(known.read) > age / AGE_PART
        };
        let late: Vec<_> = small.iter().filter(|(_, known)| is_late(known)).collect();
        let users = Turns::of(late.iter().map(|(_, known)| known.user), YOUNG_AT_ONCE);
        let is_next = |(pid, known): &(&u32, &Small)| self.is_due(**pid, users.lists(known.user));
        let mut now: BTreeSet<_> = late.into_iter().filter(is_next).map(|(pid, _)| *pid).collect();
        let turns = small.len() / SMALL_AT_ONCE + 1;
        now.extend(small.keys().filter(|pid| self.is_due(**pid, turns)));
        now
    }

    /// One process; `None` when it ended, or its files make no sense.
    pub fn sample(&self, root: &Root, geometry: Geometry, pid: u32) -> Option<ProcessSample> {
        let mut sample = self.briefly(root, geometry, pid, &ListAsk::default())?;
        if sample.largest() >= SMALL {
            self.details(root, &mut sample);
        }
        Some(sample)
    }

    /// What two small files say of it; `None` when it is smaller than asked for. Most processes
    /// of a large machine are: of those only the cheaper file is read.
    fn briefly(
        &self,
        root: &Root,
        geometry: Geometry,
        pid: u32,
        ask: &ListAsk,
    ) -> Option<ProcessSample> {
        let statm = root.read_line(format!("proc/{pid}/statm")).ok()?;
        let statm = parse::statm::parse(&statm).ok()?;
        let rss = geometry.bytes(statm.resident);
        let anon = geometry.bytes(statm.resident.saturating_sub(statm.shared));
        let shared = geometry.bytes(statm.shared);
        let shmem = ask.least_shmem.filter(|least| shared >= *least).and_then(|least| {
            // What it shares may all be text.
            let status = root.read(format!("proc/{pid}/status")).ok()?;
            let shmem = parse::pid_status::parse(&status).value.rss_shmem_bytes?;
            Some(Bytes(shmem)).filter(|shmem| *shmem >= least)
        });
        if anon < ask.least_anon && shmem.is_none() {
            return None;
        }
        let stat = stat(root, pid)?;
        Some(ProcessSample {
            id: ProcId { pid, start_ticks: stat.starttime },
            kernel_thread: stat.is_kernel_thread(),
            real_time: is_real_time(stat.policy),
            faults: stat.minflt.saturating_add(stat.majflt),
            cpu: Some(cpu_time(stat.utime.saturating_add(stat.stime))),
            name: stat.comm,
            rss,
            anon,
            shmem,
            exe: None,
            uid: None,
            account_uid: None,
            user: None,
            cgroup: None,
            cpu_weight_percent: None,
            unit: None,
            isolated: false,
            thp_disabled: None,
            is_self: self.own_pid == Some(pid),
            kvm: false,
        })
    }

    fn details(&self, root: &Root, sample: &mut ProcessSample) {
        let pid = sample.id.pid;
        let status = root.read(format!("proc/{pid}/status")).unwrap_or_default();
        let status = parse::pid_status::parse(&status).value;
        sample.thp_disabled = status.thp_enabled.map(|enabled| !enabled);
        sample.uid = status.uid;
        sample.account_uid = status.uid.and_then(|uid| self.accounts.of_uid(root, pid, uid));
        sample.user = status.uid.and_then(|uid| self.users.get(&uid).cloned());
        let allowed = status.cpus_allowed_list.and_then(|l| parse::cpulist::parse(&l).ok());
        sample.isolated = allowed.is_some_and(|cpus| self.is_isolated(&cpus));
        if root.is_live() {
            self.threads(root, sample);
        }
        let exe = fs::read_link(root.path(format!("proc/{pid}/exe"))).ok();
        // An upgraded program runs on from a deleted file, and is still the same to rules.
        let path = |path: std::path::PathBuf| {
            let path = path.to_string_lossy().into_owned();
            path.strip_suffix(" (deleted)").map_or(path.clone(), ToOwned::to_owned)
        };
        sample.exe = exe.map(path);
        sample.kvm = has_kvm(root, pid);
        if let Ok(text) = root.read(format!("proc/{pid}/cgroup")) {
            let paths = parse::cgroup::parse(&text).value;
            sample.unit = paths.unit().map(ToOwned::to_owned);
            let controller = |name: &str| paths.v1_paths.get(name).map(String::as_str);
            let unified = paths.v2_path.as_deref();
            sample.cpu_weight_percent =
                cgroup::cpu_weight_percent(root, controller("cpu"), unified);
            // On a hybrid host the memory controller is the version 1 one, and it has the limit.
            sample.cgroup = paths.memory().map(str::to_owned);
        }
    }

    /// The largest process of each user, then the second of each, and so on.
    fn largest_of_each_user(
        &self,
        root: &Root,
        mut all: Vec<ProcessSample>,
        most: usize,
    ) -> Vec<ProcessSample> {
        all.sort_by_key(|sample| Reverse((sample.largest(), sample.id)));
        let mut of_user = BTreeMap::<_, usize>::new();
        let mut ranked = Vec::with_capacity(all.len());
        for (size, sample) in all.into_iter().enumerate() {
            let before = of_user.entry(self.user_of(root, sample.id.pid)).or_default();
            ranked.push(((*before, size), sample));
            *before += 1;
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.truncate(most);
        ranked.into_iter().map(|(_, sample)| sample).collect()
    }

    /// The user whose process it is, as its directory says.
    fn user_of(&self, root: &Root, pid: u32) -> Option<u32> {
        let uid = fs::metadata(root.path(format!("proc/{pid}"))).ok()?.uid();
        self.accounts.of_uid(root, pid, uid).or(Some(uid))
    }

    fn is_isolated(&self, cpus: &BTreeSet<u32>) -> bool {
        !self.isolated.is_empty() && cpus.is_subset(&self.isolated)
    }

    /// All threads share the memory: one that is real-time or bound to isolated CPUs is stalled
    /// by what is done to it, whatever the first thread is.
    fn threads(&self, root: &Root, sample: &mut ProcessSample) {
        let tasks = fs::read_dir(root.path(format!("proc/{}/task", sample.id.pid)));
        for entry in tasks.into_iter().flatten().flatten().take(THREADS) {
            let Some(tid) = entry.file_name().to_str().and_then(|tid| tid.parse().ok()) else {
                continue;
            };
            sample.real_time |= cpu::scheduling_policy(tid).is_some_and(is_real_time);
            if !self.isolated.is_empty() && !sample.isolated {
                let cpus = cpu::allowed_cpus(tid).map(BTreeSet::from_iter);
                sample.isolated = cpus.is_some_and(|cpus| self.is_isolated(&cpus));
            }
        }
    }
}

/// Whether it has `/dev/kvm` open, or a virtual machine that was made with it.
fn has_kvm(root: &Root, pid: u32) -> bool {
    let files = fs::read_dir(root.path(format!("proc/{pid}/fd")));
    let links = files.into_iter().flatten().flatten().take(FILES);
    let mut links = links.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|link| KVM.iter().any(|kvm| link.as_os_str() == *kvm))
}

/// Whether both are of one process that is still the same program, as far as its name says.
fn is_same(known: &ProcessSample, sample: &ProcessSample) -> bool {
    known.id == sample.id && known.name == sample.name && known.largest() >= SMALL
}

/// Whether something keeps it from being managed for now: a program that is about to start another
/// one may have set it for that.
fn is_barred(sample: &ProcessSample) -> bool {
    sample.thp_disabled == Some(true) || sample.real_time || sample.isolated
}

/// Takes over what seldom changes.
fn take_details(sample: &mut ProcessSample, known: ProcessSample) {
    *sample = ProcessSample {
        id: sample.id,
        kernel_thread: sample.kernel_thread,
        faults: sample.faults,
        cpu: sample.cpu,
        rss: sample.rss,
        anon: sample.anon,
        shmem: sample.shmem,
        real_time: sample.real_time || known.real_time,
        ..known
    };
}

/// Clock ticks as time.
fn cpu_time(ticks: u64) -> Ns {
    let per_s = rustix::param::clock_ticks_per_second().max(1);
    Ns(ticks.saturating_mul(1_000_000_000 / per_s))
}

/// SCHED_FIFO, SCHED_RR, SCHED_DEADLINE: include/uapi/linux/sched.h.
const fn is_real_time(policy: u32) -> bool {
    matches!(policy, 1 | 2 | 6)
}

/// Ids of all processes that can be seen, ascending.
///
/// # Errors
/// When `/proc` itself cannot be listed.
pub fn pids(root: &Root) -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir(root.path("proc"))? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    pids.sort_unstable();
    Ok(pids)
}

/// Names of users by id, as far as `/etc/passwd` knows them.
pub fn users(root: &Root) -> BTreeMap<u32, String> {
    account::users(root).into_iter().map(|(id, user)| (id, user.name)).collect()
}

/// `/proc/PID/stat`; `None` when the process ended or the text makes no sense.
pub fn stat(root: &Root, pid: u32) -> Option<PidStat> {
    parse::pid_stat::parse(&root.read(format!("proc/{pid}/stat")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    /// A process with so many pages of anonymous memory.
    fn process(root: &Scratch, pid: u32, pages: u64) {
        let folder = root.path().join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("statm"), format!("{pages} {pages} 0 0 0 {pages} 0\n")).expect("");
        let zeros = "0 ".repeat(48);
        fs::write(folder.join("stat"), format!("{pid} (x) S {zeros}")).expect("a file");
    }

    #[test]
    fn who_stays_small_is_read_in_turn() {
        let scratch = Scratch::new();
        let root = Root::at(scratch.path());
        let lister = Lister::new(&root);
        let ask = ListAsk { least_anon: Bytes::mib(1), ..ListAsk::default() };
        let listed = || {
            let all = lister.list(&root, Geometry::X86_64, &ask).expect("a list");
            all.iter().map(|sample| sample.id.pid).collect::<Vec<_>>()
        };
        process(&scratch, 7, 10);
        process(&scratch, 8, 1000);
        assert_eq!(listed(), [8]);
        process(&scratch, 7, 1000);
        assert_eq!(listed(), [7, 8], "few are all read each time");
        // ... and of many, each in its turn.
        process(&scratch, 7, 10);
        let many = u32::try_from(3 * SMALL_AT_ONCE).expect("a number");
        (1000..1000 + many).for_each(|pid| process(&scratch, pid, 10));
        (0..20).for_each(|_| assert_eq!(listed(), [8]));
        process(&scratch, 7, 1000);
        process(&scratch, 6, 1000);
        process(&scratch, 9, 10);
        let lists: Vec<_> = (0..4).map(|_| listed()).collect();
        assert_eq!(lists[0].first(), Some(&6), "what is new is read at once");
        assert_eq!(lists[3], [6, 7, 8], "{lists:?}");
        process(&scratch, 9, 1000);
        let lists: Vec<_> = (0..2).map(|_| listed()).collect();
        assert_eq!(lists[1], [6, 7, 8, 9], "what is young is read more often: {lists:?}");
        let named = ListAsk { only: Some([7].into()), ..ListAsk::default() };
        assert_eq!(lister.list(&root, Geometry::X86_64, &named).expect("a list").len(), 1);
    }

    #[test]
    fn thousands_of_one_user_take_no_turn_of_another() {
        let users = std::iter::repeat_n(Some(1000), 4000).chain([Some(1001), None]);
        let turns = Turns::of(users, YOUNG_AT_ONCE);
        assert_eq!([Some(1001), None].map(|user| turns.lists(user)), [1, 1]);
        assert_eq!(turns.lists(Some(1000)), 4000_usize.div_ceil(YOUNG_AT_ONCE / 3));
    }
}
