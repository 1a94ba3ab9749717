#!/usr/bin/env bash
# Lints and runs every kind of test, side by side where one does not disturb the other, and ends
# with a table of kinds and the line `N passed, N failed, N skipped`. Fails when a test or a check
# failed, or when a kind had no test.
#
# Live tests and guests wait for most of their time: they begin as soon as their programs are built,
# and the rest is compiled, linted and run on the CPU time that they leave; so are the simulations.
# A test that starts managers or experiments on this machine runs while no other one does: those of
# `host` and `kernel` wait for the live ones, and so does `programs`, which starts none and runs
# beside them. Live tests of shares, rates and free memory (`ALONE` in
# crates/app/tests/live.rs) run last, when nothing else does. So does a test, live or of a guest, that
# failed beside the others and the compiler: what it says alone counts.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never

logs=$(mktemp -d)
interrupt() {
    for group in "$logs"/*.group; do
        [ -e "$group" ] && kill -TERM -- "-$(cat "$group")" 2>/dev/null
    done
    wait
    exit 130
}
trap 'rm -rf "$logs"' EXIT
trap interrupt INT TERM

# Runs a command, and prints what it said when it has ended: parts never mix.
part() { # NAME COMMAND...
    local name=$1 began=$SECONDS status
    shift
    "$@" >"$logs/$name.log" 2>&1
    status=$?
    echo "$status $((SECONDS - began))" >"$logs/$name.end"
    flock "$logs" awk -v name="$name" 'BEGIN { print "\n== " name } { print }' "$logs/$name.log"
    return "$status"
}

# The same in the background, in a process group of its own; returns once the log holds TEXT, which
# says that cargo's lock is free, or the command has ended.
aside() { # NAME TEXT COMMAND...
    local name=$1 text=$2
    shift 2
    part "$name" setsid --wait bash -c 'echo $$ >"$0.group"; exec "$@"' "$logs/$name" "$@" &
    until grep -qs "$text" "$logs/$name.log" || [ -e "$logs/$name.end" ]; do sleep 0.2; done
}

# Tests of a part that failed beside others, in a line: in its log they become `again`, and no
# failure. A guest that gave no results stays one.
again() { # PART
    local log=$logs/$1.log names
    names=$(grep -aoE '^test [^ ]+ +\.\.\. FAILED' "$log" | awk '{ print $2 }' | tr '\n' ' ')
    # Without a result they were not run to their end: that stays a failure.
    grep -aq '^test result: FAILED' "$log" && [[ $names != */boot* ]] || return
    sed -i -E 's/^(test [^ ]+ +\.\.\.) FAILED/\1 again/; s/^---- (.*) ----$/-- \1/' "$log"
    sed -i 's/^[0-9]* /0 /' "$logs/$1.end"
    echo "$names"
}

# Boots a guest for each of these tests.
boot_again() { # GUEST/TEST...
    local test status=0
    for test in "$@"; do
        $tests --test vm "$test" || status=$?
    done
    return "$status"
}

# Clippy is the compiler: code is compiled and linted in one pass, and a warning is an error.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
build="nice -n 19 cargo"
tests="nice -n 5 cargo test --workspace --no-fail-fast"

everything() {
    part format cargo fmt --all --check || return
    part build cargo build --workspace --bins --test live --test vm || return
    aside guests 'guests boot' cargo test --workspace --test vm
    aside live '^running ' env HUGEWISE_LIVE=beside cargo test --workspace --test live
    local live=$!
    if part compile $build test --workspace --no-run; then
        part tidy $tests --test tidy
        part units $tests --lib --bins
        # It needs nothing but CPU time, and has what the others leave.
        part simulation nice -n 14 $tests --test decisions &
        wait "$live"
        part host $tests --test host --test kernel &
        part programs $tests --test programs
        wait
        part alone env HUGEWISE_LIVE="alone $(again live)" $tests --test live
        local failed_guests
        failed_guests=$(again guests)
        [ -z "$failed_guests" ] || part guests-again boot_again $failed_guests
    fi
    wait
}

everything
awk '
    function row(kind, passed, failed, skipped, time) {
        printf "%-12s %7s %7s %8s %8s\n", kind, passed, failed, skipped, time
    }
    FNR == 1 {
        part = FILENAME
        sub(/.*\//, "", part)
        ends = sub(/\.end$/, "", part)
        sub(/\.log$/, "", part)
        if (!(part in known)) { known[part] = 1; parts[++count] = part }
    }
    ends && FNR == 1 { status[part] = $1; seconds[part] = $2; next }
    /^test .* \.\.\. / {
        kind = part
        name = $0
        sub(/^test /, "", name)
        sub(/ *\.\.\. .*/, "", name)
        # Tests of guests are named after them: 6.12/NAME.
        if (part ~ /^guests/) { kind = $2; sub(/\/.*/, "", kind); kind = "guest " kind }
        if (!(kind in of)) { of[kind] = part; kinds[++last] = kind }
        if (/ \.\.\. ok$/) passed[kind]++
        if (/ \.\.\. again$/) again[kind]++
        if (/ \.\.\. FAILED/) { failed[kind]++; names[++broken] = kind ": " name }
        if (/ \.\.\. ignored/) {
            skipped[kind]++
            reason = $0
            sub(/.* \.\.\. ignored[, ]*/, "", reason)
            why[kind ": " reason]++
        }
    }
    # Of a trial, live or of a guest: `6.12| took 3.0 s: NAME`.
    /(^|\| )took [0-9.]+ s: / {
        where = index($0, "| ") ? substr($0, 1, index($0, "| ") - 1) "/" : ""
        name = $0
        sub(/.*took [0-9.]+ s: /, "", name)
        time = $0
        sub(/.*took /, "", time)
        longest[where name] = time + 0
    }
    # Both harnesses head a message with `---- NAME ... ----`.
    /^---- .* ----$/ { left = 30 }
    /^failures:|^test result/ { left = 0 }
    left > 0 && NF { messages[++said] = "  " substr($0, 1, 300); left-- }
    END {
        print ""
        for (reason in why) printf "skipped %3d: %s\n", why[reason], reason | "sort -k3"
        close("sort -k3")
        sort = "sort -k2 -rn | head -n 10"
        for (name in longest)
            if (longest[name] >= 20) printf "took %5.0f s: %s\n", longest[name], name | sort
        close(sort)
        for (i = 1; i <= broken; i++) print "FAILED: " names[i]
        for (i = 1; i <= said; i++) print messages[i]
        print ""
        row("", "passed", "failed", "skipped", "seconds")
        for (i = 1; i <= last; i++) {
            kind = kinds[i]
            if (again[kind]) print "run again alone: " again[kind] " of " kind
            row(kind, passed[kind] + 0, failed[kind] + 0, skipped[kind] + 0, seconds[of[kind]])
            total += passed[kind]; bad += failed[kind]; omitted += skipped[kind]
            ran[of[kind]] += passed[kind]
        }
        for (i = 1; i <= count; i++) {
            part = parts[i]
            only_works = part ~ /^(format|build|compile)$/
            if (only_works) row(part, "", status[part] ? "failed" : "", "", seconds[part])
            if (!only_works && !ran[part]) print part ": no test passed: see above"
            if (status[part] || !only_works && !ran[part]) failing = 1
        }
        printf "%d passed, %d failed, %d skipped\n", total, bad, omitted
        exit (failing || bad > 0 || total == 0)
    }' "$logs"/*.log "$logs"/*.end
