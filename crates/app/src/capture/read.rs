//! Reads a capture back: a directory, or a sample on its own.

use super::manifest::SCHEMA;
use super::{MANIFEST, Manifest};
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_evidence::recording::readers::capture;
use hugewise_evidence::recording::readers::capture::sample::{self, Header};
use hugewise_linux::regular;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// How every zstd frame begins (RFC 8878).
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";
/// Most text that is unpacked from one file: a hostile one may expand to any number of zeros. The
/// largest sample has sockets of 400,000 connections, 64 MiB, of 4,096 processes 12 MiB.
const TEXT_BYTES_MAX: u64 = 128 << 20;
/// A file may expand to so many times its size, and the bytes below. Texts of the kernel compress
/// to a sixth or less, and nowhere near to a two-hundredth.
const EXPANSION_MAX: u64 = 200;
/// See [`EXPANSION_MAX`].
const EXPANSION_ROOM_BYTES: u64 = 4 << 20;
/// Largest window that a frame may ask for, as a power of two: 16 MiB. Ours have 2 MiB.
const WINDOW_LOG_MAX: u32 = 24;
/// What is unpacked of a sample for its first line alone.
const START_BYTES: u64 = 8 << 10;
/// Most problems that are listed.
const PROBLEMS_MAX: usize = 32;
/// Largest manifest.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// What reading came to, besides the samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opened {
    /// The manifest, where there is one that makes sense.
    pub(crate) manifest: Option<Manifest>,
    /// What is wrong, for the user.
    pub(crate) problems: Vec<String>,
    /// Files that gave a text.
    pub(crate) samples: usize,
    /// Problems that are not listed.
    more: usize,
}

impl Opened {
    fn say(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }
}

/// Whether [`open`] is for this path: a directory, or a file that zstd compressed.
///
/// A pipe is none: what is read from it to find out would be gone.
pub(crate) fn is_capture(path: &Path) -> bool {
    let mut start = Vec::new();
    path.is_dir()
        || regular::open(path)
            .is_ok_and(|file| file.take(4).read_to_end(&mut start).is_ok() && start == ZSTD_MAGIC)
}

/// Gives the text of every sample of a captured directory in order, or of one file of it.
///
/// # Errors
/// When there is nothing of a capture at this path.
pub(crate) fn open(path: &Path, mut each: impl FnMut(&[u8])) -> anyhow::Result<Opened> {
    let mut opened = Opened::default();
    let is_dir = path.is_dir();
    let files = if is_dir { directory(path, &mut opened)? } else { vec![path.to_path_buf()] };
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.escape_debug();
        let (text, error) = match unpack(&file, TEXT_BYTES_MAX) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                opened.say(format!("{name} is left out: {error:#}"));
                continue;
            }
        };
        if let Some(error) = error {
            let rest = if text.is_empty() { "nothing" } else { "what stands before" };
            opened.say(format!("{name} is {error}: {rest} of it is used"));
        }
        if capture::is_capture(&text) {
            opened.samples += 1;
            each(&text);
        } else if !text.is_empty() {
            opened.say(format!("{name} holds no sample of 'hugewise capture'"));
        }
    }
    if opened.more > 0 {
        opened.problems.push(format!(
            "and {}",
            counted(opened.more, "more problem like these", "more problems like these")
        ));
    }
    if opened.samples == 0 && !is_dir {
        let why = opened.problems.join("; ");
        anyhow::bail!("'{}' is no sample of 'hugewise capture': {why}", path.display());
    }
    Ok(opened)
}

/// The files of a capture's samples, in order, and what is wrong with it.
///
/// # Errors
/// When there is nothing of a capture at this path.
pub(crate) fn files(path: &Path) -> anyhow::Result<(Vec<PathBuf>, Vec<String>)> {
    if !path.is_dir() {
        return Ok((vec![path.to_path_buf()], Vec::new()));
    }
    let mut opened = Opened::default();
    let files = directory(path, &mut opened)?;
    Ok((files, opened.problems))
}

/// The first line of a sample's file.
///
/// # Errors
/// As the system says, and where it is no sample.
pub(crate) fn header(path: &Path) -> anyhow::Result<Header> {
    let (start, _) = unpack(path, START_BYTES)?;
    sample::header_of(&start).map_err(|why| anyhow::anyhow!("it holds no sample: {why}"))
}

