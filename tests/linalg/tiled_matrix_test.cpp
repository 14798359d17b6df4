// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>

#include <Eigen/Core>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::linalg::TiledMatrix;

namespace tiled_matrix_test {

TEST_SUITE_BEGIN("linalg/tiled_matrix");

struct Shape {
  std::size_t rows, cols, tile, tile_rows, tile_cols;
};

template <class Make>
std::string error_of(Make&& make) {
  try {
    make();
  } catch (hs::Error const& error) {
    CHECK(error.code() == hs::ErrorCode::bad_data);
    return error.what();
  }
  return "no error";
}

TEST_CASE("TiledMatrix: tiles of every shape, the last ones ragged") {
  hs::Runtime<> rt({.cpus = 2});
  for (auto const& [rows, cols, tile, tile_rows, tile_cols] : {Shape{0, 0, 4, 0, 0},
                                                               Shape{0, 5, 4, 0, 2},
                                                               Shape{5, 0, 4, 2, 0},
                                                               Shape{1, 1, 4, 1, 1},
                                                               Shape{4, 4, 4, 1, 1},
                                                               Shape{5, 8, 4, 2, 2},
                                                               Shape{3, 9, 4, 1, 3},
                                                               Shape{7, 2, 1, 7, 2}}) {
    auto const ld = rows + 3;
    std::vector<double> memory(ld * cols + 1, -1.0);
    {
      TiledMatrix const a(rt, memory.data(), rows, cols, ld, tile);
      CHECK(a.rows() == rows);
      CHECK(a.cols() == cols);
      CHECK(a.tile_size() == tile);
      CHECK(a.tile_rows() == tile_rows);
      CHECK(a.tile_cols() == tile_cols);
      for (std::size_t i = 0; i < tile_rows; ++i) {
        for (std::size_t j = 0; j < tile_cols; ++j) {
          CHECK(a(i, j).rows() == std::min(tile, rows - i * tile));
          CHECK(a(i, j).cols() == std::min(tile, cols - j * tile));
          rt.spawn()(
              [i, j](hs::TileView<double> view) {
                for (std::size_t c = 0; c < view.cols(); ++c) {
                  for (std::size_t r = 0; r < view.rows(); ++r) {
                    view(r, c) = static_cast<double>(100 * i + j);
                  }
                }
              },
              hs::write(a(i, j)));
        }
      }
      rt.sync();
    }
    for (std::size_t k = 0; k < memory.size(); ++k) {
      auto const i = k % ld;
      auto const j = k / ld;
      bool const inside = i < rows && j < cols;
      REQUIRE(memory[k] == (inside ? static_cast<double>(100 * (i / tile) + j / tile) : -1.0));
    }
  }
}

TEST_CASE("TiledMatrix: Eigen matrices, maps and blocks, without a copy") {
  hs::Runtime<> rt({.cpus = 1});
  auto add = [&](auto const& tiled) {
    rt.spawn()([](hs::TileView<double> view) { view(0, 0) += 1; }, hs::read_write(tiled(1, 1)));
    rt.sync();
  };
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(6, 6);
  add(TiledMatrix(rt, m, 3));
  CHECK(m(3, 3) == 1);
  {
    auto block = m.block(1, 1, 4, 4);
    add(TiledMatrix(rt, block, 2));
    CHECK(m(3, 3) == 2);
  }
  Eigen::Map<Eigen::MatrixXd> map(m.data(), 6, 6);
  add(TiledMatrix(rt, map, 3));
  CHECK(m(3, 3) == 3);
  Eigen::VectorXd v = Eigen::VectorXd::Zero(5);
  TiledMatrix const tiled(rt, v, 2);
  CHECK(tiled.tile_rows() == 3);
  CHECK(tiled.tile_cols() == 1);
}

TEST_CASE("TiledMatrix: const memory gives tiles that are only read") {
  hs::Runtime<> rt({.cpus = 1});
  Eigen::MatrixXf const m = Eigen::MatrixXf::Constant(3, 3, 2);
  TiledMatrix const a(rt, m, 2);
  static_assert(std::is_same_v<decltype(a)::Element, float const>);
  float seen = 0;
  rt.spawn()([&seen](hs::TileView<float const> view) { seen = view(0, 0); }, hs::read(a(1, 1)));
  rt.sync();
  CHECK(seen == 2);
}

TEST_CASE("TiledMatrix: can be moved; the memory may be tiled anew afterwards") {
  hs::Runtime<> rt({.cpus = 1});
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(4, 4);
  {
    TiledMatrix a(rt, m, 2);
    auto const b = std::move(a);
    rt.spawn()([](hs::TileView<double> view) { view(1, 1) = 7; }, hs::write(b(1, 1)));
    rt.sync();
  }
  CHECK(m(3, 3) == 7);
  TiledMatrix const again(rt, m, 3);
  CHECK(again.tile_rows() == 2);
}

TEST_CASE("TiledMatrix: what it refuses") {
  hs::Runtime<> rt({.cpus = 1});
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(4, 4);
  CHECK(error_of([&] { TiledMatrix(rt, m, 0); }) == "hetsched: TiledMatrix: tile size is 0");
  CHECK(error_of([&] { TiledMatrix(rt, m.data(), 4, 4, 3, 2); }).find("less than the rows") !=
        std::string::npos);
  double* const nothing = nullptr;
  CHECK(error_of([&] { TiledMatrix(rt, nothing, 4, 4, 4, 2); }) ==
        "hetsched: data(nullptr): has no memory");
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> strided(
      m.data(), 4, Eigen::InnerStride<>(2));
  CHECK(error_of([&] { TiledMatrix(rt, strided, 2); }) ==
        "hetsched: TiledMatrix: the elements of a column are not contiguous (inner stride 2)");
  TiledMatrix const a(rt, m, 2);
  CHECK(error_of([&] { TiledMatrix(rt, m, 2); }).find("overlap") != std::string::npos);
}

TEST_SUITE_END();

} // namespace tiled_matrix_test
