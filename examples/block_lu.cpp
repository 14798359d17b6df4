// SPDX-License-Identifier: MIT
// Solves A x = b for a sparse matrix of dense blocks by LU without pivoting, with every scheduler.
// A third of the blocks off the diagonal is empty at first (--empty 33). Iteration k:
//
//     getrf(k,k)     trsm_row(k,j), trsm_column(i,k)     A(i,j) -= L(i,k) U(k,j)
//        cores                 anywhere                   by super-blocks of --super x --super
//
// An update of a super-block is one launch on a GPU, and a task for each block on cores: --grain
// both. With --grain fine there is a task for each block, with coarse one for each super-block.
//
// With --diagonal zero there is no factorisation without pivoting, unless random butterflies come
// first: --butterflies 1 or 2. Solutions are refined then.
//
// Arguments: --n 320 --tile 32 --super 3 --cpus 2 --gpus none
// Expected output:
//   block_lu of 10 x 10 blocks, 39.0 % of them empty (seed 1): n = 320, tiles of 32, 2 workers
//   median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 358 ...
//   eager ... 358 ...
//   random ... 358 ...
//   priority ... 358 ...
//   dataaware ... 358 ...
//   locality ... 358 ...
//   heft:xkaapi ... 358 ...
//   heft ... 358 ...
//   heftp ... 358 ...
//   dmda ... 358 ...
//   dmdar ... 358 ...
//   dmdas ... 358 ...
//   heterogeneous ... 358 ...
//   heteroprio ... 358 ...
//   heteroprio:affinity ... 358 ...
//   heteroprio:auto ... 358 ...
//   multiprio ... 358 ...
//   darts ... 358 ...
//   dualhp ... 358 ...
//   dual43 ... 358 ...
//   accel32 ... 358 ...
//   dual2 ... 358 ...
//   multigrain ... 358 ...
//   scioto:single ... 358 ...
//   scioto:double ... 358 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/block_lu.hpp>
#include <hetsched/sparse/butterfly.hpp>

#include "common/block_matrices.hpp"
#include "common/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace example;
using hs::sparse::BlockMatrix;
using hs::sparse::BlockPattern;

namespace {

struct Shape {
  std::size_t super = 5;
  std::size_t empty = 33;      // percent
  std::size_t butterflies = 0; // their depth
  std::string grain = "both";
  std::string diagonal = "dominant";
};

using Butterflies = hs::sparse::Butterflies<double>;

/// The blocks that are there before the factorisation.
BlockPattern blocks_of(std::size_t blocks, std::size_t empty, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  BlockPattern pattern(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = 0; j < blocks; ++j) {
      if (random() % 100 >= empty) {
        pattern.add(i, j);
      }
    }
  }
  return pattern;
}

/// y := A x
VectorXd product(BlockMatrix<double> const& a, VectorXd const& x) {
  auto const width = static_cast<Eigen::Index>(a.block_size());
  VectorXd y = VectorXd::Zero(x.size());
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a.pattern().at(i, j)) {
        y.segment(static_cast<Eigen::Index>(i) * width, width) +=
            hs::linalg::kernels::as_eigen(a.elements(i, j)) *
            x.segment(static_cast<Eigen::Index>(j) * width, width);
      }
    }
  }
  return y;
}

/// ||A||_F
double norm(BlockMatrix<double> const& a) {
  double squares = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      squares +=
          a.pattern().at(i, j) ? hs::linalg::kernels::as_eigen(a.elements(i, j)).squaredNorm() : 0;
    }
  }
  return std::sqrt(squares);
}

/// "10 x 10 blocks, 39.0 % of them empty (seed 1)"
std::string describe(BlockPattern const& pattern, Shape const& shape, std::uint64_t seed) {
  auto const empty = [](BlockPattern const& blocks) {
    auto const size = static_cast<double>(blocks.size());
    return 100 - 100 * static_cast<double>(blocks.count()) / (size * size);
  };
  char text[160];
  char butterflies[64] = "";
  if (shape.butterflies > 0) {
    std::snprintf(butterflies,
                  sizeof butterflies,
                  ", %.1f %% after butterflies of depth %zu",
                  empty(hs::sparse::butterfly_pattern(pattern, shape.butterflies)),
                  shape.butterflies);
  }
  std::snprintf(text,
                sizeof text,
                "%zu x %zu blocks, %.1f %% of them empty%s (seed %llu)",
                pattern.size(),
                pattern.size(),
                empty(pattern),
                butterflies,
                static_cast<unsigned long long>(seed));
  return text;
}

