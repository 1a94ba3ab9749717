//! `hugewise lab limit` on a small service: its workers are the limit, and what more of them give
//! is
//! predicted.

use crate::http::answering;
use crate::init;
use crate::kit::{Said, Scratch, hugewise, skip, trial};
use crate::machine::Turn;
use crate::schemas;
use crate::shop::Shop;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("limit_names_a_pool_and_predicts_what_more_of_it_gives", names_a_pool),
        trial("limit_says_that_nobody_answers", nobody_answers),
    ]
}

fn limit(shop: &Shop, more: &[&str]) -> anyhow::Result<Said> {
    let url = format!("http://{}/", shop.address);
    let all = ["lab", "limit", &url, "--from", "30", "--seconds", "3"];
    hugewise([&all[..], more].concat())
}

fn most(json: &Value) -> anyhow::Result<f64> {
    json["most_per_s"].as_f64().with_context(|| format!("{json:#}"))
}

fn names_a_pool(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("an emulated CPU is too slow to tell"));
    }
    let scratch = Scratch::new()?;
    let shop = Shop::open(&scratch)?;
    fs::write(&shop.pool, "2")?;
    let file = scratch.join("before.json").display().to_string();
    let before = limit(&shop, &["--json", "-o", &file])?.expect(0)?.json()?;
    schemas::fits("limit", &before).map_err(anyhow::Error::msg)?;
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    ensure!(before == kept, "what is printed is what is kept");
    ensure!(before["limit"]["resource"]["kind"] == "slots", "{before:#}");
    let at_a_time = before["at_a_time"].as_f64().context("at_a_time")?;
    ensure!((1.5..3.0).contains(&at_a_time), "{before:#}");
    // Two at a time, 20 ms each.
    let one = most(&before)?;
    ensure!((60.0..=101.0).contains(&one), "{one}");
    fs::write(&shop.pool, "4")?;
    let after = limit(&shop, &["--json", "--check", &file, "--factor", "2"])?;
    let after = after.json()?;
    schemas::fits("limit", &after).map_err(anyhow::Error::msg)?;
    ensure!(after["limit"]["resource"]["kind"] == "slots", "{after:#}");
    let ratio = most(&after)? / one;
    ensure!((1.6..2.4).contains(&ratio), "twice the workers, and {ratio} times the answers");
    let expected = after["checked"]["expected_per_s"].as_f64().context("expected")?;
    ensure!((expected / one - 2.0).abs() < 0.01, "{after:#}");
    Ok(())
}

fn nobody_answers(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no network"));
    }
    let said = hugewise(["lab", "limit", "http://127.0.0.1:1/"])?.expect(1)?;
    ensure!(said.err.contains("is the server running?"), "{}", said.err);
    let said = hugewise(["lab", "limit", &answering("404 Not Found")?])?.expect(1)?;
    ensure!(said.err.contains("failed at 20/s already: HTTP status other"), "{}", said.err);
    let far = hugewise(["lab", "limit", "http://192.0.2.1/"])?.expect(2)?;
    ensure!(far.err.contains("not on this machine"), "{}", far.err);
    let scratch = Scratch::new()?;
    let other = scratch.join("other.json");
    fs::write(&other, "{}")?;
    let path = other.display().to_string();
    let said = hugewise(["lab", "limit", "http://127.0.0.1:1/", "--check", &path])?.expect(1)?;
    ensure!(said.err.contains("is no result of 'lab limit'"), "{}", said.err);
    Ok(())
}
