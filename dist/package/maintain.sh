# What becomes of units, settings and state when the program is upgraded, removed or purged. The
# scripts of the Debian package and of the RPM hold this text, and `make uninstall` reads it.
# UNITS names every unit, those that start others first; PROGRAM is the program.
# shellcheck shell=sh

booted() { [ -d /run/systemd/system ]; }

# systemctl, where the machine's policy does not forbid it (Debian's policy-rc.d).
invoke() { # VERB UNIT...
    if command -v deb-systemd-invoke >/dev/null; then
        deb-systemd-invoke "$@"
    else
        systemctl "$@"
    fi
}

# What runs goes on with the new program, and nothing else is started: what it may change is the
# operator's decision. Sockets stay open: nobody else gets their ports meanwhile.
upgraded() {
    booted || return 0
    systemctl daemon-reload || true
    for unit in $UNITS; do
        case $unit in *.socket) continue ;; esac
        invoke try-restart "$unit" || echo "hugewise: see 'systemctl status $unit'" >&2
    done
}

# A manager that is stopped puts its settings back; 'revert' does it for what was killed. What the
# operator changed by hand stays as he wanted it. Fails, and changes nothing, while a manager or an
# experiment runs that is no unit: it would go on without its program.
remove() {
    active=
    if booted; then
        for unit in $UNITS; do
            ! systemctl --quiet is-active "$unit" || active="$active $unit"
        done
        # shellcheck disable=SC2086 # names without blanks
        invoke stop $UNITS || true
    fi
    code=0
    said=$("$PROGRAM" revert --experiments) || code=$?
    printf '%s\n' "$said"
    if [ "$code" = 6 ]; then
        # shellcheck disable=SC2086
        [ -z "$active" ] || systemctl start $active || true
        echo "hugewise: stop what runs first, then remove it" >&2
        return 1
    fi
    case $said in
        *" stays: "*)
            echo "hugewise: to undo that later, install it again and run 'hugewise revert --all'" ;;
    esac
    # shellcheck disable=SC2086
    ! command -v systemctl >/dev/null || systemctl --quiet disable $UNITS || true
    # node_exporter would show its last figures for ever.
    rm -f /var/lib/prometheus/node-exporter/hugewise.prom
}

# Nothing of the units stays in a list, and be it as one that failed while it was stopped.
removed() {
    booted || return 0
    systemctl daemon-reload || true
    # shellcheck disable=SC2086
    systemctl reset-failed $UNITS 2>/dev/null || true
}

# Configuration, state, history, token, and links that enabled units.
purge() {
    for unit in $UNITS; do
        # 'systemctl enable' makes them also where no systemd runs.
        [ ! -d /etc/systemd/system ] ||
            find /etc/systemd/system -name "$unit" -type l -exec rm -f {} +
    done
    rm -rf /var/lib/hugewise-serve /run/hugewise /etc/hugewise
    # Old values of settings that are still changed are somebody's only copy.
    kept=
    for file in /var/lib/hugewise/*.jsonl /var/lib/hugewise/lab-manager/*.jsonl \
        /var/lib/hugewise/lab-undo.json; do
        case $file in */journal.jsonl) continue ;; esac
        [ ! -s "$file" ] || kept="$kept $file"
    done
    if [ -z "$kept" ]; then
        rm -rf /var/lib/hugewise
        return 0
    fi
    rm -rf /var/lib/hugewise/history /var/lib/hugewise/journal.jsonl*
    echo "hugewise: settings are still changed; their old values stay in$kept" >&2
    echo "hugewise: install it again, and 'hugewise revert --all' puts them back" >&2
}