/// Solves A x = b: ||b - A x|| / (||A|| ||x|| + ||b||), or with butterflies the componentwise
/// backward error if that is larger.
double backward_error(BlockMatrix<double> const& a,
                      BlockMatrix<double> const& factors,
                      Butterflies const& butterflies,
                      std::uint64_t seed) {
  VectorXd const expected = random_matrix(static_cast<Eigen::Index>(a.rows()), 1, seed);
  VectorXd const b = product(a, expected);
  std::vector<double> solved(b.begin(), b.end());
  double componentwise = 0;
  if (butterflies.left.depth() > 0) {
    componentwise = hs::sparse::butterfly_solve(a, factors, butterflies, solved).backward_error;
  } else {
    hs::sparse::block_solve(factors, solved);
  }
  VectorXd const x = Eigen::Map<VectorXd const>(solved.data(), b.size());
  return std::max(componentwise, (b - product(a, x)).norm() / (norm(a) * x.norm() + b.norm()));
}

std::string solve_blocks(Program const& program, Options const& options, Shape const& shape) {
  Report report(program, options);
  check_memory("--n", options.n, 2);
  auto const blocks = (options.n + options.tile - 1) / options.tile;
  auto const depth = shape.butterflies;
  if (blocks % (std::size_t{1} << depth) != 0) {
    throw CommandLineError("--butterflies: " + std::to_string(depth) + " needs a multiple of " +
                           std::to_string(std::size_t{1} << depth) +
                           " blocks in a row: there are " + std::to_string(blocks));
  }
  auto const pattern = blocks_of(blocks, shape.empty, options.seed);
  auto const filled = hs::sparse::butterfly_pattern(pattern, depth).filled();
  auto const text = describe(pattern, shape, options.seed);
  auto const diagonal = shape.diagonal == "zero" ? Diagonal::zero : Diagonal::dominant;
  Butterflies const butterflies(blocks * options.tile, depth, options.seed + 3);
  hs::sparse::BlockLUOptions how;
  how.grain = shape.grain == "fine"     ? hs::sparse::Grain::fine
              : shape.grain == "coarse" ? hs::sparse::Grain::coarse
                                        : hs::sparse::Grain::both;

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    BlockMatrix<double> const factors(rt, filled, options.tile, shape.super);
    auto const graph = rt.capture([&] {
      if (depth > 0) {
        hs::sparse::apply_butterflies(rt, factors, pattern, butterflies);
      }
      hs::sparse::block_lu(rt, factors, how);
    });
    auto const measured = measure_nested(rt, graph, options.repeat, [&] {
      fill_blocks(factors, pattern, options.seed + 1, diagonal);
    });
    BlockMatrix<double> const a(rt, pattern, options.tile, shape.super);
    fill_blocks(a, pattern, options.seed + 1, diagonal);
    auto const backward = backward_error(a, factors, butterflies, options.seed + 2);
    report.add({.scheduler = scheduler.name,
                .matrix = text,
                .n = a.rows(),
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = hs::sparse::block_lu_flops(filled, options.tile).all,
                .measured = measured,
                .residual = backward,
                .backward_error = backward});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Shape shape;
  Program program{"block_lu",
                  "Solves A x = b for a sparse matrix of dense blocks by LU without pivoting, with "
                  "every scheduler.",
                  other_help};
  program.add_options = [&](CLI::App& app) {
    add_number(app, "--super", 1, 1'000'000, shape.super, "blocks in a row of a super-block");
    add_number(app, "--empty", 0, 100, shape.empty, "percent of blocks that are empty at first");
    add_choice(app, "--grain", {"fine", "coarse", "both"}, shape.grain, "tasks of the updates");
    add_choice(app, "--diagonal", {"dominant", "zero"}, shape.diagonal, "of the matrix");
    add_number(app, "--butterflies", 0, 20, shape.butterflies, "their depth; 0: none");
  };
  program.devices = true;
  return run_program(argc, argv, program, [&](Options const& options) {
    return solve_blocks(program, options, shape);
  });
}
