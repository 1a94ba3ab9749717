//! What a program is, as far as huge pages are concerned: read from its file, never from its name
//! alone, and never by running it.

use hugewise_base::parse::elf::Elf;

/// A text that stands in a program, its loader or its Java VM only where that knows the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// glibc's tunable, in the loader or in a static program (2.35 and later).
    GlibcHugetlb,
    /// jemalloc's configuration; what is built under a prefix has it before the name.
    MallocConf,
    /// CPython's choice of an allocator (3.6 and later).
    PythonMalloc,
    /// Node.js puts its own code on huge pages.
    NodeLargePages,
    /// Redis and its kin switch huge pages off for themselves.
    DisableThp,
    /// A HotSpot VM that was built with huge pages.
    HotSpot,
}

/// How each ends, as a C string.
const MARKS: [(Mark, &str); 6] = [
    (Mark::GlibcHugetlb, "glibc.malloc.hugetlb"),
    (Mark::MallocConf, "MALLOC_CONF"),
    (Mark::PythonMalloc, "PYTHONMALLOC"),
    (Mark::NodeLargePages, "--use-largepages"),
    (Mark::DisableThp, "disable-thp"),
    (Mark::HotSpot, "UseTransparentHugePages"),
];

/// The shortest of them.
pub const MARK_BYTES_MIN: usize = 11;
/// Of a longer string of a program the end is enough.
pub const STRING_BYTES: usize = 256;

/// The mark with which a C string of a program ends (linkers put strings with the same end into
/// one another), and its whole name.
pub fn mark(string: &[u8]) -> Option<(Mark, String)> {
    let (mark, text) = MARKS.iter().find(|(_, text)| string.ends_with(text.as_bytes()))?;
    let before = string.get(..string.len() - text.len())?;
    let is_name = |byte: &&u8| byte.is_ascii_uppercase() || **byte == b'_';
    let prefix = match mark {
        Mark::MallocConf => before.iter().rev().take_while(is_name).count(),
        _ => 0,
    };
    let whole = string.get(before.len() - prefix..)?;
    Some((*mark, String::from_utf8_lossy(whole).into_owned()))
}

/// What a program's file says, and files that it stands on.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The word by which it is called, without directories.
    pub name: String,
    /// The file that is executed in the end: that of the interpreter of a script.
    pub file: String,
    /// The script, where it is one.
    pub script: Option<String>,
    /// The file's own description; `None`: not readable, or no ELF file.
    pub elf: Option<Elf>,
    /// Marks in it, in its loader and in its Java VM.
    pub marks: Vec<(Mark, String)>,
    /// Libraries that are preloaded.
    pub preloaded: Vec<String>,
    /// The `release` file of the Java VM.
    pub release: Option<String>,
    /// Why the loader takes it for privileged (`AT_SECURE`), and drops variables.
    pub privileged: Option<&'static str>,
}

/// What decides how a program's memory is allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Go's runtime.
    Go,
    /// A Java VM of OpenJDK.
    HotSpot,
    /// Eclipse OpenJ9.
    OpenJ9,
    /// Any other Java VM.
    OtherJvm,
    /// CPython's objects.
    Python,
    /// Node.js.
    Node,
    /// Redis, Valkey.
    Redis,
    /// glibc's malloc with a switch.
    Glibc,
    /// ... and before it had one.
    OldGlibc,
    /// jemalloc, with the variable that configures it.
    Jemalloc(String),
    /// Another library of allocation.
    Allocator(String),
    /// Neither glibc nor any of these.
    Other,
}

impl Part {
    /// For people.
    pub fn name(&self) -> &str {
        match self {
            Self::Go => "Go",
            Self::HotSpot => "the HotSpot VM",
            Self::OpenJ9 => "OpenJ9",
            Self::OtherJvm => "this Java VM",
            Self::Python => "Python",
            Self::Node => "Node.js",
            Self::Redis => "Redis",
            Self::Glibc | Self::OldGlibc => "glibc's malloc",
            Self::Jemalloc(_) => "jemalloc",
            Self::Allocator(library) => library,
            Self::Other => "its allocator",
        }
    }

    /// Whether it serves what programs ask malloc for.
    pub fn is_malloc(&self) -> bool {
        matches!(self, Self::Glibc | Self::Jemalloc(_))
    }
}

/// Libraries that take the place of malloc, by the beginning of their names.
const ALLOCATORS: [&str; 5] = ["libtcmalloc", "libmimalloc", "libhoard", "libsnmalloc", "libscudo"];

/// A program.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Its parts, the one that matters most first.
    pub parts: Vec<Part>,
    /// A script: its interpreter takes no arguments of ours.
    pub is_script: bool,
    /// A script of a shell: what that starts has switches of its own.
    pub is_shell: bool,
    /// Why its loader drops variables.
    pub privileged: Option<&'static str>,
}

impl Program {
    /// What these facts make of it.
    pub fn of(facts: &Facts) -> Self {
        let file = facts.file.rsplit('/').next().unwrap_or_default();
        let shells = ["sh", "bash", "dash", "ash", "ksh", "zsh", "busybox"];
        Self {
            parts: parts(facts, file),
            is_script: facts.script.is_some(),
            is_shell: shells.contains(&file),
            privileged: facts.privileged,
        }
    }
}

fn parts(facts: &Facts, file: &str) -> Vec<Part> {
    let has = |mark: Mark| facts.marks.iter().any(|(found, _)| *found == mark);
    if facts.elf.as_ref().is_some_and(|elf| elf.go) {
        return vec![Part::Go];
    }
    if file == "java" {
        let is_openj9 = |text: &String| text.to_ascii_lowercase().contains("openj9");
        return vec![match facts.release.as_ref().is_some_and(is_openj9) {
            true => Part::OpenJ9,
            false if has(Mark::HotSpot) => Part::HotSpot,
            false => Part::OtherJvm,
        }];
    }
    let mut all = Vec::new();
    // One file can be several programs by its name: the server alone takes the option.
    if has(Mark::DisableThp) && facts.name.ends_with("-server") {
        all.push(Part::Redis);
    }
    if has(Mark::NodeLargePages) {
        all.push(Part::Node);
    }
    let mut libraries = libraries(facts);
    if has(Mark::PythonMalloc) || libraries.any(|library| library.starts_with("libpython3")) {
        all.push(Part::Python);
    }
    all.push(malloc(facts));
    all
}

/// Names of what it is linked with, without directories, preloaded ones first: they win.
fn libraries(facts: &Facts) -> impl Iterator<Item = &str> {
    let own = facts.elf.iter().flat_map(|elf| &elf.libraries);
    let all = facts.preloaded.iter().chain(own);
    all.map(|library| library.rsplit('/').next().unwrap_or_default())
}

fn malloc(facts: &Facts) -> Part {
    let is = |library: &&str, of: &str| library.starts_with(of);
    for library in libraries(facts) {
        if is(&library, "libjemalloc.so") {
            return Part::Jemalloc("MALLOC_CONF".into());
        }
        if ALLOCATORS.iter().any(|of| is(&library, of)) {
            return Part::Allocator(library.to_owned());
        }
    }
    if let Some((_, name)) = facts.marks.iter().find(|(mark, _)| *mark == Mark::MallocConf) {
        return Part::Jemalloc(name.clone());
    }
    let knows = facts.marks.iter().any(|(mark, _)| *mark == Mark::GlibcHugetlb);
    let glibc = libraries(facts).any(|library| library.starts_with("libc.so.6"));
    match (knows, glibc) {
        (true, _) => Part::Glibc,
        (false, true) => Part::OldGlibc,
        (false, false) => Part::Other,
    }
}
