//! Methods by which it is known what a thread does: `data/java.tsv` and `data/go.tsv`.

use std::sync::LazyLock;

use crate::table::{Row, list, lists, section, table};

/// A pool of connections: where threads wait to borrow one, and by which methods one is in use.
pub(super) struct Pool {
    /// Its name in sentences.
    pub(super) name: &'static str,
    /// Packages that stand above those while it waits, beside Java's own.
    pub(super) own: &'static str,
    /// What a thread calls that uses a connection.
    pub(super) uses: Vec<&'static str>,
    /// Methods in which a thread waits for a connection.
    pub(super) borrows: Vec<&'static str>,
}

static JAVA: LazyLock<Vec<Row>> = LazyLock::new(|| table!("java.tsv").rows());
static GO: LazyLock<Vec<Row>> = LazyLock::new(|| table!("go.tsv").rows());

/// The pools of Java's programs, and of Go's.
pub(super) static POOLS: LazyLock<Vec<Pool>> = LazyLock::new(|| pools(&JAVA));
pub(super) static GO_POOLS: LazyLock<Vec<Pool>> = LazyLock::new(|| pools(&GO));

/// Clients of services: the start of their methods, and the service's name.
pub(super) static SERVICES: LazyLock<Vec<[&str; 2]>> = LazyLock::new(|| section(&JAVA, "services"));
pub(super) static GO_SERVICES: LazyLock<Vec<[&str; 2]>> =
    LazyLock::new(|| section(&GO, "services"));

lists! {
    CONNECTS JAVA "connects",
    POLLS JAVA "polls",
    IDLE JAVA "idle",
    SERVER_READS JAVA "server_reads",
    TASKS JAVA "tasks",
    REQUESTS JAVA "requests",
    SOCKET_READS JAVA "socket_reads",
    SOCKET_PARKS JAVA "socket_parks",
    FILES JAVA "files",
    RESULTS JAVA "results",
    LOCK_CLASSES JAVA "lock_classes",
    LIBRARIES JAVA "libraries",
    GO_REQUESTS GO "requests",
    GO_LIBRARIES GO "libraries",
}

fn pools(rows: &[Row]) -> Vec<Pool> {
    let mut pools = Vec::new();
    for row in rows.iter().filter(|row| row.section == "pools") {
        let [name, own, uses, borrows @ ..] = row.fields.as_slice() else {
            row.refuse("fewer than four fields");
        };
        let uses = match *uses {
            "-" => Vec::new(),
            uses => list(rows, &format!("uses {uses}")),
        };
        pools.push(Pool { name, own, uses, borrows: borrows.to_vec() });
    }
    pools
}

/// Whether a method is one of those.
pub(super) fn is_of(method: &str, all: &[&str]) -> bool {
    all.iter().any(|start| method.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_used_and_every_pool_has_methods() {
        for (table, pools, services) in [(&JAVA, &POOLS, &SERVICES), (&GO, &GO_POOLS, &GO_SERVICES)]
        {
            assert!(!services.is_empty());
            assert!(pools.iter().all(|pool| !pool.borrows.is_empty()));
            for row in table.iter() {
                let listed = |(of, name): &(&LazyLock<Vec<Row>>, &str)| {
                    std::ptr::eq(*of, table) && *name == row.section
                };
                let uses = row.section.strip_prefix("uses ");
                let used = table
                    .iter()
                    .any(|pool| pool.section == "pools" && Some(pool.fields[2]) == uses);
                let known =
                    LISTS.iter().any(listed) || ["pools", "services"].contains(&row.section);
                assert!(known || used, "{row:?}");
            }
        }
        for (table, name) in LISTS {
            assert!(!list(table, name).is_empty());
        }
    }
}
