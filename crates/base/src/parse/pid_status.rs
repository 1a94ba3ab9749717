//! `/proc/PID/status` (proc_pid_status(5)).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, key_and_value, kib_to_bytes, numbered_lines};

/// Owner, memory and rights of one process. Kernel threads and zombies have no memory lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidStatus {
    /// `Name`: as in stat, with the kernel's escapes for line ends and backslashes.
    pub name: Option<String>,
    /// First number of `Uid`: the real user.
    pub uid: Option<u32>,
    /// Second number of `Uid`: the effective user.
    pub euid: Option<u32>,
    /// Second number of `Gid`: the effective group.
    pub egid: Option<u32>,
    /// `Groups`: the supplementary ones.
    pub groups: Option<Vec<u32>>,
    /// `THP_enabled` (Linux 5.0): false when the process switched huge pages off for itself.
    pub thp_enabled: Option<bool>,
    /// `RssAnon`, in bytes (Linux 4.5).
    pub rss_anon_bytes: Option<u64>,
    /// `RssFile`, in bytes (Linux 4.5).
    pub rss_file_bytes: Option<u64>,
    /// `RssShmem`, in bytes (Linux 4.5).
    pub rss_shmem_bytes: Option<u64>,
    /// `VmHWM`: the largest resident memory so far, in bytes.
    pub vm_hwm_bytes: Option<u64>,
    /// `VmData`: private mappings that may be written, without the stack, in bytes.
    pub vm_data_bytes: Option<u64>,
    /// `VmStk`: the stack, in bytes.
    pub vm_stk_bytes: Option<u64>,
    /// `VmPin`: memory pinned for devices and `io_uring`, which cannot be moved, in bytes.
    pub vm_pin_bytes: Option<u64>,
    /// `VmPTE`: page tables, in bytes.
    pub vm_pte_bytes: Option<u64>,
    /// `VmSwap`: anonymous memory in swap, in bytes.
    pub vm_swap_bytes: Option<u64>,
    /// `CapEff`: effective capabilities, bit n for capability n of `linux/capability.h`.
    pub cap_eff: Option<u64>,
    /// `Cpus_allowed_list`, as written: see [`super::cpulist`].
    pub cpus_allowed_list: Option<String>,
    /// `NSpid` (Linux 4.1): its process id in each pid namespace, the reader's first.
    pub ns_pid: Option<Vec<u32>>,
}

/// Reads the file: bytes, because a name may contain any.
pub fn parse(text: &[u8]) -> Parsed<PidStatus> {
    let mut parsed = Parsed::<PidStatus>::empty();
    for (number, bytes) in numbered_lines(text) {
        let line = String::from_utf8_lossy(bytes);
        let Some((key, value)) = key_and_value(&line) else {
            parsed.note(ParseError::new("status", number, bytes, "'Key: value'"));
            continue;
        };
        if let Err(wanted) = store(&mut parsed.value, key, value) {
            parsed.note(ParseError::new("status", number, bytes, wanted));
        }
    }
    parsed
}

fn store(status: &mut PidStatus, key: &str, value: &str) -> Result<(), &'static str> {
    let bytes = || kib_to_bytes(value).map(Some).ok_or("a number of kB");
    match key {
        "Name" => status.name = Some(value.to_owned()),
        "Uid" => {
            let ids = id_chain(value).ok_or("four user ids")?;
            let [real, effective, _, _] = ids[..] else {
                return Err("four user ids");
            };
            (status.uid, status.euid) = (Some(real), Some(effective));
        }
        "Gid" => {
            let ids = id_chain(value).ok_or("four group ids")?;
            status.egid = ids.get(1).copied();
        }
        "Groups" => {
            let ids = value.split_ascii_whitespace().map(decimal::<u32>);
            status.groups = Some(ids.collect::<Option<_>>().ok_or("group ids")?);
        }
        "THP_enabled" => {
            status.thp_enabled = Some(match value {
                "0" => false,
                "1" => true,
                _ => return Err("0 or 1"),
            });
        }
        "RssAnon" => status.rss_anon_bytes = bytes()?,
        "RssFile" => status.rss_file_bytes = bytes()?,
        "RssShmem" => status.rss_shmem_bytes = bytes()?,
        "VmHWM" => status.vm_hwm_bytes = bytes()?,
        "VmData" => status.vm_data_bytes = bytes()?,
        "VmStk" => status.vm_stk_bytes = bytes()?,
        "VmPin" => status.vm_pin_bytes = bytes()?,
        "VmPTE" => status.vm_pte_bytes = bytes()?,
        "VmSwap" => status.vm_swap_bytes = bytes()?,
        "CapEff" => status.cap_eff = Some(capability_set(value).ok_or("16 hex digits")?),
        "Cpus_allowed_list" => status.cpus_allowed_list = Some(value.to_owned()),
        "NSpid" => status.ns_pid = Some(id_chain(value).ok_or("process ids")?),
        _ => {}
    }
    Ok(())
}

fn id_chain(value: &str) -> Option<Vec<u32>> {
    let ids: Vec<u32> = value.split_ascii_whitespace().map(decimal).collect::<Option<_>>()?;
    (!ids.is_empty()).then_some(ids)
}

/// Exactly 16 digits: fewer would be a torn line and a set without its lower bits.
fn capability_set(value: &str) -> Option<u64> {
    let plain = value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { u64::from_str_radix(value, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Name:\tcat
Umask:\t0022
State:\tR (running)
Uid:\t1000\t0\t1000\t1000
Groups:\t 
NSpid:\t4134\t17
VmHWM:\t    1712 kB
RssAnon:\t     112 kB
RssFile:\t    1600 kB
RssShmem:\t       0 kB
VmPTE:\t      48 kB
VmSwap:\t       0 kB
THP_enabled:\t1
CapEff:\t000001fffeffffff
Cpus_allowed_list:\t0-1
Mems_allowed:\t00000000,00000001
";

    #[test]
    fn reads_owner_memory_and_rights() {
        let parsed = parse(TEXT.as_bytes());
        assert_eq!(parsed.problems, []);
        let status = parsed.value;
        assert_eq!(status.name.as_deref(), Some("cat"));
        assert_eq!((status.uid, status.euid), (Some(1000), Some(0)));
        assert_eq!(status.rss_anon_bytes, Some(112 * 1024));
        assert_eq!(status.rss_shmem_bytes, Some(0));
        assert_eq!(status.thp_enabled, Some(true));
        assert_eq!(status.cap_eff, Some(0x1ff_feff_ffff));
        assert_eq!(status.cpus_allowed_list.as_deref(), Some("0-1"));
        assert_eq!(status.ns_pid, Some(vec![4134, 17]));
    }

    #[test]
    fn a_kernel_thread_has_no_memory_lines() {
        let status = parse(b"Name:\tkthreadd\nUid:\t0\t0\t0\t0\n").value;
        assert_eq!(status.vm_hwm_bytes, None);
        assert_eq!(status.uid, Some(0));
    }

    #[test]
    fn reports_values_it_cannot_read() {
        let parsed = parse(b"Name:\t\xff:x\nUid:\t1\nCapEff:\t1f\nTHP_enabled:\t2\nVmHWM:\t1\n");
        assert_eq!(parsed.value.name.as_deref(), Some("\u{fffd}:x"));
        assert_eq!(parsed.problems.len(), 4);
        assert_eq!(parsed.value.cap_eff, None);
    }
}
