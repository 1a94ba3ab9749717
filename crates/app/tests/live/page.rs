//! The page of `hugewise serve`, as a visitor uses it.

use crate::chromium::Browser;
use crate::hold::Hold;
use crate::kit::{Scratch, hugewise, trial, wait_for};
use crate::machine::Turn;
use crate::manager::Manage;
use crate::serve::Served;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("the_page_shows_programs_regions_journal_and_history", all_of_it)]
}

/// A name that would be markup, if it were not text.
const NAME: &str = "<img src=x>'&\"";

fn plain(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("a plain path")
}

fn all_of_it(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let mut browser = Browser::start(&scratch, 1400)?;
    let program = scratch.program(NAME)?;
    let hold = Hold::start_as(&program, None, "--mib 16")?;
    let args = format!("--pid {} --for 1h --keep-settings --dry-run", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let journal = scratch.join("state/journal.jsonl");
    wait_for("the journal", || Ok(std::fs::read_to_string(&journal)?.contains("\"skips\"")))?;
    let (history, run) = (scratch.join("history"), scratch.join("run"));
    let args = ["record", "--stacks", "--every", "1s", "--for", "4s", "--history"];
    let args = args.into_iter().chain([plain(&history)?]);
    hugewise(args.chain(["--run-dir", plain(&run)?]))?.expect(0)?;
    let served = Served::start_beside(&scratch, "one", &["--run-dir", plain(&run)?])?;
    unlocks(&mut browser, &served)?;
    programs(&mut browser, hold.pid())?;
    goes_back(&mut browser)?;
    browser.until("document.getElementById('tiles').innerText.includes('THP mode')")?;
    browser.resize(360)?;
    browser.until("document.documentElement.scrollWidth <= 360")?;
    // What a phone shows of the table is all of it.
    let whole = "(box) => box.scrollWidth <= box.clientWidth";
    browser
        .until(&format!("[...document.querySelectorAll('.scroll, #heads th')].every({whole})"))?;
    // The refused token is the only thing that may be complained about.
    browser.faults.retain(|fault| !fault.contains("401"));
    ensure!(browser.faults.is_empty(), "{:?}", browser.faults);
    manager.stop()?.expect(0).map(drop)
}

/// The page that asks for the token is there, with its script.
const ASKS: &str = "document.readyState === 'complete' && document.activeElement.id === 'token'";

/// Without the token it is asked for; a wrong one is refused; the right one is in no address bar.
fn unlocks(browser: &mut Browser, served: &Served) -> anyhow::Result<()> {
    let page = format!("http://{}/", served.address);
    browser.open(&page)?;
    browser.until(ASKS)?;
    browser.types(&"0".repeat(64))?;
    browser.value("document.querySelector('button').click()")?;
    browser.until("document.body.innerText.includes('That token is wrong')")?;
    browser.until(ASKS)?;
    browser.types(&served.token)?;
    browser.value("document.querySelector('button').click()")?;
    browser.until("document.querySelectorAll('#rows tr').length > 0")?;
    ensure!(browser.value("location.href")? == page.as_str());
    Ok(())
}

/// A program is found, opened and closed again; its name is a name.
fn programs(browser: &mut Browser, pid: u32) -> anyhow::Result<()> {
    browser.until(&format!("document.querySelector('[data-pid=\"{pid}\"] td') !== null"))?;
    let name =
        browser.value(&format!("document.querySelector('[data-pid=\"{pid}\"] td').textContent"))?;
    ensure!(name == NAME, "{name}");
    ensure!(browser.value("document.querySelectorAll('img').length")? == 0);
    browser.press("/")?;
    browser.until("document.activeElement.id === 'filter'")?;
    browser.types("nobody-has-this-name")?;
    browser.until("document.getElementById('more').textContent === 'No program passes.'")?;
    browser.value("document.getElementById('filter').value = ''")?;
    browser.types(&pid.to_string())?;
    browser.until("document.querySelectorAll('#rows tr').length === 1")?;
    browser.press("Escape")?;
    browser.press("j")?;
    browser.press("Enter")?;
    browser.until("document.querySelectorAll('#one canvas').length > 0")?;
    browser.until(&format!(
        "document.getElementById('whose').textContent.endsWith('process {pid}') && \
         document.querySelectorAll('#records li').length > 0"
    ))?;
    let records = browser.value("document.getElementById('records').innerText")?;
    ensure!(records.as_str().is_some_and(|text| text.contains("skips of <img")), "{records}");
    browser.press("Escape")?;
    browser.until("document.getElementById('one').hidden")
}

/// A moment that was recorded, what was wrong before it, and now again.
fn goes_back(browser: &mut Browser) -> anyhow::Result<()> {
    browser.until("!document.getElementById('past').hidden")?;
    let before = browser.value("document.getElementById('host').textContent")?;
    browser.press("ArrowLeft")?;
    browser.until("document.getElementById('moment').textContent.endsWith(' UTC')")?;
    browser.until(&format!("document.getElementById('host').textContent !== {before}"))?;
    browser.value("document.getElementById('why').click()")?;
    browser.until("document.querySelectorAll('#findings h2').length === 1")?;
    // A quiet machine, or one without such clocks, has no picture and says so.
    browser.value("document.getElementById('where').click()")?;
    browser.until(
        "document.querySelectorAll('#flame div').length > 1 || \
         document.getElementById('pointed').textContent.includes('record --stacks')",
    )?;
    browser.press("l")?;
    browser.until("document.getElementById('live').ariaPressed === 'true'")
}
