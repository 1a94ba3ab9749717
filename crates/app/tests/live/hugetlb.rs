//! `hugewise hugetlb` on the real kernel: pools, files, and who shares a segment.

use crate::hugetlb_kit::{Hugetlb, Pool, Sharers, changed, configuration, pool_of};
use crate::init;
use crate::kit::{Scratch, number, skip, trial_of_any_kernel, trial_of_oldest_kernel};
use crate::machine::{Settings, Turn};
use anyhow::{Context, ensure};
use hugewise_linux::instance::{InstanceLock, Role};
use hugewise_linux::root::Root;
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel(
            "hugetlb_pool_files_and_settings_come_back",
            pool_files_and_settings_come_back,
        ),
        trial_of_oldest_kernel(
            "hugetlb_files_that_were_there_come_back",
            files_that_were_there_come_back,
        ),
        trial_of_any_kernel(
            "hugetlb_many_processes_share_a_segment",
            many_processes_share_a_segment,
        ),
        trial_of_oldest_kernel("hugetlb_pages_of_one_node", pages_of_one_node),
        trial_of_oldest_kernel("hugetlb_two_at_once_are_refused", two_at_once_are_refused),
        trial_of_oldest_kernel("hugetlb_a_killed_apply_is_reverted", a_killed_apply_is_reverted),
    ]
}

const FILES: [&str; 3] = [
    "/etc/sysctl.d/90-hugewise-hugetlb.conf",
    "/etc/security/limits.d/90-hugewise-hugetlb.conf",
    "/etc/systemd/system/hugewise-trial.service.d/90-hugewise-hugetlb.conf",
];
const PERSIST: &str = "--sga 96M --headroom 32M --leave 64M --persist --user nobody \
    --unit hugewise-trial.service";

fn pool_files_and_settings_come_back(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let (files, settings) = (configuration()?, Settings::read()?);
    let plan = hugetlb.plan(&PERSIST.replace("--persist", ""))?;
    ensure!(pool_of(&plan)?["target_pages"] == 64 && plan["memlock"]["limit_kb"] == 131_072);
    let dry = hugetlb.run(&format!("apply --dry-run {PERSIST}"))?.expect(0)?;
    ensure!(dry.out.contains("would bring") && dry.out.contains("LimitMEMLOCK=131072K"), "{dry:?}");
    ensure!(Pool::now()?.total == 0 && changed(&files, &configuration()?).is_empty(), "a dry run");
    let said = hugetlb.run(&format!("apply {PERSIST}"))?.expect(0)?;
    ensure!(said.out.contains("0 -> 64 pages"), "{said:?}");
    ensure!(Pool::now()? == Pool { total: 64, free: 64, reserved: 0 }, "{:?}", Pool::now()?);
    let texts = ["vm.nr_hugepages = 64\n", "nobody hard memlock 131072\n", "[Service]\nLimitMEML"];
    for (file, text) in FILES.iter().zip(texts) {
        let found = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        ensure!(found.contains(text), "{file}: {found}");
        ensure!(fs::metadata(file)?.permissions().mode() & 0o777 == 0o644, "mode of {file}");
    }
    // Nothing runs on it yet: all that can be told is as planned.
    let told = hugetlb.run("verify --json")?;
    ensure!(told.code == Some(0) || told.code == Some(5), "{told:?}");
    ensure!(told.json()?["ok"] != false, "{told:?}");
    let again = hugetlb.run(&format!("apply {PERSIST}"))?.expect(0)?;
    ensure!(again.out.contains("is there already"), "{again:?}");
    fs::write(FILES[0], "vm.nr_hugepages = 1\n")?;
    let told = hugetlb.run("verify")?.expect(3)?;
    ensure!(told.out.contains("somebody edited it"), "{told:?}");
    hugetlb.run(&format!("apply {PERSIST}"))?.expect(0)?;
    hugetlb.revert()?;
    let left = changed(&files, &configuration()?);
    ensure!(left.is_empty(), "not as before: {left:?}");
    ensure!(settings.differences().is_empty(), "{:?}", settings.differences());
    let nothing = hugetlb.run("revert")?.expect(0)?;
    ensure!(nothing.out.contains("Nothing to put back"), "{nothing:?}");
    Ok(())
}

