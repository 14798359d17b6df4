// SPDX-License-Identifier: MIT
#include <hetsched/detail/policies/task_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>

using hetsched::TaskId;
using hetsched::detail::TaskTable;

namespace task_table_test {

TEST_SUITE_BEGIN("detail/task_table");

TEST_CASE("TaskTable: answers what was noted, as tasks come and go") {
  // Addresses of tasks next to each other, far apart by a power of two, and at random.
  for (std::uint64_t const stride : {64U, 192U, 4096U, 1U << 20U, 0U}) {
    CAPTURE(stride);
    std::mt19937_64 random(stride);
    TaskTable<std::size_t> table;
    std::map<std::uint64_t, std::size_t> expected;
    std::uint64_t next = 0;
    for (std::size_t step = 0; step < 6000; ++step) {
      bool const grows = step % 2000 < 1200;
      if (expected.empty() || random() % 8 < (grows ? 5 : 2)) {
        auto const generation = random() % 0xffff + 1;
        auto const address = stride != 0 ? ++next * stride : random() % (1ULL << 30U) * 64;
        auto const task = generation << 48U | address;
        if (expected.emplace(task, step).second) {
          table.insert(TaskId{task}, step);
        }
      } else {
        auto const drawn =
            std::next(expected.begin(), static_cast<std::ptrdiff_t>(random() % expected.size()));
        REQUIRE(table.take(TaskId{drawn->first}) == drawn->second);
        expected.erase(drawn);
      }
      REQUIRE(table.size() == expected.size());
    }
    for (auto const& [task, noted] : expected) {
      REQUIRE(table.take(TaskId{task}) == noted);
    }
    CHECK(table.size() == 0);
  }
}

} // namespace task_table_test
