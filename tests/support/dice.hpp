// SPDX-License-Identifier: MIT
#pragma once
// Random choices, the same with every compiler.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace support {

class Dice {
public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  /// From 0 to below `limit`.
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }

  bool chance(int percent) { return below(100) < percent; }

  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

private:
  std::mt19937_64 random_;
};

} // namespace support
