// SPDX-License-Identifier: MIT
#pragma once
// The random numbers of engines and schedulers.

#include <cstdint>

namespace hetsched::detail {

/// Seeded stream of 64-bit numbers (splitmix64: Steele, Lea and Flood 2014).
class RandomStream {
public:
  explicit RandomStream(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    auto z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

private:
  std::uint64_t state_;
};

} // namespace hetsched::detail
