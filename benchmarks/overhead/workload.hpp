// SPDX-License-Identifier: MIT
#pragma once
// The workloads that every runtime is given, and the program around them: one process per
// measurement, so that no runtime's idle threads disturb another's.
//
//     PROGRAM versions
//     PROGRAM GRAPH n tile workers rounds scheduler     prints seconds of each round, then tasks
//
// A round before them is not counted: it finds no memory, threads, data. The long graphs
// (fibonacci, cholesky) do without, or with a small one.
//
// A body of the graphs of "empty" tasks adds 1 to a number, so that what ran can be checked.

#include <Eigen/Core>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace overhead {

using Matrix = Eigen::MatrixXd;

/// Tasks of the tile Cholesky graph of t x t tiles.
[[nodiscard]] constexpr std::size_t cholesky_tasks(std::size_t t) noexcept {
  return t * (t + 1) * (t + 2) / 6;
}

/// A number on a cache line of its own: a datum.
struct alignas(64) Number {
  std::uint64_t value = 0;
};

/// Calls potrf(k), trsm(k, i), syrk(k, j) and gemm(k, i, j) in the order of the right-looking
/// algorithm on t x t tiles.
template <class Potrf, class Trsm, class Syrk, class Gemm>
void for_each_cholesky_task(std::size_t t, Potrf&& potrf, Trsm&& trsm, Syrk&& syrk, Gemm&& gemm) {
  for (std::size_t k = 0; k < t; ++k) {
    potrf(k);
    for (auto i = k + 1; i < t; ++i) {
      trsm(k, i);
    }
    for (auto j = k + 1; j < t; ++j) {
      syrk(k, j);
      for (auto i = j + 1; i < t; ++i) {
        gemm(k, i, j);
      }
    }
  }
}

[[nodiscard]] [[gnu::noinline]] inline std::uint64_t serial_fibonacci(int n) {
  return n < 2 ? static_cast<std::uint64_t>(n) : serial_fibonacci(n - 1) + serial_fibonacci(n - 2);
}

/// Calls of serial_fibonacci(n): the tasks of the parallel one.
[[nodiscard]] inline double fibonacci_calls(int n) {
  return 2.0 * static_cast<double>(serial_fibonacci(n + 1)) - 1;
}

struct Request {
  std::string_view graph;
  std::size_t n = 0;
  std::size_t tile = 0;
  int workers = 1;
  int rounds = 1;
  std::string scheduler;
};

/// Random, between -1 and 1.
[[nodiscard]] inline Matrix random_matrix(std::size_t n) {
  std::mt19937_64 random(1);
  auto const size = static_cast<Eigen::Index>(n);
  return Matrix::NullaryExpr(
      size, size, [&] { return static_cast<double>(random() >> 11U) * 0x1p-52 - 1.0; });
}

/// Positive definite, and cheap to make: random, symmetric, with a dominant diagonal.
[[nodiscard]] inline Matrix spd_matrix(std::size_t n) {
  Matrix a = random_matrix(n);
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    for (Eigen::Index i = 0; i < j; ++i) {
      a(i, j) = a(j, i);
    }
    a(j, j) = static_cast<double>(n);
  }
  return a;
}

inline void require(bool holds, char const* what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

/// L L^T x = A x for a random x, up to rounding: catches a wrong factor at the price of three
/// products with a vector.
inline void check_factor(Matrix const& a, Matrix const& l) {
  Eigen::VectorXd const x = Eigen::VectorXd::Ones(a.cols());
  Eigen::VectorXd y = l.triangularView<Eigen::Lower>().transpose() * x;
  y = l.triangularView<Eigen::Lower>() * y;
  require((a * x - y).norm() <= 1e-12 * a.norm() * x.norm(), "wrong Cholesky factor");
}

/// L U x = P A x, likewise, for P made of the exchanges of row k with row pivots[k].
inline void
check_factor(Matrix const& a, Matrix const& lu, std::vector<std::size_t> const& pivots) {
  Eigen::VectorXd const x = Eigen::VectorXd::Ones(a.cols());
  Eigen::VectorXd y = lu.triangularView<Eigen::Upper>() * x;
  y = lu.triangularView<Eigen::UnitLower>() * y;
  Eigen::VectorXd pax = a * x;
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    std::swap(pax[static_cast<Eigen::Index>(k)], pax[static_cast<Eigen::Index>(pivots[k])]);
  }
  require((pax - y).norm() <= 1e-12 * a.norm() * x.norm(), "wrong LU factors");
}

