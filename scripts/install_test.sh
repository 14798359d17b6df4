#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs hetsched, moves the installed tree to another folder, and builds and runs the README's
# first program against it in three ways: with pkg-config, with CMake, and as a Meson subproject. The
# first two ways are also tried with devices and on the compiled library. The last line is
# `N passed, N failed`.
# Usage: scripts/install_test.sh
set -uo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# Runs a function in a new folder with errexit, and shows its output only when it fails. Do not call
# it in a condition: that would switch errexit off inside.
check() { # NAME FUNCTION
  local status
  mkdir -p "$work/$2"
  (
    set -e
    cd "$work/$2"
    "$2"
  ) </dev/null >"$work/$2.log" 2>&1
  status=$?
  if ((status == 0)); then
    echo "ok     $1"
    passed=$((passed + 1))
  else
    echo "FAILED $1"
    sed 's/^/    /' "$work/$2.log"
    failed=$((failed + 1))
  fi
}

# The first ```cpp block of the README that is a whole program.
readme_program() {
  awk '
    /^```cpp/ { inside = 1; text = ""; next }
    /^```/ && inside { inside = 0; if (text ~ /int main/) { printf "%s", text; exit } }
    inside { text = text $0 "\n" }' "$source_dir/README.md"
}

install_and_move() {
  readme_program >"$work/main.cpp"
  if [[ ! -s $work/main.cpp ]]; then
    echo "README.md has no program in a cpp block"
    return 1
  fi
  meson setup build "$source_dir" --prefix=/opt/hetsched \
    -Doptimization=0 -Ddebug=false -Dtests=disabled -Dexamples=disabled -Dbenchmarks=disabled
  DESTDIR="$PWD/stage" meson install -C build
  mv stage/opt/hetsched "$work/prefix"
}

# Builds and runs main.cpp by what a package of pkg-config says.
build_with_pkg_config() { # PACKAGE
  local flags path
  path=$(find "$work/prefix" -type d -name pkgconfig | paste -s -d :)
  flags=$(PKG_CONFIG_PATH=$path pkg-config --cflags --libs "$1")
  # shellcheck disable=SC2086  # several flags
  ${CXX:-g++} -std=c++20 main.cpp $flags -o program
  ./program
}

# The same with the CMake package, and one component of it if there is one.
build_with_cmake() { # [COMPONENT]
  cat >CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.16)
project(outside CXX)
find_package(hetsched 0.1 REQUIRED${1:+ COMPONENTS $1})
add_executable(program main.cpp)
target_link_libraries(program PRIVATE hetsched::hetsched${1:+ hetsched::$1})
EOF
  cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH="$work/prefix"
  cmake --build build
  ./build/program
}

# The program with one emulated device.
devices_program() {
  { echo '#include <hetsched/gpu.hpp>' && cat "$work/main.cpp"; } >main.cpp
  export HETSCHED_DEVICES=emu:1@1MB
}

with_pkg_config() {
  cp "$work/main.cpp" .
  build_with_pkg_config hetsched
}

with_cmake() {
  cp "$work/main.cpp" .
  build_with_cmake
}

devices_with_pkg_config() {
  devices_program
  build_with_pkg_config hetsched-devices
}

devices_with_cmake() {
  devices_program
  build_with_cmake devices
}

compiled_with_pkg_config() {
  cp "$work/main.cpp" .
  build_with_pkg_config hetsched-compiled
}

compiled_with_cmake() {
  cp "$work/main.cpp" .
  build_with_cmake compiled
}

as_meson_subproject() {
  cp "$work/main.cpp" .
  mkdir subprojects
  ln -s "$source_dir" subprojects/hetsched
  cat >meson.build <<'EOF'
project('outside', 'cpp', default_options: 'cpp_std=c++20')
executable('program', 'main.cpp', dependencies: dependency('hetsched', fallback: 'hetsched'))
EOF
  meson setup build --wrap-mode=forcefallback
  ninja -C build
  ./build/program
}

check "install to a prefix and move it" install_and_move
if ((failed == 0)); then
  check "use through pkg-config" with_pkg_config
  check "use through CMake" with_cmake
  check "use with devices through pkg-config" devices_with_pkg_config
  check "use with devices through CMake" devices_with_cmake
  check "use with the compiled library through pkg-config" compiled_with_pkg_config
  check "use with the compiled library through CMake" compiled_with_cmake
  check "use as a Meson subproject" as_meson_subproject
fi
echo "$passed passed, $failed failed"
((failed == 0))
