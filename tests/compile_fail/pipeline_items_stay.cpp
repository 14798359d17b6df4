// SPDX-License-Identifier: MIT
// expected-error: hetsched: the items of a pipeline must be movable

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

struct Fixed {
  Fixed() = default;
  Fixed(Fixed const&) = delete;
  Fixed& operator=(Fixed const&) = delete;
};

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(
      rt,
      4,
      [] { return std::optional<int>(); },
      hetsched::parallel([](int) { return Fixed(); }),
      hetsched::in_order([](Fixed const&) {}));
}