/// R^T R x = A^T A x, likewise.
inline void check_triangle(Matrix const& a, Matrix const& r) {
  Eigen::VectorXd const x = Eigen::VectorXd::Ones(a.cols());
  Eigen::VectorXd y = r.triangularView<Eigen::Upper>() * x;
  y = r.triangularView<Eigen::Upper>().transpose() * y;
  Eigen::VectorXd const ax = a * x;
  require((a.transpose() * ax - y).norm() <= 1e-12 * a.squaredNorm() * x.norm(), "wrong QR factor");
}

/// Times `rounds` calls of run(), each after prepare(), and prints each.
template <class Prepare, class Run>
void time_rounds(int rounds, Prepare&& prepare, Run&& run) {
  for (int r = 0; r < rounds; ++r) {
    prepare();
    auto const begin = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
    std::printf("seconds %.9g\n", time.count());
  }
}

/// What the graphs of "empty" tasks work on, and whether every task ran.
class Numbers {
public:
  explicit Numbers(std::size_t count) : numbers_(count) {}

  [[nodiscard]] std::vector<Number>& all() noexcept { return numbers_; }

  /// Number i must have grown by `expected(i)` since the last check.
  template <class Expected>
  void check(Expected&& expected) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      require(numbers_[i].value == expected(i), "a task was lost or run twice");
      numbers_[i].value = 0;
    }
  }

private:
  std::vector<Number> numbers_;
};

