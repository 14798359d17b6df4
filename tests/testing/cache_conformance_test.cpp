// SPDX-License-Identifier: MIT
// The kit finds nothing wrong with any shipped cache, and catches one broken cache for each rule.

#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/least_used_future.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/testing/cache_conformance.hpp>

#include "../support/violations.hpp"
#include "broken_caches.hpp"

#include <doctest/doctest.h>

namespace hs = hetsched;

namespace cache_conformance_test {

using hs::testing::CacheRule;
using hs::testing::check_cache;
using violations::only;

/// Keeps the next uses that `foresee` gets.
struct Listener : broken::NewestOut {
  static inline std::uint64_t uses_with_next = 0;

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    NewestOut::insert(block, use);
    uses_with_next += use.next_use == hs::never_again ? 0 : 1;
  }
};

struct CuriousListener : Listener {
  static constexpr bool wants_next_use = true;
};

TEST_SUITE_BEGIN("testing");

TEST_CASE_TEMPLATE("check_cache: finds nothing wrong with",
                   C,
                   hs::policies::Lru,
                   hs::policies::FifoCache,
                   hs::policies::LeastUsedFuture,
                   hs::policies::ReuseGuided,
                   hs::policies::NextUse,
                   broken::NewestOut) {
  auto const report = check_cache<C>();
  CHECK_MESSAGE(report.ok(), report.text());
  CHECK(report.text().empty());
}

TEST_CASE("check_cache: catches victims that are not in the node") {
  CHECK(only(check_cache<broken::RemembersTheGone>(), CacheRule::absent));
  CHECK(only(check_cache<broken::MakesUpABlock>(), CacheRule::absent));
}

TEST_CASE("check_cache: catches pinned victims") {
  CHECK(only(check_cache<broken::IgnoresPins>(), CacheRule::pinned));
  CHECK(only(check_cache<broken::DoesNotCountPins>(), CacheRule::pinned));
  CHECK(only(check_cache<broken::ForgetsPinsAtAccess>(), CacheRule::pinned));
}

TEST_CASE("check_cache: catches who finds no victim where there is one") {
  CHECK(only(check_cache<broken::GivesUpAtAPin>(), CacheRule::gave_up));
  CHECK(only(check_cache<broken::EvictsNoDirtyBlock>(), CacheRule::gave_up));
  CHECK(check_cache<broken::KnowsTheNumber>().broke(CacheRule::gave_up));
  CHECK(only(check_cache<broken::HasRoomForAThousand>(), CacheRule::gave_up));
}

TEST_CASE("check_cache: needs many blocks to see a table that is too small") {
  CHECK(check_cache<broken::HasRoomForAThousand>({.blocks = 900}).ok());
}

TEST_CASE("check_cache: catches answers that change something") {
  CHECK(only(check_cache<broken::RemovesWhatItAnswers>(), CacheRule::changed));
}

TEST_CASE("check_cache: catches questions that the engine cannot answer") {
  CHECK(only(check_cache<broken::AsksTooLate>(), CacheRule::asked));
  CHECK(only(check_cache<broken::AsksAboutTheGone>(), CacheRule::asked));
}

TEST_CASE("check_cache: catches a question for every pair of blocks") {
  CHECK(only(check_cache<broken::AsksForPairs>({.blocks = 300}), CacheRule::slow));
}

TEST_CASE("check_cache: reports exceptions instead of throwing them") {
  CHECK(only(check_cache<broken::ThrowsWhenFull>(), CacheRule::threw));
  CHECK(only(check_cache<broken::CannotBeMadeCache>(), CacheRule::threw));
}

TEST_CASE("check_cache: tells next uses to those who want them") {
  Listener::uses_with_next = 0;
  CHECK(check_cache<Listener>().ok());
  CHECK(Listener::uses_with_next == 0);
  CHECK(check_cache<CuriousListener>().ok());
  CHECK(Listener::uses_with_next > 0);
}

TEST_CASE("check_cache: a violation names rule, block, scenario and seed") {
  auto const report = check_cache<broken::IgnoresPins>({.seed = 42});

  REQUIRE(!report.ok());
  CHECK_MESSAGE(
      report.violations.front().text ==
          "a victim is not pinned: the answer was block 2, pinned 1 times [pins, seed 42]",
      report.text());
}

TEST_CASE("check_cache: stops at max_violations") {
  CHECK(check_cache<broken::IgnoresPins>({.max_violations = 1}).violations.size() == 1);
}

TEST_SUITE_END();

} // namespace cache_conformance_test
