//! How a program came into the kernel, by the functions of a chain of calls.

/// How many functions at the inner end of a chain are reported.
const INNER: usize = 3;

/// Where every chain begins, whatever is called: x86-64's and arm64's ways into the kernel, and
/// the start of a kernel thread (`arch/x86/entry`, `arch/arm64/kernel/entry-common.c`,
/// `kernel/kthread.c`, Linux 6.18).
const ENTRIES: [&str; 19] = [
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "do_syscall_64",
    "x64_sys_call",
    "ret_from_fork_asm",
    "ret_from_fork",
    "kthread",
    "exc_page_fault",
    "irqentry_exit_to_user_mode",
    "syscall_exit_to_user_mode",
    "el0t_64_sync",
    "el0t_64_sync_handler",
    "el0_svc",
    "do_el0_svc",
    "el0_svc_common",
    "el0_svc_common.constprop.0",
    "invoke_syscall",
    "invoke_syscall.constprop.0",
    "system_call_fastpath",
];
/// What stands before the name of a system call's function, or of one that does its work, where the
/// compiler put the first into its caller.
const CALLS: [&str; 8] = [
    "__x64_sys_",
    "__arm64_sys_",
    "__ia32_sys_",
    "__se_sys_",
    "__do_sys_",
    "ksys_",
    "do_sys_",
    "__sys_",
];
/// The same before Linux 4.17, right behind where the chain begins.
const OLD_CALLS: [&str; 2] = ["SyS_", "sys_"];
/// Functions that take a page fault.
const FAULTS: [&str; 4] = ["asm_exc_page_fault", "async_page_fault", "page_fault", "do_page_fault"];

/// Beginnings of the names of functions at the outer end of the kernel's part of a chain, beside
/// those of which the whole name is known: exceptions and interrupts, the idle loop's start.
const OUTER: [&str; 19] = [
    "asm_exc_",
    "asm_sysvec_",
    "asm_common_interrupt",
    "asm_call_",
    "apic_timer_interrupt",
    "common_interrupt",
    "ret_from_intr",
    "entry_SYS",
    "sysenter_",
    "system_call",
    "__kernel_",
    "secondary_startup",
    "start_secondary",
    "cpu_startup_entry",
    "do_user_addr_fault",
    "__x64_sys_",
    "__arm64_sys_",
    "el0_",
    "el1_",
];

/// Whether a function is where the kernel's part of a chain begins.
pub(super) fn is_entry(frame: &str) -> bool {
    let whole = ENTRIES.contains(&frame) || FAULTS.contains(&frame);
    whole || OUTER.iter().any(|outer| frame.starts_with(outer))
}

/// How it is called where a program was seen between its own code and the kernel's functions.
pub(crate) const SYSCALL_ENTRY: &str = "entry and exit of system calls";

/// How a program came into the kernel, and the way from there, in the middle shortened.
pub(in crate::recording::readers) fn way(frames: &[&str]) -> (String, String) {
    let inside = |frame: &&str| !ENTRIES.contains(frame) && !FAULTS.contains(frame);
    let first = frames.iter().position(inside).unwrap_or(frames.len());
    let old = frames.get(first).filter(|_| first > 0).and_then(|frame| after(frame, &OLD_CALLS));
    let call = frames.iter().enumerate().find_map(|(at, frame)| Some((at, after(frame, &CALLS)?)));
    // A system call may fault, when it copies: the call is how the program came in.
    let (entry, below) = match (call, frames.get(first)) {
        (Some((at, name)), _) => (format!("{name}()"), at + 1),
        (None, Some(_)) if frames[..first].iter().any(|frame| FAULTS.contains(frame)) => {
            ("page fault".to_owned(), first)
        }
        (None, Some(name)) => {
            (old.map_or_else(|| (*name).to_owned(), |n| format!("{n}()")), first + 1)
        }
        (None, None) if frames.iter().any(|frame| FAULTS.contains(frame)) => {
            ("page fault".to_owned(), first)
        }
        (None, None) => (SYSCALL_ENTRY.to_owned(), first),
    };
    let below: Vec<&str> = frames[below..].iter().copied().filter(inside).collect();
    let left_out = below.len().saturating_sub(INNER);
    let shown =
        (left_out > 0).then_some("...").into_iter().chain(below[left_out..].iter().copied());
    let path = shown.fold(entry.clone(), |path, frame| path + " > " + frame);
    (entry, path)
}

/// The system call that this function begins.
fn after<'a>(frame: &'a str, marks: &[&str]) -> Option<&'a str> {
    marks.iter().find_map(|mark| frame.strip_prefix(mark)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(frames: &[&str]) -> String {
        way(frames).1
    }

    #[test]
    fn ways_begin_with_what_the_program_did() {
        let read = [
            "entry_SYSCALL_64_after_hwframe",
            "do_syscall_64",
            "__x64_sys_read",
            "ksys_read",
            "vfs_read",
            "filemap_read",
            "copy_page_to_iter",
        ];
        assert_eq!(shown(&read), "read() > ... > vfs_read > filemap_read > copy_page_to_iter");
        let fault = ["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "clear_page"];
        assert_eq!(shown(&fault), "page fault > do_user_addr_fault > clear_page");
        let thread = ["ret_from_fork_asm", "ret_from_fork", "kthread", "kswapd", "shrink_node"];
        assert_eq!(shown(&thread), "kswapd > shrink_node");
        let copying = ["do_syscall_64", "__x64_sys_write", "asm_exc_page_fault", "clear_page"];
        assert_eq!(shown(&copying), "write() > clear_page");
        let inlined = ["do_syscall_64", "ksys_read", "vfs_read"];
        assert_eq!(shown(&inlined), "read() > vfs_read");
        assert_eq!(shown(&["system_call_fastpath", "sys_read", "vfs_read"]), "read() > vfs_read");
        assert_eq!(shown(&["sys_imageblit"]), "sys_imageblit");
        assert_eq!(shown(&["asm_exc_page_fault", "exc_page_fault"]), "page fault");
        assert_eq!(shown(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]), SYSCALL_ENTRY);
        assert_eq!(shown(&["__x64_sys_getppid"]), "getppid()");
    }
}
