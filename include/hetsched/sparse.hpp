// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices in dense blocks, and their factorisation; needs Eigen.

#include <hetsched/core/version.hpp>
#include <hetsched/sparse/block_lu.hpp>
#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_pattern.hpp>
#include <hetsched/sparse/block_solve.hpp>
#include <hetsched/sparse/butterfly.hpp>
