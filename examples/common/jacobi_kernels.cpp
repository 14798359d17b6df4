// SPDX-License-Identifier: MIT
// Jacobi's kernels for CUDA devices. Compiled by nvcc (nvcc -x cu); by another compiler it is
// empty.

#include <hetsched/stencil/cuda_jacobi.hpp>
