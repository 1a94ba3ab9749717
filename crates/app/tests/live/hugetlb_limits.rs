//! `hugewise hugetlb` where it may not, cannot, or gets less than it asked for.

use crate::hold::Hold;
use crate::hugetlb_kit::{Hugetlb, Pool, changed, configuration, meminfo_kib, segment};
use crate::init;
use crate::kit::{Said, Scratch, number, skip, trial_of_oldest_kernel};
use crate::machine::{Settings, Turn};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A user that nobody else uses, and a group of the same number.
const USER: u32 = 65_531;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel(
            "hugetlb_without_privileges_nothing_is_done",
            without_privileges_nothing_is_done,
        ),
        trial_of_oldest_kernel("hugetlb_a_group_may_use_segments", a_group_may_use_segments),
        trial_of_oldest_kernel("hugetlb_too_much_for_the_machine_is_refused", too_much_is_refused),
        trial_of_oldest_kernel("hugetlb_the_kernel_grants_fewer", the_kernel_grants_fewer),
        trial_of_oldest_kernel(
            "hugetlb_fragmented_memory_is_compacted",
            fragmented_memory_is_compacted,
        ),
    ]
}

fn without_privileges_nothing_is_done(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let (files, settings) = (configuration()?, Settings::read()?);
    let program = scratch.program("hugewise")?;
    fs::create_dir(scratch.join("state"))?;
    chown(scratch.join("state"), Some(USER), Some(USER))?;
    let run = |args: &str| -> anyhow::Result<Said> {
        let mut command = Command::new(&program);
        command.args(hugetlb.args(args)).uid(USER).gid(USER);
        Ok(Said::of(&command.output().context("cannot run hugewise")?))
    };
    let said = run("apply --sga 64M --leave 64M --persist --user nobody --shm-group 1")?;
    let said = said.expect(1)?;
    ensure!(
        said.err.contains("/sys/kernel/mm/hugepages/hugepages-2048kB")
            || said.err.contains("hugetlb_shm_group"),
        "it names the file: {said:?}"
    );
    ensure!(said.err.contains("root"), "it says who may: {said:?}");
    let said = run("apply --sga 64M --leave 64M")?.expect(1)?;
    let file = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    ensure!(said.err.contains(file) && said.err.contains("root"), "{said:?}");
    // A dry run reads what root keeps if it may, and says so if it may not.
    let private = scratch.join("private");
    fs::create_dir(&private)?;
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700))?;
    let mut dry = Command::new(&program);
    dry.args(["hugetlb", "apply", "--sga", "64M", "--leave", "64M", "--dry-run", "--state-dir"]);
    let said = Said::of(&dry.arg(&private).uid(USER).gid(USER).output()?).expect(0)?;
    ensure!(said.err.contains("for root to see"), "{said:?}");
    ensure!(settings.differences().is_empty(), "{:?}", settings.differences());
    ensure!(changed(&files, &configuration()?).is_empty(), "no file was written");
    // To look is allowed, and says what could not be seen.
    let said = run("plan --sga 64M --leave 64M")?.expect(0)?;
    ensure!(said.out.contains("Not seen:"), "{said:?}");
    // What an unprivileged user left is not believed.
    let _ = fs::remove_dir_all(scratch.join("state"));
    Ok(())
}

fn a_group_may_use_segments(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    let program = scratch.program("hugewise")?;
    let before = Settings::read()?;
    hugetlb.run("apply --sga 32M --leave 64M --user nobody")?.expect(0)?;
    let mut command = Command::new(&program);
    let segment = segment(32, 1, "hugetlb");
    command.args(["lab", "workload", "lab"]).args(segment.split(' ')).uid(USER).gid(USER);
    let said = Said::of(&command.stdin(Stdio::null()).output()?).expect(1)?;
    ensure!(said.err.contains("Operation not permitted"), "no right yet: {said:?}");
    let args = format!("apply --sga 32M --leave 64M --user nobody --shm-group {USER}");
    let said = hugetlb.run(&args)?.expect(0)?;
    ensure!(said.out.contains("vm.hugetlb_shm_group = 65531 (was 0)"), "{said:?}");
    let hold = Hold::start_kind_as(&program, Some(USER), "lab", &segment)?;
    ensure!(Pool::now()?.free == 0, "it has all 16 pages: {:?}", Pool::now()?);
    let told = hugetlb.run("verify")?.expect(0)?;
    ensure!(told.out.contains("vm.hugetlb_shm_group"), "{told:?}");
    drop(hold);
    hugetlb.revert()?;
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    Ok(())
}

