#!/usr/bin/env bash
# Makes what is handed out, in target/dist: a tarball, a container image and a Debian package around
# one static program.
# The same commit gives the same bytes.
#   PROGRAM=FILE   this program instead of one built for it
#   MACHINE=NAME   the machine that it is for, as uname -m calls it, where that is another one
#   OUTPUT=DIR     another place
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=${MACHINE:-$(uname -m)}
case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$machine ;;
esac
# Times inside the archives: those of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
output=${OUTPUT:-target/dist}
mkdir -p "$output"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

root=$work/root
make --no-print-directory install PREFIX=/usr DESTDIR="$root" ${PROGRAM:+PROGRAM="$PROGRAM"} >&2
doc=$root/usr/share/doc/hugewise
install -d "$doc"
install -m 0644 README.md ARCHITECTURE.md SPEC.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$doc"
cp -R docs "$doc/docs"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
cat >"$doc/copyright" <<'END'
hugewise may be used under the Apache License 2.0 or the MIT licence, as you like: LICENSE-APACHE
and LICENSE-MIT in this directory.
END
find "$doc" -type f -exec chmod 0644 {} +
find "$doc" -type d -exec chmod 0755 {} +

# The tarball.
name=hugewise-$version-$machine-linux
cp -a "$root/usr" "$work/$name"
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -9n >"$output/$name.tar.gz"
echo "$output/$name.tar.gz"

image=$output/hugewise-$version-$architecture.oci.tar
scripts/oci.sh "$root/usr/bin/hugewise" "$architecture" "$version" "$image"
echo "$image"

# The package.
if ! command -v dpkg-deb >/dev/null; then
    echo "dist: no Debian package: dpkg-deb is not installed" >&2
    exit 0
fi
control=$root/DEBIAN
install -d "$control"
cat >"$control/control" <<END
Package: hugewise
Version: $version
Architecture: $architecture
Maintainer: the hugewise developers <hugewise@localhost>
Section: admin
Priority: optional
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Description: huge pages, used wisely
 Promotes well-used memory of running programs to huge pages in the background,
 within budgets, and takes waste back. Finds out why a machine spends time in
 the kernel, and sizes HugeTLB pools.
END
cat >"$control/postinst" <<'END'
#!/bin/sh
set -e
# Not started: what it may change is the operator's decision.
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
END
cat >"$control/prerm" <<'END'
#!/bin/sh
set -e
# A manager that is stopped puts its settings back; 'revert' does it for one that was killed.
if [ "$1" = remove ]; then
    if [ -d /run/systemd/system ]; then
        systemctl disable --now hugewise || true
        # Its socket would stay open, and start a program that is gone.
        systemctl disable --now hugewise-serve.socket hugewise-serve || true
    fi
    # Refused while a manager runs without systemd: it would go on without its program.
    code=0
    hugewise revert --all || code=$?
    [ "$code" != 6 ] || { echo "hugewise: stop what runs first, then remove the package" >&2; exit 1; }
fi
END
cat >"$control/postrm" <<'END'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    # Old values of settings that could not be put back are somebody's only copy.
    for trail in trail lab lab-manager/trail hugetlb thp thp-files; do
        trail=/var/lib/hugewise/$trail.jsonl
        [ ! -e "$trail" ] || { echo "hugewise: settings are still changed; see $trail" >&2; exit 0; }
    done
    rm -rf /var/lib/hugewise /run/hugewise /etc/hugewise
    # 'systemctl enable' makes it also where no systemd runs.
    rm -f /etc/systemd/system/multi-user.target.wants/hugewise.service
fi
END
chmod 0755 "$control/postinst" "$control/prerm" "$control/postrm"
package=$output/hugewise_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >&2
echo "$package"
