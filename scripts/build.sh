#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures build folder DIR, or configures it again, and compiles TARGETs (default: everything).
# Usage: scripts/build.sh DIR [meson setup option...] [-- TARGET...]
# Environment: CXX, and JOBS for the number of compilations at once (default: one per core).
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$1
shift
options=()
while (($# > 0)) && [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
(($# == 0)) || shift

[[ ! -f $dir/build.ninja ]] || options+=(--reconfigure)
if ! meson setup "${options[@]}" "$dir" "$source_dir" </dev/null; then
  echo "build: could not configure $dir; if an older build is in the way, remove that folder" >&2
  exit 1
fi
ninja -C "$dir" -k 20 -j "${JOBS:-$(nproc)}" "$@" </dev/null
