//! Examples in documents are run.
//!
//! Every fenced block whose info string is `sh run` is given to `sh -e`, in a fresh directory,
//! with `hugewise` on the PATH. `sh run root` needs root and says so where it is missing; with
//! `exits-5` its commands of hugewise may end with that code, as on a machine that lacks something.

use libtest_mimic::{Completion, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One example.
struct Example {
    file: String,
    line: usize,
    needs_root: bool,
    /// Exit code that is as good as 0.
    may_exit: Option<String>,
    script: String,
}

pub(crate) fn trials() -> Vec<Trial> {
    let files = documents().expect("the documents are readable");
    let examples: Vec<Example> = files.iter().flat_map(examples).collect();
    assert!(!examples.is_empty(), "no document has an example that is run");
    let trial = |example: Example| {
        let name = format!("docs::{}:{}", example.file, example.line);
        Trial::ignorable_test(name, move || run(&example))
    };
    examples.into_iter().map(trial).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![repository().join("README.md")];
    let mut folders = vec![repository().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn examples(path: &PathBuf) -> Vec<Example> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let file = path.strip_prefix(repository()).unwrap_or(path).display().to_string();
    let mut found: Vec<Example> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) if info.starts_with("sh run") => {
                inside = true;
                found.push(Example {
                    file: file.clone(),
                    line: number + 1,
                    needs_root: info.contains("root"),
                    may_exit: info.split_once("exits-").map(|(_, code)| code.to_owned()),
                    script: String::new(),
                });
            }
            _ => {
                if let (true, Some(example)) = (inside, found.last_mut()) {
                    example.script.push_str(line);
                    example.script.push('\n');
                }
            }
        }
    }
    found
}

fn run(example: &Example) -> Result<Completion, Failed> {
    if example.needs_root && !rustix::process::geteuid().is_root() {
        return Ok(Completion::ignored_with("needs root"));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_hugewise"));
    let bin = program.parent().ok_or("the program lies in a folder")?;
    // Examples of two documents can stand on the same line, and run at the same time.
    let place = format!("{}-{}", example.file.replace('/', "-"), example.line);
    let name = format!("hugewise-docs-{}-{place}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let tolerant = example.may_exit.as_ref().map_or(String::new(), |code| {
        format!("hugewise() {{ command hugewise \"$@\" || test $? -eq {code}; }}\n")
    });
    let done = Command::new("sh")
        .args(["-e", "-c", &format!("{tolerant}{}", example.script)])
        .current_dir(&dir)
        .env("PATH", format!("{}:{path}", bin.display()))
        .output();
    std::fs::remove_dir_all(&dir)?;
    let done = done?;
    if done.status.success() {
        return Ok(Completion::Completed);
    }
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!(
        "the example ends with {}\n{}{}",
        done.status,
        words(&done.stdout),
        words(&done.stderr)
    )
    .into())
}
