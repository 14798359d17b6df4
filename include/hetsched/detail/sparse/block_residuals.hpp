// SPDX-License-Identifier: MIT
#pragma once
// Products with a sparse matrix in dense blocks, for iterative refinement.

#include <hetsched/detail/sparse/refinement.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/sparse/block_matrix.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>

namespace hetsched::sparse::detail {

/// What Residuals is, for a matrix in dense blocks in host memory, which must outlive it. Vectors
/// and sums are of double, whatever T is.
template <class T>
class BlockResiduals {
public:
  using Vector = Eigen::VectorXd;

  explicit BlockResiduals(BlockMatrix<T> const& a) : a_(a) {}

  /// r := b - A x, and returns the componentwise backward error.
  template <class B, class X>
  [[nodiscard]] double operator()(B const& b, X const& x, Vector& r) const {
    Vector scale = b.cwiseAbs();
    r = b;
    each_block([&](Eigen::Index row, Eigen::Index column, auto const& block) {
      auto const width = block.cols();
      auto target = r.segment(row, width);
      auto sums = scale.segment(row, width);
      for (Eigen::Index j = 0; j < width; ++j) {
        double const factor = x[column + j];
        target -= block.col(j).template cast<double>() * factor;
        sums += block.col(j).template cast<double>().cwiseAbs() * std::abs(factor);
      }
    });
    return backward_error(r, scale);
  }

  [[nodiscard]] Vector product(Vector const& x) const {
    Vector y = Vector::Zero(x.size());
    each_block([&](Eigen::Index row, Eigen::Index column, auto const& block) {
      auto const width = block.cols();
      y.segment(row, width) += block.template cast<double>() * x.segment(column, width);
    });
    return y;
  }

private:
  /// visit(first row, first column, elements)
  template <class Visit>
  void each_block(Visit const& visit) const {
    auto const first = [&](std::size_t k) {
      return static_cast<Eigen::Index>(k * a_.block_size());
    };
    for (std::size_t j = 0; j < a_.size(); ++j) {
      for (std::size_t i = 0; i < a_.size(); ++i) {
        if (a_.pattern().at(i, j)) {
          visit(first(i), first(j), linalg::kernels::as_eigen(a_.elements(i, j)));
        }
      }
    }
  }

  BlockMatrix<T> const& a_;
};

} // namespace hetsched::sparse::detail
