// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/lru.hpp>

#include "node.hpp"

#include <doctest/doctest.h>

using namespace caches;
using hs::policies::Lru;

namespace lru_test {

/// a, b and c, brought in by tasks 1, 2 and 3.
Lru filled() {
  Lru cache;
  cache.insert(a, task(1));
  cache.insert(b, task(2));
  cache.insert(c, task(3));
  return cache;
}

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("Lru: an empty cache has no victim") {
  Lru cache;

  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("Lru: without accesses the first inserted leaves first") {
  auto cache = filled();

  CHECK(victim(cache) == a);
  CHECK(victim(cache) == a); // asking changes nothing
  CHECK(leave(cache) == Blocks{a, b, c});
}

TEST_CASE("Lru: the block whose last access is longest ago leaves first") {
  auto cache = filled();
  cache.access(a, task(4));
  cache.access(b, task(5));
  cache.access(a, task(6));

  CHECK(leave(cache) == Blocks{c, b, a});
}

TEST_CASE("Lru: a pinned block stays until each pin is released") {
  auto cache = filled();
  cache.pin(a);
  cache.pin(a);
  cache.pin(b);

  CHECK(victim(cache) == c);
  cache.release(a);
  CHECK(victim(cache) == c);
  cache.access(a, task(4));
  CHECK(victim(cache) == c); // a use keeps the pin
  cache.release(a);
  cache.pin(c);
  CHECK(victim(cache) == a);
  cache.pin(a);
  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("Lru: of blocks last used by one task a clean one leaves first") {
  Lru cache;
  for (auto const block : {a, b, c}) {
    cache.insert(block, task(1));
  }
  cache.insert(d, task(2));

  CHECK(victim(cache) == a);
  CHECK(victim(cache, {a}) == b);
  CHECK(victim(cache, {a, b}) == c);
  CHECK(victim(cache, {a, b, c}) == a); // not d, which another task used
  cache.pin(b);
  CHECK(victim(cache, {a}) == c);
  cache.access(c, task(2));
  CHECK(victim(cache, {a}) == a); // c went over to task 2
}

TEST_CASE("Lru: a block that comes back is new") {
  auto cache = filled();
  cache.erase(a);
  cache.insert(a, task(4));

  CHECK(leave(cache) == Blocks{b, c, a});
}

TEST_SUITE_END();

} // namespace lru_test
