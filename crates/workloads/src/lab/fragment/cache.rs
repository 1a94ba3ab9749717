//! Two files side by side in the page cache, with holes.
//!
//! Pages of both are written in random order, so that neighbours in memory belong to different
//! files and places. Holes are punched into the files: that frees their pages at once, on disks
//! and on tmpfs alike.

use super::hold::{CHUNK_PAGES, Hold, Keep};
use crate::lab::kit::{PAGE, PAGE_WORDS, Setup, place, stamp};
use anyhow::Context;
use hugewise_base::rng::Rng;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The files are never more than this share of the space that their directory has, percent.
const SPACE_PERCENT: u64 = 90;

/// The two files. Page N is in the file N % 2.
#[derive(Debug)]
pub(crate) struct Files {
    files: [(PathBuf, File); 2],
    pages: usize,
    most_pages: u64,
    rng: Rng,
}

impl Files {
    /// Makes two empty files.
    pub(super) fn create(setup: &Setup) -> anyhow::Result<Self> {
        let folder = setup.scratch()?;
        let file = |number| -> anyhow::Result<(PathBuf, File)> {
            let name = format!("fragment-{}-{number}", std::process::id());
            let path = folder.join(name);
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            let file = file.with_context(|| format!("cannot create {path:?}"))?;
            // Without a name it goes with its last user, however that ends.
            fs::remove_file(&path).with_context(|| format!("cannot remove {path:?}"))?;
            Ok((path, file))
        };
        let files = [file(0)?, file(1)?];
        let space = fstatvfs(&files[0].1).with_context(|| format!("no space of {folder:?}"))?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        let most_pages = free / 100 * SPACE_PERCENT / PAGE as u64;
        Ok(Self { files, pages: 0, most_pages, rng: Rng::new(setup.seed) })
    }

    fn file(&self, page: usize) -> &File {
        &self.files[page % 2].1
    }

    fn read(&self, page: usize) -> std::io::Result<[u8; PAGE]> {
        let mut bytes = [0; PAGE];
        self.file(page).read_exact_at(&mut bytes, offset(page))?;
        Ok(bytes)
    }
}

/// Where a page is in its file.
fn offset(page: usize) -> u64 {
    (page / 2 * PAGE) as u64
}

fn content(page: usize) -> Vec<u8> {
    stamp(page as u64).to_ne_bytes().repeat(PAGE_WORDS)
}

impl Hold for Files {
    fn grow(&mut self) -> anyhow::Result<bool> {
        if (self.pages + CHUNK_PAGES) as u64 > self.most_pages {
            return Ok(false);
        }
        let mut order: Vec<usize> = (self.pages..self.pages + CHUNK_PAGES).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, place(self.rng.next(), last + 1));
        }
        for page in order {
            let written = self.file(page).write_all_at(&content(page), offset(page));
            written.with_context(|| format!("cannot write {:?}", self.files[page % 2].0))?;
        }
        self.pages += CHUNK_PAGES;
        Ok(true)
    }

    fn pages(&self) -> usize {
        self.pages
    }

    fn thin(&mut self, keep: Keep) -> anyhow::Result<()> {
        for page in (0..self.pages).filter(|page| !keep.has(*page)) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let punched = fallocate(self.file(page), flags, offset(page), PAGE as u64);
            punched.with_context(|| {
                let path = &self.files[page % 2].0;
                format!("cannot punch a hole into {path:?}: choose another filesystem")
            })?;
        }
        Ok(())
    }

    fn pin(&mut self, pages: &[usize]) -> anyhow::Result<()> {
        anyhow::ensure!(pages.is_empty(), "only memory of 'fragment-holes' can be pinned");
        Ok(())
    }

    fn is_right(&mut self, page: usize) -> anyhow::Result<bool> {
        let bytes = self.read(page).context("cannot read a page back")?;
        Ok(bytes[..] == content(page)[..])
    }

    fn corrupt(&mut self, page: usize) {
        // What cannot be written is not damaged, which a test would notice.
        let _ = self.file(page).write_all_at(&[0], offset(page) + 5);
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        for (path, file) in &self.files {
            file.set_len(0).with_context(|| format!("cannot empty {path:?}"))?;
        }
        self.pages = 0;
        Ok(())
    }
}
