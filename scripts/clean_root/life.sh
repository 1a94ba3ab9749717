# shellcheck shell=bash disable=SC2154 # variables of clean_root.sh
# The life of a package in the root. Sourced by clean_root.sh.
units=$(cd dist && echo *.socket *.timer *.service)
# What a package leaves to a purge.
state=(var/lib/hugewise var/lib/hugewise-serve etc/hugewise)

rpm=(rpm --dbpath /var/lib/rpm-try)
put() { # KIND VERSION
    case $1 in
        deb) inside dpkg -i "/$2.deb" ;;
        rpm) inside "${rpm[@]}" -U --nodeps "/$2.rpm" ;;
    esac >>"$work/log" 2>&1
}
take() { # KIND
    case $1 in
        deb) inside dpkg --remove hugewise ;;
        rpm) inside "${rpm[@]}" -e --nodeps hugewise ;;
    esac >"$work/said" 2>&1
}
purge() { # KIND: as docs/how-to/service.md says
    case $1 in
        deb) inside dpkg --purge hugewise >"$work/said" 2>&1 ;;
        rpm) inside rm -rf /etc/hugewise /var/lib/hugewise /var/lib/hugewise-serve ;;
    esac
}
version() { # KIND
    case $1 in
        deb) inside dpkg-query -W -f '${Version}' hugewise ;;
        rpm) inside "${rpm[@]}" -q --qf '%{VERSION}' hugewise ;;
    esac
}

# Links that enable units.
links() { find "$root/etc/systemd/system" -type l -name 'hugewise*' | sed "s|^$root||" | sort; }

# One of the properties of each unit that can run for long.
shown() { # PROPERTY
    local unit
    for unit in $units; do
        [ "$unit" = hugewise-metrics.service ] || echo "$unit $(inside systemctl show -P "$1" "$unit")"
    done
}

# Starts what is enabled, and stops one of it.
start_units() {
    local unit
    for unit in hugewise-serve.socket hugewise-serve.service hugewise-metrics.timer hugewise.service; do
        inside systemctl start "$unit" || {
            inside systemctl status --no-pager "$unit" || true
            fail "$unit does not start"
        }
    done
    inside systemctl stop hugewise-record.service
    shown InvocationID >"$work/ran"
}

# What ran was started anew, but the socket; what was stopped is stopped.
upgraded_units() {
    local unit before now active
    shown InvocationID >"$work/runs"
    while read -r unit before && read -r _ now <&3; do
        active=$(inside systemctl show -P ActiveState "$unit" </dev/null)
        case $unit in
            hugewise-record.service) [ "$active" = inactive ] || fail "$unit was started: $active" ;;
            *.socket) [ "$active $before" = "active $now" ] || fail "$unit was closed: $active" ;;
            *)
                [ "$active" = active ] || fail "$unit does not run after the upgrade: $active"
                [ "$before" != "$now" ] || fail "$unit still runs the old program"
                ;;
        esac
    done <"$work/ran" 3<"$work/runs"
}

life() { # KIND
    local kind=$1 where="as files" unit directory
    [ -z "$leader" ] || where="in a system that runs"
    step "$kind, $where: an older version installs" put "$kind" old
    [ "$(version "$kind")" = 0.0.1 ] || fail "it has version $(version "$kind")"
    [ -z "$(links)" ] || fail "units are enabled by the installation: $(links)"
    for directory in "${state[@]}"; do inside install -d -m 0700 "/$directory"; done
    inside sh -c 'chmod 755 /etc/hugewise; echo "mode = \"observe\"" >/etc/hugewise/hugewise.toml
        echo 0123456789abcdef0123456789abcdef >/var/lib/hugewise-serve/token
        chmod 600 /var/lib/hugewise-serve/token'
    for unit in $units; do inside systemctl --quiet enable "$unit" 2>>"$work/log"; done
    links >"$work/enabled"
    [ "$(wc -l <"$work/enabled")" -ge 4 ] || fail "not every unit is enabled: $(links)"
    [ -z "$leader" ] || start_units
    step "$kind, $where: ... and is upgraded" put "$kind" new
    [ "$(version "$kind")" != 0.0.1 ] || fail "it is still the old one"
    links | cmp -s - "$work/enabled" || fail "the upgrade enabled or disabled: $(links)"
    [ -z "$leader" ] || upgraded_units
    step "$kind, $where: ... and removed" take "$kind"
    [ -z "$(links)" ] || fail "the removal left $(links)"
    [ ! -e "$root/usr/bin/hugewise" ] || fail "the removal left the program"
    if [ -n "$leader" ] && shown ActiveState | grep -v ' inactive$'; then
        inside journalctl --no-pager --lines 20 --unit 'hugewise*'
        fail "the removal left units that run"
    fi
    for directory in "${state[@]}"; do
        [ -d "$root/$directory" ] || fail "the removal took /$directory away, which a purge does"
    done
    # As somebody may make it by hand while the program is away.
    [ "$kind" = rpm ] || inside ln -s /usr/lib/systemd/system/hugewise.service \
        /etc/systemd/system/multi-user.target.wants/
    step "$kind, $where: ... and purged" purge "$kind"
    rm -rf "$root/var/lib/rpm-try"
    nothing_left
}

# A pool that the operator made is his: a removal leaves it, and a purge keeps the way back.
kept_pool() {
    local pool=sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages trail=/var/lib/hugewise/hugetlb.jsonl now
    now=$(cat /$pool)
    step "a pool of the operator outlives the package" put deb new
    inside install -d -m 0700 /var/lib/hugewise
    # It is what it says: whoever put it back would write what stands there, and forget it.
    echo "{\"file\":\"$pool\",\"old\":\"$now\",\"new\":\"$now\",\"boot_id\":null}" >"$root$trail"
    chmod 600 "$root$trail"
    take deb
    grep -q "hugetlb apply' changed stays: 'hugewise hugetlb revert'" "$work/said" &&
        grep -q "install it again and run 'hugewise revert --all'" "$work/said" ||
        { cat "$work/said"; fail "nothing says that the pool stays"; }
    [ -s "$root$trail" ] || fail "the removal put a pool back"
    purge deb
    grep -q "their old values stay in $trail" "$work/said" || { cat "$work/said"; fail "nothing says what stays"; }
    [ -s "$root$trail" ] || fail "the purge took the only way back"
    rm -r "$root/var/lib/hugewise"
    nothing_left
}

# Boots the root; afterwards `inside` is in it. Fails where that cannot be done here.
boot() {
    command -v systemd-nspawn >/dev/null ||
        { echo "clean_root: SKIPPED: a system that runs: no systemd-nspawn (systemd-container)"; return 1; }
    umount "$root/sys"
    systemd-nspawn --directory="$root" --boot --register=no --keep-unit --private-network \
        --machine="hugewise-$$" --console=pipe </dev/null >"$work/boot" 2>&1 &
    container=$!
    local said=
    for _ in $(seq 60); do
        sleep 1
        leader=$(pgrep -P "$container" || true)
        [ -z "$leader" ] || said=$(inside systemctl is-system-running 2>/dev/null || true)
        case $said in running | degraded) break ;; esac
    done
    case $said in
        running | degraded) ;;
        *)
            tail -n 5 "$work/boot"
            echo "clean_root: SKIPPED: a system that runs: it does not boot here ($said)"
            leader=
            return 1
            ;;
    esac
    step "the root has booted" true
    # What the system makes when it boots.
    listed >"$work/before"
}
