#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests of the compiled build folder DIR and shows the logs of those that fail. The last line
# is `N passed, N failed`. The exit status is not 0 if a test failed or none ran.
# Usage: scripts/run_tests.sh DIR [meson test option...]
set -uo pipefail

dir=$1
shift
# Threads begin on the stacks of earlier ones, without page faults: tests start hundreds of thousands.
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.pthread.stack_cache_size=1000000000}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

meson test -C "$dir" --no-rebuild --print-errorlogs "$@" </dev/null 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

count() { # the sum of the summary lines with one of these names
  awk -v names="$1" '
    match($0, /^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +[0-9]+/) {
      split($0, part, ":")
      if (index(names, "|" part[1] "|")) { sum += part[2] }
    }
    END { print sum + 0 }' "$log"
}
passed=$(count '|Ok|Expected Fail|')
failed=$(count '|Fail|Unexpected Pass|Timeout|')

if ((failed == 0 && (status != 0 || passed == 0))); then
  echo "run_tests: meson test ended with status $status and $passed tests passed"
  failed=1
fi
echo "$passed passed, $failed failed"
((failed == 0))
