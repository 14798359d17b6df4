// SPDX-License-Identifier: MIT
// Eigen::SparseLU: supernodal, one thread, kernels of its own.

#include "measure.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseLU>

namespace {

class Peer {
public:
  explicit Peer(sparse_peers::Request const& /*request*/) {}

  static std::string version() {
    return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + '.' +
           std::to_string(EIGEN_MAJOR_VERSION) + '.' + std::to_string(EIGEN_MINOR_VERSION) +
           " SparseLU, kernels of its own";
  }

  static char const* orderings() { return "colamd"; }

  void analyze(sparse_peers::Sparse const& a) { lu_.analyzePattern(a); }

  void factorize(sparse_peers::Sparse const& a) {
    lu_.factorize(a);
    sparse_peers::require(lu_.info() == Eigen::Success, "SparseLU failed");
  }

  void refactorize(sparse_peers::Sparse const& a) { factorize(a); }

  sparse_peers::Vector solve(sparse_peers::Vector const& b) { return lu_.solve(b); }

private:
  Eigen::SparseLU<sparse_peers::Sparse, Eigen::COLAMDOrdering<int>> lu_;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
