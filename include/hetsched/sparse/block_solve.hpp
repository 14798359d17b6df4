// SPDX-License-Identifier: MIT
#pragma once
// Solves with the factors of a sparse matrix in dense blocks.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/sparse/block_matrix.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace hetsched::sparse {

/// x := A^-1 x by the factors that block_lu left in `a`, in host memory (after `rt.sync()`). x has
/// a.rows() elements. Sequential; 2 flops for each element of a block.
template <class T>
void block_solve(BlockMatrix<T> const& a, std::span<std::type_identity_t<T>> x) {
  if (x.size() != a.rows()) {
    throw Error(ErrorCode::bad_data,
                "block_solve",
                "the right-hand side has " + std::to_string(x.size()) + " elements, the matrix " +
                    std::to_string(a.rows()) + " rows");
  }
  auto const width = a.block_size();
  auto const part = [&](std::size_t k) {
    return TileView<T>(x.data() + k * width, width, 1, width);
  };
  auto const subtract = [&](std::size_t i, std::size_t j) {
    if (a.pattern().at(i, j)) {
      linalg::kernels::gemm<T>(T(-1), a.elements(i, j), part(j), T(1), part(i));
    }
  };
  auto const map = [](TileView<T> tile) { return linalg::kernels::as_eigen(tile); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      subtract(i, j);
    }
    linalg::kernels::trsm_unit(a.elements(i, i), part(i));
  }
  for (auto i = a.size(); i-- > 0;) {
    for (auto j = i + 1; j < a.size(); ++j) {
      subtract(i, j);
    }
    auto target = map(part(i));
    map(a.elements(i, i)).template triangularView<Eigen::Upper>().solveInPlace(target);
  }
}

} // namespace hetsched::sparse
