// SPDX-License-Identifier: MIT
#pragma once
// Tiled dense linear algebra and files of matrices; needs Eigen.

#include <hetsched/core/version.hpp>
#include <hetsched/linalg/axpy.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/fortran_format.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/harwell_boeing.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/linalg/lu_tournament.hpp>
#include <hetsched/linalg/lu_tournament_kernels.hpp>
#include <hetsched/linalg/lu_tournament_tasks.hpp>
#include <hetsched/linalg/lu_without_pivoting.hpp>
#include <hetsched/linalg/matrix_io.hpp>
#include <hetsched/linalg/matrix_market.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/linalg/qr_kernels.hpp>
#include <hetsched/linalg/recursive_cholesky.hpp>
#include <hetsched/linalg/reflections.hpp>
#include <hetsched/linalg/stored_matrix.hpp>
#include <hetsched/linalg/text_input.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/linalg/tournament_pivots.hpp>
