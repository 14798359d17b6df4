// SPDX-License-Identifier: MIT
// Multiplies block-sparse matrices that several ranks share, C += A B, as coupled-cluster programs
// contract tensors: blocks of different sizes, each there or not by a rule of symmetry, and one
// independent task for each product of two of them. A part of the tasks begins on the last rank
// (--skew), and the others steal. Under mpirun the ranks are processes:
//
//     mpirun -n 4 build/examples/task_collection --n 2000
//
// With --ranks they are threads of this process, which needs no MPI. Each rank checks C against a
// dense product.
//
// Arguments: --n 300 --ranks 3 --skew 1
// Expected output:
//   C += A B, double: n = 300, ... of ... blocks, ... tasks, ... flops, 3 ranks ...
//   rank 0: ... tasks, ... stolen in ... of ... tries, got ... MB, ... gets saved
//   rank 1: ... tasks, ... stolen in ... of ... tries, got ... MB, ... gets saved
//   rank 2: ... tasks, ... stolen in ... of ... tries, got ... MB, ... gets saved
//   ... s, ... GFlop/s, largest error ...

#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>

#include "common/ranks.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace hs = hetsched;

/// C += A B, of one block each.
template <class T>
struct Contract
    : hs::Task<3>::Signature<hs::R<hs::Patch<T>>, hs::R<hs::Patch<T>>, hs::Acc<hs::Patch<T>>> {};

template <class T>
struct hs::TaskBodyCPU<Contract<T>> {
  void operator()(hs::TileView<T const> a, hs::TileView<T const> b, hs::TileView<T> c) const {
    hs::linalg::kernels::gemm(T{1}, a, b, T{0}, c);
  }
};

template <class T>
struct hs::TaskBodyGPU<Contract<T>> {
  void operator()(hs::GpuStream& stream,
                  hs::TileView<T const> a,
                  hs::TileView<T const> b,
                  hs::TileView<T> c) const {
    hs::gpu::gemm(stream, 'N', 'N', T{1}, a, b, T{0}, c);
  }
};

struct Options {
  std::size_t n = 1000;
  double skew = 0.5;
  std::string precision = "double";
  int cpus = 1;
};

/// How rows and columns are cut: occupied and virtual orbitals of two irreducible representations.
class Blocks {
public:
  explicit Blocks(std::size_t n) : n_(n) {
    std::size_t const sizes[] = {16, 9, 40, 11};
    for (std::size_t at = 0, k = 0; at < n; at += sizes[k++ % 4]) {
      begins_.push_back(at);
    }
    begins_.push_back(n);
  }

  [[nodiscard]] std::size_t count() const { return begins_.size() - 1; }

  [[nodiscard]] std::size_t begin(std::size_t k) const { return begins_[k]; }

  [[nodiscard]] std::size_t size(std::size_t k) const { return begins_[k + 1] - begins_[k]; }

  [[nodiscard]] std::size_t block_of(std::size_t i) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), i) -
                                    begins_.begin()) -
           1;
  }

  /// Whether a block is there: spin must be kept, and every seventh row of blocks is full.
  [[nodiscard]] static bool there(std::size_t i, std::size_t j) {
    return (i / 2 + j / 2) % 2 == 0 || i % 7 == 0;
  }

  [[nodiscard]] double element(std::size_t i, std::size_t j, double of) const {
    return there(block_of(i), block_of(j)) ? std::sin(of * (1.0 + static_cast<double>(i + 3 * j)))
                                           : 0.0;
  }

private:
  std::size_t n_;
  std::vector<std::size_t> begins_;
};

/// The rank on which a task begins: a part `skew` of them on the last one, the others evenly.
int first_rank(std::size_t task, double skew, int ranks) {
  auto const turn = static_cast<double>(task * 7919 % 1000) / 1000;
  return turn < skew ? ranks - 1 : static_cast<int>(task % static_cast<std::size_t>(ranks));
}

