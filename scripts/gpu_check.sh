#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds and runs everything that needs a GPU. The machine may have no network, and needs nothing but
# g++, the CUDA toolkit and its driver. Runs the tests of devices, compute-sanitizer on two programs,
# and the benchmarks of devices. Ends with a table and `N passed, N failed`. The exit status is 0 only
# if nothing failed.
#
# Usage: scripts/gpu_check.sh               on the GPU (HETSCHED_DEVICES, default cuda:0)
#        scripts/gpu_check.sh --emulated    the same on emulated devices, for machines without a GPU
#        scripts/gpu_check.sh --pack        fills gpu_check_headers/ from this machine's headers, for
#                                           a machine that lacks Boost, Eigen, doctest or CLI11
#
# Environment: OUT, the folder for summary.txt and the logs (default: gpu_check_results/); CXX (g++);
# JOBS, the number of compilations at once (default: one per core); CUDA_HOME; GPU_CHECK_N, the order
# of the matrices; GPU_CHECK_BLAS=Eigen, to use Eigen even if OpenBLAS is there.
set -uo pipefail
ulimit -c 0
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

CXX=${CXX:-g++}
JOBS=${JOBS:-$(nproc)}
packed=gpu_check_headers
build="build-gpu-check"
emulated=false

fail() {
  echo "gpu_check: $1" >&2
  exit 2
}

# ---- headers for a machine that lacks them ----

