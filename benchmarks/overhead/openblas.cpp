// SPDX-License-Identifier: MIT
// OpenBLAS's own threaded Cholesky: no tasks, one call.

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
};

} // namespace

int main(int argc, char** argv) {
  return overhead::peer_main<Peer>(argc, argv);
}
