//! Functions of the kernel that say by themselves what it does: beginnings of their names, from
//! Linux 2.6.38 to 6.18.

/// Moving pages to make larger blocks of free memory.
pub(crate) const COMPACTION: [&str; 5] =
    ["compact_zone", "isolate_freepages", "isolate_migratepages", "migrate_pages", "compaction_"];
/// Clearing or copying all of a huge page, from Linux 2.6.38 to 6.18.
pub(crate) const HUGE_CLEARING: [&str; 9] = [
    "clear_huge_page",
    "clear_subpage",
    "clear_gigantic_page",
    "clear_contig_highpages",
    "folio_zero_user",
    "process_huge_page",
    "copy_user_huge_page",
    "copy_user_large_folio",
    "copy_subpage",
];
/// Page faults that hand out a huge page: clearing it, and finding or making it.
pub(crate) const HUGE_FAULT: [&str; 5] = [
    "do_huge_pmd_anonymous_page",
    "do_huge_pmd_wp_page",
    "vma_alloc_anon_folio_pmd",
    "hugepage_vma_alloc",
    "alloc_hugepage_vma",
];
/// Clearing one base page, of a huge one or for itself.
pub(crate) const CLEARING: [&str; 6] = [
    "clear_page_erms",
    "clear_page_rep",
    "clear_page_orig",
    "clear_page_c",
    "clear_highpage",
    "clear_pages_erms",
];
/// Taking memory back from page cache and programs.
pub(crate) const RECLAIM: [&str; 4] =
    ["shrink_", "try_to_free", "try_to_unmap", "folio_referenced"];
/// What several of these call, and others: where chains of calls are known, callers say which.
pub(crate) const SHARED: [&str; 4] =
    ["migrate_pages", "try_to_unmap", "folio_referenced", "page_referenced"];
/// Moving pages to the node of the CPU that uses them (`kernel.numa_balancing`).
pub(crate) const NUMA_BALANCING: [&str; 3] =
    ["do_numa_page", "migrate_misplaced", "task_numa_work"];
/// Receiving packets: drivers' polls, the packet filter, routing, and TCP and UDP up to the socket.
pub(crate) const RECEIVE: [&str; 22] = [
    "netif_receive_skb",
    "napi_",
    "gro_receive",
    "net_rx_action",
    "process_backlog",
    "ip_rcv",
    "ip6_rcv",
    "ipv6_rcv",
    "ip_forward",
    "tcp_v4_rcv",
    "tcp_v6_rcv",
    "tcp_rcv_",
    "udp_queue_rcv",
    "__udp4_lib",
    "__inet_lookup",
    "fib_table_lookup",
    "ip_route_input",
    "nf_hook",
    "nf_conntrack",
    "ipt_do_table",
    "nft_do_chain",
    "br_handle_frame",
];
