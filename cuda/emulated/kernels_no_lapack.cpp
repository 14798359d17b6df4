// SPDX-License-Identifier: MIT
// Emulated devices have no LAPACK: LAPACKE was not found.

#include "kernels.hpp"

namespace hetsched::emulated {

bool has_lapack() noexcept {
  return false;
}

template <class T>
int Lapack<T>::potrf(char, int, T*, int) {
  return 0;
}

template <class T>
int Lapack<T>::getrf(int, int, T*, int, int*) {
  return 0;
}

template struct Lapack<float>;
template struct Lapack<double>;

} // namespace hetsched::emulated
