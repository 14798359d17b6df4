#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds what it runs in build/, and factorises a matrix with every
# scheduler, on CPU cores and with devices. The devices are GPUs if there are any, and otherwise
# emulated. Without a network the matrix is generated. Then it factorises one on four ranks. Ends with
# a page that shows the runs with devices.
# Usage: ./demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

scripts/install_deps.sh
scripts/build.sh build --buildtype=release -Dexamples=enabled -Dbenchmarks=enabled -- \
  examples/cholesky examples/distributed_cholesky benchmarks/hetsched-report

arguments=(--scheduler all)
matrix=matrices/bcsstk24.rsa
if [[ -s $matrix ]] || { scripts/fetch_matrix.sh </dev/null && [[ -s $matrix ]]; }; then
  arguments+=(--matrix "$matrix")
else
  matrix="a generated one ($matrix could not be fetched)"
fi
echo "Matrix: $matrix"

factorise() { # ARGUMENT...
  echo
  echo "build/examples/cholesky $*"
  local status=0
  build/examples/cholesky "$@" </dev/null || status=$?
  if ((status != 0)); then
    echo
    echo "Demo FAILED: build/examples/cholesky ended with status $status."
    exit "$status"
  fi
}

factorise "${arguments[@]}" --gpus none

# If a small run has no device, no GPU can be used.
probe=$(build/examples/cholesky --n 1 --repeat 1 --scheduler eager --gpus cuda --json \
  </dev/null 2>/dev/null || true)
if [[ $probe == *'"devices": [{'* ]]; then
  gpus=cuda
  devices="this machine's GPUs"
else
  gpus=emu:2
  devices="two EMULATED devices; no GPU was used, and these times say nothing of one"
fi
mkdir -p build/demo
rm -f build/demo/run.*.json
factorise "${arguments[@]}" --repeat 1 --gpus "$gpus" --trace build/demo/run.json
report=build/demo/report.html
build/benchmarks/hetsched-report build/demo/run.*.json -o "$report"

# The same algorithm on four ranks: processes, if there is an MPI.
echo
rm -f build/demo/ranks.*.json
export HETSCHED_TRACE=build/demo/ranks.json
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
if mpirun -n 4 build/examples/distributed_cholesky --n 2000 </dev/null 2>/dev/null; then
  ranks="processes of MPI"
else
  ranks="threads of one process, as no MPI could be used"
  build/examples/distributed_cholesky --n 2000 --ranks 4 </dev/null
fi
build/benchmarks/hetsched-report build/demo/ranks.rank*.json -o build/demo/ranks.html

echo
echo "Demo done. Every scheduler factorised the matrix three times on this machine's CPU cores, and"
echo "once on cores and on $devices."
echo "Matrix: $matrix."
echo "Times on cores alone are medians of three runs: compare them only where the ranges beside them"
echo "do not meet. Those with devices are of one run, in which schedulers that ask for times only"
echo "learn them."
echo "Four ranks on this machine were $ranks. Which waited for which: build/demo/ranks.html."
echo "What happened in the runs with devices, side by side: $report (open it in a browser)."
