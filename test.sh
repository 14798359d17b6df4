#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds everything in build-test/, runs all tests and then tries the
# installed library. The last line is `N passed, N failed`.
# Usage: ./test.sh [meson setup option...]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

source scripts/counting.sh

scripts/install_deps.sh -- graphviz pajeng chromium || exit # the tests read traces with them
# No optimisation: the build takes longer than the tests.
if run_step "build" scripts/build.sh build-test -Doptimization=0 -Ddebug=false \
  -Dtests=enabled -Dexamples=enabled -Dbenchmarks=enabled "$@"; then
  run_counted scripts/run_tests.sh build-test
fi
run_counted scripts/install_test.sh

echo
echo "Tested: the build, the tests in build-test/, the installed library in three other projects."
finish
