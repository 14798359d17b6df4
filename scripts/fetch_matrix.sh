#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches a matrix in Harwell-Boeing format from a Debian package. The package is unpacked, but not
# installed.
#
# usage: fetch_matrix.sh [NAME [FILE]]
#   NAME: bcsstk24 (the default): symmetric positive definite, n = 3562
#         ex14: unsymmetric, finite elements, n = 3251
#         add32: unsymmetric, a circuit, n = 4960
#   FILE: default matrices/NAME.rsa or matrices/NAME.rua below the repository root
#
# Does nothing if FILE exists. On failure it prints one line on stderr, exits with status 1, and leaves
# nothing behind.
set -eu

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

[ $# -le 2 ] || die "usage: fetch_matrix.sh [NAME [FILE]]"
name=${1:-bcsstk24}
demos=usr/share/scilab/modules/umfpack/demos
case $name in
bcsstk24)
  package=scilab-doc
  member=$demos/bcsstk24.rsa
  ;;
ex14)
  package=scilab-doc
  member=$demos/ex14.rua
  ;;
add32)
  package=libsuperlu-dist-dev
  member='usr/lib/*/superlu-dist/tests/EXAMPLE/big.rua' # the folder depends on the architecture
  ;;
*) die "'$name' is none of bcsstk24, ex14, add32" ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd) || die "cannot find the repository root"
target=${2:-$root/matrices/$name.${member##*.}}
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
# shellcheck disable=SC2086 # the pattern must be expanded
set -- "$work"/tree/$member
[ -s "$1" ] || die "$package does not hold $member"

folder=$(dirname "$target")
if [ ! -d "$folder" ]; then
  mkdir -- "$folder" 2>/dev/null || die "cannot create the directory $folder"
  made=$folder
fi
part=$target.part.$$
cp -- "$1" "$part" 2>/dev/null || die "cannot write $part"
mv -f -- "$part" "$target" 2>/dev/null || die "cannot write $target"
part=
