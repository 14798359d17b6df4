#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs tests/soak with one seed after the other, each in a process of its own, for MINUTES. A seed
# stands for random programs, a scheduler, settings, and emulated devices with faults
# (docs/robustness.md). What a run that fails has printed stays in build-soak/failed/SEED.log; its
# first line is the command that runs it again. The last lines say what was run, and
# `N passed, N failed`.
# Usage: scripts/soak.sh MINUTES
# Environment:
#   SEED      the first seed (the time, in seconds); each run takes the next one
#   JOBS      runs and compilations at once (2)
#   SANITIZE  as for -fsanitize, such as thread or address,undefined; the folder is then
#             build-soak-SANITIZE
#   CXX       the compiler (clang++-19 if there is one, for ThreadSanitizer g++)
#   MEMORY    MiB that a run may take (2048)
#   LIMIT     seconds of a run (1200). On an idle machine it takes a tenth of a second; one that
#             hangs ends itself, with a dump, when it has had a core for a minute or so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

source scripts/counting.sh
source scripts/sanitizing.sh
minutes=${1:-}
if ! [[ $minutes =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/soak.sh MINUTES" >&2
  exit 2
fi
export JOBS=${JOBS:-2}
readonly first=${SEED:-$(date +%s)} sanitize=${SANITIZE:-none} memory=${MEMORY:-2048}
readonly limit=${LIMIT:-1200}
build="build-soak"
[[ $sanitize == none ]] || build=build-soak-${sanitize//,/-}
readonly build failed_runs=$build/failed logs=$build/logs

options=(-Doptimization=1 -Ddebug=true -Dcpp_args=-g1)
run=(prlimit --core=0 --data=$((memory << 20)))
if [[ $sanitize != none ]]; then
  # Sanitizers reserve far more memory than they use.
  options+=(-Db_sanitize="$sanitize" -Db_lundef=false)
  run=(prlimit --core=0 "${fixed_layout[@]}")
  export ASAN_OPTIONS="hard_rss_limit_mb=$memory ${ASAN_OPTIONS:-}"
fi
compiler=g++
if [[ $sanitize != thread ]] && command -v clang++-19 >/dev/null; then
  compiler=clang++-19 # compiles this in less time
fi
CXX=${CXX:-$compiler} run_step "build the soak" scripts/build.sh "$build" "${options[@]}" -Dtests=enabled \
  -Dexamples=disabled -Dbenchmarks=disabled -Dcuda=disabled -Dcompiled=disabled \
  -- tests/soak || finish
passed=0

# Job number JOB of JOBS takes every JOBS-th seed. Writes `SEED STATUS KIND` for each.
run_seeds() { # JOB
  local seed=$((first + $1)) status log=$logs/$1
  while ((SECONDS < end)); do
    timeout --signal=ABRT --kill-after=60 "$limit" "${run[@]}" "$build/tests/soak" "$seed" \
      >"$log.log" 2>&1
    status=$?
    if ((status != 0)); then
      {
        echo "${run[*]} $build/tests/soak $seed"
        cat "$log.log"
        echo "status $status"
      } >"$failed_runs/$seed.log"
    fi
    echo "$seed $status $(sed -n 's/^seed [0-9]*: \([a-z]*\).*/\1/p' "$log.log")" >>"$log.seeds"
    seed=$((seed + JOBS))
  done
}

mkdir -p "$failed_runs"
rm -rf "$logs"
mkdir "$logs"
title "soak of $minutes minutes from seed $first on"
begin=$SECONDS
readonly begin end=$((SECONDS + minutes * 60))
for ((job = 0; job < JOBS; ++job)); do
  run_seeds "$job" &
done
wait

while read -r seed status _; do
  if ((status == 0)); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    note_failure "seed $seed (status $status)" "$failed_runs/$seed.log"
  fi
done < <(cat "$logs"/*.seeds)
times >"$logs/times" # of this shell, then of all that it ran
sort -n "$logs"/*.seeds | awk -v seconds=$((SECONDS - begin)) -v sanitize="$sanitize" \
  -v commit="$(git describe --always --dirty 2>/dev/null)" -v cpu="$(tail -n 1 "$logs/times")" '
  NR == 1 { first = $1 }
  { last = $1; ++kinds[$3] }
  END {
    printf "soak: %s, -fsanitize=%s, seeds %d to %d, %d s, CPU time (user, system) %s,", commit,
      sanitize, first, last, seconds, cpu
    printf " %d on threads, %d in virtual time\n", kinds["threads"], kinds["virtual"]
  }'
finish
