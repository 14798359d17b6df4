// SPDX-License-Identifier: MIT
#pragma once
// The processes that mpirun started, as a team.

#define OMPI_SKIP_MPICXX 1 // Open MPI's bindings for C++, which nobody needs
#include <mpi.h>

namespace sparse_peers {

class MpiTeam {
public:
  MpiTeam(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }

  MpiTeam(MpiTeam const&) = delete;
  MpiTeam& operator=(MpiTeam const&) = delete;

  ~MpiTeam() { MPI_Finalize(); }

  [[nodiscard]] bool leads() const { return rank_ == 0; }

  static void meet() { MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] static double sum(double value) {
    double result = 0;
    MPI_Reduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return result;
  }

private:
  int rank_ = 0;
};

} // namespace sparse_peers
