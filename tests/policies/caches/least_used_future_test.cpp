// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/least_used_future.hpp>

#include "node.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace caches;
using hs::policies::LeastUsedFuture;

namespace least_used_future_test {

using Future = std::map<hs::BlockId, hs::FutureUses>;

/// The victim if the scheduler foretells this, and no block is dirty.
hs::BlockId victim_of(LeastUsedFuture const& cache, Future const& future) {
  hs::DirtyBlocks const asked([](void const*, hs::BlockId) { return false; },
                              &future,
                              [](void const* foretold, hs::BlockId block) {
                                auto const& uses = *static_cast<Future const*>(foretold);
                                auto const found = uses.find(block);
                                return found == uses.end() ? hs::FutureUses{} : found->second;
                              });
  return cache.victim(asked);
}

LeastUsedFuture with_a_b_c() {
  LeastUsedFuture cache;
  cache.insert(a, task(1));
  cache.insert(b, task(2));
  cache.insert(c, task(3));
  return cache;
}

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("LeastUsedFuture: an empty cache has no victim") {
  LeastUsedFuture cache;

  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE(
    "LeastUsedFuture: what the fewest planned tasks use leaves first, then the fewest ready") {
  auto const cache = with_a_b_c();

  CHECK(victim_of(cache, {{a, {2, 2}}, {b, {1, 9}}, {c, {3, 3}}}) == b);
  CHECK(victim_of(cache, {{a, {0, 5}}, {b, {0, 4}}, {c, {0, 6}}}) == b);
  CHECK(victim_of(cache, {{a, {1, 1}}, {b, {0, 4}}}) == c);
}

TEST_CASE("LeastUsedFuture: among equals the least recently used leaves, dirty or not") {
  auto cache = with_a_b_c();
  cache.access(a, task(4));

  CHECK(victim_of(cache, {}) == b);
  CHECK(victim_of(cache, {{a, {1, 1}}, {b, {1, 1}}, {c, {1, 1}}}) == b);
  CHECK(leave(cache, {b}) == Blocks{b, c, a});
}

TEST_CASE("LeastUsedFuture: pinned blocks stay, whatever is foretold") {
  auto cache = with_a_b_c();
  cache.pin(a);

  CHECK(victim_of(cache, {{b, {1, 1}}, {c, {2, 2}}}) == b);
  cache.pin(b);
  cache.pin(c);
  CHECK(victim_of(cache, {}) == hs::no_block);
  cache.release(a);
  CHECK(victim_of(cache, {{a, {7, 7}}}) == a);
}

TEST_SUITE_END();

} // namespace least_used_future_test
