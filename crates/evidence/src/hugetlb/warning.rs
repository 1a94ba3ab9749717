//! What a plan warns of, and for what it is refused. Each has a name.

use serde::{Deserialize, Serialize};

use hugewise_base::named;

named! {
    /// Something that an operator should know before a pool changes.
    WarningKind,
    MoreThanMemory = "more_than_memory":
        "the pools would be larger than the memory",
        "plan less: check the sizes";
    LeavesTooLittle = "leaves_too_little":
        "too little memory would remain for everybody else: HugeTLB pages are taken from all other \
         uses and are never swapped",
        "plan less, or lower --leave if you know what else runs";
    NoPoolOfThisSize = "no_pool_of_this_size":
        "this kernel has no HugeTLB pages of the planned size",
        "--page-size with one of the sizes below /sys/kernel/mm/hugepages";
    NeededTwice = "needed_twice":
        "a program that is to use the pool still holds the same memory in base pages, and not as \
         much is free",
        "stop the program, apply, then start it with its own switch";
    UnattributedUse = "unattributed_use":
        "pages are in use or reserved by a user who was not found: they are added to the plan",
        "run as root, and see HugetlbPages in /proc/PID/status";
    UsedByOthers = "used_by_others":
        "pages are in use by programs that are not part of the plan: they are added to it",
        "";
    ReservedUnused = "reserved_unused":
        "pages of the pool are neither in use nor reserved nor planned for: nobody else can have \
         that memory",
        "hugewise hugetlb apply --shrink";
    PromisedPages = "promised_pages":
        "free pages are promised (HugePages_Rsvd) to mappings that have not touched them: a new \
         program can have only free minus reserved",
        "";
    SurplusPages = "surplus_pages":
        "surplus pages (nr_overcommit_hugepages) go away when they are given back: they are not \
         part of the pool",
        "plan them into the pool";
    NodeTooSmall = "node_too_small":
        "a NUMA node has less free memory than its share of the new pages: the kernel takes them \
         from other nodes, or gives fewer",
        "apply soon after boot, or choose nodes with --node";
    RightToUse = "right_to_use":
        "its user is in no group that may use System V segments of HugeTLB pages: on newer kernels \
         (RHEL 9, SLES 15.4, 6.1 and later) the memlock limit alone does not give that right",
        "--shm-group GID sets vm.hugetlb_shm_group";
    GroupReplaced = "group_replaced":
        "vm.hugetlb_shm_group has room for one group only: members of the one before lose the \
         right to use System V segments of HugeTLB pages",
        "one group for all of them, or --shm-group with the one before";
    UserUnknown = "user_unknown":
        "the pool's user is not given: the limit for locked memory and the right to use \
         System V segments of HugeTLB pages cannot be set",
        "--user NAME or --unit NAME.service, and --shm-group GID";
    MemlockTooLow = "memlock_too_low":
        "a running process may lock less memory than the plan's: limits apply to what starts later",
        "apply --persist with --user or --unit, then restart the program";
    KubeletRestart = "kubelet_restart":
        "a kubelet runs here and reads the pools only at its start: pods see nothing of the new \
         pages until then",
        "drain the node, apply, then: systemctl restart kubelet; kubectl describe node";
    SigbusInPods = "sigbus_in_pods":
        "PostgreSQL images in pods without hugepages limits see the pool, try to use it and die \
         of SIGBUS (initdb): the default is huge_pages=try",
        "set huge_pages=off for them, or give the pod hugepages-2Mi limits";
    AutomaticMemory = "automatic_memory":
        "Oracle's automatic memory management is in use (segments /dev/shm/ora_*): it cannot use \
         HugeTLB pages at all",
        "memory_target = 0 and memory_max_target = 0, sga_target and pga_aggregate_target instead";
    SwapInUse = "swap_in_use":
        "memory is swapped out already: HugeTLB pages cannot be, so everything else has to \
         share what remains",
        "reserve while the database is stopped, or at boot";
    CommitLimit = "commit_limit":
        "vm.overcommit_memory is 2: the pools are not counted as memory that may be promised, and \
         CommitLimit falls by vm.overcommit_ratio of them",
        "raise vm.overcommit_ratio, or check Committed_AS against the new CommitLimit first";
    ConfiguredElsewhere = "configured_elsewhere":
        "another file sets this value when the machine starts",
        "remove that line, or let it have the planned value";
    KernelCommandLine = "kernel_command_line":
        "pages of 1 GiB can rarely be had while a machine runs",
        "kernel command line: hugepagesz=1G hugepages=N, then reboot";
    ServiceLimit = "service_limit":
        "limits.d is for logins: services of systemd do not read it",
        "--unit NAME writes LimitMEMLOCK= for the service";
    NothingToPlan = "nothing_to_plan":
        "nothing that runs could use HugeTLB pages, as far as can be seen",
        "say what will run: --sga, --postgres, --java; or --pid";
}

impl WarningKind {
    /// Whether `apply` refuses the plan for it.
    pub const fn refuses(self) -> bool {
        matches!(self, Self::MoreThanMemory | Self::LeavesTooLittle | Self::NoPoolOfThisSize)
    }
}

/// A warning about something in particular.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Which.
    pub kind: WarningKind,
    /// The numbers or names that it is about.
    pub about: String,
}
