// SPDX-License-Identifier: MIT
#pragma once
// What the tests of HETSCHED_CHECK=access have in common.

#include <hetsched/checking.hpp>
#include <hetsched/hetsched.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace checked {

using Vector = hetsched::VectorView<double>;
using Reads = hetsched::VectorView<double const>;

inline constexpr std::size_t in_a_page = 512; // doubles

[[nodiscard]] inline hetsched::Config config() {
  hetsched::Config config;
  config.cpus = 2;
  config.check = hetsched::Check::access;
  return config;
}

/// Where three data lie in memory.
enum class Layout {
  pages,  // each has a page of its own
  shared, // in one page
  spread  // each has one and a half page and begins in the middle of one
};

/// Memory for three data, all 1.
class Memory {
public:
  explicit Memory(Layout layout)
      : length(layout == Layout::pages    ? in_a_page
               : layout == Layout::shared ? 24
                                          : in_a_page * 3 / 2),
        step_(layout == Layout::pages    ? in_a_page
              : layout == Layout::shared ? 27
                                         : 2 * in_a_page),
        first_(layout == Layout::pages    ? 0
               : layout == Layout::shared ? 5
                                          : in_a_page / 2),
        memory_(static_cast<double*>(std::aligned_alloc(4096, std::size_t{8} * 4096)), &std::free) {
    std::fill_n(memory_.get(), 8 * in_a_page, 1.0);
  }

  [[nodiscard]] double* operator[](std::size_t k) const noexcept {
    return memory_.get() + first_ + k * step_;
  }

  std::size_t const length;

private:
  std::size_t const step_;
  std::size_t const first_;
  std::unique_ptr<double, void (*)(void*)> memory_;
};

/// What sync throws; "" if nothing.
template <class Rt>
std::string told(Rt& rt) {
  try {
    rt.sync();
  } catch (hetsched::Error const& error) {
    CHECK(error.code() == hetsched::ErrorCode::undeclared_access);
    return error.what();
  }
  return "";
}

inline void check_told(std::string const& line, std::vector<std::string> const& words) {
  for (auto const& word : words) {
    CHECK_MESSAGE(line.find(word) != std::string::npos, line, " lacks ", word);
  }
}

} // namespace checked
