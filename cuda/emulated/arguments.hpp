// SPDX-License-Identifier: MIT
#pragma once
// Checks of the arguments of BLAS and LAPACK calls on emulated devices.

#include <hetsched/gpu/device.h>

#include "../table/arguments.hpp"
#include "../table/operands.hpp"
#include "device.hpp"

#include <cstddef>
#include <initializer_list>

namespace hetsched::emulated {

/// All checks of one call, those of its device memory among them.
class Arguments : public devices::Arguments {
public:
  struct Size {
    char const* name;
    int value;
  };

  Arguments(hs_stream* stream, char const* call, hs_type type);

  void sizes(std::initializer_list<Size> sizes);

  /// An empty matrix needs no memory.
  template <class T>
  void matrix(char const* name, devices::Matrix<T> a) {
    matrix(name, a.data, a.rows, a.cols, a.ld);
  }

  /// The increment may be negative if `backwards`.
  template <class T>
  void vector(char const* name, devices::Vector<T> x, bool backwards) {
    vector(name, x.data, x.n, x.inc, backwards);
  }

  /// Device memory for so many elements.
  template <class T>
  void array(char const* name, T const* memory, std::size_t elements) {
    memory_of(name, memory, elements * sizeof(T));
  }

  void matrix(char const* name, void const* memory, int rows, int cols, int ld);

  /// Device memory of so many bytes; none is needed for 0.
  void memory_of(char const* name, void const* memory, std::size_t bytes);

private:
  void vector(char const* name, void const* memory, int n, int inc, bool backwards);

  Device const& device_;
};

} // namespace hetsched::emulated
