# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_hugewise_global_optspecs
    string join \n json color= root= h/help V/version
end

function __fish_hugewise_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_hugewise_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_hugewise_using_subcommand
    set -l cmd (__fish_hugewise_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c hugewise -n "__fish_hugewise_needs_command" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_needs_command" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_needs_command" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_needs_command" -s V -l version -d 'Print version'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "doctor" -d 'What this kernel and these privileges allow, and what hugewise does without the rest'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "try" -d 'Demonstrate hugewise on a bundled workload, against THP \'never\' and \'always\', in two minutes'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "status" -d 'Huge pages of the machine and of its largest processes; what limits a running manager'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "top" -d 'Machine, programs, manager and findings on a screen that goes on'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "record" -d 'Record machine and programs, to go back to any moment later'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "map" -d 'A process\'s address space as a picture: one cell per region'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "metrics" -d 'Machine, manager, programs and cgroups as metrics for Prometheus'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "serve" -d 'A web page of machine, programs and manager, and metrics for Prometheus, over HTTP'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "manage" -d 'Promote well-used memory in the background'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "pause" -d 'Stop acting until \'resume\'; the manager keeps observing'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "resume" -d 'Act again after \'pause\''
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "revert" -d 'Put back every kernel setting that a killed manager left changed (\'--all\': HugeTLB, too)'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "replay" -d 'Repeat the decisions of a recording and compare them'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "diagnose" -d 'Why a machine burns CPU in the kernel, waits or stalls: live, or from recordings'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "response" -d 'Where the time of requests passes, and when it is slow, from access logs'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "bill" -d 'What memory, stalls and speed would be under never, always, HugeTLB and the manager'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "placement" -d 'Which of several hosts is out of line, by which program, and what a move would give'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "limit" -d 'At which rate a server on this machine is full, what is full then, and what comes next'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "freezes" -d 'Watch for freezes, and say who held the CPU or the memory meanwhile'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "hugetlb" -d 'Size HugeTLB pools for databases, Java and virtual machines; apply, verify, revert'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "thp" -d 'Show and change the settings of transparent huge pages, with a way back'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "lab" -d 'Compare settings on this machine: interleaved runs, statistics, a report'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "investigate" -d 'Find the cause of a slow service: hypotheses, put to the test by changes that are undone'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "rules" -d 'Every question that \'diagnose\' asks, with its thresholds and remedies, as Markdown'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "capture" -d 'Record kernel data, to diagnose later or elsewhere'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "config" -d 'Show or check the configuration'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "journal" -d 'What a journal tells: who chose better, the policy in force or one in shadow'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "workload" -d 'A small program to look at, for examples, probes and experiments; changes no setting'
complete -c hugewise -n "__fish_hugewise_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand doctor" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand doctor" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand doctor" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l report -d 'Where the report goes; \'-\' is standard output' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l size -d 'Memory of the workload, e.g. 512MiB (default: what fits this machine, at most 384MiB)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l rounds -d 'Rounds of never, always and hugewise, interleaved' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l simulate -d 'Run on the simulator, as without root or huge pages'
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand try" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -s n -l top -d 'Number of processes to show' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l pid -d 'Only these processes (repeat, or separate by commas or blanks)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l explain -d 'Say in words why the memory of one process is huge, waiting, small or given back' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l fields -d 'Columns of the table, such as pid,name,huge,promoted (\'--json\' lists all below \'fields\')' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l sort -d 'Sort by a field, the largest first; FIELD:asc, the smallest first' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l filter -d 'Only processes for which this holds, such as anon>1GiB, huge_percent<50, name=redis (repeat for more)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l state-dir -d 'Directory in which a manager keeps old values of settings' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l at -d 'As it was then, in UTC: 03:00, \'2026-11-26 03:00:30\', \'10m ago\' (from the last sample on)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l history -d 'Directory of \'hugewise record\' or \'hugewise capture\' (default: /var/lib/hugewise/history)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l interval -d 'Seconds from one sample to the next' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l state-dir -d 'Directory in which a manager keeps old values of settings' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l at -d 'As it was then, in UTC: 03:00, \'2026-11-26 03:00:30\', \'10m ago\' (from the last sample on)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l history -d 'Directory of \'hugewise record\' or \'hugewise capture\' (default: /var/lib/hugewise/history)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l history -d 'Directory of the history' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l interval -d 'Time between samples' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l days -d 'Days that are stored, today included' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l max-size -d 'Most disk space; the oldest hours make room' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l for -d 'How long to record (default: until SIGINT or SIGTERM)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l state-dir -d 'Directory in which a manager keeps old values of settings' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l with-arguments -d 'Record the arguments of processes and of the kernel, too: they may hold passwords'
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l svg -d 'Write a picture to this file; \'-\' is standard output' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l width -d 'Cells per line (default: what fits the terminal, at most 64)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l sample -d 'Read samples of the process\'s memory: how much of its huge pages is zeros'
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand map" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -s o -l output -d 'Write to this file, which is replaced as a whole; \'-\' is standard output' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -s n -l top -d 'Number of programs and of cgroups: the largest ones' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l state-dir -d 'Directory in which a manager keeps old values of settings' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l openmetrics -d 'Write OpenMetrics'
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l listen -d 'Address and port to listen on' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l host -d 'A name under which it is asked, beside that address (repeat for more)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l token-file -d 'Take the token from this file, which is made where it is missing (default: another token at each start, which is printed)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -s n -l top -d 'Number of programs and of cgroups in metrics: the largest ones' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l history -d 'Directory of the history that \'hugewise record\' keeps' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l journal -d 'The manager\'s journal (default: journal.jsonl in the state directory)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l state-dir -d 'Directory in which a manager keeps old values of settings' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l front -d 'Answer HTTP with what comes over standard input'
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l mode -d 'What to do (default: the configuration\'s mode, which is \'ingens\' unless set)' -r -f -a "ingens\t'Faults hand out base pages, hugewise promotes in the background'
guard\t'The machine keeps its THP setting (always); hugewise takes back what this wastes'
observe\t'Decides and journals, and never acts'"
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l pid -d 'Only these processes (repeat, or separate by commas or blanks)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l for -d 'Stop after this time, e.g. 90s or 10m' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l config -d 'Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l set -d 'Set one configuration key, e.g. promote.utilization_percent=80' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l journal -d 'Journal file (default: journal.jsonl in the state directory)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l record -d 'Record everything that is seen, for \'hugewise replay\'' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l state-dir -d 'Directory of the settings trail and the journal' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l once -d 'Stop when everything that is eligible now is huge or has a reason not to be; goes as fast as the programs\' locks allow (promote.burst)'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l dry-run -d 'Do everything except the last step: change no setting and no memory'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l keep-settings -d 'Leave all kernel settings as they are'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l in-experiment -d 'Started by an experiment, whose settings are to stand meanwhile'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand manage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand pause" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand pause" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand pause" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand pause" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand resume" -l run-dir -d 'Directory of the manager\'s socket' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand resume" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand resume" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand resume" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l dry-run -d 'Show what would be put back'
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l all -d 'Also what \'hugetlb apply\' and \'thp set\' changed, and what an experiment that was killed left'
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -l config -d 'Configuration file to decide with' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -l set -d 'Set one configuration key; \'mode\' is the recording\'s unless it is set' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l for -d 'How long this machine is watched, without FILE (default: 10s, and with --follow until Ctrl-C); with --at: how much of the history around it (default: 10m)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l keep -d 'Where --follow keeps what it captured (default: hugewise-captures)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l fleet -d 'One table of the findings of many hosts: a directory of their recordings, or a file that lists them, one path a line' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l parquet -d 'Also write the table of --fleet to this file as Parquet, for DuckDB, Spark or ClickHouse' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l redis -d 'Also ask this Redis or Valkey what it does: a UNIX socket or HOST:PORT; may be repeated' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l explain -d 'Explain one question of the tree, e.g. kernel.reclaim, or all that start with this name' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l report -d 'Write a report with plots: one HTML file; \'-\' is standard output' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l signatures -d 'Also say which mixture of stressors the time of the worst finding resembles (all of the time, where there is none): FILE is what \'hugewise lab signatures\' wrote. Not with --follow' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l set -d 'Set one threshold, e.g. kernel_high_percent=20 (\'hugewise rules\' lists them)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l at -d 'As it was then, in UTC: 03:00, \'2026-11-26 03:00:30\', \'10m ago\' (from the last sample on)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l history -d 'Directory of \'hugewise record\' or \'hugewise capture\' (default: /var/lib/hugewise/history)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l follow -d 'Watch this machine, and take a closer look by itself when it draws attention'
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l full -d 'Show the questions that led to each finding, what was ruled out and what was not observed'
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l tree -d 'As --full, with every question, also those that were not asked'
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand diagnose" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l with -d 'Recordings of the machine in that time, as \'diagnose\' reads them' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l format -d 'Format of the logs in the words of nginx (\'$request_time\'), Apache, HAProxy or Envoy (\'%D\')' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l unit -d 'Unit of the response time where the log does not say it: s, ms, us or ns' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l zone -d 'The machine\'s zone where the log does not say it, e.g. +01:00' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l every -d 'Length of the rows over time, and of the windows in which slow times are looked for, e.g. 10s (default: what gives up to 60 rows)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l margin -d 'From how many times the calm level on it is slow' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand response" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l check -d 'Recordings that were made after a change: score the bill by what came' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l as -d 'What was chosen; otherwise as the settings of the later recording say' -r -f -a "never\t''
always\t''
hugetlb\t''
worth\t''"
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l walk-percent -d 'CPU cycles that go into page walks now, percent' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand bill" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand placement" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand placement" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand placement" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand placement" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l from -d 'The first rate, requests in a second: one that is served with ease' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l most -d 'No rate above this one is tried' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l seconds -d 'Length of each rate, in seconds' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l connections -d 'Connections of the load' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l p99-ms -d 'A served rate answers 99 % of its requests within so many milliseconds' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -s o -l output -d 'Where the result goes (default: hugewise-limit.json, and with --check or --json nowhere)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l check -d 'Result from before a change: did its prediction come true?' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l factor -d 'With --check: how much more of the limit there is since then (default: it is gone)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand limit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l longer-than -d 'The shortest freeze to tell, at least 20ms' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l for -d 'How long to watch (default: until SIGINT or SIGTERM)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l keep -d 'Directory for captures of the seconds before and after each freeze' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand freezes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -f -a "plan" -d 'How many pages, for whom, and how much memory remains for everybody else; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -f -a "apply" -d 'Give the pools their planned size; old values are kept for \'revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -f -a "verify" -d 'Expected against actual: pools, who really uses them, files, page tables'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -f -a "revert" -d 'Put back what \'apply\' changed, files to the byte; never takes pages in use'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and not __fish_seen_subcommand_from plan apply verify revert help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l sga -d 'A shared memory segment that a database will make, e.g. 10G (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l java -d 'A Java program with -XX:+UseLargePages, by its other flags, e.g. \'-Xmx4g -XX:+UseParallelGC\' (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l postgres -d 'A stopped PostgreSQL server (15 or later), by its data directory: its program is asked' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l pid -d 'Only these processes, and all shared memory of theirs (repeat, or separate by commas or blanks)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l headroom -d 'Extra memory for later needs' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l processes -d 'Processes that will attach each segment: what their page tables cost' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l page-size -d 'Size of the pages, e.g. 1G (default: the machine\'s, 2M on x86-64)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l node -d 'NUMA nodes that the new pages come from (default: all, evenly)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l user -d 'User who may lock the pool\'s memory (limits.d)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l unit -d 'systemd service that may lock the pool\'s memory (a drop-in with LimitMEMLOCK=)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l shm-group -d 'Group whose members may use System V segments of huge pages (vm.hugetlb_shm_group)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l leave -d 'Memory that must remain for everybody else (default: a tenth, at least 256M)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l shrink -d 'Also give back pages that nobody needs, uses or has reserved'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l sga -d 'A shared memory segment that a database will make, e.g. 10G (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l java -d 'A Java program with -XX:+UseLargePages, by its other flags, e.g. \'-Xmx4g -XX:+UseParallelGC\' (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l postgres -d 'A stopped PostgreSQL server (15 or later), by its data directory: its program is asked' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l pid -d 'Only these processes, and all shared memory of theirs (repeat, or separate by commas or blanks)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l headroom -d 'Extra memory for later needs' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l processes -d 'Processes that will attach each segment: what their page tables cost' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l page-size -d 'Size of the pages, e.g. 1G (default: the machine\'s, 2M on x86-64)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l node -d 'NUMA nodes that the new pages come from (default: all, evenly)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l user -d 'User who may lock the pool\'s memory (limits.d)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l unit -d 'systemd service that may lock the pool\'s memory (a drop-in with LimitMEMLOCK=)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l shm-group -d 'Group whose members may use System V segments of huge pages (vm.hugetlb_shm_group)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l leave -d 'Memory that must remain for everybody else (default: a tenth, at least 256M)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l shrink -d 'Also give back pages that nobody needs, uses or has reserved'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l persist -d 'Also write sysctl.d, limits.d, tmpfiles.d and unit drop-ins, so that it survives a reboot'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l dry-run -d 'Do everything except the last step: change nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l sga -d 'A shared memory segment that a database will make, e.g. 10G (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l java -d 'A Java program with -XX:+UseLargePages, by its other flags, e.g. \'-Xmx4g -XX:+UseParallelGC\' (repeat for several)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l postgres -d 'A stopped PostgreSQL server (15 or later), by its data directory: its program is asked' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l pid -d 'Only these processes, and all shared memory of theirs (repeat, or separate by commas or blanks)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l headroom -d 'Extra memory for later needs' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l processes -d 'Processes that will attach each segment: what their page tables cost' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l page-size -d 'Size of the pages, e.g. 1G (default: the machine\'s, 2M on x86-64)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l node -d 'NUMA nodes that the new pages come from (default: all, evenly)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l user -d 'User who may lock the pool\'s memory (limits.d)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l unit -d 'systemd service that may lock the pool\'s memory (a drop-in with LimitMEMLOCK=)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l shm-group -d 'Group whose members may use System V segments of huge pages (vm.hugetlb_shm_group)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l leave -d 'Memory that must remain for everybody else (default: a tenth, at least 256M)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l plan -d 'A plan to compare with: the output of \'hugetlb plan --json\' from before' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l state-dir -d 'Directory in which \'apply\' left its plan' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l shrink -d 'Also give back pages that nobody needs, uses or has reserved'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -l dry-run -d 'Show what would be put back; nothing is changed'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from help" -f -a "plan" -d 'How many pages, for whom, and how much memory remains for everybody else; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Give the pools their planned size; old values are kept for \'revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Expected against actual: pools, who really uses them, files, page tables'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from help" -f -a "revert" -d 'Put back what \'apply\' changed, files to the byte; never takes pages in use'
complete -c hugewise -n "__fish_hugewise_using_subcommand hugetlb; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -f -a "show" -d 'Every setting with its value, its choices, and what it was before \'thp set\''
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -f -a "set" -d 'Change settings; old values are kept for \'thp revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -f -a "revert" -d 'Put back what \'thp set\' changed'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and not __fish_seen_subcommand_from show set revert help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from show" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from show" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from show" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from show" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l persist -d 'Also write tmpfiles.d, so that they survive a reboot'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l dry-run -d 'Do everything except the last step: change nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -l dry-run -d 'Show what would be put back; nothing is changed'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from help" -f -a "show" -d 'Every setting with its value, its choices, and what it was before \'thp set\''
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from help" -f -a "set" -d 'Change settings; old values are kept for \'thp revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from help" -f -a "revert" -d 'Put back what \'thp set\' changed'
complete -c hugewise -n "__fish_hugewise_using_subcommand thp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "list" -d 'The experiments that come with hugewise, and kinds of workloads for your own'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "setup" -d 'What an experiment needs and would change here, and how long it takes; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "run" -d 'Run an experiment, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "report" -d 'Show the verdict and the plots of an experiment again'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "compare" -d 'Two runs of one experiment side by side, such as before and after an upgrade'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "signatures" -d 'Run a stressor of each kind once and keep which counters each moves here, so that \'diagnose --signatures\' can say what a bad time resembles'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and not __fish_seen_subcommand_from list setup run report compare signatures help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from list" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from list" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from list" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l variant -d 'Only these variants, the baseline among them (repeat or separate by commas)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l repetitions -d 'Repetitions of every variant (default: as the file says)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l write -d 'Write the experiment\'s file here, to make it your own' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l quick -d 'Less of everything, for a first look'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l variant -d 'Only these variants, the baseline among them (repeat or separate by commas)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l repetitions -d 'Repetitions of every variant (default: as the file says)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -s o -l output -d 'Directory of the results (default: hugewise-lab/NAME). An experiment that was interrupted there is continued' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l seed -d 'Seed of the order and of the workloads (default: another one each time)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l quick -d 'Less of everything, for a first look'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l noisy -d 'Measure even if others keep the machine busy; the result says so'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l machine-wide -d 'Allow settings that affect every program on the machine, such as \'enabled\''
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l dry-run -d 'Do everything but the runs: the same as \'setup\''
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from report" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from report" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from report" -l markdown -d 'Print Markdown'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from report" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from compare" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from compare" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from compare" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -s o -l output -d 'Where they are kept, and read from with --check; \'-\' is standard output' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l seconds -d 'How long each stressor is watched, in seconds' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l only -d 'Only these stressors (repeat or separate by commas): cpu, io, network, memory, thp, fork' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l check -d 'Keep nothing: run each stressor again, alone and with each other one, and loads that none of them is; say which of the kept signatures each resembles'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l noisy -d 'Measure even if others keep the machine busy; the result says so'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from signatures" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "list" -d 'The experiments that come with hugewise, and kinds of workloads for your own'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "setup" -d 'What an experiment needs and would change here, and how long it takes; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run an experiment, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "report" -d 'Show the verdict and the plots of an experiment again'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Two runs of one experiment side by side, such as before and after an upgrade'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "signatures" -d 'Run a stressor of each kind once and keep which counters each moves here, so that \'diagnose --signatures\' can say what a bad time resembles'
complete -c hugewise -n "__fish_hugewise_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -f -a "plan" -d 'A ledger to begin with, from what \'diagnose\' finds on this machine or in recordings'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -f -a "run" -d 'Put the hypotheses of a ledger to the test, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -f -a "report" -d 'Say again what came of a ledger'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and not __fish_seen_subcommand_from plan run report help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from plan" -l target -d 'Where the service answers, as http://127.0.0.1:8080/ or redis://127.0.0.1:6379' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from plan" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from plan" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from plan" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -s o -l output -d 'Directory of the trials (default: hugewise-investigate/NAME). A ledger that was interrupted there is continued' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l seed -d 'Seed of the order (default: another one each time)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l state-dir -d 'Directory of the settings trail' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l machine-wide -d 'Allow settings that affect every program on the machine, such as \'enabled\''
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l dry-run -d 'Say what would be changed, in how many trials and how long; change nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from report" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from report" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from report" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from help" -f -a "plan" -d 'A ledger to begin with, from what \'diagnose\' finds on this machine or in recordings'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Put the hypotheses of a ledger to the test, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from help" -f -a "report" -d 'Say again what came of a ledger'
complete -c hugewise -n "__fish_hugewise_using_subcommand investigate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand rules" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand rules" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand rules" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand rules" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -s o -l output -d 'Directory to write to: a new one, or an empty one' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l from -d 'Take the samples of the history from this time on, in UTC, instead of new ones' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l to -d 'The last time of the history that is taken (default: its last sample)' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l history -d 'Directory of the history' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l for -d 'How long, e.g. 90s or 10m; SIGINT and SIGTERM end it early and cleanly' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l every -d 'Time between samples' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l processes -d 'Most processes in a sample (default and most: 4096); the rest is counted' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l with-arguments -d 'Capture the arguments of processes and of the kernel, too'
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -f -a "show" -d 'Every key with its value and where that comes from'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -f -a "check" -d 'Say whether the configuration is valid'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and not __fish_seen_subcommand_from show check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -l set -d 'Set one configuration key' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -l config -d 'Configuration file (default: /etc/hugewise/hugewise.toml and hugewise.d/*.toml)' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -l set -d 'Set one configuration key' -r
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Every key with its value and where that comes from'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "check" -d 'Say whether the configuration is valid'
complete -c hugewise -n "__fish_hugewise_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -f -a "score" -d 'Score policies that ran in shadow: was what they chose accessed more?'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and not __fish_seen_subcommand_from score help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from score" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from score" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from score" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from score" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "score" -d 'Score policies that ran in shadow: was what they chose accessed more?'
complete -c hugewise -n "__fish_hugewise_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand workload" -l color -d 'When to use colour (NO_COLOR is honoured by \'auto\')' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c hugewise -n "__fish_hugewise_using_subcommand workload" -l root -d 'Read copies of /proc and /sys below this directory instead; changes nothing' -r -F
complete -c hugewise -n "__fish_hugewise_using_subcommand workload" -l json -d 'Print JSON instead of text'
complete -c hugewise -n "__fish_hugewise_using_subcommand workload" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "doctor" -d 'What this kernel and these privileges allow, and what hugewise does without the rest'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "try" -d 'Demonstrate hugewise on a bundled workload, against THP \'never\' and \'always\', in two minutes'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "status" -d 'Huge pages of the machine and of its largest processes; what limits a running manager'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "top" -d 'Machine, programs, manager and findings on a screen that goes on'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "record" -d 'Record machine and programs, to go back to any moment later'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "map" -d 'A process\'s address space as a picture: one cell per region'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "metrics" -d 'Machine, manager, programs and cgroups as metrics for Prometheus'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "serve" -d 'A web page of machine, programs and manager, and metrics for Prometheus, over HTTP'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "manage" -d 'Promote well-used memory in the background'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "pause" -d 'Stop acting until \'resume\'; the manager keeps observing'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "resume" -d 'Act again after \'pause\''
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "revert" -d 'Put back every kernel setting that a killed manager left changed (\'--all\': HugeTLB, too)'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "replay" -d 'Repeat the decisions of a recording and compare them'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "diagnose" -d 'Why a machine burns CPU in the kernel, waits or stalls: live, or from recordings'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "response" -d 'Where the time of requests passes, and when it is slow, from access logs'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "bill" -d 'What memory, stalls and speed would be under never, always, HugeTLB and the manager'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "placement" -d 'Which of several hosts is out of line, by which program, and what a move would give'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "limit" -d 'At which rate a server on this machine is full, what is full then, and what comes next'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "freezes" -d 'Watch for freezes, and say who held the CPU or the memory meanwhile'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "hugetlb" -d 'Size HugeTLB pools for databases, Java and virtual machines; apply, verify, revert'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "thp" -d 'Show and change the settings of transparent huge pages, with a way back'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "lab" -d 'Compare settings on this machine: interleaved runs, statistics, a report'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "investigate" -d 'Find the cause of a slow service: hypotheses, put to the test by changes that are undone'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "rules" -d 'Every question that \'diagnose\' asks, with its thresholds and remedies, as Markdown'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "capture" -d 'Record kernel data, to diagnose later or elsewhere'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "config" -d 'Show or check the configuration'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "journal" -d 'What a journal tells: who chose better, the policy in force or one in shadow'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "workload" -d 'A small program to look at, for examples, probes and experiments; changes no setting'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and not __fish_seen_subcommand_from doctor try status top record map metrics serve manage pause resume revert replay diagnose response bill placement limit freezes hugetlb thp lab investigate rules capture config journal workload help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from hugetlb" -f -a "plan" -d 'How many pages, for whom, and how much memory remains for everybody else; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from hugetlb" -f -a "apply" -d 'Give the pools their planned size; old values are kept for \'revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from hugetlb" -f -a "verify" -d 'Expected against actual: pools, who really uses them, files, page tables'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from hugetlb" -f -a "revert" -d 'Put back what \'apply\' changed, files to the byte; never takes pages in use'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from thp" -f -a "show" -d 'Every setting with its value, its choices, and what it was before \'thp set\''
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from thp" -f -a "set" -d 'Change settings; old values are kept for \'thp revert\''
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from thp" -f -a "revert" -d 'Put back what \'thp set\' changed'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "list" -d 'The experiments that come with hugewise, and kinds of workloads for your own'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "setup" -d 'What an experiment needs and would change here, and how long it takes; changes nothing'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "run" -d 'Run an experiment, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "report" -d 'Show the verdict and the plots of an experiment again'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "compare" -d 'Two runs of one experiment side by side, such as before and after an upgrade'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "signatures" -d 'Run a stressor of each kind once and keep which counters each moves here, so that \'diagnose --signatures\' can say what a bad time resembles'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from investigate" -f -a "plan" -d 'A ledger to begin with, from what \'diagnose\' finds on this machine or in recordings'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from investigate" -f -a "run" -d 'Put the hypotheses of a ledger to the test, or what is left of it, and report'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from investigate" -f -a "report" -d 'Say again what came of a ledger'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Every key with its value and where that comes from'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "check" -d 'Say whether the configuration is valid'
complete -c hugewise -n "__fish_hugewise_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "score" -d 'Score policies that ran in shadow: was what they chose accessed more?'
