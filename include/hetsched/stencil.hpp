// SPDX-License-Identifier: MIT
#pragma once
// Stencils on tiled grids; without cuda_jacobi.hpp, which is for nvcc.

#include <hetsched/core/version.hpp>
#include <hetsched/stencil/gpu_kernels.hpp>
#include <hetsched/stencil/jacobi.hpp>
#include <hetsched/stencil/kernels.hpp>
#include <hetsched/stencil/poisson_grid.hpp>
