#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What hetsched costs to compile: CPU seconds (user and system, median of RUNS) at -O2 of files that
# use it in several ways, beside a file with the same standard headers alone, compiled in turn. That
# one's time is S; each ratio to S has a budget, see docs/performance.md. Needs an idle machine.
# Peers whose headers are installed are compiled in the same way.
#
# Usage: scripts/compile_time.sh [RUNS]      (5)
# Environment: CXX (g++)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=${1:-5}
compiler=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=()

# A source to be measured: its text is read from standard input.
source_file() { # NAME [COMPILER FLAG...]
  local name=$1
  shift
  cat >"$work/$name.cpp"
  names+=("$name")
  printf '%s\n' "$@" >"$work/$name.flags"
}

# The standard headers that the library of 33f87d7 included: the same for every version that is
# compared.
printf '#include <%s>\n' algorithm array atomic bit cerrno cmath compare concepts cstddef cstdint \
  cstdio cstdlib cstring ctime exception functional limits map memory mutex new optional span \
  stdexcept string string_view type_traits unordered_map utility vector pthread.h sched.h unistd.h \
  >"$work/standard"
source_file standard < <(cat "$work/standard" && echo 'int main() {}')
source_file 'header alone' <<'END'
#include <hetsched/hetsched.hpp>
int main() {}
END
source_file 'hello' <examples/hello.cpp
source_file 'hello compiled' -DHETSCHED_COMPILED <examples/hello.cpp

# hello's main once for each of some schedulers.
schedulers() { # TYPE...
  local type number=0
  sed '/^int main() {/,$d' examples/hello.cpp
  for type; do
    number=$((number + 1))
    sed -n '/^int main() {/,$p' examples/hello.cpp |
      sed -e "s/^int main() {/void run_$number() {/" -e "s/hs::Runtime<> rt;/hs::Runtime<$type> rt;/"
  done
  echo 'int main() {}'
}

source_file 'one scheduler' < <(schedulers 'hs::policies::WorkStealing<>')
source_file 'four schedulers' < <(schedulers 'hs::policies::WorkStealing<>' \
  'hs::policies::Eager<>' 'hs::policies::Random<>' 'hs::policies::Priority<>')
any() {
  echo '#include <hetsched/policies/any_scheduler.hpp>'
  schedulers 'hs::policies::AnyScheduler'
}
source_file 'AnyScheduler' < <(any)
source_file 'AnyScheduler compiled' -DHETSCHED_COMPILED < <(any)
if [[ -f /usr/include/tbb/flow_graph.h ]]; then
  source_file 'oneTBB, headers alone' < <(printf '#include <tbb/%s.h>\n' flow_graph task_group)
fi
if [[ -f /usr/include/taskflow/taskflow.hpp ]]; then
  source_file 'Taskflow, header alone' < <(echo '#include <taskflow/taskflow.hpp>')
fi

for ((run = 0; run < runs; ++run)); do
  for name in "${names[@]}"; do
    mapfile -t flags < <(grep . "$work/$name.flags" || true)
    /usr/bin/time -o "$work/time" -f '%U %S %M' "$compiler" -std=c++20 -O2 -Iinclude "${flags[@]}" \
      -c "$work/$name.cpp" -o "$work/$name.o"
    cat "$work/time" >>"$work/$name.times"
  done
done

median() { # NAME
  awk '{ print $1 + $2 }' "$work/$1.times" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}

text_bytes() { # NAME
  size "$work/$1.o" | awk 'NR == 2 { print $1 }'
}

"$compiler" --version | head -n 1
printf '%-24s %9s %7s %9s %9s\n' file 'seconds' 'of S' 'code kB' 'peak MB'
standard=$(median standard)
for name in "${names[@]}"; do
  awk -v name="$name" -v t="$(median "$name")" -v s="$standard" -v b="$(text_bytes "$name")" \
    -v m="$(awk '{ print $3 }' "$work/$name.times" | sort -n | tail -n 1)" \
    'BEGIN { printf "%-24s %9.2f %7.2f %9.1f %9.0f\n", name, t, t / s, b / 1000, m / 1024 }'
done
awk -v one="$(median 'one scheduler')" -v four="$(median 'four schedulers')" -v s="$standard" \
  -v a="$(text_bytes 'one scheduler')" -v b="$(text_bytes 'four schedulers')" \
  'BEGIN { printf "%-24s %9.2f %7.2f %9.1f\n", "each further scheduler", (four - one) / 3,
           (four - one) / 3 / s, (b - a) / 3000 }'
