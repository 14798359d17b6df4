# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# To be sourced: adds up what passed and failed over several steps of a script.

passed=0
failed=0

# Runs a command whose last line is `N passed, N failed` and adds those up. A command that ends
# otherwise, or fails without saying what, counts as one failed.
run_counted() { # COMMAND...
  local log status pattern='^([0-9]+) passed, ([0-9]+) failed$'
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if [[ $(tail -n 1 "$log") =~ $pattern ]] && ((status == 0 || BASH_REMATCH[2] > 0)); then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    ((BASH_REMATCH[2] == 0)) || failures+=("$*: ${BASH_REMATCH[2]} failed, shown above")
  else
    count_failure "$* (status $status)"
  fi
  rm -f "$log"
}

# Runs a command that is one step: it passed if it ends with status 0. Returns that status.
run_step() { # NAME COMMAND...
  local name=$1 status
  shift
  "$@"
  status=$?
  if ((status == 0)); then
    passed=$((passed + 1))
  else
    count_failure "$name (status $status)"
  fi
  return "$status"
}

count_failure() { # WHAT
  failed=$((failed + 1))
  failures+=("$1")
  echo "FAILED: $1"
}
failures=()

# Prints the line `N passed, N failed` and ends the script.
finish() {
  if ((${#failures[@]} > 0)); then
    printf 'failed step: %s\n' "${failures[@]}"
  fi
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
}
