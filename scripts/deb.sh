#!/usr/bin/env bash
# Makes a Debian package of an installed tree. The same tree and time give the same bytes.
#   deb.sh ROOT ARCHITECTURE VERSION OUTPUT.deb     (SOURCE_DATE_EPOCH: the time in it)
# UNITS names the units. Adds files of Debian's own to ROOT.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$1 architecture=$2 version=$3 output=$4
maintainer="the hugewise developers <hugewise@localhost>"
umask 022

doc=$root/usr/share/doc/hugewise
gzip -9n >"$doc/changelog.gz" <<END
hugewise ($version) unstable; urgency=medium

  * CHANGELOG.md says what changed.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
install -m 0644 dist/package/copyright "$doc/copyright"
# The copyright file has both licences, or says where the system has them.
rm "$doc/LICENSE-APACHE" "$doc/LICENSE-MIT"
install -D -m 0644 dist/package/lintian-overrides "$root/usr/share/lintian/overrides/hugewise"

control=$root/DEBIAN
install -d "$control"
cat >"$control/control" <<END
Package: hugewise
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Section: admin
Priority: optional
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Description: huge pages, used wisely
 Promotes well-used memory of running programs to huge pages in the background,
 within budgets, and takes waste back. Finds out why a machine spends time in
 the kernel, and sizes HugeTLB pools.
END
script() { # NAME: what is on standard input, with what the package's scripts share before it
    {
        printf '#!/bin/sh\nset -e\nUNITS="%s"\nPROGRAM=/usr/bin/hugewise\n' "$UNITS"
        cat dist/package/maintain.sh -
    } >"$control/$1"
    chmod 0755 "$control/$1"
}
script postinst <<'END'
if [ "$1" = configure ]; then upgraded; fi
END
script prerm <<'END'
if [ "$1" = remove ]; then remove; fi
END
script postrm <<'END'
case $1 in
    remove) removed ;;
    purge) purge ;;
esac
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$control/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$output" >&2
