#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the fuzz targets (tests/fuzz) in build-fuzz/ and runs each for SECONDS, with one summary line
# each. It begins with the large inputs of tests/fuzz/dense.py. Then come the kept ones in
# tests/fuzz/corpus/TARGET, and what earlier runs found in build-fuzz/corpus/TARGET. An input that
# breaks the contract in tests/fuzz/fuzz.hpp stays in build-fuzz/found/, and the target's log in
# build-fuzz/logs/. The last line is `N passed, N failed`.
# Usage: scripts/fuzz.sh [SECONDS [TARGET...]]      (10, all)
# To run one input again: build-fuzz/tests/fuzz/fuzz_TARGET FILE
# Environment:
#   JOBS   targets at once (2)
#   SEED   of libFuzzer (1); with another, further inputs are tried
#   DENSE  size of the large inputs (1000000)
#   OPTIMIZATION  of the targets (1); 0 compiles in half the time
#   KEEP   1: afterwards keeps in tests/fuzz/corpus the 20 longest of those that cover all that is known
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

source scripts/counting.sh
export JOBS=${JOBS:-2}
readonly seconds=${1:-10} seed=${SEED:-1} build=build-fuzz kept=tests/fuzz/corpus
(($# == 0)) || shift

all=(tests/fuzz/*.cpp)
all=("${all[@]##*/}")
all=("${all[@]%.cpp}")
(($# > 0)) || set -- "${all[@]}"
for target; do
  if [[ " ${all[*]} " != *" $target "* ]]; then
    echo "fuzz: there is no target '$target'; the targets are ${all[*]}" >&2
    exit 2
  fi
done

CXX=${CXX:-clang++-19} run_step "build the fuzzers" scripts/build.sh "$build" -Dfuzzers=enabled \
  -Doptimization="${OPTIMIZATION:-1}" -Ddebug=false -Dwerror=true -Db_lundef=false -Dtests=disabled \
  -Dexamples=disabled -Dbenchmarks=disabled -Dlapack=disabled -Dcuda=disabled -Dcompiled=disabled \
  -- "${@/#/tests/fuzz/fuzz_}" || finish

run_target() { # TARGET
  local corpus=$build/corpus/$1
  mkdir -p "$corpus" "$build/found" "$build/logs"
  "$build/tests/fuzz/fuzz_$1" -timeout=60 -rss_limit_mb=2048 -artifact_prefix="$build/found/$1-" \
    "$build/dense/$1"/* >"$build/logs/$1.log" 2>&1 || return
  # A hang beyond the limit of fuzz.hpp ends after 20 s.
  "$build/tests/fuzz/fuzz_$1" "$corpus" "$kept/$1" -max_total_time="$seconds" -seed="$seed" \
    -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/found/$1-" >>"$build/logs/$1.log" 2>&1
}

summary() { # TARGET STATUS
  local log=$build/logs/$1.log
  awk -v target="$1" -v status="$2" '
    /^stat::number_of_executed_units:/ { runs = $2 }
    /^stat::peak_rss_mb:/ { memory = $2 }
    /^FUZZ worst:/ && !bytes { bytes = $3; ns = $6 } # of the large inputs
    /^FUZZ worst:/ { cpu = $11 }
    { if (match($0, / cov: [0-9]+/)) { coverage = substr($0, RSTART + 6, RLENGTH - 6) } }
    END {
      printf "%s: %d inputs, %d s of CPU time, coverage %d, at most %d bytes and %d ns for a byte, peak %d MB: %s\n",
        target, runs, cpu, coverage, bytes, ns, memory, status == 0 ? "nothing found" : "FOUND"
    }' "$log"
  if (($2 != 0)); then
    grep -E '^FUZZ:|ERROR|runtime error|SUMMARY|Test unit written' "$log"
  fi
  return "$2"
}

rm -rf "$build/dense"
python3 tests/fuzz/dense.py "$build/dense" "${DENSE:-1000000}" || exit
title "fuzzing, $seconds s for each target, seed $seed"
declare -A target_of=()
running=0
wait_for_one() {
  local status pid
  wait -n -p pid
  status=$?
  running=$((running - 1))
  run_step "fuzz ${target_of[$pid]}" summary "${target_of[$pid]}" "$status"
}
for target; do
  ((running < JOBS)) || wait_for_one
  run_target "$target" &
  target_of[$!]=$target
  running=$((running + 1))
done
while ((running > 0)); do
  wait_for_one
done

# Names that libFuzzer gave are digests. What a person put there has another name, and stays.
keep() { # TARGET
  local new digest='^[0-9a-f]{40}$' path
  new=$(mktemp -d)
  if "$build/tests/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 -max_len=1024 "$new" "$kept/$1" \
    "$build/corpus/$1" >"$build/logs/$1.merge.log" 2>&1; then
    for path in "$kept/$1"/*; do
      [[ ! ${path##*/} =~ $digest ]] || rm "$path"
    done
    # The longest reach furthest. What ends in an early error is found again in a second.
    find "$new" -type f -printf '%s %p\n' | sort -rn | head -n 20 | while read -r _ path; do
      cp "$path" "$kept/$1/"
    done
  fi
  rm -r "$new"
}

if [[ ${KEEP:-} == 1 ]]; then
  for target; do
    run_step "keep inputs of $target" keep "$target"
  done
fi
finish
