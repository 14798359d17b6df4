// SPDX-License-Identifier: MIT
#pragma once
// The Cholesky kernels that all runtimes call: those of hetsched's own algorithm.

#include <hetsched/linalg/kernels.hpp>

#include "workload.hpp"

namespace overhead {

/// A column-major matrix as square tiles in place.
class Tiles {
public:
  using View = hetsched::TileView<double>;

  Tiles(Matrix& a, std::size_t tile) : a_(a), tile_(tile), n_(static_cast<std::size_t>(a.rows())) {}

  [[nodiscard]] std::size_t count() const noexcept { return (n_ + tile_ - 1) / tile_; }

  [[nodiscard]] View operator()(std::size_t i, std::size_t j) const {
    auto const extent = [this](std::size_t k) { return std::min(tile_, n_ - k * tile_); };
    return {a_.data() + i * tile_ + j * tile_ * n_, extent(i), extent(j), n_};
  }

private:
  Matrix& a_;
  std::size_t tile_;
  std::size_t n_;
};

inline void potrf(Tiles::View a) {
  require(!hetsched::linalg::kernels::potrf(a), "not positive definite");
}

inline void trsm(Tiles::View l, Tiles::View a) {
  hetsched::linalg::kernels::trsm(l, a);
}

inline void syrk(Tiles::View l, Tiles::View a) {
  hetsched::linalg::kernels::syrk(l, a);
}

inline void gemm(Tiles::View l, Tiles::View r, Tiles::View a) {
  hetsched::linalg::kernels::gemm_update(l, r, a);
}

} // namespace overhead
