//! Records of `/dev/kmsg` (Documentation/ABI/testing/dev-kmsg of the kernel).

/// Bits of a priority that are its level; those above are the facility, 0 for the kernel itself
/// (`include/linux/syslog.h`, syslog(2)).
const LEVEL_BITS: u32 = 3;

/// One record as `dmesg` shows it, `[   12.345678] text`. `None`: it is not the kernel's own, as
/// what systemd writes there, or no record.
pub fn line(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (head, rest) = text.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let _sequence = fields.next()?;
    let since_boot_us: u64 = fields.next()?.parse().ok()?;
    // Below the message stand its properties, such as the device that it is about.
    let message = rest.lines().next()?;
    let (seconds, micros) = (since_boot_us / 1_000_000, since_boot_us % 1_000_000);
    (priority >> LEVEL_BITS == 0).then(|| format!("[{seconds:5}.{micros:06}] {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_is_a_line_of_dmesg() {
        let record = b"4,812,12345678,-;usb 1-1: reset\n SUBSYSTEM=usb\n DEVICE=c189:1\n";
        assert_eq!(line(record).as_deref(), Some("[   12.345678] usb 1-1: reset"));
        assert_eq!(line(b"6,1,98765000042,c;x;y\n").as_deref(), Some("[98765.000042] x;y"));
    }

    #[test]
    fn what_a_program_wrote_is_not_the_kernels() {
        assert_eq!(line(b"30,7,12345678,-;systemd[1]: Out of memory\n"), None);
        for record in ["", ";", "6;x", "6,1;x", "x,1,2;x", "6,1,x;x", "6,1,2,-"] {
            assert_eq!(line(record.as_bytes()), None, "{record}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(record: Vec<u8>) {
            let _ = line(&record);
        }
    }
}
