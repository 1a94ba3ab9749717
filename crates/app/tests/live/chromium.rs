//! Chromium without a screen, driven over its pipe: one JSON message after the other, each ended by
//! a zero byte (the DevTools protocol).

use crate::kit::{Scratch, skip};
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one page. It ends with this.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    calls: u64,
    /// What the page did wrong: exceptions, and what its policy forbade.
    pub(crate) faults: Vec<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts one with a window of this width.
    pub(crate) fn start(scratch: &Scratch, width: u32) -> anyhow::Result<Self> {
        let found = Command::new("chromium").arg("--version").stderr(Stdio::null()).output();
        found.map_err(|error| skip(format!("chromium of Debian: {error}")))?;
        // It reads from descriptor 3 and writes to 4. Everybody here is root: no sandbox.
        let script = r#"exec chromium --headless --no-sandbox --disable-gpu \
            --remote-debugging-pipe "--user-data-dir=$0" about:blank \
            3<&0 4>&1 </dev/null >/dev/null"#;
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(scratch.join("chromium"));
        command.env("HOME", scratch.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(scratch.join("chromium.log"))?);
        let mut process = command.spawn()?;
        let to = process.stdin.take().context("no input")?;
        let from = BufReader::new(process.stdout.take().context("no output")?);
        let faults = Vec::new();
        let mut browser = Self { process, to, from, session: None, calls: 0, faults };
        let all = browser.call("Target.getTargets", &json!({}))?;
        let all = all["targetInfos"].as_array().context("no pages")?;
        let page = all.iter().find(|target| target["type"] == "page").context("no page")?;
        let id = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &id)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, &json!({}))?;
        }
        browser.resize(width)?;
        Ok(browser)
    }

    /// Gives the page another width.
    pub(crate) fn resize(&mut self, width: u32) -> anyhow::Result<()> {
        let is_phone = width < 600;
        let size = json!({
            "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": is_phone
        });
        self.call("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).context("chromium is gone")?;
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer)?;
            ensure!(answer.pop() == Some(0), "chromium ended");
            let mut answer: Value = serde_json::from_slice(&answer)?;
            if answer["id"] == self.calls {
                ensure!(answer.get("error").is_none(), "{method}: {answer}");
                return Ok(answer["result"].take());
            }
            let told = answer["method"].as_str();
            if let Some("Runtime.exceptionThrown" | "Log.entryAdded") = told {
                self.faults.push(answer["params"].to_string());
            }
        }
    }

    /// Opens an address.
    pub(crate) fn open(&mut self, url: &str) -> anyhow::Result<()> {
        self.call("Page.navigate", &json!({ "url": url })).map(drop)
    }

    /// The value of an expression, in the page.
    pub(crate) fn value(&mut self, expression: &str) -> anyhow::Result<Value> {
        let what = json!({ "expression": expression, "returnByValue": true });
        let mut told = self.call("Runtime.evaluate", &what)?;
        match told.get("exceptionDetails") {
            Some(why) => bail!("{expression}: {why}"),
            None => Ok(told["result"]["value"].take()),
        }
    }

    /// Waits until an expression is true; one that fails is not yet.
    pub(crate) fn until(&mut self, expression: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let value = self.value(expression);
            if matches!(value, Ok(Value::Bool(true))) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let page = self.value("document.body.innerText")?;
                bail!("not within {PATIENCE:?}: {expression}: {value:?}\n{page}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key as a user does.
    pub(crate) fn press(&mut self, key: &str) -> anyhow::Result<()> {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }))?;
        }
        Ok(())
    }

    /// Types a text where the focus is.
    pub(crate) fn types(&mut self, text: &str) -> anyhow::Result<()> {
        self.call("Input.insertText", &json!({ "text": text })).map(drop)
    }
}
