// SPDX-License-Identifier: MIT
// OpenBLAS's own threaded factorisations: no tasks, one call.

#include "kernels.hpp"

namespace {

class Peer {
public:
  explicit Peer(overhead::Request const& request) { openblas_set_num_threads(request.workers); }

  static std::string version() { return openblas_get_config(); }

  void cholesky(overhead::Matrix& a, std::size_t /*tile*/) {
    overhead::require(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR,
                                          'L',
                                          static_cast<int>(a.rows()),
                                          a.data(),
                                          static_cast<int>(a.rows())) == 0,
                      "dpotrf failed");
  }

  std::vector<std::size_t> lu(overhead::Matrix& a, std::size_t /*tile*/) {
    auto const n = static_cast<int>(a.rows());
    std::vector<int> rows(static_cast<std::size_t>(n));
    overhead::require(LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, a.data(), n, rows.data()) == 0,
                      "dgetrf failed");
    std::vector<std::size_t> pivots;
    for (int const row : rows) {
      pivots.push_back(static_cast<std::size_t>(row - 1));
    }
    return pivots;
  }

  void qr(overhead::Matrix& a, std::size_t /*tile*/) {
    auto const n = static_cast<int>(a.rows());
    Eigen::VectorXd scales(n);
    overhead::require(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, n, a.data(), n, scales.data()) == 0,
                      "dgeqrf failed");
  }
};

} // namespace

int main(int argc, char** argv) {
  return overhead::peer_main<Peer>(argc, argv);
}
