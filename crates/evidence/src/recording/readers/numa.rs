//! `numactl --hardware` and `numastat`: memory by NUMA node.

use super::prelude::*;

/// Bytes of the MB in which both tools print: `numactl` shifts by 20, `numastat -m` divides by
/// 2^20.
const MIB: f64 = 1_048_576.0;

/// What is counted of each node: rows of `numastat` (numastat(8)).
const COUNTS: [(&str, Option<Field>); 6] = [
    ("numa_hit", None),
    ("numa_miss", Some(Field::NodeMissCount)),
    ("numa_foreign", None),
    ("interleave_hit", None),
    ("local_node", None),
    ("other_node", None),
];

/// A node, as what values are about.
fn node(number: u64) -> Subject {
    Subject::Named(format!("NUMA node {number}"))
}

/// `node 0 size: 128817 MB`, `node 0 free: 412 MB`.
fn hardware(line: &str) -> Option<(u64, Field, f64)> {
    let (name, value) = line.trim().strip_prefix("node ")?.split_once(':')?;
    let (node, what) = name.split_once(' ')?;
    let field = match what {
        "size" => Field::NodeSize,
        "free" => Field::NodeFree,
        _ => return None,
    };
    let mib = number(value.trim().strip_suffix("MB")?.trim_end())?;
    Some((count(node)?, field, mib * MIB))
}

/// Other lines of `numactl --hardware`.
fn is_other(line: &str) -> bool {
    let line = line.trim();
    let matrix = line.split_once(':').is_some_and(|(node, distances)| {
        count(node.trim()).is_some() && distances.split_whitespace().all(|d| count(d).is_some())
    });
    let cpus = line.starts_with("node ") && line.contains(" cpus:");
    line.starts_with("available: ")
        || line.starts_with("node distances:")
        || (line.starts_with("node ")
            && line.split_whitespace().skip(1).all(|w| count(w).is_some()))
        || cpus
        || matrix
}

/// The nodes of a head of `numastat`: `node0 node1`, or `Node 0 Node 1 Total`.
fn head(line: &str) -> Option<Vec<u64>> {
    let joined = line.replace("Node ", "node");
    let mut words = words(&joined);
    words.pop_if(|word| *word == "Total");
    let nodes: Option<Vec<u64>> =
        words.iter().map(|word| count(word.strip_prefix("node")?)).collect();
    nodes.filter(|nodes| !nodes.is_empty())
}

/// Begins at a line about a node, or at the head of a table of nodes.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let opening = line.starts_with("Per-node ")
        || (line.starts_with("available: ") && line.contains(" nodes ("));
    let table = head(line).is_some();
    (opening || table || hardware(line).is_some())
        .then(|| lines.resume(SourceKind::Numa, Numa { nodes: Vec::new() }, out))
}

fn ruled(line: &str) -> bool {
    line.contains("---") && line.bytes().all(|byte| b"- ".contains(&byte))
}

struct Numa {
    /// The columns of a table; empty for `numactl`.
    nodes: Vec<u64>,
}

impl Numa {
    /// A row of a table: its name and a number for each node.
    fn row(&self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let Some((name, values)) = words.split_first() else { return Taken::Yes };
        let values: Vec<f64> = values.iter().map_while(|word| number(word)).collect();
        if values.len() < self.nodes.len() {
            return Taken::No;
        }
        let counted = COUNTS.iter().find(|(known, _)| known == name);
        let field = match *name {
            "MemTotal" => Some((Field::NodeSize, MIB)),
            "MemFree" => Some((Field::NodeFree, MIB)),
            _ => counted.and_then(|(_, field)| *field).map(|field| (field, 1.0)),
        };
        if let Some((field, factor)) = field {
            for (number, value) in self.nodes.iter().zip(values) {
                out.put(field, &node(*number), None, value * factor);
            }
        }
        Taken::Yes
    }
}

impl Reader for Numa {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || ruled(line) {
            return Taken::Yes;
        }
        if let Some((number, field, value)) = hardware(line) {
            out.put(field, &node(number), None, value);
            return Taken::Yes;
        }
        if let Some(nodes) = head(line) {
            self.nodes = nodes;
            return Taken::Yes;
        }
        // Titles of `numastat -m` and `-p`.
        let title = line.starts_with("Per-node ");
        if title || (self.nodes.is_empty() && is_other(line)) {
            return Taken::Yes;
        }
        if self.nodes.is_empty() { Taken::No } else { self.row(line, out) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn nodes_by_every_tool() {
        for text in [
            "available: 2 nodes (0-1)\nnode 0 cpus: 0 2 4 6\nnode 0 size: 1000 MB\n\
             node 0 free: 5 MB\nnode 1 cpus: 1 3 5 7\nnode 1 size: 1000 MB\nnode 1 free: 700 MB\n\
             node distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n",
            "\nPer-node system memory usage (in MBs):\n\
             \u{20}                         Node 0          Node 1           Total\n\
             \u{20}                --------------- --------------- ---------------\n\
             MemTotal                 1000.00         1000.00         2000.00\n\
             MemFree                     5.00          700.00          705.00\n\
             AnonPages                 900.00          100.00         1000.00\n",
            "$ numactl -H | grep -E 'size|free'\nnode 0 size: 1000 MB\nnode 0 free: 5 MB\n\
             node 1 size: 1000 MB\nnode 1 free: 700 MB\n",
        ] {
            let recording = read(text);
            all_understood(&recording);
            assert_eq!(values(&recording, Field::NodeFree, &node(0)), [5.0 * MIB], "{text}");
            assert_eq!(values(&recording, Field::NodeFree, &node(1)), [700.0 * MIB]);
            assert_eq!(values(&recording, Field::NodeSize, &node(1)), [1000.0 * MIB]);
        }
    }

    #[test]
    fn counts_of_allocations() {
        let recording = read(
            "                           node0           node1\n\
             numa_hit              8126318         7112233\nnuma_miss                   0  812\n\
             numa_foreign              812               0\ninterleave_hit        20101 20002\n\
             local_node            8126000         7000000\nother_node              318 112233\n",
        );
        all_understood(&recording);
        assert_eq!(values(&recording, Field::NodeMissCount, &node(1)), [812.0]);
    }
}
