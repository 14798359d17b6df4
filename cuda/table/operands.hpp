// SPDX-License-Identifier: MIT
#pragma once
// The operands that back ends of BLAS get, with an element type. Helpers choose the library's
// function for this type, and its constants for BLAS's letters.

#include <type_traits>

namespace hetsched::devices {

/// Column-major, in device memory.
template <class T>
struct Matrix {
  T* data;
  int rows;
  int cols;
  int ld;
};

/// `n` elements at distance `inc`, in device memory. As in BLAS, the first element is the last in
/// memory if `inc` is negative.
template <class T>
struct Vector {
  T* data;
  int n;
  int inc;
};

/// A library's function for elements of type T.
template <class T, class Float, class Double>
[[nodiscard]] constexpr auto for_type(Float* for_float, Double* for_double) noexcept {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (std::is_same_v<T, float>) {
    return for_float;
  } else {
    return for_double;
  }
}

/// A library's constants for BLAS's letters. The letters were checked.
template <class Trans, class Uplo, class Side, class Diag>
struct Letters {
  Trans plain;
  Trans transposed;
  Uplo lower;
  Uplo upper;
  Side left;
  Side right;
  Diag unit;
  Diag non_unit;

  [[nodiscard]] constexpr Trans trans(char letter) const {
    return letter == 'N' ? plain : transposed;
  }

  [[nodiscard]] constexpr Uplo uplo(char letter) const { return letter == 'L' ? lower : upper; }

  [[nodiscard]] constexpr Side side(char letter) const { return letter == 'L' ? left : right; }

  [[nodiscard]] constexpr Diag diag(char letter) const { return letter == 'U' ? unit : non_unit; }
};

template <class Trans, class Uplo, class Side, class Diag> // clang 16 does not deduce by itself
Letters(Trans, Trans, Uplo, Uplo, Side, Side, Diag, Diag) -> Letters<Trans, Uplo, Side, Diag>;

} // namespace hetsched::devices
