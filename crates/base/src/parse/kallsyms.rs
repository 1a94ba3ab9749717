//! `/proc/kallsyms`: the kernel's functions by address.

/// Furthest that code lies behind the start of its function, in bytes: the longest functions of a
/// distribution's kernel have some 60 KiB. What lies further belongs to something without a name,
/// such as a program that the kernel compiled.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

/// Functions in the order of their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kallsyms {
    /// All names, one after the other.
    names: String,
    /// Address, and where its name begins and ends.
    functions: Vec<(u64, u32, u32)>,
}

/// Reads the file. Lines that are no function are passed over: most name data.
///
/// Without the right to see addresses (`kernel.kptr_restrict`) each of them is 0, and the result
/// is empty.
pub fn parse(text: &str) -> Kallsyms {
    let mut found = Kallsyms::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(address @ 1..) = u64::from_str_radix(address, 16) else { continue };
        // Code, local or global, of which some can be replaced ("weak").
        if !matches!(kind, "t" | "T" | "w" | "W") {
            continue;
        }
        let begin = found.names.len();
        found.names.push_str(name);
        let (Ok(begin), Ok(end)) = (u32::try_from(begin), u32::try_from(found.names.len())) else {
            break;
        };
        found.functions.push((address, begin, end));
    }
    // Stable: of several names of one address the first stays first.
    found.functions.sort_by_key(|function| function.0);
    found.functions.dedup_by_key(|function| function.0);
    found
}

impl Kallsyms {
    /// Whether it names nothing.
    pub const fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function that the code at `address` belongs to.
    pub fn function(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|function| function.0 <= address);
        let (start, begin, end) = *self.functions.get(after.checked_sub(1)?)?;
        if address - start > FUNCTION_BYTES_MAX {
            return None;
        }
        self.names.get(begin as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81000000 T startup_64\n\
                        ffffffff81000400 t do_one\nffffffff82000000 D some_data\nnonsense\n\
                        ffffffffc0000000 t ext4_iget\t[ext4]\n";

    #[test]
    fn code_belongs_to_the_function_before_it() {
        let all = parse(TEXT);
        assert_eq!(all.function(0xffff_ffff_8100_0000), Some("_stext"));
        assert_eq!(all.function(0xffff_ffff_8100_03ff), Some("_stext"));
        assert_eq!(all.function(0xffff_ffff_8100_0400), Some("do_one"));
        assert_eq!(all.function(0xffff_ffff_c000_0010), Some("ext4_iget"));
        assert_eq!(all.function(0xffff_ffff_80ff_ffff), None);
        assert_eq!(all.function(0xffff_ffff_9000_0000), None, "far from all functions");
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let all = parse("0000000000000000 T _stext\n0000000000000000 t do_one\n");
        assert!(all.is_empty());
        assert_eq!(all.function(0), None);
    }
}
