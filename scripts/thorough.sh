#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs what takes too long for .ci/run. Run it once before an issue is closed, on an idle machine: it
# takes hours on two cores. The last line is `N passed, N failed`.
# Usage: scripts/thorough.sh [PART...]      (all, in this order)
#   default   all programs with the default optimisation, and all tests, in build-thorough/
#   random    more random graphs in that build, and many repetitions of the tests where threads meet
#   explore   longer sequences of events of the memory nodes and of the dataflow layer, SECONDS_EACH
#             for each setting
#   interleavings  a million interleavings of small programs and more, and the planted defects
#   failures  programs in which each allocation, thread and file operation fails, TIMES / 10 times
#   matrices  100,000 damaged matrix files and more, FILES for each of two seeds
#   blas      the tests of the linear algebra in that build, with OpenBLAS's kernels for each kind of
#             CPU that this machine can stand for: each rounds in another order
#   access    tests of the runtime and of devices with HETSCHED_CHECK=access: none touches what it did not declare
#   thread    all unit tests under ThreadSanitizer
#   address   all unit tests under AddressSanitizer and UndefinedBehaviorSanitizer, and FILES damaged
#             matrix files
#   plain     a build without LAPACK, CUDA, hwloc, MPI and the compiled library: its tests with devices,
#             and those of the linear algebra with Eigen's kernels
#   docs      the docs as a site: its links, and the names in its reference
#   package   the Debian package, installed in a fresh system: needs root and a Debian mirror
#   weight    what the headers cost to compile: printed, not judged
# Environment:
#   JOBS   compilations at once (2)
#   SEEDS  further seeds of the random graphs, 10,000 graphs for each (3)
#   TIMES  repetitions of the tests where threads meet (20)
#   FILES  damaged matrix files (100000)
#   SECONDS_EACH  for each setting of `explore` (600)
# shellcheck disable=SC2317  # the parts are called by their names
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

source scripts/counting.sh
source scripts/sanitizing.sh
export JOBS=${JOBS:-2}
readonly seeds=${SEEDS:-3} times=${TIMES:-20} seconds_each=${SECONDS_EACH:-600} files=${FILES:-100000} graphs=10000
readonly build=build-thorough

# Seven parts need this build. Further calls compile nothing.
build_default() {
  CXX=g++ run_step "build" scripts/build.sh "$build" -Dwerror=true \
    -Dtests=enabled -Dexamples=enabled -Dbenchmarks=enabled
}

part_default() {
  title "all tests with the default optimisation"
  if build_default; then
    run_counted scripts/run_tests.sh "$build" --timeout-multiplier 2
  fi
}

part_random() {
  local k
  title "random graphs and threads"
  build_default || return
  # Graph k of a run has the run's first seed + k, so no graph is drawn twice.
  for ((k = 0; k <= seeds; ++k)); do
    HETSCHED_TEST_GRAPHS=$graphs HETSCHED_TEST_SEED=$((1 + k * graphs)) \
      run_counted scripts/run_tests.sh "$build" --suite equivalence --suite linear \
      --timeout-multiplier 2
  done
  # The seeds of these tests are fixed. The order of the threads differs from run to run.
  run_counted scripts/run_tests.sh "$build" --repeat "$times" --timeout-multiplier 2 \
    --suite queues --suite detail --suite testing --suite schedulers --suite runtime \
    --suite drivers --suite devices
}

part_explore() {
  local name
  title "sequences of events of the memory nodes and of the dataflow layer"
  build_default || return
  for name in explore_memory explore_dataflow; do
    run_step "$name" "$build/tests/$name" --depth 1000 --seconds "$seconds_each"
  done
}

part_interleavings() {
  title "interleavings of small programs"
  build_default || return
  run_step "random" "$build/tests/interleavings" --more
  run_step "all schedulers" "$build/tests/interleavings" --scheduler all --runs 500000
  run_step "two preemptions" "$build/tests/interleavings" --preemptions 2 --runs 200000
  run_step "planted defects" python3 tests/interleavings/plant.py "$build"
}

part_failures() {
  local k
  title "failing allocations, threads and files"
  build_default || return
  for ((k = 0; k < (times + 9) / 10; ++k)); do
    run_step "failures --all" "$build"/tests/failures --all
  done
}

