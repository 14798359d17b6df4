// SPDX-License-Identifier: MIT
#include <hetsched/detail/memory/arena.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

using hetsched::detail::Arena;

namespace arena_test {

TEST_SUITE_BEGIN("detail");

TEST_CASE("Arena: a range that was given back is used again as it is") {
  Arena arena(4096);
  auto const a = arena.allocate(1000);
  auto const b = arena.allocate(500);
  auto const c = arena.allocate(1000);
  CHECK(arena.unused() == 4096 - 1024 - 512 - 1024);
  arena.release(*b, 500);
  arena.release(*a, 1000); // neighbours: one hole of 1536 bytes, beside one of 1536 at the end

  CHECK(arena.allocate(1536) == 0);
  CHECK(arena.allocate(1537) == std::nullopt);
  CHECK(*c == 1536);
}

TEST_CASE("Arena: the smallest hole that is large enough is taken") {
  Arena arena(4096);
  auto const large = arena.allocate(1024);
  auto const wall = arena.allocate(256);
  auto const small = arena.allocate(512);
  auto const rest = arena.allocate(4096 - 1024 - 256 - 512);
  arena.release(*large, 1024);
  arena.release(*small, 512);

  CHECK(arena.allocate(300) == small);
  CHECK(arena.allocate(600) == large);
  CHECK(*wall == 1024);
  CHECK(*rest == 1792);
}

TEST_CASE("Arena: nothing overlaps, and when all is given back all is one") {
  struct Range {
    std::size_t offset;
    std::size_t bytes;
  };

  std::mt19937 random(1);
  Arena arena(1 << 16);
  std::vector<Range> held;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 || held.empty()) {
      auto const bytes = random() % 3000;
      if (auto const offset = arena.allocate(bytes)) {
        for (auto const& other : held) {
          bool const apart = *offset + Arena::rounded(bytes) <= other.offset ||
                             other.offset + Arena::rounded(other.bytes) <= *offset;
          REQUIRE(apart);
        }
        held.push_back({*offset, bytes});
      }
    } else {
      auto const k = random() % held.size();
      arena.release(held[k].offset, held[k].bytes);
      held[k] = held.back();
      held.pop_back();
    }
  }
  for (auto const& range : held) {
    arena.release(range.offset, range.bytes);
  }
  CHECK(arena.unused() == 1 << 16);
  CHECK(arena.allocate(1 << 16) == 0);
}

} // namespace arena_test
