// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/lru.hpp>

#include <doctest/doctest.h>

using hetsched::BlockId;
using hetsched::no_block;
using hetsched::policies::Lru;

namespace {

constexpr BlockId a{1};
constexpr BlockId b{2};
constexpr BlockId c{3};

Lru filled() {
  Lru cache;
  cache.insert(a, 8);
  cache.insert(b, 800);
  cache.insert(c, 80);
  return cache;
}

} // namespace

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("Lru: an empty cache has no victim") {
  CHECK(Lru().victim() == no_block);
}

TEST_CASE("Lru: without accesses the first inserted leaves first") {
  auto cache = filled();

  CHECK(cache.victim() == a);
  CHECK(cache.victim() == a); // asking changes nothing
  cache.erase(a);
  CHECK(cache.victim() == b);
  cache.erase(b);
  CHECK(cache.victim() == c);
  cache.erase(c);
  CHECK(cache.victim() == no_block);
}

TEST_CASE("Lru: the block whose last access is longest ago leaves first") {
  auto cache = filled();
  cache.access(a);
  cache.access(b);
  cache.access(a);

  CHECK(cache.victim() == c);
  cache.erase(c);
  CHECK(cache.victim() == b);
}

TEST_CASE("Lru: a pinned block stays until each pin is released") {
  auto cache = filled();
  cache.pin(a);
  cache.pin(a);
  cache.pin(b);

  CHECK(cache.victim() == c);
  cache.release(a);
  CHECK(cache.victim() == c);
  cache.release(a);
  CHECK(cache.victim() == a);
  cache.pin(a);
  cache.pin(c);
  CHECK(cache.victim() == no_block);
}

TEST_CASE("Lru: a block that comes back is new") {
  auto cache = filled();
  cache.pin(a);
  cache.erase(a);
  cache.insert(a, 8);

  CHECK(cache.victim() == b);
  cache.erase(b);
  cache.erase(c);
  CHECK(cache.victim() == a); // the pin went with it
}

TEST_SUITE_END();
