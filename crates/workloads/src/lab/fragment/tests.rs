use super::*;
use hold::CHUNK_PAGES;
use hugewise_experiment::kinds::{self, BuiltIn, Params, Task};
use hugewise_scratch::Scratch;
use std::fs;

/// A machine with so much available memory, of which nine tenths of what is free are in pieces.
fn machine(available_mib: u64) -> std::io::Result<Scratch> {
    let root = Scratch::new();
    fs::create_dir(root.join("proc"))?;
    let kib = available_mib << 10;
    fs::write(root.join("proc/meminfo"), format!("MemAvailable: {kib} kB\n"))?;
    let blocks = "9 0 0 0 0 0 0 0 0 0 0";
    let whole = "4599 0 0 0 0 0 0 0 0 1 0";
    let text = format!("Node 0, zone DMA {blocks}\nNode 0, zone Normal {whole}\n");
    fs::write(root.join("proc/buddyinfo"), text)?;
    Ok(root)
}

fn fill(root: &Scratch, given: &[(&str, u64)]) -> anyhow::Result<(Fragmenter<Chunks>, Measured)> {
    use hugewise_experiment::kind::Value;
    let kind = kinds::find("fragment-holes").context("there is such a kind")?;
    let given = given.iter().map(|(name, count)| ((*name).to_owned(), Value::Count(*count)));
    let params = Params::new(kind, &given.collect())?;
    let Task::BuiltIn(BuiltIn::FragmentHoles(params)) = params.task() else {
        anyhow::bail!("another task")
    };
    let setup = Setup { seed: 1, advise: false, scratch: None, root: root.path().to_owned() };
    let mut fragmenter = holes(params, &setup);
    let measured = fragmenter.fill(&mut Progress::silent())?;
    Ok((fragmenter, measured))
}

#[test]
fn it_never_takes_what_must_stay_available() -> anyhow::Result<()> {
    let root = machine(1000)?;
    let (fragmenter, measured) = fill(&root, &[("leave_mib", 998), ("fmfi_percent", 95)])?;
    assert_eq!(fragmenter.hold.pages(), 0);
    let note = &measured.report.notes[0];
    assert!(note.contains("is 0.90, not 0.95: leave_mib ended the growth at 0 MiB"), "{note}");
    let (fragmenter, _) = fill(&root, &[("leave_mib", 960)])?;
    assert_eq!(fragmenter.hold.pages(), 10 * CHUNK_PAGES, "40 MiB to spare");
    let (fragmenter, _) = fill(&root, &[("leave_mib", 0), ("max_mib", 20)])?;
    assert_eq!(fragmenter.hold.pages(), 5 * CHUNK_PAGES);
    Ok(())
}

#[test]
fn it_says_that_the_kernel_works_against_it() -> anyhow::Result<()> {
    let root = machine(1000)?;
    fs::create_dir_all(root.join("proc/sys/vm"))?;
    for (setting, notes) in [("20\n", 0), ("0\n", 0), ("30\n", 1)] {
        fs::write(root.join("proc/sys/vm/compaction_proactiveness"), setting)?;
        let (_, measured) = fill(&root, &[("leave_mib", 998)])?;
        assert_eq!(measured.report.notes.len(), notes, "{setting}: {measured:?}");
    }
    Ok(())
}

#[test]
fn it_holds_less_until_the_index_is_reached() -> anyhow::Result<()> {
    let root = machine(1000)?;
    let held = |percent| -> anyhow::Result<u64> {
        let given = [("leave_mib", 0), ("max_mib", 16), ("fmfi_percent", percent)];
        let (mut fragmenter, measured) = fill(&root, &given)?;
        let verdict = fragmenter.verify(&mut Progress::silent())?;
        assert_eq!((verdict.wrong, measured.wrong), (0, 0));
        assert_eq!(measured.report.notes.is_empty(), percent <= 89);
        Ok(verdict.checked)
    };
    let (enough, least) = (held(85)?, held(95)?);
    // A tenth of 4096 pages, and no less than two in 512.
    assert!((360..460).contains(&enough), "{enough}");
    assert!((15..40).contains(&least), "{least}");
    Ok(())
}

#[test]
fn a_smaller_share_keeps_a_part_of_a_larger_one() {
    let (large, small) = (Keep { seed: 9, share: 200_000 }, Keep { seed: 9, share: 50_000 });
    let kept = |keep: Keep| (0..10_000).filter(move |page| keep.has(*page));
    assert!(kept(small).all(|page| large.has(page)));
    assert!((400..600).contains(&kept(small).count()));
    let gaps = small.gaps(10_000);
    let given_back: usize = gaps.iter().map(|(begin, end)| end - begin).sum();
    assert_eq!(given_back + kept(small).count(), 10_000);
    assert!(gaps.iter().all(|(begin, end)| (*begin..*end).all(|page| !small.has(page))));
}
