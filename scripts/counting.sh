# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Source this file. It adds up what passed and failed over several steps of a script.

passed=0
failed=0
failures=() # what failed, each with the end of what it printed

title() {
  printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"
}

# Runs a command whose last line is `N passed, N failed`, and adds these numbers. A command that ends
# in another way, or fails without such a line, counts as one failure.
run_counted() { # COMMAND...
  local log status pattern='^([0-9]+) passed, ([0-9]+) failed$'
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if [[ $(tail -n 1 "$log") =~ $pattern ]] && ((status == 0 || BASH_REMATCH[2] > 0)); then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    ((BASH_REMATCH[2] == 0)) || note_failure "$*: ${BASH_REMATCH[2]} failed" "$log"
  else
    failed=$((failed + 1))
    note_failure "$* (status $status)" "$log"
  fi
  rm -f "$log"
}

# Runs a command as one step. The step passes if the status is 0. Returns that status.
run_step() { # NAME COMMAND...
  local name=$1 log status
  shift
  log=$(mktemp)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if ((status == 0)); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    note_failure "$name (status $status)" "$log"
  fi
  rm -f "$log"
  return "$status"
}

# Keeps the end of the output, without the lines of what passed, because a long output may be cut
# before it is read.
note_failure() { # WHAT LOG
  local passing='^ *[0-9]+/[0-9]+ .* OK |^ok |^ *$|^\[[0-9]+/[0-9]+\] '
  echo "FAILED: $1"
  failures+=("$1"$'\n'"$(grep -vE "$passing" "$2" | tail -n 150 | sed 's/^/    /')")
}

# Prints the line `N passed, N failed` and ends the script.
finish() {
  if ((${#failures[@]} > 0)); then
    printf 'failed step: %s\n' "${failures[@]}"
  fi
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
}
