// SPDX-License-Identifier: MIT
// expected-error: hetsched: lu_tournament needs a column-major matrix
// needs: eigen3
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu_tournament.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  double numbers[4] = {};
  hs::linalg::TiledMatrix const a(rt, hs::row_major(numbers, 2, 2, 2), 1);
  hs::linalg::TournamentPivots pivots(rt, a);
}