/// Runs the request and prints what it took. `Peer` is made from the request and offers the graphs
/// it can do:
///   void independent(std::vector<Number>&)            one task for each, no data declared
///   void independent_data(std::vector<Number>&)       one task for each, which declares it
///   void chain(Number&, std::size_t n)                n tasks that read and write it
///   void cholesky_graph(std::vector<Number>&, std::size_t t)   tile (i, j) is number i * t + j
///   void cholesky_again(std::vector<Number>&, std::size_t t)   the same, keeping the graph
///   std::uint64_t fibonacci(int n)                    a task for each call, nested
///   std::uint64_t fork_join(int n)                    the same by what is made for it, else tasks
///   void cholesky(Matrix&, std::size_t tile)          factorises the lower triangle in place
///   std::vector<std::size_t> lu(Matrix&, std::size_t tile)   the same by LU; the pivots' rows
///   void qr(Matrix&, std::size_t tile)                and by QR: R above, anything below
///   void report(graph, Matrix&, std::size_t tile)     prints more about the last of these three
/// Data are registered by the first call that names them, which is not measured.
template <class Peer>
void measure(Request const& request) {
  Peer peer(request);
  auto const rounds = request.rounds;
  auto const times = static_cast<std::uint64_t>(rounds) + 1;
  auto const n = request.n;
  auto const& graph = request.graph;
  auto const nothing = [] {};
  auto const done = [](double tasks) { std::printf("tasks %.0f\n", tasks); };
  auto const tasks = static_cast<double>(n);
  auto const report = [&](auto& asked, Matrix& factor) {
    if constexpr (requires { asked.report(graph, factor, n); }) {
      asked.report(graph, factor, request.tile);
    }
  };
  if constexpr (requires(std::vector<Number>& all) { peer.independent(all); }) {
    if (graph == "independent") {
      Numbers numbers(n);
      peer.independent(numbers.all());
      time_rounds(rounds, nothing, [&] { peer.independent(numbers.all()); });
      numbers.check([&](std::size_t) { return times; });
      return done(tasks);
    }
  }
  if constexpr (requires(std::vector<Number>& all) { peer.independent_data(all); }) {
    if (graph == "independent_data") {
      Numbers numbers(n);
      peer.independent_data(numbers.all());
      time_rounds(rounds, nothing, [&] { peer.independent_data(numbers.all()); });
      numbers.check([&](std::size_t) { return times; });
      return done(tasks);
    }
  }
  if constexpr (requires(Number& number) { peer.chain(number, n); }) {
    if (graph == "chain") {
      Numbers numbers(1);
      peer.chain(numbers.all()[0], n);
      time_rounds(rounds, nothing, [&] { peer.chain(numbers.all()[0], n); });
      numbers.check([&](std::size_t) { return n * times; });
      return done(tasks);
    }
  }
  if constexpr (requires(std::vector<Number>& all) { peer.cholesky_graph(all, n); }) {
    if (graph == "cholesky_graph" || graph == "cholesky_again") {
      Numbers numbers(n * n);
      auto const run = [&] {
        if constexpr (requires { peer.cholesky_again(numbers.all(), n); }) {
          if (graph == "cholesky_again") {
            peer.cholesky_again(numbers.all(), n);
            return;
          }
        }
        peer.cholesky_graph(numbers.all(), n);
      };
      run();
      run(); // what is kept has been used once
      time_rounds(rounds, nothing, run);
      numbers.check([&](std::size_t k) {
        auto const i = k / n;
        auto const j = k % n;
        return j <= i ? (j + 1) * (times + 1) : 0; // a tile is updated by each column left of it
      });
      return done(static_cast<double>(cholesky_tasks(n)));
    }
  }
  if constexpr (requires { peer.fibonacci(1); }) {
    if (graph == "fibonacci" || graph == "fork_join") {
      auto const argument = static_cast<int>(n);
      auto const expected = serial_fibonacci(argument);
      auto const compute = [&](int k) -> std::uint64_t {
        if constexpr (requires { peer.fork_join(1); }) {
          return graph == "fork_join" ? peer.fork_join(k) : peer.fibonacci(k);
        } else {
          return peer.fibonacci(k);
        }
      };
      require(compute(10) == 55, "wrong Fibonacci number");
      time_rounds(rounds, nothing, [&] {
        require(compute(argument) == expected, "wrong Fibonacci number");
      });
      return done(fibonacci_calls(argument));
    }
  }
  if (graph == "serial_fibonacci") {
    auto const argument = static_cast<int>(n);
    std::uint64_t result = 0;
    time_rounds(rounds, nothing, [&] { result += serial_fibonacci(argument); });
    require(result != 0 || argument == 0, "wrong Fibonacci number");
    return done(fibonacci_calls(argument));
  }
  if constexpr (requires(Matrix& l) { peer.cholesky(l, n); }) {
    if (graph == "cholesky") {
      Matrix const a = spd_matrix(n);
      Matrix l = a;
      time_rounds(rounds, [&] { l = a; }, [&] { peer.cholesky(l, request.tile); });
      check_factor(a, l);
      return report(peer, l);
    }
  }
  if constexpr (requires(Matrix& lu) { peer.lu(lu, n); }) {
    if (graph == "lu") {
      Matrix const a = random_matrix(n);
      Matrix lu = a;
      std::vector<std::size_t> pivots;
      time_rounds(rounds, [&] { lu = a; }, [&] { pivots = peer.lu(lu, request.tile); });
      check_factor(a, lu, pivots);
      return report(peer, lu);
    }
  }
  if constexpr (requires(Matrix& r) { peer.qr(r, n); }) {
    if (graph == "qr") {
      Matrix const a = random_matrix(n);
      Matrix r = a;
      time_rounds(rounds, [&] { r = a; }, [&] { peer.qr(r, request.tile); });
      check_triangle(a, r);
      return report(peer, r);
    }
  }
  throw std::runtime_error("cannot do this graph");
}

template <class Peer>
int peer_main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "versions") {
    std::printf("%s\n", Peer::version().c_str());
    return 0;
  }
  if (argc != 7) {
    std::fprintf(stderr, "%s: run by `overhead`, not by hand\n", argv[0]);
    return 2;
  }
  try {
    auto const number = [](char const* text) { return std::strtoull(text, nullptr, 10); };
    measure<Peer>({argv[1],
                   number(argv[2]),
                   number(argv[3]),
                   static_cast<int>(number(argv[4])),
                   static_cast<int>(number(argv[5])),
                   argv[6]});
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}

} // namespace overhead
