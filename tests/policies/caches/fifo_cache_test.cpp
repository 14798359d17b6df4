// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/fifo_cache.hpp>

#include "node.hpp"

#include <doctest/doctest.h>

using namespace caches;
using hs::policies::FifoCache;

namespace fifo_cache_test {

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("FifoCache: an empty cache has no victim") {
  FifoCache cache;

  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("FifoCache: the first inserted leaves first, however often it is used") {
  FifoCache cache;
  cache.insert(b, task(1));
  cache.insert(a, task(2));
  cache.insert(c, task(3));
  cache.access(b, task(4));
  cache.access(b, task(5));

  CHECK(leave(cache) == Blocks{b, a, c});
}

TEST_CASE("FifoCache: a pinned block keeps its place") {
  FifoCache cache;
  cache.insert(a, task(1));
  cache.insert(b, task(2));
  cache.pin(a);
  cache.pin(a);

  CHECK(victim(cache) == b);
  cache.release(a);
  CHECK(victim(cache) == b);
  cache.release(a);
  CHECK(victim(cache) == a);
  cache.pin(a);
  cache.pin(b);
  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("FifoCache: of blocks brought in by one task a clean one leaves first") {
  FifoCache cache;
  cache.insert(a, task(1));
  cache.insert(b, task(1));
  cache.insert(c, task(2));
  cache.access(a, task(2)); // changes nothing

  CHECK(victim(cache) == a);
  CHECK(victim(cache, {a}) == b);
  CHECK(victim(cache, {a, b}) == a);
}

TEST_CASE("FifoCache: a block that comes back is new") {
  FifoCache cache;
  cache.insert(a, task(1));
  cache.insert(b, task(2));
  cache.erase(a);
  cache.insert(a, task(3));

  CHECK(leave(cache) == Blocks{b, a});
}

TEST_SUITE_END();

} // namespace fifo_cache_test
