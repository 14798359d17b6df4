// SPDX-License-Identifier: MIT
// KLU: left-looking LU without a BLAS, one thread, for matrices of circuits.

#include "measure.hpp"

#include <suitesparse/klu.h>

namespace {

using sparse_peers::require;
using sparse_peers::Sparse;
using sparse_peers::Vector;

class Peer {
public:
  explicit Peer(sparse_peers::Request const& /*request*/) {
    require(klu_defaults(&common_) == 1, "klu_defaults failed");
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    klu_free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }

  static std::string version() {
    return "KLU " + std::to_string(KLU_MAIN_VERSION) + '.' + std::to_string(KLU_SUB_VERSION) + '.' +
           std::to_string(KLU_SUBSUB_VERSION) + ", no BLAS";
  }

  static char const* orderings() { return "default"; }

  void analyze(Sparse const& a) {
    symbolic_ = klu_analyze(static_cast<int>(a.rows()), begins(a), rows(a), &common_);
    require(symbolic_ != nullptr, "klu_analyze failed");
  }

  void factorize(Sparse const& a) {
    numeric_ = klu_factor(begins(a), rows(a), values(a), symbolic_, &common_);
    require(numeric_ != nullptr, "klu_factor failed");
  }

  /// With the pivots of the first factorisation.
  void refactorize(Sparse const& a) {
    require(klu_refactor(begins(a), rows(a), values(a), symbolic_, numeric_, &common_) == 1,
            "klu_refactor failed");
  }

  Vector solve(Vector const& b) {
    Vector x = b;
    require(klu_solve(symbolic_, numeric_, symbolic_->n, 1, x.data(), &common_) == 1,
            "klu_solve failed");
    return x;
  }

private:
  // KLU only reads the matrix.
  static int* begins(Sparse const& a) { return const_cast<int*>(a.outerIndexPtr()); }

  static int* rows(Sparse const& a) { return const_cast<int*>(a.innerIndexPtr()); }

  static double* values(Sparse const& a) { return const_cast<double*>(a.valuePtr()); }

  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
