#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the package in a fresh Debian 12 (debootstrap, in a folder) and builds and runs the README's
# first program there: by the lines that the README has for pkg-config and CMake, without and with
# devices, and on the compiled library. Then it removes the package, and the program has the committed
# sources as a part: of a CMake project by FetchContent, of a Meson project by a wrap. Needs root and a
# Debian mirror: the first one of this machine's apt. The last line is `N passed, N failed`.
# Usage: packaging/test_deb.sh FOLDER_WITH_THE_DEB
set -uo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$source_dir/scripts/project.sh"
debs=("${1:-.}"/hetsched-dev_*.deb)
if [[ ! -f ${debs[0]} ]]; then
  echo "test_deb: there is no hetsched-dev_*.deb in '${1:-.}'; packaging/build_deb.sh makes one" >&2
  exit 2
fi
"$source_dir/scripts/install_deps.sh" debootstrap || exit
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# shellcheck disable=SC2016  # apt's own variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
if ! debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1; then
  tail -n 20 "$root.log"
  echo "test_deb: debootstrap failed" >&2
  exit 1
fi
rm "$root.log"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null # a proxy, if there is one
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
cp "${debs[0]}" "$root/tmp/hetsched.deb"
readme_program >"$root/tmp/main.cpp"

passed=0
failed=0
check() { # NAME COMMANDS
  local output
  if output=$(chroot "$root" /bin/bash -ec "cd /tmp; $2" 2>&1); then
    echo "ok     $1"
    passed=$((passed + 1))
  else
    echo "FAILED $1"
    tail -n 30 <<<"$output"
    failed=$((failed + 1))
  fi
}

with_pkg_config() { # PACKAGE
  echo "g++ -std=c++20 main.cpp \$(pkg-config --cflags --libs $1) -o program && ./program"
}

with_cmake() { # COMPONENT
  cat <<EOF
rm -rf build
echo 'cmake_minimum_required(VERSION 3.18)
project(outside CXX)
find_package(hetsched 0.1 REQUIRED${1:+ COMPONENTS $1})
add_executable(program main.cpp)
target_link_libraries(program PRIVATE hetsched::${1:-hetsched})' > CMakeLists.txt
cmake -B build && cmake --build build && build/program
EOF
}

with_fetch_content() {
  cat <<EOF
rm -rf build
echo 'cmake_minimum_required(VERSION 3.18)
project(outside CXX)
include(FetchContent)
FetchContent_Declare(hetsched GIT_REPOSITORY /tmp/hetsched.git GIT_TAG $revision)
FetchContent_MakeAvailable(hetsched)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE hetsched::hetsched)' > CMakeLists.txt
cmake -B build && cmake --build build && build/program
EOF
}

with_wrap() {
  cat <<EOF
mkdir -p mesonic/subprojects && cp main.cpp mesonic && cd mesonic
echo '[wrap-git]
url = /tmp/hetsched.git
revision = $revision
[provide]
dependency_names = hetsched' > subprojects/hetsched.wrap
echo "project('outside', 'cpp', default_options: 'cpp_std=c++20')
executable('program', 'main.cpp', dependencies: dependency('hetsched'))" > meson.build
meson setup build && ninja -C build && build/program
EOF
}

check "apt-get install ./hetsched.deb" "apt-get update && apt-get install -y --no-install-recommends ./hetsched.deb"
check "the compilers of whoever uses it" "apt-get install -y --no-install-recommends g++ make cmake"
check "pkg-config" "$(with_pkg_config hetsched)"
check "pkg-config, compiled" "$(with_pkg_config hetsched-compiled)"
check "CMake" "$(with_cmake "")"
check "CMake, compiled" "$(with_cmake compiled)"
sed -i '1i #include <hetsched/gpu.hpp>' "$root/tmp/main.cpp"
check "pkg-config, devices" "export HETSCHED_DEVICES=emu:1@1MB; $(with_pkg_config hetsched-devices)"
check "CMake, devices" "export HETSCHED_DEVICES=emu:1@1MB; $(with_cmake devices)"
check "apt-get remove" "apt-get remove -y hetsched-dev && test ! -e /usr/include/hetsched"

git clone -q --bare "$source_dir" "$root/tmp/hetsched.git"
revision=$(git -C "$source_dir" rev-parse HEAD)
readme_program >"$root/tmp/main.cpp"
check "what a project of sources needs" \
  "apt-get install -y --no-install-recommends git ca-certificates meson ninja-build pkg-config libboost-dev"
check "CMake, FetchContent" "$(with_fetch_content)"
check "Meson, wrap" "$(with_wrap)"
echo "$passed passed, $failed failed"
((failed == 0))
