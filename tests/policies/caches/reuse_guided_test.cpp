// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/reuse_guided.hpp>

#include "node.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace caches;
using hs::policies::ReuseGuided;

namespace reuse_guided_test {

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("ReuseGuided: an empty cache has no victim") {
  ReuseGuided cache;

  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("ReuseGuided: the lowest index leaves first, whatever was used last") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, 5));
  cache.insert(b, reuse(2, INT64_MAX));
  cache.insert(c, reuse(3, -2));
  cache.insert(d, reuse(4, INT64_MIN));
  cache.access(d, reuse(5, INT64_MIN));

  CHECK(leave(cache) == Blocks{d, c, a, b});
}

TEST_CASE("ReuseGuided: the index is that of the latest use") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, INT64_MAX)); // locked
  cache.insert(b, reuse(2, 3));

  CHECK(victim(cache) == b);
  cache.access(a, reuse(3, 1)); // unlocked
  CHECK(victim(cache) == a);
}

TEST_CASE("ReuseGuided: an index that the program gives later counts, pinned or not") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, INT64_MAX));
  cache.insert(b, reuse(2, 3));
  cache.insert(c, reuse(3, 3));
  cache.pin(b);
  cache.reindex(a, 3);
  cache.reindex(b, 2);
  CHECK(victim(cache) == c); // used before a got its index
  cache.release(b);
  CHECK(leave(cache) == Blocks{b, c, a});
}

TEST_CASE("ReuseGuided: among equals a clean one, then the least recently used leaves first") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, 2));
  cache.insert(b, reuse(2, 2));
  cache.insert(c, reuse(3, 2));
  cache.insert(d, reuse(4, 9));
  cache.access(a, reuse(5, 2));

  check_clean_then_oldest(cache);
  CHECK(leave(cache, {b}) == Blocks{c, a, b, d});
}

TEST_CASE("ReuseGuided: without indices it is least recently used") {
  ReuseGuided cache;
  for (auto const block : {a, b, c}) {
    cache.insert(block, task(1));
  }
  cache.access(a, task(2));

  CHECK(leave(cache) == Blocks{b, c, a});
}

TEST_CASE("ReuseGuided: a pinned block stays, and then the next index leaves") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, 1));
  cache.insert(b, reuse(2, 2));

  check_pins(cache, [&] {
    cache.access(a, reuse(3, 0)); // moves with its pins
  });
}

TEST_CASE("ReuseGuided: a block that comes back is new") {
  ReuseGuided cache;
  cache.insert(a, reuse(1, 1));
  cache.insert(b, reuse(2, 2));
  cache.erase(a);
  cache.insert(a, reuse(3, 3));

  CHECK(leave(cache) == Blocks{b, a});
}

TEST_SUITE_END();

} // namespace reuse_guided_test
