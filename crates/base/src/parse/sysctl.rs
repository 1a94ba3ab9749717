//! Files of sysctl.d(5) and sysctl.conf(5), and what the kernel's command line says of HugeTLB
//! pools.

use super::{ParseError, Parsed};

/// A line that sets a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Number of the line, from 1.
    pub line: u64,
    /// The key, with dots: `vm.nr_hugepages`.
    pub key: String,
    /// The value, as written.
    pub value: String,
}

/// Parameters of the kernel that size HugeTLB pools
/// (`Documentation/admin-guide/kernel-parameters.txt`).
const POOL_PARAMETERS: [&str; 3] = ["hugepages", "hugepagesz", "default_hugepagesz"];

/// What the kernel puts before a setting on its command line (Linux 5.8).
const PARAMETER_PREFIX: &str = "sysctl.";

/// The lines of a file whose keys are among `keys`, in their order. A `-` before a key only says
/// that failure is no error, and slashes may stand for its dots.
pub fn parse(text: &str, keys: &[&str]) -> Parsed<Vec<Assignment>> {
    let mut parsed = Parsed::<Vec<Assignment>>::empty();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            // Only an exception to a pattern stands alone: '-net.ipv4.conf.eth0.rp_filter'.
            if !line.starts_with('-') {
                let at = usize::try_from(number).unwrap_or(usize::MAX);
                parsed.note(ParseError::new("sysctl", at, "", "'key = value'"));
            }
            continue;
        };
        let key = dotted(name);
        if keys.contains(&key.as_str()) {
            parsed.value.push(Assignment { line: number, key, value: value.trim().to_owned() });
        }
    }
    parsed
}

fn dotted(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_prefix('-').unwrap_or(name).trim_start();
    match name.find(['.', '/']) {
        // Behind a slash first, slashes part the name and dots belong to it, as in a path.
        Some(at) if name.get(at..).is_some_and(|rest| rest.starts_with('/')) => {
            let swap = |letter| match letter {
                '/' => '.',
                '.' => '/',
                other => other,
            };
            name.chars().map(swap).collect()
        }
        _ => name.to_owned(),
    }
}

/// The words of `/proc/cmdline` that size HugeTLB pools, in their order, which counts, and
/// settings among `keys`. Their line is 1.
pub fn kernel_parameters(text: &str, keys: &[&str]) -> Vec<Assignment> {
    let pairs = text.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    let wanted = pairs.filter_map(|(name, value)| {
        if POOL_PARAMETERS.contains(&name) {
            return Some((name.to_owned(), value));
        }
        let key = dotted(name.strip_prefix(PARAMETER_PREFIX)?);
        keys.contains(&key.as_str()).then_some((key, value))
    });
    wanted.map(|(key, value)| Assignment { line: 1, key, value: value.to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 2] = ["vm.nr_hugepages", "vm.hugetlb_shm_group"];

    fn pairs(found: &[Assignment]) -> Vec<(u64, &str, &str)> {
        found.iter().map(|a| (a.line, a.key.as_str(), a.value.as_str())).collect()
    }

    #[test]
    fn reads_every_way_to_write_a_key() {
        let text = "# vm.nr_hugepages = 1\n; vm.nr_hugepages=2\n\nvm.nr_hugepages = 3\n\
                    -vm/nr_hugepages=4\nvm.nr_hugepages_mempolicy=5\n  vm.hugetlb_shm_group =  \n\
                    - vm.nr_hugepages= 6 7\nnet/ipv4/conf/a.b/x = 1\n-net.x\nsecret\n";
        let parsed = parse(text, &KEYS);
        let wanted = [
            (4, "vm.nr_hugepages", "3"),
            (5, "vm.nr_hugepages", "4"),
            (7, "vm.hugetlb_shm_group", ""),
            (8, "vm.nr_hugepages", "6 7"),
        ];
        assert_eq!(pairs(&parsed.value), wanted);
        assert_eq!(parsed.problems.len(), 1);
        assert_eq!((parsed.problems[0].line, parsed.problems[0].found.as_str()), (11, ""));
        assert_eq!(dotted("net/ipv4/conf/a.b/x"), "net.ipv4.conf.a/b.x");
    }

    #[test]
    fn takes_only_pools_from_the_kernels_command_line() {
        let text = "root=/dev/vda password=x default_hugepagesz=1G hugepagesz=2M hugepages=0:5,1:6 \
                    sysctl.vm.nr_hugepages=8 sysctl.kernel.x=1 hugepages\n";
        let found = kernel_parameters(text, &KEYS);
        let wanted = [
            (1, "default_hugepagesz", "1G"),
            (1, "hugepagesz", "2M"),
            (1, "hugepages", "0:5,1:6"),
            (1, "vm.nr_hugepages", "8"),
        ];
        assert_eq!(pairs(&found), wanted);
    }
}