/// What each rank runs.
template <class T, class Transport>
void multiply(Transport& transport, Options const& options, char const* where) {
  Blocks const blocks(options.n);
  auto const n = options.n;
  hs::GlobalArrays arrays(transport);
  auto const by_rows = [ranks = arrays.ranks()](std::size_t i, std::size_t j) {
    return static_cast<int>((i + j) % static_cast<std::size_t>(ranks));
  };
  auto const a = arrays.template make<T>(n, n, 128, by_rows);
  auto const b = arrays.template make<T>(n, n, 128, by_rows);
  auto const c = arrays.template make<T>(n, n, 128, by_rows);
  auto const fill = [&blocks](auto const& matrix, double of) {
    matrix.fill([&blocks, of](std::size_t i, std::size_t j) {
      return static_cast<T>(blocks.element(i, j, of));
    });
  };
  fill(a, 0.5);
  fill(b, 0.3);

  using Rt = hs::Runtime<hs::policies::Dmda<>, hs::policies::Lru, hs::policies::History>;
  Rt rt({.cpus = options.cpus, .bind = hs::Bind::none}); // else all ranks to the same cores
  hs::TaskCollection<hs::TaskTypes<Contract<T>>, Rt, hs::EitherEnd<2>> tasks(arrays, rt);
  auto const patch = [&blocks](auto const& matrix, std::size_t i, std::size_t j) {
    return matrix.patch(blocks.begin(i), blocks.begin(j), blocks.size(i), blocks.size(j));
  };
  std::size_t all_tasks = 0;
  std::size_t there = 0;
  double flops = 0;
  for (std::size_t i = 0; i < blocks.count(); ++i) {
    for (std::size_t k = 0; k < blocks.count(); ++k) {
      there += Blocks::there(i, k) ? 2 : 0;
      for (std::size_t j = 0; j < blocks.count(); ++j) {
        if (Blocks::there(i, k) && Blocks::there(k, j)) {
          flops += 2.0 * static_cast<double>(blocks.size(i) * blocks.size(k) * blocks.size(j));
          if (first_rank(all_tasks++, options.skew, arrays.ranks()) == arrays.rank()) {
            tasks.template add<Contract<T>>()(patch(a, i, k), patch(b, k, j), patch(c, i, j));
          }
        }
      }
    }
  }
  if (arrays.rank() == 0) {
    std::printf("C += A B, %s: n = %zu, %zu of %zu blocks, %zu tasks, %.3g flops, %d ranks %s\n",
                options.precision.c_str(),
                n,
                there,
                2 * blocks.count() * blocks.count(),
                all_tasks,
                flops,
                arrays.ranks(),
                where);
  }
  arrays.sync();
  auto const begin = std::chrono::steady_clock::now();
  tasks.process();
  std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;

  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  auto const size = static_cast<Eigen::Index>(n);
  auto const dense = [&](double of) {
    return Matrix(Matrix::NullaryExpr(size, size, [&](Eigen::Index i, Eigen::Index j) {
      return static_cast<T>(
          blocks.element(static_cast<std::size_t>(i), static_cast<std::size_t>(j), of));
    }));
  };
  Matrix expected = dense(0.5) * dense(0.3);
  Matrix found(size, size);
  c.get(0, 0, hs::TileView<T>(found.data(), n, n, n));
  auto const error = (found - expected).cwiseAbs().maxCoeff();
  auto const limit = static_cast<T>(8 * n) * std::numeric_limits<T>::epsilon();

  auto const stats = tasks.stats();
  for (int rank = 0; rank < arrays.ranks(); ++rank) { // one after the other
    arrays.sync();
    if (rank == arrays.rank()) {
      std::printf(
          "rank %d: %llu tasks, %llu stolen in %llu of %llu tries, got %.2f MB, %llu gets saved\n",
          rank,
          static_cast<unsigned long long>(stats.completed),
          static_cast<unsigned long long>(stats.stolen),
          static_cast<unsigned long long>(stats.steals),
          static_cast<unsigned long long>(stats.steal_attempts),
          static_cast<double>(stats.bytes_got) / 1e6,
          static_cast<unsigned long long>(stats.get_hits));
      std::fflush(stdout);
    }
  }
  arrays.sync();
  if (arrays.rank() == 0) {
    std::printf("%.3g s, %.3g GFlop/s, largest error %.2g\n",
                time.count(),
                flops / time.count() / 1e9,
                static_cast<double>(error));
  }
  if (!(error <= limit)) {
    throw hs::Error(hs::ErrorCode::numerical, "C", "is not A B");
  }
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Multiplies block-sparse matrices that several ranks share, C += A B.");
  app.add_option("--n", options.n, "rows of the matrices (1000)")->check(CLI::Range(1, 20'000));
  app.add_option("--skew", options.skew, "part of the tasks that begin on the last rank (0.5)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--precision", options.precision, "double or float (double)")
      ->check(CLI::IsMember({"double", "float"}));
  return example::run_ranks(
      argc, argv, app, "task_collection", options.cpus, [&](auto& messages, char const* where) {
        hs::RmaOverMessages transport(messages);
        if (options.precision == "float") {
          multiply<float>(transport, options, where);
        } else {
          multiply<double>(transport, options, where);
        }
      });
}
