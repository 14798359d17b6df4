// SPDX-License-Identifier: MIT
// Emulated devices have no BLAS: neither OpenBLAS nor Eigen was found.

#include "kernels.hpp"

namespace hetsched::emulated {

bool has_blas() noexcept {
  return false;
}

void use_one_thread() {
}

template <class T>
void Kernels<T>::gemm(char, char, T, In, In, T, Out) {
}

template <class T>
void Kernels<T>::symm(char, char, T, In, In, T, Out) {
}

template <class T>
void Kernels<T>::syrk(char, char, T, In, T, Out) {
}

template <class T>
void Kernels<T>::syr2k(char, char, T, In, In, T, Out) {
}

template <class T>
void Kernels<T>::trmm(char, char, char, char, T, In, Out) {
}

template <class T>
void Kernels<T>::trsm(char, char, char, char, T, In, Out) {
}

template <class T>
void Kernels<T>::axpy(T, Read, Write) {
}

template <class T>
void Kernels<T>::scal(T, Write) {
}

template <class T>
void Kernels<T>::copy(Read, Write) {
}

template <class T>
void Kernels<T>::swap(Write, Write) {
}

template <class T>
void Kernels<T>::dot(Read, Read, T*) {
}

template <class T>
void Kernels<T>::nrm2(Read, T*) {
}

template <class T>
void Kernels<T>::asum(Read, T*) {
}

template struct Kernels<float>;
template struct Kernels<double>;

} // namespace hetsched::emulated
