# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Source this file after counting.sh. It runs the unit tests under sanitizers.

# OpenBLAS's own threads would compete with the workers, and no sanitizer sees into them.
export OPENBLAS_NUM_THREADS=1
export TSAN_OPTIONS="second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"

# ThreadSanitizer's memory layout fails with some randomisations of addresses.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_layout=(setarch "$(uname -m)" -R)
fi

# Builds the unit tests in DIR and runs them. Stack traces need -g1.
sanitized() { # COMPILER DIR SANITIZERS COMPILER_FLAGS [meson setup option...]
  local compiler=$1 dir=$2 sanitizers=$3 flags=$4
  shift 4
  if CXX=$compiler run_step "build with -fsanitize=$sanitizers" scripts/build.sh "$dir" \
    -Db_sanitize="$sanitizers" -Db_lundef=false -Doptimization=0 -Ddebug=false \
    -Dcpp_args="-g1 $flags" -Dwerror=true \
    -Dtests=enabled -Dexamples=disabled -Dbenchmarks=disabled "$@" -- unit_tests; then
    run_counted "${fixed_layout[@]}" scripts/run_tests.sh "$dir" --suite unit \
      --timeout-multiplier "${timeout_multiplier:-5}"
  fi
}
