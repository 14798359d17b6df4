#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the Debian package hetsched-dev from the files that git tracks, as they are now, and puts it
# into FOLDER. Installs what building needs (as root or with sudo).
# Usage: packaging/build_deb.sh FOLDER
set -euo pipefail

if (($# != 1)); then
  echo "build_deb: usage: packaging/build_deb.sh FOLDER" >&2
  exit 2
fi
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$source_dir/scripts/project.sh"
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$source_dir/scripts/install_deps.sh" debhelper dpkg-dev

version=$(project_version)
if ! head -n 1 "$source_dir/packaging/debian/changelog" | grep -qF "($version)"; then
  echo "build_deb: packaging/debian/changelog does not begin with version $version" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/hetsched-$version
mkdir "$tree"
(cd "$source_dir" && git ls-files -z | xargs -0 cp --parents -t "$tree")
cp -r "$tree/packaging/debian" "$tree/debian"
(cd "$tree" && dpkg-buildpackage --build=full --unsigned-source --unsigned-changes)
find "$work" -maxdepth 1 -type f -exec cp -t "$out" {} +
ls -l "$out"/hetsched*
