// SPDX-License-Identifier: MIT
// MUMPS: multifrontal LU with partial pivoting. Compiled twice: sequential, where only the BLAS has
// threads, and with SPARSE_PEER_MPI for the processes of mpirun.

#include "measure.hpp"

#ifdef SPARSE_PEER_MPI
#include "mpi_team.hpp"
#endif

#include <dmumps_c.h>

#include <vector>

namespace {

using sparse_peers::require;
using sparse_peers::Sparse;
using sparse_peers::Vector;

#ifdef SPARSE_PEER_MPI
using Team = sparse_peers::MpiTeam;
#else
using Team = sparse_peers::Alone;
#endif

class Peer {
public:
  explicit Peer(sparse_peers::Request const& request) {
    mumps_.comm_fortran = -987654; // MPI_COMM_WORLD
    mumps_.par = 1;
    mumps_.sym = 0;
    call(-1);
    for (int const k : {1, 2, 3, 4}) {
      control(k) = k == 4 ? 0 : -1; // prints nothing
    }
    control(7) = request.ordering == "metis" ? 5 : request.ordering == "scotch" ? 3 : 7;
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    mumps_.job = -2;
    dmumps_c(&mumps_);
  }

  static std::string version() {
#ifdef SPARSE_PEER_MPI
    std::string const kind = ", MPI";
#else
    std::string const kind = ", sequential";
#endif
    return "MUMPS " MUMPS_VERSION + kind + ", BLAS: " + sparse_peers::blas_name();
  }

  static char const* orderings() { return "default metis scotch"; }

  void analyze(Sparse const& a) {
    rows_.clear();
    columns_.clear();
    for (Eigen::Index j = 0; j < a.outerSize(); ++j) {
      for (Sparse::InnerIterator entry(a, j); entry; ++entry) {
        rows_.push_back(static_cast<MUMPS_INT>(entry.row()) + 1);
        columns_.push_back(static_cast<MUMPS_INT>(j) + 1);
      }
    }
    mumps_.n = static_cast<MUMPS_INT>(a.rows());
    mumps_.nnz = static_cast<MUMPS_INT8>(a.nonZeros());
    mumps_.irn = rows_.data();
    mumps_.jcn = columns_.data();
    take_values(a);
    call(1);
  }

  void factorize(Sparse const& a) {
    take_values(a);
    mumps_.job = 2;
    dmumps_c(&mumps_);
    while ((mumps_.infog[0] == -8 || mumps_.infog[0] == -9) && control(14) < 1000) {
      control(14) *= 2; // more memory than estimated, as its manual advises
      dmumps_c(&mumps_);
    }
    check();
  }

  void refactorize(Sparse const& a) { factorize(a); }

  Vector solve(Vector const& b) {
    Vector x = b;
    mumps_.rhs = x.data();
    mumps_.nrhs = 1;
    mumps_.lrhs = mumps_.n;
    call(3);
    return x;
  }

private:
  MUMPS_INT& control(int k) { return mumps_.icntl[k - 1]; }

  void take_values(Sparse const& a) {
    values_.assign(a.valuePtr(), a.valuePtr() + a.nonZeros());
    mumps_.a = values_.data();
  }

  void call(int job) {
    mumps_.job = job;
    dmumps_c(&mumps_);
    check();
  }

  void check() const {
    require(mumps_.infog[0] >= 0, "MUMPS: error " + std::to_string(mumps_.infog[0]));
  }

  DMUMPS_STRUC_C mumps_{};
  std::vector<MUMPS_INT> rows_;
  std::vector<MUMPS_INT> columns_;
  std::vector<double> values_;
};

} // namespace

int main(int argc, char** argv) {
  return sparse_peers::peer_main<Peer, Team>(argc, argv);
}
