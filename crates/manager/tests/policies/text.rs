//! What `docs/policies.md` says around its tables.

use hugewise_manager::sim::scenario::Scenario;

pub(crate) const BEFORE: &str = "\
# Policies, compared in the simulator

Written by `cargo run -p xtask -- policies`. `make test` checks it: every table is made anew.

Which memory becomes huge first, and which never? Here different answers run on the same simulated
programs. Each line is 20 seeds: the median, and in brackets the least and the most. It is a
model. It says how policies differ where all else is equal, and nothing of how much faster your
program gets: that is measured, on real machines, in [figures](figures.md).

## Policies

Kernels, without anybody's help:

- **linux-always**: Linux with THP `always`. What is touched is huge at once, while there are free
  blocks. Later khugepaged fills in the rest, however empty, at [its default
  pace](measurements.md#khugepaged-defaults).
- **khugepaged**: the same without huge pages in faults, as under `madvise`: khugepaged alone.
- **freebsd**: a reservation for each region, filled page by page. It is huge once no page is
  missing.

Policies in the engine of hugewise, at its default limits. Faults give base pages:

- **hawkeye**: ten buckets by how many base pages of a region are accessed. The highest bucket of
  all programs is emptied first; what is not accessed stays small. How full a region is does not
  matter. Waste is taken back only while memory is short, which it is in none of the tables.
- **paper**: Ingens as published: everything that is touched, in the order of addresses, while
  memory is not fragmented.
- **utilization**: the fullest regions first: from 90 % on always, from 50 % on out of a bloat
  budget of 3 %.
- **worth**: the default. As utilization, but what is accessed most comes first. The bloat budget,
  and free blocks where they are few, go only where they gain more than they cost.
- **worth, 10 %**: the same with `promote.bloat_budget_percent = 10` and
  `promote.min_utilization_percent = 10`.

What a policy **knows** of the use of memory:

- *nothing*: no tracker works. Then worth is utilization.
- *mappings*: one sum for each mapping, as accessed bits give on every kernel (`referenced`).
  A look holds the program's lock, so by default only small programs get one.
- *mappings, longer*: the same where a look may hold the lock for a tenth of a second
  (`track.longest_lock_us = 100000`).
- *DAMON*: 20 looks at random pages of each region in a second, so the truth lies within bounds.
- *regions*: how many base pages of each region were accessed within a second, exactly, as idle
  marks of page frames say (`idle_pages`); for a huge page only whether it was.
- *hints*: the 32 hottest ranges of each program, written down by somebody who knows.

## The model

- A program accesses each page of a region at a rate of its own, one access independent of the
  other.
- A TLB of 1,536 entries for pages of both sizes keeps what was used last (Che's approximation).
- An access takes 182 ns, and 165 ns more if it misses among base pages; where these figures come
  from: [value of huge pages](measurements.md#value-of-huge-pages).
- The **gain** is the time that programs save against base pages; 100 % is what they would save if
  all that they access were huge. Several programs count by their CPU time.

Limits of the model: no first-level TLB, no prefetching, no caches that page tables compete for;
faults, the copying of pages and held locks slow nobody down; free blocks are only those that are
there, nobody compacts; DAMON tells regions apart from the start, the real one has to find them.

## Columns

| column | meaning |
|---|---|
| 90 % of the gain, s | when it was reached. \"Never\": not within 120 s |
| gain at a quarter, % | gain when a quarter of all regions was promoted, or else in the end |
| 75 % of the gain at, % | share of all regions that was promoted by then |
| gain in the end, % | after 120 s |
| memory | held in the end, against what is used: 1.00 is as much as with base pages |
| promotions | in 120 s; linux-always and freebsd: also in faults |
| own CPU, s | of the manager, with scans and tracking, or of khugepaged; faults are not in it |

## Tables

";

pub(crate) const AFTER: &str = "\
## What follows

Where worth wins:

- A hot end of a large program is huge after about a fifth of the time that utilization takes, and
  with less than a fifth of the promotions, with DAMON as with exact knowledge. Ingens' order
  finds it last.
- Free blocks for one of four: the program that gains from them gets them, with any tracker, with
  sums of mappings where looks may hold the lock for longer. Programs that gain alike still share.
- Sparse memory: within the same 3 % of waste several times the gain of utilization.
- Memory: never more than the bloat budget, where those that gain as much or more hold 1.1 to 3.3
  times what is used.

Where worth loses:

- **Sparse and hot.** Regions that are less than half full stay small, however hot, and 3 % of
  waste is soon spent. hawkeye, which knows no budget, has all of the gain, with DAMON for 9 %
  more memory in the hash table and 24 % after the deletion. In the hash table *worth, 10 %* has
  it as well. After the deletion worth gains next to nothing, whatever its budget: what it gave back
  is not promoted out of the budget before it was well used again.
- **The first seconds.** Faults of linux-always give all of the gain at once, at the price of 200
  us in each such fault. worth needs half a minute for a GiB: a program's lock sets the pace.
- **Blind at first.** What is full is promoted before the first look is over: two or three
  seconds' work. hawkeye waits and has a hot end two seconds sooner. Where free blocks are few,
  worth waits, too: until it knows how much CPU time each new program uses, about five seconds
  more.
- **Cold memory.** In the end worth promotes all that is full, also what nobody accesses; hawkeye
  with DAMON has the same gain in the first table with an eighth of the promotions and a quarter
  of the CPU time.
- **How often.** In the tree nearly everything is accessed within a second, so exact counts of
  accessed pages hardly tell hot from warm. DAMON, with shorter looks, does better, and a table of
  walks would be best.
- **Even accesses.** Nothing to choose: worth is no better than utilization, and tracking costs
  some CPU time.
- **Sums of mappings** help only between mappings and between programs, never within one. At
  the default `track.longest_lock_us` a program with more than a few dozen regions of base pages
  gets no look: it would hold the lock for longer than a burst of promotions.
";

/// A scenario in words: its heading, and what happens.
pub(crate) const fn about(scenario: Scenario) -> (&'static str, &'static str) {
    match scenario {
        Scenario::HotTail => (
            "A hot eighth at the end",
            "\
One program of 2 GiB; four of five regions are full, the others to 90 % or more. Its last eighth
is accessed all the time, of each other region a few pages a second.",
        ),
        Scenario::Sparse => (
            "A sparse hash table",
            "\
One program of 512 regions, each to 10 to 60 % full, in any order. One in twenty is hot; of the
others a fiftieth is accessed.",
        ),
        Scenario::Deleted => (
            "A deletion, and then a hot tenth",
            "\
One program of 1 GiB, full, under its policy for a minute. Then 70 % of its pages are dropped, at
random, and a tenth of its regions is hot. Measured from then on.",
        ),
        Scenario::Scarce => (
            "Free blocks for one of four",
            "\
Four full programs of 256 MiB. One is hot and uses a whole CPU, the others a twentieth. There are
128 free blocks, as many as one of them needs.",
        ),
        Scenario::Uniform => (
            "Even accesses",
            "\
One full program of 1 GiB that accesses all its pages alike, as GUPS does. There is nothing to
choose.",
        ),
        Scenario::Skewed => (
            "A tree",
            "\
One program of 1 GiB, nine of ten regions full, accessed by Zipf's law (exponent 0.99): most
regions are accessed all over within a second, some far more often.",
        ),
    }
}
