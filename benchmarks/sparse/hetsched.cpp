// SPDX-License-Identifier: MIT
// SparseLU of this library, or with SPARSE_PEER_CHOLESKY its SparseCholesky: tasks under work
// stealing.

#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/cholesky.hpp>
#include <hetsched/sparse/lu.hpp>

#include "measure.hpp"

namespace {

#ifdef SPARSE_PEER_CHOLESKY
using Solver = hetsched::sparse::SparseCholesky<double>;
constexpr char const* solver_name = " SparseCholesky";
constexpr bool definite_only = true;
#else
using Solver = hetsched::sparse::SparseLU<double>;
constexpr char const* solver_name = " SparseLU";
constexpr bool definite_only = false;
#endif

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) : rt_(runtime(request.workers)) {}

  static std::string version() {
    return std::string("hetsched " HETSCHED_VERSION) + solver_name +
           ", BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "automatic"; }

  void analyze(sparse_peers::Sparse const& a) { solver_.analyze(a); }

  void factorize(sparse_peers::Sparse const& a) {
    try {
      solver_.factorize(rt_, a);
    } catch (hetsched::Error const& error) {
      if (definite_only && error.code() == hetsched::ErrorCode::numerical) {
        throw sparse_peers::NotForThis(error.what());
      }
      throw;
    }
  }

  void refactorize(sparse_peers::Sparse const& a) { solver_.refactorize(rt_, a); }

  sparse_peers::Vector solve(sparse_peers::Vector const& b) { return solver_.solve(rt_, b); }

  [[nodiscard]] double flops() const { return solver_.report().flops; }

private:
  /// All rounds share the workers: programs have them anyway.
  static hetsched::Runtime<>& runtime(int workers) {
    static hetsched::Runtime<> all([&] {
      hetsched::Config config;
      config.cpus = workers;
      config.devices = "none";
      return config;
    }());
    return all;
  }

  hetsched::Runtime<>& rt_;
  Solver solver_;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
