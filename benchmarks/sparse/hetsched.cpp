// SPDX-License-Identifier: MIT
// SparseLU of this library, tasks under work stealing.

#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/lu.hpp>

#include "measure.hpp"

namespace {

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) : rt_(runtime(request.workers)) {}

  static std::string version() {
    return "hetsched " HETSCHED_VERSION " SparseLU, BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "automatic"; }

  void analyze(sparse_peers::Sparse const& a) { lu_.analyze(a); }

  void factorize(sparse_peers::Sparse const& a) { lu_.factorize(rt_, a); }

  void refactorize(sparse_peers::Sparse const& a) { lu_.refactorize(rt_, a); }

  sparse_peers::Vector solve(sparse_peers::Vector const& b) { return lu_.solve(rt_, b); }

  [[nodiscard]] double flops() const { return lu_.report().flops; }

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
  hetsched::sparse::SparseLU<double> lu_;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
