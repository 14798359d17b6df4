#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing, builds the examples in build/, and factorises a matrix with every
# scheduler. With no network the matrix is a generated one.
# Usage: ./demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

scripts/install_deps.sh
scripts/build.sh build --buildtype=release -Dexamples=enabled -- examples

arguments=(--scheduler all)
matrix=matrices/bcsstk24.rsa
if [[ -s $matrix ]] || { scripts/fetch_matrix.sh </dev/null && [[ -s $matrix ]]; }; then
  arguments+=(--matrix "$matrix")
else
  matrix="a generated one ($matrix could not be fetched)"
fi
echo "Matrix: $matrix"

echo
echo "build/examples/cholesky ${arguments[*]}"
status=0
build/examples/cholesky "${arguments[@]}" </dev/null || status=$?

echo
if ((status != 0)); then
  echo "Demo FAILED: build/examples/cholesky ended with status $status."
  exit "$status"
fi
echo "Demo done. Every scheduler factorised the matrix three times, on this machine's CPU cores; no"
echo "GPU was used. Matrix: $matrix."
echo "Times are medians of three runs: compare them only where the ranges beside them do not meet."
