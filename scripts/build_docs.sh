#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the docs as a site that needs no server: pages and contents by Sphinx, the reference of the
# headers by Doxygen, each with a search box. Checks that no link inside is dead, and that the
# reference has every public name. Installs what is missing (Debian, as root or with sudo).
# Usage: scripts/build_docs.sh [FOLDER]      (build-docs)
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$source_dir/scripts/project.sh"
out=${1:-$source_dir/build-docs}
# What is there is replaced, so it must be a site that Sphinx made.
if [[ -e $out && -n $(ls -A "$out") && ! -f $out/objects.inv ]]; then
  echo "build_docs: '$out' is there and is no such site: it is left alone" >&2
  exit 2
fi
"$source_dir/scripts/install_deps.sh" doxygen python3-sphinx python3-myst-parser
HETSCHED_VERSION=$(project_version)
export HETSCHED_VERSION
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/pages/extra"
cp "$source_dir/docs/site/conf.py" "$work/pages/"
python3 "$source_dir/scripts/site_pages.py" make "$source_dir" "$work/pages"
(
  cd "$source_dir"
  cat docs/site/Doxyfile
  echo "PROJECT_NUMBER = $HETSCHED_VERSION"
  echo "OUTPUT_DIRECTORY = $work/pages/extra"
) >"$work/Doxyfile"
(cd "$source_dir" && doxygen "$work/Doxyfile") >"$work/doxygen.log" 2>&1 || {
  cat "$work/doxygen.log"
  exit 1
}
rm -rf "$out"
sphinx-build -q -W --keep-going -b html "$work/pages" "$out"
python3 "$source_dir/scripts/site_pages.py" check "$out"
python3 "$source_dir/scripts/site_pages.py" names "$source_dir" "$out"
echo "The site begins with $out/index.html"
