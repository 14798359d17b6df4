// SPDX-License-Identifier: MIT
// SuperLU_DIST: supernodal LU with static pivoting and refinement, on the processes of mpirun.

#include "measure.hpp"
#include "mpi_team.hpp"

#include <superlu_ddefs.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using sparse_peers::require;
using sparse_peers::Sparse;
using sparse_peers::Vector;

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) {
    superlu_gridinit(MPI_COMM_WORLD, 1, request.workers, &grid_);
    set_default_options_dist(&options_);
    options_.PrintStat = NO;
    options_.ColPerm = request.ordering == "mmd" ? MMD_AT_PLUS_A : METIS_AT_PLUS_A;
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    if (n_ > 0) {
      Destroy_CompRowLoc_Matrix_dist(&matrix_);
      dScalePermstructFree(&scaling_);
      dDestroy_LU(n_, &grid_, &lu_);
      dLUstructFree(&lu_);
      dSolveFinalize(&options_, &solver_);
    }
    superlu_gridexit(&grid_);
  }

  static std::string version() {
    return "SuperLU_DIST " + std::to_string(SUPERLU_DIST_MAJOR_VERSION) + '.' +
           std::to_string(SUPERLU_DIST_MINOR_VERSION) + '.' +
           std::to_string(SUPERLU_DIST_PATCH_VERSION) + ", BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "metis mmd"; }

  /// Makes this process's rows; the analysis itself is a part of the factorisation's call.
  void analyze(Sparse const& a) {
    // Debian builds the library without MC64, which would find another diagonal.
    if ((a.diagonal().array() == 0).any()) {
      throw sparse_peers::NotForThis("a diagonal with zeros");
    }
    n_ = static_cast<int_t>(a.rows());
    auto const each = n_ / grid_.npcol;
    first_ = grid_.iam * each;
    local_ = grid_.iam + 1 == grid_.npcol ? n_ - first_ : each;
    dScalePermstructInit(n_, n_, &scaling_);
    dLUstructInit(n_, &lu_);
    take(a);
    has_matrix_ = true;
  }

  void factorize(Sparse const& /*a*/) {
    options_.Fact = DOFACT;
    call(nullptr, 0);
    options_.Fact = FACTORED;
  }

  void refactorize(Sparse const& a) {
    take(a);
    dSolveFinalize(&options_, &solver_); // else refinement uses columns of the matrix before
    solver_ = {};
    options_.Fact = SamePattern_SameRowPerm;
    call(nullptr, 0);
    options_.Fact = FACTORED;
  }

  Vector solve(Vector const& b) {
    Vector part = b.segment(first_, local_);
    call(part.data(), 1);
    // Every process gets its rows; the one that leads needs them all.
    std::vector<int> counts(static_cast<std::size_t>(grid_.npcol));
    std::vector<int> begins(counts.size());
    for (std::size_t r = 0; r < counts.size(); ++r) {
      auto const each = n_ / grid_.npcol;
      begins[r] = static_cast<int>(r) * each;
      counts[r] = r + 1 == counts.size() ? n_ - begins[r] : each;
    }
    Vector x(n_);
    MPI_Gatherv(part.data(),
                local_,
                MPI_DOUBLE,
                x.data(),
                counts.data(),
                begins.data(),
                MPI_DOUBLE,
                0,
                MPI_COMM_WORLD);
    return x;
  }

  /// Of the last `factorize`: all of it but the distribution and the numbers.
  [[nodiscard]] double analysis_seconds() const { return analysis_; }

private:
  /// This process's rows of `a`, in the library's memory, since it changes and frees them.
  void take(Sparse const& a) {
    if (has_matrix_) {
      Destroy_CompRowLoc_Matrix_dist(&matrix_);
    }
    Eigen::SparseMatrix<double, Eigen::RowMajor, int> const rows = a.middleRows(first_, local_);
    auto const count = static_cast<int_t>(rows.nonZeros());
    auto* const values = doubleMalloc_dist(count);
    auto* const columns = intMalloc_dist(count);
    auto* const begins = intMalloc_dist(local_ + 1);
    std::copy_n(rows.valuePtr(), count, values);
    std::copy_n(rows.innerIndexPtr(), count, columns);
    std::copy_n(rows.outerIndexPtr(), local_ + 1, begins);
    dCreate_CompRowLoc_Matrix_dist(&matrix_,
                                   n_,
                                   n_,
                                   count,
                                   local_,
                                   first_,
                                   values,
                                   columns,
                                   begins,
                                   SLU_NR_loc,
                                   SLU_D,
                                   SLU_GE);
  }

  void call(double* b, int columns) {
    SuperLUStat_t statistics;
    PStatInit(&statistics);
    double error = 0;
    int info = 0;
    pdgssvx(&options_,
            &matrix_,
            &scaling_,
            b,
            local_,
            columns,
            &grid_,
            &lu_,
            &solver_,
            &error,
            &statistics,
            &info);
    auto const* const times = statistics.utime;
    analysis_ = times[EQUIL] + times[ROWPERM] + times[COLPERM] + times[ETREE] + times[SYMBFAC];
    PStatFree(&statistics);
    require(info == 0, "SuperLU_DIST: info " + std::to_string(info));
  }

  gridinfo_t grid_{};
  superlu_dist_options_t options_{};
  SuperMatrix matrix_{};
  dScalePermstruct_t scaling_{};
  dLUstruct_t lu_{};
  dSOLVEstruct_t solver_{};
  bool has_matrix_ = false;
  int_t n_ = 0;
  int_t first_ = 0;
  int_t local_ = 0;
  double analysis_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer, sparse_peers::MpiTeam>(argc, argv);
}
