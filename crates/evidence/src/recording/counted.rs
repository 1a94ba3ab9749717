//! What was counted in base pages of a machine, once all is read that may tell their size.

use super::base_page::{
    ASSUMED, ASSUMED_BYTES, SIZES, SizeSource, of_huge_page, of_ptes_none, of_release, varies,
};
use super::{Field, Host, Problem, Recording, Series, Source, SourceKind, Subject};
use hugewise_base::units::{Bytes, Geometry};

/// Reads the size out of a setting.
type OfText = fn(&str) -> Option<Bytes>;

/// Settings that tell it.
const SETTINGS: [(&str, SizeSource, OfText); 3] = [
    ("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", SizeSource::Stated, of_huge_page),
    (
        "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
        SizeSource::PtesNone,
        of_ptes_none,
    ),
    ("kernel", SizeSource::Release, of_release),
];

/// What readers took from counts of pages of [`ASSUMED`] size.
fn in_pages(kind: SourceKind, field: Field) -> bool {
    use Field as F;
    use SourceKind as S;
    let swapped = matches!(field, F::SwapIn | F::SwapOut | F::SwapInCount | F::SwapOutCount);
    let read = matches!(field, F::PageIn | F::PageOut);
    match kind {
        S::ProcVmstat => swapped || matches!(field, F::Dirty | F::Writeback | F::DirtyLimit),
        S::AtopJson => swapped || read,
        S::AtopScreen | S::Atopsar => swapped,
        S::Slabinfo => field == F::SlabCache,
        kind if kind.is_sar() => swapped,
        _ => false,
    }
}

impl Host {
    /// Its page sizes; [`ASSUMED`] where nothing tells them.
    pub fn geometry(&self) -> Geometry {
        self.base_page.map_or(ASSUMED, |(_, base)| Geometry::of_base(base))
    }

    /// Whether something tells them.
    pub const fn knows_base_page(&self) -> bool {
        self.base_page.is_some()
    }

    /// Something tells the size of a base page: the most certain counts, of equals the first.
    pub(crate) fn told_base_page(&mut self, told: SizeSource, bytes: Bytes) {
        let real = SIZES.contains(&bytes);
        if real && self.base_page.is_none_or(|(known, _)| told > known) {
            self.base_page = Some((told, bytes));
        }
    }

    fn settle(&mut self, sources: &[Source], problems: &mut Vec<Problem>) {
        for (name, told, size) in SETTINGS {
            let size = self.settings.get(name).and_then(|quote| size(quote.text.trim()));
            size.into_iter().for_each(|size| self.told_base_page(told, size));
        }
        let pool = self.latest(Field::HugetlbPage, &Subject::Machine).map(|point| point.value);
        // 2 MiB is a size of pages of HugeTLB with each of them.
        let pool = pool.and_then(|bytes| of_huge_page(&format!("{bytes:.0}")));
        let pool = pool.filter(|base| *base != ASSUMED.base);
        pool.into_iter().for_each(|size| self.told_base_page(SizeSource::HugetlbPage, size));
        let kib = self.geometry().base.0 >> 10;
        for (name, pages) in std::mem::take(&mut self.settings_in_pages) {
            // Where the setting itself was shown behind, that one counts.
            let assumed = pages.saturating_mul(ASSUMED.base.0 >> 10).to_string();
            if let Some(quote) = self.settings.get_mut(&name).filter(|q| q.text == assumed) {
                quote.text = pages.saturating_mul(kib).to_string();
            }
        }
        let by = self.geometry().base.0 as f64 / ASSUMED_BYTES;
        let kernel = self.settings.get("kernel").is_some_and(|quote| varies(&quote.text));
        let unknown = self.base_page.is_none() && (self.several_page_sizes || kernel);
        let mut assumed = None;
        for (field, all) in &mut self.series {
            for series in all.values_mut().flatten() {
                let source = sources.get(series.source.0 as usize);
                let Some(source) = source.filter(|source| in_pages(source.kind, *field)) else {
                    continue;
                };
                scale(series, by);
                assumed = assumed.or((unknown && says_something(series)).then_some(source));
            }
        }
        if let Some(source) = assumed {
            let text = format!(
                "counts of base pages are taken to be of {} KiB: this kind of machine may have \
                 larger ones, which 'getconf PAGESIZE' tells",
                ASSUMED.base.0 >> 10
            );
            problems.push(Problem { input: source.input.clone(), line: None, text });
        }
    }
}

fn says_something(series: &Series) -> bool {
    series.points.iter().any(|point| point.value > 0.0)
}

fn scale(series: &mut Series, by: f64) {
    for point in &mut series.points {
        point.value *= by;
    }
}

/// Gives counts of pages the size that each machine's texts tell.
pub(super) fn settle(out: &mut Recording) {
    for host in &mut out.hosts {
        host.settle(&out.sources, &mut out.problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_certain_counts() {
        let mut host = Host::default();
        host.told_base_page(SizeSource::Orders, Bytes::kib(4));
        host.told_base_page(SizeSource::Stated, Bytes::kib(16));
        host.told_base_page(SizeSource::Release, Bytes::kib(64));
        host.told_base_page(SizeSource::Stated, Bytes::kib(5));
        assert_eq!(host.geometry().huge, Bytes::mib(32));
    }
}
