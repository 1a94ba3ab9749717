#!/usr/bin/env bash
# The packages in a clean Debian, as a stranger would use them. The program answers, the units verify,
# manual pages and completions are found, examples work as printed. Then each package's life, from
# dpkg's and from rpm's hand, as files alone and again after the Debian has booted: an older version
# is installed, every unit enabled, upgraded, removed and purged, and nothing is left.
#   clean_root.sh [PROGRAM]     this program instead of one built for it
#   BASE=DIR                    this clean root instead of a new one (it is copied)
# Needs root, debootstrap and a package mirror; says what is missing and ends with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() { echo "clean_root: SKIPPED: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "it needs root"
command -v debootstrap >/dev/null || skip "no debootstrap: apt-get install debootstrap"

work=$(mktemp -d)
root=$work/root
leader=
container=
end() {
    [ -z "$leader" ] || kill -KILL "$leader" 2>/dev/null || true
    [ -z "$container" ] || wait "$container" 2>/dev/null || true
    umount "$root/sys" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

step() { echo "clean_root: $1" >&2; shift; "$@"; }
fail() { echo "clean_root: FAILED: $1"; exit 1; }

# An older version, of the same program, has other bytes at least in its name.
PROGRAM=${1:-} OUTPUT=$work/new scripts/dist.sh >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir "$work/empty"
tar -C "$work/empty" -xzf "$work"/new/*.tar.gz --strip-components=1
PROGRAM=$work/empty/bin/hugewise VERSION=0.0.1 ONLY=packages OUTPUT=$work/old \
    scripts/dist.sh >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
if command -v lintian >/dev/null; then
    step "lintian finds nothing" lintian --allow-root --fail-on error,warning "$work"/new/*.deb
else
    echo "clean_root: SKIPPED: lintian is not installed"
fi
kinds=deb
if ls "$work"/new/*.rpm >/dev/null 2>&1; then
    kinds="deb rpm"
    step "the RPM's digests hold" rpm --checksig "$work"/new/*.rpm >/dev/null
else
    echo "clean_root: SKIPPED: the RPM: no rpmbuild"
fi

if [ -n "${BASE:-}" ]; then
    cp -a "$BASE" "$root"
else
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,man-db,rpm "$release" "$root" \
        >"$work/log" 2>&1 || { tail -n 5 "$work/log"; skip "debootstrap failed"; }
fi
# Debootstrap forbids services; a machine does not.
rm -f "$root/usr/sbin/policy-rc.d"
for version in old new; do
    for kind in deb rpm; do
        cp "$work/$version"/*."$kind" "$root/$version.$kind" 2>/dev/null || true
    done
done
mount -t sysfs -o ro sysfs "$root/sys"
plain=(/usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
inside() { # COMMAND...: in the root; in its system, where it has booted
    if [ -n "$leader" ]; then
        nsenter --target "$leader" --all "${plain[@]}" "$@"
    else
        # Nobody's manager but its own: one that runs keeps a package from being removed.
        unshare --pid --fork --mount-proc="$root/proc" chroot "$root" "${plain[@]}" "$@"
    fi
}
# What is part of the system, and not its logs and caches; nor what it notes while it runs. dpkg keeps
# a copy of its list of packages.
listed() {
    local out=(var/log var/cache var/lib/dpkg var/lib/rpm-try run/systemd) directory leave=()
    [ -z "$leader" ] || out+=(run tmp var/tmp var/lib/systemd)
    for directory in "${out[@]}"; do leave+=(-path "./$directory" -prune -o); done
    (cd "$root" && find . -xdev "${leave[@]}" -print | sort)
}
nothing_left() {
    local left
    listed >"$work/after"
    # Not as a condition: diff's own end, which says that they differ, would be the pipe's.
    left=$(diff "$work/before" "$work/after" | grep '^[<>]' || true)
    [ -z "$left" ] || fail "the purge left or took away: $left"
}

source scripts/clean_root/examples.sh
source scripts/clean_root/life.sh
listed >"$work/before"
step "the package installs" inside dpkg -i /new.deb >/dev/null
step "the program answers" inside hugewise --version
step "... and says what the kernel allows" inside hugewise doctor >"$work/doctor" || [ $? = 5 ]
for unit in $units; do
    step "$unit verifies" inside systemd-analyze verify "$unit"
done
step "the manual page is found" inside man -w hugewise-manage >/dev/null
step "a shell completes" test -s "$root/usr/share/bash-completion/completions/hugewise"
examples README.md
examples docs/tutorial.md
rm -rf "$work/empty"
mkdir "$work/image" "$work/empty"
tar -C "$work/image" -xf "$work"/new/*.oci.tar
for blob in "$work"/image/blobs/sha256/*; do
    # Of its blobs one is a layer, the others are JSON.
    tar -C "$work/empty" -xzf "$blob" 2>/dev/null || true
done
step "the image runs with nothing else in it" chroot "$work/empty" /usr/bin/hugewise --version
step "the purge works" inside dpkg --purge hugewise >/dev/null
nothing_left
for kind in $kinds; do life "$kind"; done
kept_pool
boot && for kind in $kinds; do life "$kind"; done
echo "clean_root: nothing is left"
