#!/usr/bin/env bash
# Makes sure that what a make target needs is on the machine.
#   deps.sh build   cargo and a C linker: needed by everything, never installed silently
#   deps.sh try     the same
#   deps.sh test    also the programs that tests drive, installed with apt-get where possible
#   deps.sh soak    also those of the long tests
# A missing program never fails the tests: those that need it are skipped and say so.
set -euo pipefail

declare -A used_by=(
    [redis-server]="tests that load a Redis server"
    [redis-cli]="tests that load a Redis server"
    [memcached]="tests that load memcached"
    [stress-ng]="tests under memory stress"
    [qemu-system-x86_64]="tests on other kernels (in virtual machines)"
    [sadf]="tests that read binary files of sysstat"
    [postgres]="tests of HugeTLB pages with PostgreSQL"
    [java]="tests of HugeTLB pages with Java"
    [javac]="tests of loads that Gatling sends"
    [mvn]="tests of loads that Gatling sends"
    [ab]="tests of loads that a command sends"
    [promtool]="tests of metrics and alerts"
    [chromium]="tests of the web page"
)
declare -A package=(
    [redis-server]=redis-server
    [redis-cli]=redis-tools
    [memcached]=memcached
    [stress-ng]=stress-ng
    [qemu-system-x86_64]=qemu-system-x86
    [sadf]=sysstat
    [postgres]=postgresql
    [java]=default-jre-headless
    [javac]=default-jdk-headless
    [mvn]=maven
    [ab]=apache2-utils
    [promtool]=prometheus
    [chromium]=chromium
)
for_soak() {
    used_by+=(
        [lintian]="the check of the Debian package"
        [rpmbuild]="the RPM"
        [debootstrap]="packages in a clean Debian"
        [systemd-nspawn]="packages in a Debian that has booted"
        [podman]="the image"
        [catatonit]="the manifests for Kubernetes"
        [nginx]="the walk of the tutorial"
        [php]="the walk of the tutorial"
    )
    package+=(
        [lintian]=lintian
        [rpmbuild]=rpm
        [debootstrap]=debootstrap
        [systemd-nspawn]=systemd-container
        [podman]="podman crun runc netavark iptables curl"
        [catatonit]=catatonit
        [nginx]="nginx curl iproute2"
        [php]="php-fpm php-pgsql php-redis"
    )
}
policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.conf

# Debian keeps PostgreSQL's programs apart, by version.
have() {
    local more
    more=$(printf '%s:' /usr/lib/postgresql/*/bin)
    PATH="$PATH:/usr/sbin:/sbin:$more" command -v "$1" >/dev/null 2>&1
}

need_toolchain() {
    if ! have cargo || ! have rustc; then
        cat >&2 <<'MISSING'
error: cargo not found. hugewise is built with Rust 1.88 or newer.
  Install it from https://rustup.rs, open a new shell (or: . "$HOME/.cargo/env"), and try again.
  Many distributions package an older Rust: check with `rustc --version`.
MISSING
        exit 1
    fi
    if ! have cc; then
        echo "error: no C linker ('cc'), which Rust needs. On Debian or Ubuntu: apt-get install gcc libc6-dev" >&2
        exit 1
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
    have apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

# Installing redis-server must not start one: the tests start their own, on a port of their own.
forbid_services() {
    [ -e "$policy" ] && return
    trap 'as_root rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"
}

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=120)

# Installing PostgreSQL must not make a database that starts with the machine: what decides that
# is read from a file of a package that comes first.
forbid_clusters() {
    case " $* " in *" postgresql "*) ;; *) return 0 ;; esac
    as_root "${apt[@]}" install --no-install-recommends postgresql-common || return
    as_root sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' "$clusters"
}

install_all() {
    forbid_clusters "$@" && as_root "${apt[@]}" install --no-install-recommends "$@"
}

apt_install() {
    forbid_services || return
    install_all "$@" && return
    as_root "${apt[@]}" update && install_all "$@"
}

need_programs() {
    local missing=() program log
    for program in "${!package[@]}"; do
        # shellcheck disable=SC2206 # some need several
        have "$program" || missing+=(${package[$program]})
    done
    [ ${#missing[@]} = 0 ] && return
    if ! can_install; then
        echo "deps: cannot install ${missing[*]} (no apt-get, or neither root nor sudo without password)"
    else
        echo "deps: installing ${missing[*]}"
        log=$(mktemp)
        apt_install "${missing[@]}" >"$log" 2>&1 || { tail -n 20 "$log"; echo "deps: apt-get failed"; }
        rm -f "$log"
    fi
    for program in "${!package[@]}"; do
        have "$program" || echo "deps: no $program: ${used_by[$program]} will be SKIPPED"
    done
}

# Gatling is a library that Maven fetches: once, into its own repository, with the project that
# hugewise starts. What goes wrong, or takes too long, costs a skipped test.
need_gatling() {
    local pom=crates/experiment/src/load/gatling/pom.xml folder
    have mvn && have javac || return 0
    [ -e ~/.m2/repository/io/gatling/gatling-maven-plugin/4.21.12/gatling-maven-plugin-4.21.12.jar ] && return
    folder=$(mktemp -d)
    cp "$pom" "$folder/pom.xml"
    echo "deps: fetching Gatling with Maven"
    (cd "$folder" && timeout 180 mvn --batch-mode --quiet -Dgatling.skip=true gatling:test) >/dev/null 2>&1 ||
        echo "deps: no Gatling: tests of loads that it sends will be SKIPPED"
    rm -rf "$folder"
}

# Modules of Python that no Debian has: fetched once, into a directory of their own.
need_module() {
    local to=~/.cache/hugewise-test-tools package=$1
    [ -e "$to/${package//-/_}" ] && return
    echo "deps: fetching $package with pip"
    timeout 120 /usr/bin/python3 -m pip install --quiet --target "$to" "$package" >/dev/null 2>&1 ||
        echo "deps: no $package: $2 will be SKIPPED"
}

need_toolchain
case "${1:-}" in
    build | try) ;;
    test | soak)
        [ "$1" = test ] || for_soak
        need_programs
        need_gatling
        need_module duckdb "the test of tables of a fleet"
        need_module kubernetes-validate "the test of the manifests"
        ;;
    *) echo "usage: deps.sh build|try|test|soak" >&2; exit 2 ;;
esac