# Boost is large. This takes only what our headers include, and all of Boost's config, because other
# compilers include other parts of it.
pack() {
  rm -rf "$packed"
  mkdir -p "$packed"
  local root name
  for name in eigen3/Eigen doctest CLI; do
    root=/usr/include
    [[ -d $root/$name ]] || fail "--pack: there is no $root/$name"
    mkdir -p "$packed/$(dirname "$name")"
    cp -rL "$root/$name" "$packed/$name"
  done
  local sources=()
  mapfile -t sources < <(grep -rl 'include <boost/' include)
  ((${#sources[@]} > 0)) || fail "--pack: nothing includes Boost"
  printf '#include "%s"\n' "${sources[@]/#/$PWD/}" |
    "$CXX" -std=c++20 -Iinclude -x c++ -M - | grep -o '/usr/include/boost/[^ ]*' |
    sort -u >"$packed/boost.list" || fail "--pack: cannot tell which headers of Boost are needed"
  find /usr/include/boost/config /usr/include/boost/predef* -name '*.h*' >>"$packed/boost.list"
  while read -r name; do
    mkdir -p "$packed/$(dirname "${name#/usr/include/}")"
    cp -L "$name" "$packed/${name#/usr/include/}"
  done <"$packed/boost.list"
  rm "$packed/boost.list"
  echo "gpu_check: $(find "$packed" -type f | wc -l) headers, $(du -sh "$packed" | cut -f1), in $packed/"
}

while (($# > 0)); do
  case $1 in
  --emulated) emulated=true ;;
  --pack)
    pack
    exit
    ;;
  --help | -h)
    sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit
    ;;
  *) fail "'$1' is none of --emulated, --pack, --help" ;;
  esac
  shift
done

out=${OUT:-gpu_check_results}
mkdir -p "$out" || fail "cannot make $out"
summary=$out/summary.txt
: >"$summary"
passed=0
failed=0
mark=
$emulated && mark="EMULATED  "

# Prints a line of the summary.
say() {
  echo "$mark$1" | tee -a "$summary"
}

# Puts a program's output into the summary.
show() { # LOG
  sed "s/^/$mark    /" "$1" | tee -a "$summary"
}

# Runs a step, with its output in a log. The step also fails if `judge`, which gets the log, returns a
# status other than 0.
step() { # NAME COMMAND...
  local name=$1 begin=$SECONDS log=$out/$1.log status
  shift
  timeout "${limit:-300}" "$@" >"$log" 2>&1 </dev/null
  status=$?
  ((status != 0)) || ${judge:-true} "$log" || status=judged
  if [[ $status == 0 ]]; then
    passed=$((passed + 1))
    say "$(printf 'passed  %4d s  %s' $((SECONDS - begin)) "$name")"
  else
    failed=$((failed + 1))
    say "$(printf 'FAILED  %4d s  %s: status %s, see %s' $((SECONDS - begin)) "$name" "$status" "$log")"
    tail -n 15 "$log"
    return 1
  fi
}

missing() { # NAME WHAT
  failed=$((failed + 1))
  say "FAILED          $1: $2"
}

# ---- what this machine has ----

find_cuda() {
  local candidate
  for candidate in "${CUDA_HOME:-}" "$(dirname "$(dirname "$(command -v nvcc || echo //)")")" \
    /usr/local/cuda; do
    if [[ -n $candidate && -f $candidate/include/cublas_v2.h ]]; then
      echo "$candidate"
      return
    fi
  done
}

cuda=$(find_cuda)
if ! $emulated && [[ -z $cuda ]]; then
  fail "found no CUDA toolkit with cuBLAS; set CUDA_HOME, or try --emulated"
fi

flags=(-std=c++20 -O2 -g1 -pthread -Wall -Wextra -Iinclude)
if [[ -d $packed ]]; then
  flags+=(-isystem "$packed" -isystem "$packed/eigen3")
else
  flags+=(-isystem /usr/include/eigen3)
fi
libraries=(-pthread)

compiles() { # TEXT [ARGUMENT...]
  local text=$1
  shift
  "$CXX" "${flags[@]}" -x c++ - -x none -o "$build/probe" "$@" <<<"$text" >/dev/null 2>&1
}

mkdir -p "$build"
printf '#include <%s>\n' Eigen/Core doctest/doctest.h CLI/CLI.hpp boost/config.hpp |
  "$CXX" "${flags[@]}" -x c++ -E - >/dev/null ||
  fail "lacks Eigen, doctest, CLI11 or Boost: run scripts/gpu_check.sh --pack where they are, and carry $packed/ here"

blas=Eigen
if [[ ${GPU_CHECK_BLAS:-} != Eigen ]] && compiles $'#include <cblas.h>\n#include <lapacke.h>\nint main(){cblas_dscal(0,1,nullptr,1);LAPACKE_set_nancheck(0);}' \
  -lopenblas -llapacke; then
  blas=OpenBLAS
  libraries+=(-lopenblas -llapacke)
fi

# The sources of the library, chosen as in cuda/meson.build.
library=()
for source in cuda/*.cpp cuda/emulated/*.cpp cuda/set/*.cpp; do
  case $source in
  cuda/emulated/kernels_*.cpp) ;;
  *) library+=("$source") ;;
  esac
done
if [[ $blas == OpenBLAS ]]; then
  library+=(cuda/emulated/kernels_openblas.cpp)
else
  library+=(cuda/emulated/kernels_eigen.cpp cuda/emulated/kernels_no_lapack.cpp)
fi
if [[ -n $cuda ]]; then
  flags+=(-isystem "$cuda/include")
  for folder in "$cuda/lib64" "$cuda"/targets/*/lib; do
    [[ ! -d $folder ]] || libraries+=("-L$folder" "-Wl,-rpath,$folder")
  done
  library+=(cuda/cuda/blas.cpp cuda/cuda/driver.cpp cuda/cuda/streams.cpp)
  solver=$'#include <cusolverDn.h>\nint main(){cusolverDnHandle_t h; return cusolverDnCreate(&h);}'
  if compiles "$solver" "${libraries[@]}" -lcusolver -lcublas -lcudart; then
    library+=(cuda/cuda/solver.cpp)
    libraries+=(-lcusolver)
  else
    library+=(cuda/cuda/no_solver.cpp)
  fi
  libraries+=(-lcublas -lcudart)
else
  library+=(cuda/cuda/no_driver.cpp)
fi

device="the first emulated one"
driver=none
if ! $emulated; then
  IFS=, read -r device driver < <(
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1
  )
fi
toolkit=$([[ -z $cuda ]] && echo none || "$cuda/bin/nvcc" --version 2>/dev/null | grep -o 'release.*' ||
  echo "in $cuda, without nvcc")
say "hetsched $(git rev-parse --short HEAD 2>/dev/null || echo '(no git)'), $(date -u +%Y-%m-%dT%H:%MZ)"
say "device: ${device:-unknown}; driver: ${driver:-unknown}; toolkit: $toolkit"
say "$("$CXX" --version | head -n 1), $(nproc) cores, BLAS on cores: $blas"

# ---- building ----

# Sources with kernels of their own, as in cuda/meson.build.
kernel_sources=" tests/gpu/for_each_kernel.cpp examples/gpu_axpy_body.cpp examples/cuda_transpose_body.cu "
nvcc=
[[ -z $cuda || ! -x $cuda/bin/nvcc ]] || nvcc=$cuda/bin/nvcc

# Objects are kept. An object is made again if its source or any header is newer, or if it was made
# with another command.
newest=$(find include cuda tests benchmarks examples -name '*.h*' -printf '%T@ %p\n' |
  sort -n | tail -n 1 | cut -d ' ' -f 2-)
kind=$(echo "$CXX ${flags[*]} $("$CXX" -dumpfullversion)" | cksum | cut -d ' ' -f 1)
objects=$build/$kind
commands=$build/commands
mkdir -p "$objects"
: >"$commands"

# Adds the compilation of a source to the list, and sets `object`.
compile() { # SOURCE VARIANT [FLAG...]
  local source=$1 variant=$2
  shift 2
  object=$objects/$variant-$(echo "${source%.*}" | tr / _).o
  if [[ ! $object -nt $newest || ! $object -nt $source ]] &&
    ! grep -qF -- " $object " "$commands"; then
    if [[ -n $nvcc && $kernel_sources == *" $source "* ]]; then
      echo "'$nvcc' -x cu -std=c++20 -ccbin $CXX -O2 -Iinclude -c -o $object $source" >>"$commands"
    else
      # without links: -MF files would only be in the way
      echo "$CXX ${flags[*]} $* -c -o $object $source" >>"$commands"
    fi
  fi
}

declare -A parts # of each program
program() { # NAME VARIANT FLAGS SOURCE...
  local name=$1 variant=$2 extra=$3 source
  shift 3
  for source in "${library[@]}" "$@"; do
    # shellcheck disable=SC2086  # several flags
    compile "$source" "$variant" $extra
    parts[$name]+=" $object"
  done
}

lapacke=
[[ $blas != OpenBLAS ]] || lapacke=-DHETSCHED_HAVE_LAPACKE
program test_devices test -O1 tests/gpu/*.cpp tests/main.cpp
program gpu_axpy test -O1 examples/gpu_axpy.cpp examples/gpu_axpy_body.cpp
[[ -z $nvcc ]] ||
  program cuda_transpose test -O1 examples/cuda_transpose.cpp examples/cuda_transpose_body.cu
program test_equivalence test "-O1" tests/equivalence/*_test.cpp tests/main.cpp
for source in benchmarks/gpu/{pipeline,saxpy_overhead,gpu_linalg}.cpp examples/{block_lu,sparse_lu}.cpp; do
  program "$(basename "$source" .cpp)" "benchmark-$blas" \
    "-O3 -DNDEBUG -DHETSCHED_EXTERN_SCHEDULERS $lapacke" \
    "$source" examples/common/{candidates,command_line,devices,engines,named_schedulers}.cpp
done

links=$build/links
: >"$links"
for name in "${!parts[@]}"; do
  echo "$CXX -o $objects/$name${parts[$name]} ${libraries[*]}" >>"$links"
done

# Each line of a file is a command. The first command that fails ends the run.
run_lines() { # NAME FILE
  step "$1" xargs -a "$2" -d '\n' -r -n 1 -P "$JOBS" sh -c 'eval "$0" || { echo "FAILED: $0"; exit 255; }'
}

finish() {
  say "$passed passed, $failed failed"
  echo "gpu_check: the summary and the logs are in $out/"
  exit $((failed > 0))
}

limit=1500 run_lines compile "$commands" || finish
run_lines link "$links" || finish

# ---- running ----

export OPENBLAS_NUM_THREADS=1
unset HETSCHED_WINDOW HETSCHED_STREAMS HETSCHED_NCPU
asked=${HETSCHED_DEVICES:-cuda:0}
unset HETSCHED_DEVICES

# The value for HETSCHED_DEVICES: the GPU, or this emulated device.
device_or() {
  if $emulated; then
    echo "HETSCHED_DEVICES=$1"
  else
    echo "HETSCHED_DEVICES=$asked"
  fi
}

nothing_skipped() {
  $emulated || ! grep 'skipped: ' "$1" | grep -qv 'the driver emu '
}

judge=nothing_skipped step test_devices "$objects/test_devices"
show <(grep '^\[doctest\] test cases' "$out/test_devices.log")
judge=nothing_skipped step conformance_cuda "$objects/test_devices" -tc='CudaDriver*'
show <(grep '^\[doctest\] test cases\|skipped: ' "$out/conformance_cuda.log" | sort -u)
limit=600 step test_equivalence "$objects/test_equivalence" # on emulated devices: its bodies run on the host
show <(grep '^\[doctest\] test cases' "$out/test_equivalence.log")
on=$asked
! $emulated || on=emu:2@256KB
step gpu_axpy "$objects/gpu_axpy" "$on"
show "$out/gpu_axpy.log"
if [[ -n $nvcc ]]; then
  step cuda_transpose "$objects/cuda_transpose" "$on"
  show "$out/cuda_transpose.log"
fi

sanitizer=
for candidate in "$(command -v compute-sanitizer)" "$cuda"/bin/compute-sanitizer \
  "$cuda"/compute-sanitizer/compute-sanitizer; do
  [[ -n $sanitizer || ! -x $candidate ]] || sanitizer=$candidate
done
small_saxpy="saxpy_overhead --on device --n 65536 --blocks 8 --repeat 1"
small_linalg="gpu_linalg --n 256 --tile 64 --repeat 1 --cpus 2"
for tool in memcheck racecheck; do
  for small in "$small_saxpy" "$small_linalg"; do
    read -ra arguments <<<"$objects/$small"
    name=${tool}_${small%% *}
    if $emulated; then
      step "without_$name" env "$(device_or emu)" "${arguments[@]}" # the program at least
    elif [[ -z $sanitizer ]]; then
      missing "$name" "there is no compute-sanitizer"
    else
      # API calls may fail: memory that is pinned already is not pinned again.
      step "$name" env "$(device_or emu)" "$sanitizer" --tool "$tool" --report-api-errors no \
        --error-exitcode 9 "${arguments[@]}"
    fi
  done
done

benchmark() { # NAME EMULATED_DEVICE ARGUMENT...
  local name=$1 on=$2
  shift 2
  step "$name" env "$(device_or "$on")" "$objects/$name" "$@"
  show "$out/$name.log"
}

quick=()
! $emulated || quick=(--quick)
n=${GPU_CHECK_N:-8192}
! $emulated || n=${GPU_CHECK_N:-512}
benchmark pipeline 'emu?latency=2ms&kernel=2ms' "${quick[@]}"
benchmark saxpy_overhead 'emu?latency=10us&bandwidth=10GB/s' "${quick[@]}"
benchmark gpu_linalg 'emu?latency=10us&bandwidth=10GB/s' --n "$n" --tile $((n / 8)) --repeat 3
for grain in fine coarse both; do # it fails if a solution is wrong
  step "block_lu_$grain" env "$(device_or 'emu?latency=10us&bandwidth=10GB/s')" "$objects/block_lu" \
    --n $((n / 2)) --tile $((n / 42)) --repeat 3 --scheduler multigrain --cache reuse --grain "$grain"
  show "$out/block_lu_$grain.log"
done
step sparse_lu env "$(device_or 'emu?latency=10us&bandwidth=10GB/s')" "$objects/sparse_lu" \
  --n $((8 * n)) --tile $((n / 16)) --repeat 3 --scheduler dmdas # the same
show "$out/sparse_lu.log"
finish
