// SPDX-License-Identifier: MIT
#pragma once
// What the tests of cache policies share.

#include <hetsched/concepts/cache.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace caches {

namespace hs = hetsched;

inline constexpr hs::BlockId a{1};
inline constexpr hs::BlockId b{2};
inline constexpr hs::BlockId c{3};
inline constexpr hs::BlockId d{4};

/// The victim when these blocks are dirty.
template <class Cache>
hs::BlockId victim(Cache& cache, std::initializer_list<hs::BlockId> dirty = {}) {
  hs::DirtyBlocks const asked(
      [](void const* blocks, hs::BlockId block) {
        for (auto const it : *static_cast<std::initializer_list<hs::BlockId> const*>(blocks)) {
          if (it == block) {
            return true;
          }
        }
        return false;
      },
      &dirty);
  return cache.victim(asked);
}

inline hs::BlockUse task(std::uint64_t number) {
  return {.bytes = 8, .task = number};
}

inline hs::BlockUse reuse(std::uint64_t number, std::int64_t index) {
  return {.bytes = 8, .task = number, .reuse = index};
}

inline hs::BlockUse next(std::uint64_t number, std::uint64_t next_use) {
  return {.bytes = 8, .task = number, .next_use = next_use};
}

/// What leaves, one after the other, until nothing does.
template <class Cache>
std::vector<hs::BlockId> leave(Cache& cache, std::initializer_list<hs::BlockId> dirty = {}) {
  std::vector<hs::BlockId> order;
  while (victim(cache, dirty) != hs::no_block) {
    order.push_back(victim(cache, dirty));
    cache.erase(order.back());
  }
  return order;
}

/// Of a cache in which a, b and c are equal, a was used last and d would leave after them.
template <class Cache>
void check_clean_then_oldest(Cache& cache) {
  CHECK(victim(cache) == b);
  CHECK(victim(cache, {b}) == c);
  CHECK(victim(cache, {b, c}) == a);
  CHECK(victim(cache, {a, b, c}) == b); // rather than d, which is clean
}

/// Of a cache in which a leaves before b. `meanwhile` is called while a is pinned.
template <class Cache, class Meanwhile>
void check_pins(Cache& cache, Meanwhile const& meanwhile) {
  cache.pin(a);
  cache.pin(a);

  CHECK(victim(cache) == b);
  meanwhile();
  cache.release(a);
  CHECK(victim(cache) == b);
  cache.pin(b);
  CHECK(victim(cache) == hs::no_block);
  cache.release(a);
  CHECK(victim(cache) == a);
}

using Blocks = std::vector<hs::BlockId>;

} // namespace caches
