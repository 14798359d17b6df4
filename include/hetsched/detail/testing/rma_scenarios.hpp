// SPDX-License-Identifier: MIT
#pragma once
// The other scenarios of the kit for one-sided transports. All ranks call each, with the same
// arguments.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/testing/rma_driver.hpp>
#include <hetsched/detail/testing/rma_patch_scenarios.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// All ranks add to words of all ranks; what they found must be the sums in some order.
inline void counters(RmaDriver& rank, int adds) {
  auto const ranks = rank.ranks();
  auto const count = static_cast<std::size_t>(adds);
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const words(rank, WindowElement::word, 2);
  auto const all = static_cast<std::size_t>(ranks) * count;
  TestWindow const found(rank, WindowElement::word, rank.rank() == 0 ? 2 * all : 0);

  std::vector<std::uint64_t> cookies;
  for (int k = 0; k < adds && !rank.spoiled(); ++k) {
    cookies.push_back(rank.fetch_add(words, k % ranks, 1, 1 + rank.rank()));
    if (k % 3 == 0) {
      rank.poll();
    }
  }
  std::vector<std::byte> own(2 * count * sizeof(std::int64_t));
  for (std::size_t k = 0; k < cookies.size(); ++k) {
    auto* const place = own.data() + 2 * k * sizeof(std::int64_t);
    store(WindowElement::word, place, rank.value_of(cookies[k]));
    store(WindowElement::word, place + sizeof(std::int64_t), 1 + rank.rank());
  }
  rank.give(
      false,
      found,
      {.rank = 0, .first = static_cast<std::size_t>(rank.rank()) * 2 * count, .columns = 2 * count},
      std::move(own),
      2 * count);
  rank.meet(meeting);
  for (int to = 0; to < ranks && rank.rank() == 0 && !rank.spoiled(); ++to) {
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;
    for (std::size_t k = 0; k < all; ++k) {
      if (static_cast<int>(k % count) % ranks == to) {
        steps.emplace_back(load(WindowElement::word, found.at(WindowElement::word, 2 * k)),
                           load(WindowElement::word, found.at(WindowElement::word, 2 * k + 1)));
      }
    }
    std::sort(steps.begin(), steps.end());
    std::int64_t sum = 0;
    for (auto const& [before, added] : steps) {
      rank.check(before == sum,
                 RmaRule::atomic,
                 hetsched::detail::text("a fetch_add on rank %d found %lld instead of %lld",
                                        to,
                                        static_cast<long long>(before),
                                        static_cast<long long>(sum)));
      sum = before + added;
    }
    auto const last = rank.value_of(rank.fetch_add(words, to, 1, 0));
    rank.check(rank.spoiled() || last == sum,
               RmaRule::atomic,
               hetsched::detail::text("a word of rank %d is %lld instead of %lld",
                                      to,
                                      static_cast<long long>(last),
                                      static_cast<long long>(sum)));
  }
  rank.meet(meeting);
}

/// A lock by compare_swap on the first rank guards numbers on the last one, which change by get and
/// put.
inline void locks(RmaDriver& rank, int turns) {
  constexpr std::size_t numbers = 5;
  auto const last = rank.ranks() - 1;
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const lock(rank, WindowElement::word, rank.rank() == 0 ? 2 : 0);
  TestWindow const guarded(rank, WindowElement::f64, rank.rank() == last ? numbers : 0);
  WindowPatch const patch{.rank = last, .columns = numbers};
  auto const own = std::int64_t{1} + rank.rank();
  for (int turn = 0; turn < turns && !rank.spoiled(); ++turn) {
    while (rank.value_of(rank.compare_swap(lock, 0, 1, 0, own)) != 0 && !rank.spoiled()) {
      hetsched::detail::pause_for(2000);
    }
    std::vector<std::byte> here(numbers * sizeof(double));
    rank.get(guarded, patch, here.data(), numbers);
    rank.finish();
    auto more = here;
    for (std::size_t k = 0; k < numbers; ++k) {
      auto const before = load(WindowElement::f64, here.data() + k * sizeof(double));
      rank.check(rank.spoiled() || before == load(WindowElement::f64, here.data()),
                 RmaRule::visible,
                 "a get under a lock sees a part of what was put under it");
      store(WindowElement::f64, more.data() + k * sizeof(double), before + 1);
    }
    rank.give(false, guarded, patch, std::move(more), numbers);
    rank.finish();
    auto const held = rank.value_of(rank.compare_swap(lock, 0, 1, own, 0));
    rank.check(rank.spoiled() || held == own,
               RmaRule::atomic,
               hetsched::detail::text("a lock that rank %d holds is held by %lld",
                                      rank.rank(),
                                      static_cast<long long>(held - 1)));
  }
  rank.meet(meeting);
  for (std::size_t k = 0; k < numbers && rank.rank() == last && !rank.spoiled(); ++k) {
    auto const got = load(WindowElement::f64, guarded.at(WindowElement::f64, k));
    rank.check(got == std::int64_t{turns} * rank.ranks(),
               RmaRule::visible,
               hetsched::detail::text("%lld of %d changes under a lock are there",
                                      static_cast<long long>(got),
                                      turns * rank.ranks()));
  }
  rank.meet(meeting);
}