/// The text of a sample's file.
///
/// # Errors
/// As the system says, and where it is torn.
pub(crate) fn text(path: &Path) -> anyhow::Result<Vec<u8>> {
    match unpack(path, TEXT_BYTES_MAX)? {
        (text, None) => Ok(text),
        (_, Some(why)) => anyhow::bail!("'{}' is {why}", path.display()),
    }
}

/// The samples of a directory, in order, and its manifest.
fn directory(path: &Path, opened: &mut Opened) -> anyhow::Result<Vec<PathBuf>> {
    let mut numbered = Vec::new();
    let entries = std::fs::read_dir(path);
    for entry in entries.with_context(|| format!("cannot list '{}'", path.display()))? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".zst"));
        if let Some(number) = number.and_then(|digits| digits.parse::<u64>().ok()) {
            numbered.push((number, path.join(name)));
        }
    }
    numbered.sort();
    match manifest(&path.join(MANIFEST)) {
        Ok(manifest) => {
            check(&manifest, numbered.len(), opened);
            opened.manifest = Some(manifest);
        }
        Err(why) if numbered.is_empty() => anyhow::bail!(
            "'{}' is no directory of 'hugewise capture': it has no samples (NNNNNN.zst), and its \
             {MANIFEST} {why}",
            path.display()
        ),
        Err(why) => opened.say(format!("{MANIFEST} {why}: it is not known what of")),
    }
    for pair in numbered.windows(2) {
        if let [(before, _), (after, _)] = pair
            && before.checked_add(1) != Some(*after)
        {
            opened.say(format!("samples between {before} and {after} are missing"));
        }
    }
    Ok(numbered.into_iter().map(|(_, file)| file).collect())
}

fn manifest(path: &Path) -> Result<Manifest, String> {
    let mut text = Vec::new();
    let read = regular::open(path).and_then(|f| f.take(MANIFEST_BYTES_MAX).read_to_end(&mut text));
    read.map_err(|error| format!("cannot be read ({error})"))?;
    serde_json::from_slice(&text).map_err(|error| format!("makes no sense ({error})"))
}

fn check(manifest: &Manifest, files: usize, opened: &mut Opened) {
    let mut say = |text: String| opened.say(text);
    if manifest.schema != SCHEMA {
        say(format!(
            "written by hugewise {} in format {}; this one knows {SCHEMA}",
            manifest.hugewise.escape_debug(),
            manifest.schema
        ));
    }
    if !manifest.complete {
        let why = manifest.ended.as_deref().unwrap_or("it was killed, or still runs");
        say(format!("this capture did not come to its end: {}", why.escape_debug()));
    } else if manifest.samples != files as u64 {
        say(format!("{files} of {} samples are there", manifest.samples));
    }
}

/// A file's text as far as it can be unpacked, at most so many bytes and one, and why not all of
/// it. Text that is not compressed is taken as it is.
fn unpack(path: &Path, text_bytes_max: u64) -> anyhow::Result<(Vec<u8>, Option<String>)> {
    let context = || format!("cannot read '{}'", path.display());
    let file = regular::open(path).with_context(context)?;
    let packed = file.metadata().with_context(context)?.len();
    let mut file = BufReader::new(file);
    let mut start = Vec::new();
    (&mut file).take(4).read_to_end(&mut start).with_context(context)?;
    let whole = std::io::Cursor::new(start.clone()).chain(file);
    let mut text = Vec::new();
    let (result, most) = if start == ZSTD_MAGIC {
        let mut decoder = zstd::stream::read::Decoder::new(whole).with_context(context)?;
        decoder.window_log_max(WINDOW_LOG_MAX).with_context(context)?;
        let most = packed.saturating_mul(EXPANSION_MAX).saturating_add(EXPANSION_ROOM_BYTES);
        let most = most.min(text_bytes_max);
        (decoder.take(most + 1).read_to_end(&mut text), most)
    } else if sample::MAGIC.as_bytes().starts_with(&start) {
        (whole.take(text_bytes_max + 1).read_to_end(&mut text), text_bytes_max)
    } else {
        // Whatever its size, it is not read.
        return Ok((start, None));
    };
    let mut error = result.err().map(|error| format!("torn ({error})"));
    if text.len() as u64 > most {
        error = Some(format!(
            "cut here ({packed} bytes expand to more than {most}, as no sample does)"
        ));
    }
    Ok((text, error))
}