part_matrices() {
  local seed
  title "damaged matrix files"
  build_default || return
  for seed in 1 2; do
    run_step "seed $seed" "$build/tests/mutated_files" --files "$files" --seed "$seed"
  done
}

part_blas() {
  local core flag
  title "OpenBLAS's kernels for other CPUs"
  build_default || return
  for core in Prescott:sse3 Nehalem:sse4_2 Barcelona:sse4a Sandybridge:avx Haswell:avx2 Zen:avx2 \
    SkylakeX:avx512vl Cooperlake:avx512_bf16; do
    flag=${core#*:}
    core=${core%:*}
    if grep -qw "$flag" /proc/cpuinfo; then
      echo "OPENBLAS_CORETYPE=$core"
      OPENBLAS_CORETYPE=$core run_counted scripts/run_tests.sh "$build" --suite linalg \
        --timeout-multiplier 2
    else
      echo "SKIPPED: OPENBLAS_CORETYPE=$core needs a CPU with $flag"
    fi
  done
}

part_access() {
  title "tests with HETSCHED_CHECK=access"
  build_default || return
  # verdict_test measures how long tasks run at the same time, and here they do not.
  HETSCHED_DEVICES=none HETSCHED_CHECK=access run_step "runtime" \
    "$build/tests/test_runtime" --source-file-exclude='*/trace/verdict_test.cpp'
  HETSCHED_CHECK=access run_step "devices" "$build/tests/test_devices"
  HETSCHED_CHECK=access run_step "equivalence" "$build/tests/test_equivalence"
}

part_thread() {
  title "ThreadSanitizer"
  HETSCHED_TEST_GRAPHS=2000 timeout_multiplier=20 sanitized g++ build-thorough-tsan thread ""
}

part_address() {
  title "AddressSanitizer and UndefinedBehaviorSanitizer"
  local compiler=g++
  # clang++ compiles this build in half of g++'s time.
  ! command -v clang++-19 >/dev/null || compiler=clang++-19
  HETSCHED_TEST_GRAPHS=2000 timeout_multiplier=20 sanitized "$compiler" build-thorough-asan \
    address,undefined -fno-sanitize-recover=undefined
  run_step "damaged matrix files" build-thorough-asan/tests/mutated_files --files "$files"
}

part_plain() {
  title "without what is optional"
  if CXX=g++ run_step "build without options" scripts/build.sh build-thorough-plain \
    -Dlapack=disabled -Dcuda=disabled -Dhwloc=disabled -Dmpi=disabled -Dcompiled=disabled -Dwerror=true \
    -Doptimization=1 -Ddebug=false \
    -Dtests=enabled -Dexamples=disabled -Dbenchmarks=disabled -- \
    tests/test_drivers tests/test_devices tests/test_linalg tests/test_sparse tests/test_equivalence; then
    HETSCHED_TEST_GRAPHS=1000 run_counted scripts/run_tests.sh build-thorough-plain \
      --timeout-multiplier 2 --suite drivers --suite devices --suite linalg --suite sparse \
      --suite equivalence
  fi
}

part_docs() {
  title "the docs as a site"
  run_step "site" scripts/build_docs.sh build-docs
}

part_package() {
  local folder
  folder=$(mktemp -d)
  title "the Debian package"
  if run_step "build" packaging/build_deb.sh "$folder"; then
    run_counted packaging/test_deb.sh "$folder"
  fi
  rm -rf "$folder"
}

part_weight() {
  title "what the headers cost to compile"
  scripts/compile_time.sh || echo "compile_time.sh ended with status $?"
}

readonly all_parts=(default random explore interleavings failures matrices blas access thread address plain docs package weight)
(($# > 0)) || set -- "${all_parts[@]}"
for part; do
  if [[ " ${all_parts[*]} " != *" $part "* ]]; then
    echo "thorough: there is no part '$part'; the parts are ${all_parts[*]}" >&2
    exit 2
  fi
done

# The tests read traces with the first three, and run jobs of several ranks with the others.
scripts/install_deps.sh -- graphviz pajeng chromium libopenmpi-dev openmpi-bin libmpich-dev mpich || exit
for part; do
  "part_$part"
done

title "end"
finish
