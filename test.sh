#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds everything in build-test/, runs all tests and then tries the
# installed library. The last line is `N passed, N failed`.
# Usage: ./test.sh [meson setup option...]
# Environment: CXX (clang++-19 if it is installed, because it builds the tests in two thirds of g++'s
# time; otherwise the default compiler).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

source scripts/counting.sh

compiler=${CXX:-c++}
if [[ -z ${CXX:-} ]] && command -v clang++-19 >/dev/null; then
  compiler=clang++-19
fi
# The tests read traces with the first three, compare simulated networks with the fourth, and run jobs
# of several ranks with the others.
scripts/install_deps.sh -- graphviz pajeng chromium libsimgrid-dev libopenmpi-dev openmpi-bin libmpich-dev mpich \
  libglobalarrays-dev libarmci-mpi-dev libscalapack-openmpi-dev libscalapack-mpich-dev libgfortran-12-dev || exit
# No optimisation: the build takes longer than the tests.
if CXX=$compiler run_step "build" scripts/build.sh build-test -Doptimization=0 -Ddebug=false \
  -Dtests=enabled -Dexamples=enabled -Dbenchmarks=enabled "$@"; then
  run_counted scripts/run_tests.sh build-test
fi
CXX=$compiler run_counted scripts/install_test.sh

echo
echo "Tested: the build, the tests in build-test/, the installed library in other projects."
finish
