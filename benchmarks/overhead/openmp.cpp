// SPDX-License-Identifier: MIT
// OpenMP tasks; built twice, for libgomp and for LLVM's runtime. Dependencies are inferred from
// `depend`. With one thread both runtimes run a task inside its spawn.

#include "kernels.hpp"

#include <omp.h>

#if defined(OVERHEAD_LIBGOMP)
#define OVERHEAD_NAME "libgomp of g++ " __VERSION__
#else
#define OVERHEAD_NAME "LLVM OpenMP of " __VERSION__
#endif

namespace {

using overhead::Number;

class Peer {
public:
  explicit Peer(overhead::Request const& request) : workers_(request.workers) {}

  static std::string version() { return OVERHEAD_NAME; }

  void independent(std::vector<Number>& numbers) const {
    team([&] {
      for (auto& number : numbers) {
        auto* const x = &number;
#pragma omp task firstprivate(x)
        ++x->value;
      }
    });
  }

  void independent_data(std::vector<Number>& numbers) const {
    team([&] {
      for (auto& number : numbers) {
        update(&number);
      }
    });
  }

  void chain(Number& number, std::size_t n) const {
    team([&] {
      for (std::size_t i = 0; i < n; ++i) {
        update(&number);
      }
    });
  }

  void cholesky_graph(std::vector<Number>& numbers, std::size_t t) const {
    auto const a = [&](std::size_t i, std::size_t j) { return &numbers[i * t + j]; };
    team([&] {
      overhead::for_each_cholesky_task(
          t,
          [&](std::size_t k) { update(a(k, k)); },
          [&](std::size_t k, std::size_t i) { update2(a(k, k), a(i, k)); },
          [&](std::size_t k, std::size_t j) { update2(a(j, k), a(j, j)); },
          [&](std::size_t k, std::size_t i, std::size_t j) { update3(a(i, k), a(j, k), a(i, j)); });
    });
  }

  [[nodiscard]] std::uint64_t fibonacci(int n) const {
    std::uint64_t result = 0;
    team([&] { result = nested(n); });
    return result;
  }

  void cholesky(overhead::Matrix& matrix, std::size_t tile) const {
    hetsched::linalg::use_one_blas_thread();
    overhead::Tiles const a(matrix, tile);
    team([&] {
      overhead::for_each_cholesky_task(
          a.count(),
          [&](std::size_t k) {
            auto const x = a(k, k);
            auto* const d = x.data();
#pragma omp task depend(inout : *d) firstprivate(x) priority(3)
            overhead::potrf(x);
          },
          [&](std::size_t k, std::size_t i) {
            auto const l = a(k, k);
            auto const x = a(i, k);
            auto* const r = l.data();
            auto* const d = x.data();
#pragma omp task depend(in : *r) depend(inout : *d) firstprivate(l, x) priority(2)
            overhead::trsm(l, x);
          },
          [&](std::size_t k, std::size_t j) {
            auto const l = a(j, k);
            auto const x = a(j, j);
            auto* const r = l.data();
            auto* const d = x.data();
#pragma omp task depend(in : *r) depend(inout : *d) firstprivate(l, x) priority(1)
            overhead::syrk(l, x);
          },
          [&](std::size_t k, std::size_t i, std::size_t j) {
            auto const l = a(i, k);
            auto const r = a(j, k);
            auto const x = a(i, j);
            auto* const p = l.data();
            auto* const q = r.data();
            auto* const d = x.data();
#pragma omp task depend(in : *p, *q) depend(inout : *d) firstprivate(l, r, x)
            overhead::gemm(l, r, x);
          });
    });
  }

private:
  /// Runs `spawns` on one thread of a team; the others run tasks.
  template <class Spawns>
  void team(Spawns&& spawns) const {
#pragma omp parallel num_threads(workers_)
#pragma omp single
    spawns();
  }

  static void update(Number* x) {
#pragma omp task depend(inout : *x) firstprivate(x)
    ++x->value;
  }

  static void update2([[maybe_unused]] Number* l, Number* x) {
#pragma omp task depend(in : *l) depend(inout : *x) firstprivate(x)
    ++x->value;
  }

  static void update3([[maybe_unused]] Number* l, [[maybe_unused]] Number* r, Number* x) {
#pragma omp task depend(in : *l, *r) depend(inout : *x) firstprivate(x)
    ++x->value;
  }

  static std::uint64_t nested(int n) {
    if (n < 2) {
      return static_cast<std::uint64_t>(n);
    }
    std::uint64_t a = 0;
    std::uint64_t b = 0;
#pragma omp task shared(a) firstprivate(n)
    a = nested(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = nested(n - 2);
#pragma omp taskwait
    return a + b;
  }

  int workers_;
};

} // namespace

int main(int argc, char** argv) {
  return overhead::peer_main<Peer>(argc, argv);
}
