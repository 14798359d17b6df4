// SPDX-License-Identifier: MIT
// UMFPACK: multifrontal with partial pivoting; only its BLAS has threads.

#include "measure.hpp"

#include <suitesparse/umfpack.h>

namespace {

using sparse_peers::require;
using sparse_peers::Sparse;
using sparse_peers::Vector;

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) {
    umfpack_di_defaults(control_);
    if (request.ordering == "metis") {
      control_[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS;
    }
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    umfpack_di_free_numeric(&numeric_);
    umfpack_di_free_symbolic(&symbolic_);
  }

  static std::string version() {
    return std::string(UMFPACK_VERSION).substr(0, std::string(UMFPACK_VERSION).find(" (")) +
           ", BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "default metis"; }

  void analyze(Sparse const& a) {
    auto const n = static_cast<int>(a.rows());
    check(umfpack_di_symbolic(
        n, n, a.outerIndexPtr(), a.innerIndexPtr(), a.valuePtr(), &symbolic_, control_, nullptr));
  }

  void factorize(Sparse const& a) {
    umfpack_di_free_numeric(&numeric_);
    check(umfpack_di_numeric(a.outerIndexPtr(),
                             a.innerIndexPtr(),
                             a.valuePtr(),
                             symbolic_,
                             &numeric_,
                             control_,
                             nullptr));
    matrix_ = &a;
  }

  void refactorize(Sparse const& a) { factorize(a); }

  Vector solve(Vector const& b) {
    Vector x(b.size());
    check(umfpack_di_solve(UMFPACK_A,
                           matrix_->outerIndexPtr(),
                           matrix_->innerIndexPtr(),
                           matrix_->valuePtr(),
                           x.data(),
                           b.data(),
                           numeric_,
                           control_,
                           nullptr));
    return x;
  }

private:
  static void check(int status) {
    require(status == UMFPACK_OK, "UMFPACK: status " + std::to_string(status));
  }

  double control_[UMFPACK_CONTROL] = {};
  void* symbolic_ = nullptr;
  void* numeric_ = nullptr;
  Sparse const* matrix_ = nullptr; // for refinement
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
