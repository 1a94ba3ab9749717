//! The kernel's log of this machine.

use hugewise_base::parse::kmsg;
use hugewise_linux::root::Root;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, ErrorKind, Read};

/// Longest record of earlier kernels (`CONSOLE_EXT_LOG_MAX` of include/linux/printk.h; in 6.12
/// `PRINTK_MESSAGE_MAX` of kernel/printk/internal.h, a quarter of it): a shorter buffer is refused.
const RECORD_BYTES: usize = 8192;
/// Most text that is kept: the log of a machine has 256 KiB to 1 MiB (`CONFIG_LOG_BUF_SHIFT` and
/// `log_buf_len`), and while it is read more may be written.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// All that the kernel's log has now, as `dmesg` shows it.
///
/// # Errors
/// Why it cannot be read: without root, where `kernel.dmesg_restrict` is 1.
pub fn read(root: &Root) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mut log = File::from(rustix::fs::open(root.path("dev/kmsg"), flags, Mode::empty())?);
    let mut text = String::new();
    let mut record = vec![0; RECORD_BYTES];
    while text.len() < TEXT_BYTES_MAX {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                if let Some(line) = kmsg::line(&record[..length]) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The oldest records were overwritten meanwhile: the next read gives those behind.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn a_machine_without_one_says_so() {
        let scratch = Scratch::new();
        let error = read(&Root::at(&scratch)).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
