// SPDX-License-Identifier: MIT
// CHOLMOD: supernodal Cholesky, for symmetric positive definite matrices only.

#include "measure.hpp"

#include <suitesparse/cholmod.h>

#include <algorithm>

namespace {

using sparse_peers::require;
using sparse_peers::Sparse;
using sparse_peers::Vector;

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) {
    cholmod_start(&common_);
    common_.supernodal = CHOLMOD_SUPERNODAL;
    common_.print = 0;
    if (request.ordering == "metis") {
      common_.nmethods = 1;
      common_.method[0].ordering = CHOLMOD_METIS;
      common_.postorder = 1;
    }
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    cholmod_free_factor(&factor_, &common_);
    cholmod_finish(&common_);
  }

  static std::string version() {
    return "CHOLMOD " + std::to_string(CHOLMOD_MAIN_VERSION) + '.' +
           std::to_string(CHOLMOD_SUB_VERSION) + '.' + std::to_string(CHOLMOD_SUBSUB_VERSION) +
           ", BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "default metis"; }

  void analyze(Sparse const& a) {
    auto matrix = view(a);
    factor_ = cholmod_analyze(&matrix, &common_);
    require(factor_ != nullptr, "cholmod_analyze failed");
  }

  void factorize(Sparse const& a) {
    auto matrix = view(a);
    cholmod_factorize(&matrix, factor_, &common_);
    if (common_.status == CHOLMOD_NOT_POSDEF) {
      throw sparse_peers::NotForThis("not positive definite");
    }
    require(common_.status == CHOLMOD_OK, "cholmod_factorize failed");
  }

  void refactorize(Sparse const& a) { factorize(a); }

  Vector solve(Vector const& b) {
    cholmod_dense right{};
    right.nrow = static_cast<std::size_t>(b.size());
    right.ncol = 1;
    right.nzmax = right.nrow;
    right.d = right.nrow;
    right.x = const_cast<double*>(b.data()); // CHOLMOD only reads it
    right.xtype = CHOLMOD_REAL;
    right.dtype = CHOLMOD_DOUBLE;
    auto* solution = cholmod_solve(CHOLMOD_A, factor_, &right, &common_);
    require(solution != nullptr, "cholmod_solve failed");
    Vector x(b.size());
    std::copy_n(static_cast<double const*>(solution->x), b.size(), x.data());
    cholmod_free_dense(&solution, &common_);
    return x;
  }

private:
  /// The lower triangle. CHOLMOD only reads it.
  static cholmod_sparse view(Sparse const& a) {
    cholmod_sparse matrix{};
    matrix.nrow = static_cast<std::size_t>(a.rows());
    matrix.ncol = matrix.nrow;
    matrix.nzmax = static_cast<std::size_t>(a.nonZeros());
    matrix.p = const_cast<int*>(a.outerIndexPtr());
    matrix.i = const_cast<int*>(a.innerIndexPtr());
    matrix.x = const_cast<double*>(a.valuePtr());
    matrix.stype = -1;
    matrix.itype = CHOLMOD_INT;
    matrix.xtype = CHOLMOD_REAL;
    matrix.dtype = CHOLMOD_DOUBLE;
    matrix.sorted = 1;
    matrix.packed = 1;
    return matrix;
  }

  cholmod_common common_{};
  cholmod_factor* factor_ = nullptr;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer>(argc, argv);
}
