// SPDX-License-Identifier: MIT
#pragma once
// Checks of what BLAS and LAPACK calls on emulated devices are given.

#include <hetsched/device.h>

#include "emulated_device.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace hetsched::emulated {

/// The checks of one call; they may be chained, and the first that fails is told.
class Arguments {
public:
  Arguments(Device const& device, char const* call, hs_type type);

  Arguments& letter(char const* name, char value, std::string_view allowed);
  Arguments& size(char const* name, int value);
  /// A matrix of rows x cols elements of device memory; nothing has to be there if it is empty.
  Arguments& matrix(char const* name, void const* memory, int rows, int cols, int ld);
  /// `inc` may be negative if `backwards`.
  Arguments& vector(char const* name, void const* memory, int n, int inc, bool backwards);
  /// Device memory for so many elements of so many bytes.
  Arguments& array(char const* name, void const* memory, std::size_t elements, std::size_t bytes);

  [[nodiscard]] char const* call() const noexcept { return call_; }

  [[nodiscard]] bool is_float() const noexcept { return bytes_ == sizeof(float); }

  /// Of one element.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// hs_ok, or hs_failed with the first wrong argument in last_error.
  [[nodiscard]] hs_status status() const;

private:
  bool is_right(bool condition, char const* name, std::string_view what);

  Device const& device_;
  char const* call_;
  std::size_t bytes_;
  std::string wrong_;
};

} // namespace hetsched::emulated