fn too_much_is_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 64)?;
    let mib = meminfo_kib("MemTotal")? >> 10;
    let more = format!("--sga {}M", mib + 1024);
    let said = hugetlb.run(&format!("plan {more}"))?.expect(3)?;
    ensure!(said.out.contains("REFUSED: the pools would be larger"), "{said:?}");
    let said = hugetlb.run(&format!("apply {more}"))?.expect(6)?;
    ensure!(said.err.contains("larger than the memory"), "{said:?}");
    let little = format!("apply --sga 64M --leave {}M", mib - 1);
    let said = hugetlb.run(&little)?.expect(6)?;
    ensure!(said.err.contains("must remain"), "{said:?}");
    ensure!(Pool::now()?.total == 0, "nothing was done: {:?}", Pool::now()?);
    let nothing = hugetlb.run("revert")?.expect(0)?;
    ensure!(nothing.out.contains("Nothing to put back"), "{nothing:?}");
    Ok(())
}

fn the_kernel_grants_fewer(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("takes all memory: only in a virtual machine"));
    }
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 256)?;
    // What the kernel and this file system hold can never be had.
    let mib = (meminfo_kib("MemTotal")? >> 10) - 4;
    // Given back before the next command starts, which would find no memory to run in.
    let ballast = vec![1_u8; 96 << 20];
    let said = hugetlb.run(&format!("apply --sga {mib}M --leave 0"))?.expect(5)?;
    drop(ballast);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = ["PARTIAL", "no more contiguous memory", "compacted", "--persist and reboot"];
    ensure!(says.iter().all(|words| text.contains(words)), "{said:?}");
    let (granted, wanted) = (Pool::now()?.total, mib.div_ceil(2));
    println!("{granted} of {wanted} pages granted");
    ensure!(text.contains(&format!("0 -> {granted} of {wanted} pages")), "{granted}: {said:?}");
    ensure!(granted > 64 && granted < wanted, "{granted} pages");
    let told = hugetlb.run("verify")?.expect(3)?;
    ensure!(told.out.contains(&format!("{} short", wanted - granted)), "{told:?}");
    hugetlb.revert()
}

/// Memory that the kernel can neither move nor give back, with a hole beside each page.
struct Fragments(Vec<(PipeReader, PipeWriter)>);

impl Fragments {
    /// Leaves `mib` of memory untouched.
    fn but(mib: u64) -> anyhow::Result<Self> {
        // Descriptors: two for each MiB.
        let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        limit.current = limit.maximum;
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
        let (mut kept, mut holes) = (Vec::new(), Vec::new());
        while meminfo_kib("MemAvailable")? >> 10 > mib {
            let (mut one, mut two) = (large_pipe()?, large_pipe()?);
            for _ in 0..256 {
                one.1.write_all(&[1; 4096])?;
                two.1.write_all(&[2; 4096])?;
            }
            kept.push(one);
            holes.push(two);
        }
        drop(holes);
        Ok(Self(kept))
    }
}

/// Of 1 MiB.
fn large_pipe() -> anyhow::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = std::io::pipe()?;
    rustix::pipe::fcntl_setpipe_size(&writer, 1 << 20).context("a pipe of 1 MiB")?;
    Ok((reader, writer))
}

fn fragmented_memory_is_compacted(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("fills the memory: only in a virtual machine"));
    }
    let scratch = Scratch::new()?;
    let hugetlb = Hugetlb::new(&scratch, 300)?;
    let fragments = Fragments::but(80)?;
    let free = meminfo_kib("MemFree")? >> 10;
    println!("{free} MiB are free, beside {} MiB of pages that cannot move", fragments.0.len());
    ensure!(free > 160, "there must be holes: {free} MiB free");
    let mib = free - 100;
    let done = hugetlb.run(&format!("apply --json --sga {mib}M --leave 0"))?;
    drop(fragments);
    ensure!(done.code == Some(0) || done.code == Some(5), "{done:?}");
    let done = done.json()?;
    let granted = number(&done, "/pools/0/granted_pages")?;
    let compactions = number(&done, "/pools/0/compactions")?;
    println!("{granted} of {} pages granted, {compactions} compactions", mib / 2);
    ensure!(compactions > 0 && granted == Pool::now()?.total, "{done}");
    // With whole blocks again the rest comes.
    hugetlb.run(&format!("apply --sga {mib}M --leave 0"))?.expect(0)?;
    ensure!(Pool::now()?.total == mib.div_ceil(2), "{:?}", Pool::now()?);
    hugetlb.revert()
}
