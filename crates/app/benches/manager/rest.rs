//! What a manager costs at rest, when everything it may do is done.

use super::{Done, number, target};
use hugewise_core::units::Bytes;
use std::time::Duration;

const SETTLE: Duration = Duration::from_secs(30);
const WATCH: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Done {
    let size = Bytes::mib(number("HUGEWISE_BENCH_REST_GIB", 16) << 10);
    println!(
        "One managed program of {size}; {} s settled, {} s watched.\n",
        SETTLE.as_secs(),
        WATCH.as_secs()
    );
    println!("| memory | own CPU, % of a core | RSS | promised |");
    println!("|---|---|---|---|");
    // Base pages stay base pages only where nobody promotes: mode `observe`, which scans and
    // decides all the same. Unpaced, so that all its decisions are behind it.
    let unpaced = [
        "--mode",
        "observe",
        "--set",
        "controller.lock_share_percent=100",
        "--set",
        "quota.bytes_per_s=1 TiB",
    ];
    one("dense base pages (mode observe)", size, &["--fill", "dense"], &unpaced)?;
    one("huge pages (mode ingens)", size, &["--fill", "dense", "--advise", "huge"], &[])
}

fn one(name: &str, size: Bytes, fill: &[&str], arguments: &[&str]) -> Done {
    let target = target::hold(size, fill)?;
    let (manager, _) = target::manage(target.0.id(), arguments)?;
    std::thread::sleep(SETTLE);
    let before = target::cpu_s(manager.0.id())?;
    std::thread::sleep(WATCH);
    let used = target::cpu_s(manager.0.id())? - before;
    let status = std::fs::read(format!("/proc/{}/status", manager.0.id()))?;
    let status = hugewise_core::parse::pid_status::parse(&status).value;
    let rss = status.rss_anon_bytes.unwrap_or(0) + status.rss_file_bytes.unwrap_or(0);
    target::stop(manager)?;
    let percent = 100.0 * used / WATCH.as_secs_f64();
    println!("| {name} | {percent:.2} | {} | <= 1 %, <= 16 MiB |", Bytes(rss));
    Ok(())
}
