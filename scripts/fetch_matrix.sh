#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches the matrix bcsstk24 (Harwell-Boeing, n = 3562, symmetric) out of Debian's package
# scilab-doc, which is unpacked but not installed.
#
# usage: fetch_matrix.sh [FILE]    FILE: default matrices/bcsstk24.rsa below the repository root
#
# Does nothing if FILE is there. On failure: one line on stderr, exit status 1, nothing left behind.
set -eu

package=scilab-doc
member=usr/share/scilab/modules/umfpack/demos/bcsstk24.rsa
work=
part=
made=

clean_up() {
  status=$?
  trap - EXIT
  [ -z "$work" ] || rm -rf -- "$work"
  [ -z "$part" ] || rm -f -- "$part"
  if [ "$status" -ne 0 ] && [ -n "$made" ]; then
    rmdir -- "$made" 2>/dev/null || :
  fi
  exit "$status"
}

die() {
  echo "fetch_matrix.sh: $1" >&2
  exit 1
}

trap clean_up EXIT
trap 'die interrupted' HUP INT TERM

[ $# -le 1 ] || die "usage: fetch_matrix.sh [FILE]"
root=$(cd "$(dirname "$0")/.." && pwd) || die "cannot find the repository root"
target=${1:-$root/matrices/bcsstk24.rsa}
case $target in
/*) ;;
*) target=$PWD/$target ;;
esac
[ ! -d "$target" ] || die "$target is a directory"
[ ! -f "$target" ] || exit 0
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null 2>&1 || die "$tool is needed to fetch $package"
done

work=$(mktemp -d 2>/dev/null) || die "cannot create a temporary directory"
(cd "$work" && apt-get -qq -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
  download "$package") >/dev/null 2>&1 </dev/null ||
  die "cannot download the Debian package $package (offline, or no package lists: apt-get update)"
dpkg-deb -x "$work/$package"_*.deb "$work/tree" 2>/dev/null || die "cannot unpack $package"
[ -s "$work/tree/$member" ] || die "$package does not hold $member"

folder=$(dirname "$target")
if [ ! -d "$folder" ]; then
  mkdir -- "$folder" 2>/dev/null || die "cannot create the directory $folder"
  made=$folder
fi
part=$target.part.$$
cp -- "$work/tree/$member" "$part" 2>/dev/null || die "cannot write $part"
mv -f -- "$part" "$target" 2>/dev/null || die "cannot write $target"
part=
