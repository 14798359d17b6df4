// SPDX-License-Identifier: MIT
// Emulated devices have no BLAS: neither OpenBLAS nor Eigen was found.

#include "emulated_kernels.hpp"

namespace hetsched::emulated {

bool has_blas() noexcept {
  return false;
}

bool has_lapack() noexcept {
  return false;
}

void use_one_thread() {
}

template <class T>
void Kernels<T>::gemm(char, char, int, int, int, T, T const*, int, T const*, int, T, T*, int) {
}

template <class T>
void Kernels<T>::symm(char, char, int, int, T, T const*, int, T const*, int, T, T*, int) {
}

template <class T>
void Kernels<T>::syrk(char, char, int, int, T, T const*, int, T, T*, int) {
}

template <class T>
void Kernels<T>::syr2k(char, char, int, int, T, T const*, int, T const*, int, T, T*, int) {
}

template <class T>
void Kernels<T>::trmm(char, char, char, char, int, int, T, T const*, int, T*, int) {
}

template <class T>
void Kernels<T>::trsm(char, char, char, char, int, int, T, T const*, int, T*, int) {
}

template <class T>
void Kernels<T>::axpy(int, T, T const*, int, T*, int) {
}

template <class T>
void Kernels<T>::scal(int, T, T*, int) {
}

template <class T>
void Kernels<T>::copy(int, T const*, int, T*, int) {
}

template <class T>
void Kernels<T>::swap(int, T*, int, T*, int) {
}

template <class T>
T Kernels<T>::dot(int, T const*, int, T const*, int) {
  return 0;
}

template <class T>
T Kernels<T>::nrm2(int, T const*, int) {
  return 0;
}

template <class T>
T Kernels<T>::asum(int, T const*, int) {
  return 0;
}

template <class T>
int Kernels<T>::potrf(char, int, T*, int) {
  return 0;
}

template <class T>
int Kernels<T>::getrf(int, int, T*, int, int*) {
  return 0;
}

template struct Kernels<float>;
template struct Kernels<double>;

} // namespace hetsched::emulated