/// Operations that begin when others are done.
inline void chains(RmaDriver& rank, int operations) {
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const words(rank, WindowElement::word, 1);
  int left = operations;
  rank.on_done = [&](std::uint64_t) {
    for (int k = 0; k < 2 && left > 0; ++k) {
      --left;
      rank.fetch_add(words, left % rank.ranks(), 0, 1);
    }
  };
  rank.fetch_add(words, 0, 0, 1);
  rank.finish();
  rank.on_done = nullptr;
  rank.meet(meeting);
  std::int64_t sum = 0;
  for (int of = 0; of < rank.ranks(); ++of) {
    sum += rank.value_of(rank.fetch_add(words, of, 0, 0));
  }
  rank.check(rank.spoiled() || sum == std::int64_t{rank.ranks()} * (operations + 1),
             RmaRule::atomic,
             "operations that began in done are missing");
  rank.meet(meeting);
}

inline void bad_calls(RmaDriver& rank) {
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const doubles(rank, WindowElement::f64, 12);
  TestWindow const bytes(rank, WindowElement::byte, 12);
  auto& it = rank.subject();
  std::array<double, 64> here{};
  here.fill(3);
  auto const refused = [&](char const* what, auto&& call) {
    auto refuses = rank.spoiled();
    try {
      if (!refuses) {
        call();
      }
    } catch (Error const& error) {
      refuses = error.code() == ErrorCode::bad_call;
    }
    rank.check(refuses, RmaRule::refused, what);
  };
  auto const puts = [&](char const* what, WindowPatch const& patch, std::size_t stride) {
    refused(what, [&] { it.put(doubles, patch, here.data(), stride, 1 << 20); });
  };
  constexpr auto huge = std::numeric_limits<std::size_t>::max();
  puts("a row that begins behind the part", {.first = 13}, 1);
  puts("a row that ends behind the part", {.first = 4, .columns = 9}, 9);
  puts("a huge row", {.first = 4, .columns = huge}, huge);
  puts("rows that end behind the part", {.columns = 4, .rows = 4, .stride = 4}, 4);
  puts("rows too far apart", {.columns = 2, .rows = 3, .stride = huge / 2}, 2);
  puts("rows that meet", {.columns = 4, .rows = 2, .stride = 3}, 4);
  puts("rows that meet in memory", {.columns = 4, .rows = 2, .stride = 4}, 3);
  puts("a rank below 0", {.rank = -1}, 1);
  puts("a rank that is not there", {.rank = rank.ranks()}, 1);
  refused("a window that is not there", [&] { it.get({1 << 20}, {}, here.data(), 1, 1 << 20); });
  refused("accumulate of bytes", [&] { it.accumulate(bytes, {}, here.data(), 1, 1 << 20); });
  refused("fetch_add on doubles", [&] { it.fetch_add(doubles, 0, 0, 1, 1 << 20); });
  refused("compare_swap behind the part", [&] { it.compare_swap(meeting, 0, 1, 0, 1, 1 << 20); });
  rank.meet(meeting);
  for (std::size_t k = 0; k < 12 && !rank.spoiled(); ++k) {
    rank.check(load(WindowElement::f64, doubles.at(WindowElement::f64, k)) == 0,
               RmaRule::refused,
               "a call that was refused has changed the part");
  }
  rank.meet(meeting);
}

/// What the ranks of one process know of each other while one of them ends.
struct Survivors {
  std::atomic<int> ready{0}; // all ranks: have their windows
  std::atomic<int> over{0};  // all others: nothing of them is under way
};

/// One rank, which `kill` ends, stops in the middle.
template <class Kill>
void a_rank_ends(
    RmaDriver& rank, std::uint64_t seed, int gone, int operations, Survivors& all, Kill&& kill) {
  auto const wait_for = [&rank](std::atomic<int>& count, int ranks) {
    ++count;
    while (count < ranks && !rank.spoiled()) {
      rank.poll();
      hetsched::detail::pause_for(5000);
    }
  };
  Window words;
  Window sums;
  Window zeros;
  rank.guarded("allocate", [&] { // not freed: that would wait for the rank that is gone
    words = rank.subject().allocate(WindowElement::word, 1);
    sums = rank.subject().allocate(WindowElement::f64, side * side);
    zeros = rank.subject().allocate(WindowElement::f32, side * side);
  });
  wait_for(all.ready, rank.ranks());
  auto dice = dice_of(seed, rank.rank());
  std::deque<std::vector<std::byte>> places;
  for (int k = 0; k < operations && !rank.spoiled(); ++k) {
    if (rank.rank() == gone && k == operations / 2) {
      kill();
      return;
    }
    auto const drawn = DrawnPatch::draw(dice, rank.ranks(), 0);
    switch (dice.below(3)) {
    case 0:
      rank.fetch_add(words, drawn.patch.rank, 0, 1);
      break;
    case 1:
      rank.give(true, sums, drawn.patch, drawn.elements(WindowElement::f64), drawn.stride);
      break;
    default:
      rank.get(zeros,
               drawn.patch,
               places.emplace_back(drawn.elements(WindowElement::f32)).data(),
               drawn.stride);
    }
    if (dice.chance(50)) {
      rank.poll();
    }
  }
  rank.wait([&] { return rank.has_lost(gone); }, RmaRule::ends, "a rank is gone and never lost");
  rank.finish();
  wait_for(all.over, rank.ranks() - 1);
}

} // namespace hetsched::testing::detail