/// Files of somebody else under the same name, until dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        let _ = fs::remove_file(FILES[1]);
        let _ = fs::remove_dir_all("/etc/systemd/system/hugewise-trial.service.d");
    }
}

fn files_that_were_there_come_back(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let first = configuration()?;
    let mine = Mine;
    for file in [FILES[1], "/etc/systemd/system/hugewise-trial.service.d/10-mine.conf"] {
        fs::create_dir_all(Path::new(file).parent().context("a folder")?)?;
        fs::write(file, b"# \xff not even UTF-8, and no line end")?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o604))?;
        std::os::unix::fs::chown(file, Some(65_532), Some(65_531))?;
    }
    let before = configuration()?;
    hugetlb.run(&format!("apply {PERSIST}"))?.expect(0)?;
    let written = changed(&before, &configuration()?);
    ensure!(FILES.iter().all(|file| written.iter().any(|path| path == Path::new(file))));
    let told = hugetlb.run("verify --json")?.json()?;
    ensure!(told["ok"] != false, "{told}");
    hugetlb.revert()?;
    let left = changed(&before, &configuration()?);
    ensure!(left.is_empty(), "not as before: {left:?}");
    drop(mine);
    let folders = ["/etc/security/limits.d", "/etc/systemd/system"];
    let made = changed(&first, &configuration()?);
    let of_trial = |path: &Path| folders.iter().any(|folder| Path::new(folder) == path);
    ensure!(made.iter().all(|path| of_trial(path)), "{made:?}");
    Ok(())
}

/// Sharers, MiB of the segment, and how many times smaller page tables must become: besides the
/// segment's each process has some sixty kilobytes of its own.
fn crowd() -> (usize, u64, f64) {
    if init::is_guest() { (6, 128, 4.0) } else { (16, 768, 20.0) }
}

fn many_processes_share_a_segment(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let (processes, mib, least) = crowd();
    let hugetlb = Hugetlb::new(&scratch, 2 * mib + 128)?;
    let small = Sharers::start(mib, processes, "base")?;
    let list = small.list();
    let plan = hugetlb.plan(&format!("--leave 64M --pid {list}"))?;
    let demand = &pool_of(&plan)?["demands"][0];
    ensure!(demand["attached"] == processes && demand["pages"] == mib / 2, "{plan}");
    // A page table entry of 8 bytes for 4 KiB: a 512th.
    let entries = processes as u64 * (mib << 20) / 512;
    let tables = number(demand, "/tables_small_bytes")?;
    let now = number(&plan, "/tables/processes_bytes")?;
    ensure!((entries..entries + entries / 16).contains(&tables), "{tables}: {plan}");
    ensure!(now >= entries, "VmPTE of all: {now}, at least {entries}");
    let kept = scratch.join("plan.json");
    fs::write(&kept, plan.to_string())?;
    hugetlb.run(&format!("apply --leave 64M --pid {list}"))?.expect(0)?;
    ensure!(Pool::now()?.free == mib / 2, "{:?}", Pool::now()?);
    // It still runs on base pages: that is no success.
    let told = hugetlb.run("verify")?.expect(3)?;
    ensure!(told.out.contains("it is on base pages"), "{told:?}");
    small.stop()?;
    let huge = Sharers::start(mib, processes, "hugetlb")?;
    let kept = kept.to_str().context("a plain path")?;
    for args in ["verify --json".to_owned(), format!("verify --json --plan {kept}")] {
        let told = hugetlb.run(&args)?.expect(0)?.json()?;
        let times = told["result"]["tables"]["times_smaller"].as_f64().unwrap_or(0.0);
        println!("page tables of {processes} x {mib} MiB: {times:.1} times smaller");
        ensure!(times >= least, "{least} times smaller expected: {told}");
    }
    let told = hugetlb.run("verify")?.expect(0)?;
    let text = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(text.contains("times smaller") && text.contains("As planned."), "{told:?}");
    let said = hugetlb.run("revert")?.expect(5)?;
    ensure!(said.out.contains("in use or reserved"), "{said:?}");
    ensure!(Pool::now()?.total == mib / 2, "pages in use stay: {:?}", Pool::now()?);
    huge.stop()?;
    hugetlb.revert()
}

