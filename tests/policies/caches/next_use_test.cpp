// SPDX-License-Identifier: MIT
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/next_use.hpp>

#include "node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace caches;
using hs::policies::Lru;
using hs::policies::NextUse;

namespace next_use_test {

/// The block that each task uses, one a task.
using Sequence = std::vector<hs::BlockId>;

Sequence random_sequence(unsigned seed, std::uint32_t blocks, std::size_t length) {
  std::minstd_rand random(seed);
  Sequence sequence;
  for (std::size_t i = 0; i < length; ++i) {
    sequence.push_back(hs::BlockId{1 + static_cast<std::uint32_t>(random() % blocks)});
  }
  return sequence;
}

std::uint64_t next_after(Sequence const& sequence, std::size_t i) {
  auto const it =
      std::find(sequence.begin() + static_cast<std::ptrdiff_t>(i) + 1, sequence.end(), sequence[i]);
  return it == sequence.end() ? hs::never_again : static_cast<std::uint64_t>(it - sequence.begin());
}

/// How often a block has to be brought into a node of `capacity` blocks.
template <class Cache>
int misses(Sequence const& sequence, std::size_t capacity) {
  Cache cache;
  std::set<hs::BlockId> inside;
  int count = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    auto const use = next(i + 1, next_after(sequence, i));
    if (inside.count(sequence[i]) != 0) {
      cache.access(sequence[i], use);
      continue;
    }
    ++count;
    if (inside.size() == capacity) {
      auto const gone = victim(cache);
      inside.erase(gone);
      cache.erase(gone);
    }
    inside.insert(sequence[i]);
    cache.insert(sequence[i], use);
  }
  return count;
}

/// The least that any choice of victims needs: all contents that some choices lead to, with the
/// fewest misses for each.
int fewest_misses(Sequence const& sequence, std::size_t capacity) {
  std::map<std::set<hs::BlockId>, int> reached{{{}, 0}};
  for (auto const block : sequence) {
    std::map<std::set<hs::BlockId>, int> after;
    auto const reach = [&](std::set<hs::BlockId> const& inside, int count) {
      auto const [it, fresh] = after.try_emplace(inside, count);
      it->second = std::min(it->second, count);
    };
    for (auto const& [inside, count] : reached) {
      auto with = inside;
      if (!with.insert(block).second) {
        reach(inside, count);
      } else if (with.size() <= capacity) {
        reach(with, count + 1);
      } else {
        for (auto const gone : inside) {
          auto left = with;
          left.erase(gone);
          reach(left, count + 1);
        }
      }
    }
    reached = std::move(after);
  }
  int fewest = static_cast<int>(sequence.size());
  for (auto const& [inside, count] : reached) {
    fewest = std::min(fewest, count);
  }
  return fewest;
}

TEST_SUITE_BEGIN("policies/caches");

TEST_CASE("NextUse: asks for next uses") {
  CHECK(hs::wants_next_use<NextUse>);
  CHECK(!hs::wants_next_use<Lru>);
}

TEST_CASE("NextUse: an empty cache has no victim") {
  NextUse cache;

  CHECK(victim(cache) == hs::no_block);
}

TEST_CASE("NextUse: never again first, then the farthest next use") {
  NextUse cache;
  cache.insert(a, next(1, 10));
  cache.insert(b, next(2, hs::never_again));
  cache.insert(c, next(3, 7));
  cache.insert(d, next(4, 20));

  CHECK(leave(cache) == Blocks{b, d, a, c});
}

TEST_CASE("NextUse: an access tells a new next use") {
  NextUse cache;
  cache.insert(a, next(1, 5));
  cache.insert(b, next(2, 9));

  CHECK(victim(cache) == b);
  cache.access(a, next(5, 12));
  CHECK(victim(cache) == a);
}

TEST_CASE("NextUse: among equals a clean one, then the least recently used leaves first") {
  NextUse cache;
  cache.insert(a, next(1, 9));
  cache.insert(b, next(2, 9));
  cache.insert(c, next(3, 9));
  cache.insert(d, next(4, 4));
  cache.access(a, next(5, 9));

  check_clean_then_oldest(cache);
}

TEST_CASE("NextUse: a pinned block stays, and then the next farthest leaves") {
  NextUse cache;
  cache.insert(a, next(1, hs::never_again));
  cache.insert(b, next(2, 3));

  check_pins(cache, [&] {});
}

TEST_CASE("NextUse: no choice of victims misses less often") {
  int lru_in_all = 0;
  int next_use_in_all = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    auto const sequence = random_sequence(seed, 4 + seed % 3, 24);
    for (std::size_t capacity = 1; capacity <= 4; ++capacity) {
      auto const count = misses<NextUse>(sequence, capacity);
      CHECK_MESSAGE(count == fewest_misses(sequence, capacity), "seed ", seed, ", room ", capacity);
      next_use_in_all += count;
      lru_in_all += misses<Lru>(sequence, capacity);
    }
  }
  CHECK(next_use_in_all < lru_in_all); // the comparison above can tell policies apart
}

TEST_CASE("NextUse: a loop over one block more than fits keeps all but one") {
  Sequence sequence;
  for (int round = 0; round < 10; ++round) {
    sequence.insert(sequence.end(), {a, b, c, d});
  }

  CHECK(misses<Lru>(sequence, 3) == 40);
  CHECK(misses<NextUse>(sequence, 3) == fewest_misses(sequence, 3));
  CHECK(misses<NextUse>(sequence, 3) < 20);
}

TEST_SUITE_END();

} // namespace next_use_test
