//! What a recording says of huge pages, and of what they would cost.

use super::estimate::Estimate;
use crate::recording::{ASSUMED, Field, Host, Subject};
use hugewise_base::parse::thp_choice;
use hugewise_base::units::{Bytes, Geometry, saturating_u64};

/// Where the kernel says for which memory faults give huge pages, ...
const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// ... and which of these faults compact memory for one.
const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

/// What is known of one host. Of states the last value counts, of rates the mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its page sizes, where the recording tells them.
    pub pages: Option<Geometry>,
    /// Its memory.
    pub total: Option<Bytes>,
    /// Anonymous memory, huge pages included.
    pub anon: Option<Bytes>,
    /// Anonymous memory in huge pages.
    pub huge: Option<Bytes>,
    /// Shared memory and tmpfs.
    pub shmem: Option<Bytes>,
    /// Page tables.
    pub tables: Option<Bytes>,
    /// HugeTLB pools, handed out or not.
    pub pools: Option<Bytes>,
    /// Free blocks that a huge page fits in.
    pub free_blocks: Option<f64>,
    /// Page faults in a second.
    pub faults_per_s: Option<f64>,
    /// Of these, faults that were given a huge page, ...
    pub huge_faults_per_s: Option<f64>,
    /// ... and faults that found none.
    pub fallbacks_per_s: Option<f64>,
    /// Allocations in a second that had to compact memory first.
    pub compactions_per_s: Option<f64>,
    /// CPU in programs, percent of all CPUs.
    pub busy_percent: Option<f64>,
    /// The choice in `enabled`, such as `madvise`.
    pub enabled: Option<String>,
    /// The choice in `defrag`.
    pub defrag: Option<String>,
    /// Its programs, as far as the recording lists them.
    pub programs: Vec<Program>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its id.
    pub pid: Option<u32>,
    /// Its resident anonymous memory.
    pub anon: Bytes,
    /// Its page tables.
    pub tables: Option<Bytes>,
    /// Memory of its own that it may write: anonymous memory cannot become more, unless it maps
    /// more.
    pub private: Option<Bytes>,
    /// It has switched huge pages off for itself.
    pub huge_off: bool,
}

impl Facts {
    /// What a host's recording says.
    pub fn of(host: &Host) -> Self {
        let bytes = |field| last(host, field, &Subject::Machine).map(to_bytes);
        let mean = |field: Field| host.series(field, &Subject::Machine)?.mean();
        let user = mean(Field::CpuUser);
        Self {
            pages: host.knows_base_page().then(|| host.geometry()),
            total: bytes(Field::MemTotal),
            anon: bytes(Field::Anon),
            huge: bytes(Field::AnonHuge),
            shmem: bytes(Field::Shmem),
            tables: bytes(Field::PageTables),
            pools: bytes(Field::HugetlbTotal),
            free_blocks: last(host, Field::FreeHugeBlocks, &Subject::Machine),
            faults_per_s: mean(Field::Faults),
            huge_faults_per_s: mean(Field::ThpFaultAlloc),
            fallbacks_per_s: mean(Field::ThpFaultFallback),
            compactions_per_s: mean(Field::CompactStall),
            busy_percent: user.map(|user| user + mean(Field::CpuNice).unwrap_or(0.0)),
            enabled: choice(host, ENABLED),
            defrag: choice(host, DEFRAG),
            programs: programs(host),
        }
    }

    /// Memory that huge pages have a say in: anonymous and shared memory, page tables and pools.
    pub fn memory(&self) -> Option<f64> {
        let others = [self.shmem, self.tables, self.pools].into_iter().flatten();
        Some(others.fold(self.anon?.0 as f64, |sum, part| sum + part.0 as f64))
    }

    /// The share of anonymous memory that is huge, 0 to 1.
    pub fn coverage(&self) -> Option<f64> {
        let (huge, anon) = (self.huge?.0 as f64, self.anon?.0 as f64);
        (anon > 0.0).then(|| huge / anon)
    }

    /// Faults in a second that were given a base page.
    pub(crate) fn base_faults_per_s(&self) -> Option<f64> {
        let huge = self.huge_faults_per_s.unwrap_or(0.0);
        Some((self.faults_per_s? - huge).max(0.0))
    }

    /// Its page sizes, or the usual ones.
    pub(super) fn geometry(&self) -> Geometry {
        self.pages.unwrap_or(ASSUMED)
    }

    /// Base pages of a region.
    pub(super) fn region_pages(&self) -> f64 {
        f64::from(self.geometry().pages_per_huge())
    }

    /// Touched base pages of a region in which any is touched, 1 to all: no fewer than where every
    /// page table is of anonymous memory.
    pub(super) fn filled(&self) -> Estimate {
        let (most, page) = (self.region_pages(), self.geometry().base.0 as f64);
        let pages = self.anon.map(|anon| anon.0 as f64 / page);
        let tables = self.tables.map(|tables| tables.0 as f64 / page);
        let least = pages.zip(tables).filter(|(_, tables)| *tables > 0.0);
        let least = least.map_or(1.0, |(pages, tables)| (pages / tables).clamp(1.0, most));
        Estimate { low: least, likely: (least * most).sqrt(), high: most }
    }
}

fn to_bytes(value: f64) -> Bytes {
    Bytes(saturating_u64(value))
}

fn last(host: &Host, field: Field, subject: &Subject) -> Option<f64> {
    host.latest(field, subject).map(|point| point.value)
}

fn choice(host: &Host, path: &str) -> Option<String> {
    thp_choice::parse(&host.settings.get(path)?.text).ok().map(|choice| choice.selected)
}

fn programs(host: &Host) -> Vec<Program> {
    let program = |(subject, anon): (&Subject, f64)| {
        let Subject::Process { pid, name } = subject else { return None };
        Some(Program {
            name: name.clone(),
            pid: *pid,
            anon: to_bytes(anon),
            tables: last(host, Field::ProcPageTables, subject).map(to_bytes),
            private: last(host, Field::ProcPrivate, subject).map(to_bytes),
            huge_off: last(host, Field::ProcThpOff, subject).is_some_and(|off| off > 0.0),
        })
    };
    host.present(Field::ProcAnon).into_iter().filter_map(program).collect()
}
