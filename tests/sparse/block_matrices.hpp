// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices in dense blocks that tests factorise.

#include <hetsched/linalg/kernels.hpp>
#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_pattern.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <random>

namespace block_matrices {

using hetsched::sparse::BlockMatrix;
using hetsched::sparse::BlockPattern;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Each block off the diagonal is there in `percent` of cases.
inline BlockPattern random_pattern(std::size_t size, unsigned percent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  BlockPattern pattern(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (random() % 100 < percent) {
        pattern.add(i, j);
      }
    }
  }
  return pattern;
}

/// Random elements where `pattern` has blocks, the diagonal dominant.
template <class T>
void fill(BlockMatrix<T> const& a, BlockPattern const& pattern, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> draw(-1, 1);
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a.pattern().at(i, j)) {
        continue;
      }
      auto const block = a.elements(i, j);
      for (std::size_t c = 0; c < block.cols(); ++c) {
        for (std::size_t r = 0; r < block.rows(); ++r) {
          block(r, c) = pattern.at(i, j) ? draw(random) : T(0);
        }
        if (i == j) {
          block(c, c) += static_cast<T>(a.rows());
        }
      }
    }
  }
}

/// visit(i, j, elements) for each block of `a`, as an Eigen view, and its first row and column.
template <class T, class Visit>
void each_block(BlockMatrix<T> const& a, Visit const& visit) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a.pattern().at(i, j)) {
        visit(static_cast<Eigen::Index>(i * a.block_size()),
              static_cast<Eigen::Index>(j * a.block_size()),
              hetsched::linalg::kernels::as_eigen(a.elements(i, j)));
      }
    }
  }
}

/// The whole of it, with zeros.
template <class T>
Matrix<T> dense(BlockMatrix<T> const& a) {
  auto const rows = static_cast<Eigen::Index>(a.rows());
  Matrix<T> all = Matrix<T>::Zero(rows, rows);
  each_block(a, [&](Eigen::Index i, Eigen::Index j, auto const& elements) {
    all.block(i, j, elements.rows(), elements.cols()) = elements;
  });
  return all;
}

/// What is in `from` where `a` has blocks.
template <class T>
void take(BlockMatrix<T> const& a, Matrix<T> const& from) {
  each_block(a, [&](Eigen::Index i, Eigen::Index j, auto elements) {
    elements = from.block(i, j, elements.rows(), elements.cols());
  });
}

} // namespace block_matrices
