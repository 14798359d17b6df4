#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs hetsched with Meson and with CMake, moves the installed tree to another folder, and builds
# and runs the README's first program against it: with pkg-config, with CMake, with devices, and on
# the compiled library. And the same program with hetsched as a part of a Meson project and of a
# CMake project. The last line is `N passed, N failed`.
# Usage: scripts/install_test.sh
set -uo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$source_dir/scripts/project.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
started=()

# Starts a function in a new folder with errexit. Two run at a time. Do not call it in a condition:
# that would switch errexit off inside.
check() { # NAME FUNCTION
  ((${#started[@]} < 2)) || finish_one
  mkdir -p "$work/$2"
  (
    set -e
    cd "$work/$2"
    "$2"
  ) </dev/null >"$work/$2.log" 2>&1 &
  started+=("$! $2 $1")
}

# Waits for the check that has run the longest, and shows its output if it failed.
finish_one() {
  local process function name
  read -r process function name <<<"${started[0]}"
  started=("${started[@]:1}")
  if wait "$process"; then
    echo "ok     $name"
    passed=$((passed + 1))
  else
    echo "FAILED $name"
    sed 's/^/    /' "$work/$function.log"
    failed=$((failed + 1))
  fi
}

finish_all() {
  while ((${#started[@]} > 0)); do
    finish_one
  done
}

install_and_move() {
  readme_program >"$work/main.cpp"
  if [[ ! -s $work/main.cpp ]]; then
    echo "README.md has no program in a cpp block"
    return 1
  fi
  meson setup build "$source_dir" --prefix=/opt/hetsched \
    -Doptimization=0 -Ddebug=false
  DESTDIR="$PWD/stage" meson install -C build
  mv stage/opt/hetsched "$work/prefix"
}

# The same with CMake. Devices only: Meson's part of the test has the compiled library.
install_with_cmake_and_move() {
  cmake -G Ninja -S "$source_dir" -B build -DCMAKE_INSTALL_PREFIX=/opt/hetsched \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DHETSCHED_COMPILED=disabled
  cmake --build build
  DESTDIR="$PWD/stage" cmake --install build
  diff -r stage/opt/hetsched/include "$work/prefix/include"
  rm -r "$work/prefix"
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

# A project of CMake's: the lines bring hetsched in, the target is all that the program links.
cmake_project() { # LINES TARGET
  cat >CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.18)
project(outside CXX)
$1
add_executable(program main.cpp)
target_link_libraries(program PRIVATE $2)
EOF
  cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH="$work/prefix"
  cmake --build build
  ./build/program
}

# The same with the CMake package, and one component of it if there is one.
build_with_cmake() { # [COMPONENT]
  cmake_project "find_package(hetsched 0.1 REQUIRED${1:+ COMPONENTS $1})" \
    "hetsched::${1:-hetsched}"
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

unknown_component() {
  local output
  cp "$work/main.cpp" .
  if output=$(build_with_cmake gpus 2>&1); then
    echo "CMake finds a component 'gpus'"
    return 1
  fi
  grep "no component 'gpus'; the components are devices and compiled" <<<"$output"
}

# In a folder of the project, so that CMake's targets must be seen outside of it. The project has
# found the threads already.
in_a_cmake_project() {
  devices_program
  mkdir outer
  echo "add_subdirectory(\"$source_dir\" hetsched)" >outer/CMakeLists.txt
  cmake_project "find_package(Threads REQUIRED)
add_subdirectory(outer)" hetsched::devices
}

with_fetch_content() {
  cp "$work/main.cpp" .
  cmake_project "include(FetchContent)
FetchContent_Declare(hetsched SOURCE_DIR \"$source_dir\")
FetchContent_MakeAvailable(hetsched)" hetsched::hetsched
  if [[ -e build/_deps/hetsched-build/libhetsched_devices.a ]]; then
    echo "the library for devices was built, and nothing uses it"
    return 1
  fi
}

wrong_option() {
  local output
  if output=$(cmake -G Ninja -S "$source_dir" -B build -DHETSCHED_CUDA=maybe 2>&1); then
    echo "CMake takes HETSCHED_CUDA=maybe"
    return 1
  fi
  grep "HETSCHED_CUDA is 'maybe'" <<<"$output"
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

check "install with Meson and move it" install_and_move
finish_all
if ((failed == 0)); then
  check "use through pkg-config" with_pkg_config
  check "use through CMake" with_cmake
  check "use with devices through pkg-config" devices_with_pkg_config
  check "use with devices through CMake" devices_with_cmake
  check "use with the compiled library through pkg-config" compiled_with_pkg_config
  check "use with the compiled library through CMake" compiled_with_cmake
  check "use as a Meson subproject" as_meson_subproject
  check "CMake: a component that does not exist" unknown_component
  check "CMake: in a folder of a project, with devices" in_a_cmake_project
  check "CMake: with FetchContent" with_fetch_content
  check "CMake: an option that is wrong" wrong_option
  finish_all
  check "install with CMake and move it" install_with_cmake_and_move
  finish_all
fi
if ((failed == 0)); then
  rm -r "$work"/devices_with_*
  check "CMake's: use with devices through pkg-config" devices_with_pkg_config
  check "CMake's: use with devices through CMake" devices_with_cmake
  finish_all
fi
echo "$passed passed, $failed failed"
((failed == 0))