fn pages_of_one_node(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let file = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
    if !Path::new(file).exists() {
        return Err(skip("this kernel tells no NUMA nodes"));
    }
    let before = configuration()?;
    let said = hugetlb.run("apply --sga 64M --leave 64M --node 0 --persist")?.expect(0)?;
    ensure!(said.out.contains("of NUMA node 0: 0 -> 32 pages"), "{said:?}");
    ensure!(fs::read_to_string(file)?.trim() == "32", "node 0 has the pages");
    let text = fs::read_to_string("/etc/tmpfiles.d/90-hugewise-hugetlb.conf")?;
    ensure!(text.contains(&format!("w {file} - - - - 32\n")), "{text}");
    let told = hugetlb.run("verify")?;
    ensure!(told.out.contains("on NUMA node 0") && told.code != Some(3), "{told:?}");
    fs::write(file, "31")?;
    let told = hugetlb.run("verify")?.expect(3)?;
    ensure!(told.out.contains("1 short"), "{told:?}");
    fs::write(file, "32")?;
    hugetlb.revert()?;
    let left = changed(&before, &configuration()?);
    ensure!(left.is_empty(), "{left:?}");
    hugetlb.run("apply --sga 64M --node 99")?.expect(2).map(drop)
}

fn two_at_once_are_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let elsewhere = scratch.join("elsewhere");
    let lock = InstanceLock::take_to_keep(&Root::live(), &elsewhere, Role::Pools)?;
    for command in ["apply --sga 64M --leave 64M", "revert"] {
        let said = hugetlb.run(command)?.expect(6)?;
        let holder = format!("changing the HugeTLB pools (pid {})", std::process::id());
        ensure!(said.err.contains(&holder), "{said:?}");
    }
    drop(lock);
    ensure!(Pool::now()?.total == 0, "nothing was done");
    hugetlb.run("apply --sga 64M --leave 64M")?.expect(0)?;
    hugetlb.revert()
}

fn a_killed_apply_is_reverted(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    // Some steps of 256 MiB each.
    let mib = if init::is_guest() { 512 } else { 4000 };
    let hugetlb = Hugetlb::new(&scratch, mib + mib / 4)?;
    let (files, settings) = (configuration()?, Settings::read()?);
    let args = hugetlb.args(&format!("apply --sga {mib}M --leave 16M --persist --user nobody"));
    let (mut middle, mut late) = (0, 0);
    for round in 0..10_u64 {
        let mut command = Command::new(init::hugewise());
        let mut child = command.args(&args).stdout(Stdio::null()).spawn()?;
        // An emulated guest is some twenty times slower.
        let pause = 2 + round * if init::is_guest() { 60 } else { 4 };
        std::thread::sleep(Duration::from_millis(pause));
        child.kill()?;
        child.wait()?;
        let grown = Pool::now()?.total;
        middle += u32::from(grown > 0 && grown < mib / 2);
        late += u32::from(grown == mib / 2);
        hugetlb.revert().with_context(|| format!("killed after {pause} ms with {grown} pages"))?;
        let left = changed(&files, &configuration()?);
        ensure!(left.is_empty(), "after {pause} ms: {left:?}");
        let left = settings.differences();
        ensure!(left.is_empty(), "after {pause} ms: {left:?}");
    }
    println!("killed: {middle} times while the pool grew, {late} times after that");
    Ok(())
}
