#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the missing packages that building and testing hetsched needs (Debian 12 or later, as
# root or with sudo). Needs no network when nothing is missing.
# Usage: scripts/install_deps.sh [FURTHER_PACKAGE...] [-- WELCOME_PACKAGE...]
#   WELCOME_PACKAGE  installed if that is possible; without it some tests or programs are left out
# Exit status: 0 if everything is there, 2 if a package is missing and cannot be installed.
set -euo pipefail

packages=(
  g++ meson ninja-build pkg-config python3 cmake
  libboost-dev libeigen3-dev doctest-dev libopenblas-dev liblapacke-dev libhwloc-dev libcli11-dev
  nlohmann-json3-dev coinor-libclp-dev coinor-libcbc-dev libgecode-dev libmetis-dev node-d3
)
while (($# > 0)) && [[ $1 != -- ]]; do
  packages+=("$1")
  shift
done
welcome=("${@:2}")

fail() {
  echo "install_deps: $1" >&2
  exit 2
}

missing_packages() { # PACKAGE...
  local package
  for package in "$@"; do
    # shellcheck disable=SC2016  # dpkg-query's own variable
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      echo "$package"
    fi
  done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "needs Debian's dpkg-query and apt-get; install the equivalents of: ${packages[*]}"
fi

mapfile -t missing < <(missing_packages "${packages[@]}")
mapfile -t missing_welcome < <(missing_packages "${welcome[@]}")
if ((${#missing[@]} + ${#missing_welcome[@]} == 0)); then
  echo "install_deps: nothing is missing"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    if ((${#missing[@]} == 0)); then
      echo "install_deps: going on without ${missing_welcome[*]}: must be root to install"
      exit 0
    fi
    fail "must be root to install: ${missing[*]}"
  fi
  as_root=(sudo)
  # Without a terminal no password can be typed.
  [[ -t 0 ]] || as_root+=(-n)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null >>"$log" 2>&1
}

all_missing=("${missing[@]}" "${missing_welcome[@]}")
echo "install_deps: installing ${all_missing[*]}"
# A failed update does not matter if the present lists are enough.
apt update || true
if ((${#missing[@]} > 0)) && ! apt install --no-install-recommends "${missing[@]}"; then
  reason=$(grep -m 1 '^E:' "$log" || tail -n 1 "$log")
  fail "could not install ${missing[*]} (${reason#E: })"
fi
for package in "${missing_welcome[@]}"; do
  if ! apt install --no-install-recommends "$package"; then
    echo "install_deps: going on without $package, which could not be installed"
  fi
done
echo "install_deps: done"
