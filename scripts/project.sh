# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Source this file in a script whose source_dir is the repository.

project_version() {
  sed -n "s/^  version: '\([0-9.]*\)',$/\1/p" "${source_dir:?}/meson.build"
}

# The first ```cpp block of the README that is a whole program.
readme_program() {
  awk '
    /^```cpp/ { inside = 1; text = ""; next }
    /^```/ && inside { inside = 0; if (text ~ /int main/) { printf "%s", text; exit } }
    inside { text = text $0 "\n" }' "${source_dir:?}/README.md"
}
