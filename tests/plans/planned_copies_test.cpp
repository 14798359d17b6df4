// SPDX-License-Identifier: MIT
// The estimate of transfers in planned schedules, worked out on paper.

#include <hetsched/detail/plans/planned_copies.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::AccessMode;
using hs::GraphAccess;
using hs::detail::PlannedCopies;
using Transfers = hs::Simulation::Transfers;

namespace planned_copies_test {

constexpr std::int64_t one = 5 + 130; // a transfer of 100 bytes, 30 % longer than alone

hs::TaskGraph graph(std::vector<std::vector<GraphAccess>> tasks, std::size_t data) {
  std::vector<hs::TaskGraph::Node> nodes;
  for (auto& accesses : tasks) {
    nodes.push_back({"Even", "", 0, hs::ArchMask{0xff}, std::move(accesses)});
  }
  return {std::move(nodes), std::vector<std::size_t>(data, 100)};
}

GraphAccess reads(std::uint32_t datum) {
  return {datum, AccessMode::read, nullptr};
}

GraphAccess writes(std::uint32_t datum) {
  return {datum, AccessMode::write, nullptr};
}

GraphAccess changes(std::uint32_t datum) {
  return {datum, AccessMode::read_write, nullptr};
}

TEST_SUITE_BEGIN("static schedules");

TEST_CASE("planned copies: each datum once, one transfer at a time, from a node that has it") {
  auto const tasks = graph({{reads(0)}, {reads(0)}, {reads(1)}, {changes(0)}, {reads(0)}}, 2);
  PlannedCopies copies(
      tasks, simulated::joined(1, 2, Transfers::shared).platform, Transfers::shared);
  for (int again = 0; again < 2; ++again) {
    copies.reset();
    CHECK(copies.bring(0, 1, 0, 0) == one);
    copies.ran(0, 1, one + 10);
    CHECK(copies.bring(1, 1, 0, one + 10) == one); // is there
    copies.ran(1, 1, one + 20);
    CHECK(copies.bring(2, 1, 0, one + 20) == 2 * one);
    copies.ran(2, 1, 2 * one + 10);
    // Device 2's lane is free, and the bus 130 ns after the second transfer's begin.
    CHECK(copies.bring(3, 2, 0, 0) == one + 130 + one);
    copies.ran(3, 2, 500);
    // It is asked for when the core is free, and comes from the only copy.
    CHECK(copies.bring(4, 0, 500, 600) == 600 + one);
    copies.ran(4, 0, 800);
    // Device 1's copy has gone since. Device 2 has the datum before the host.
    CHECK(copies.bring(0, 1, 0, 0) == 500 + one);
  }
}

TEST_CASE("planned copies: a device's data come behind those of all tasks before it") {
  auto const tasks = graph({{changes(0)}, {reads(1)}, {writes(1)}}, 2);
  PlannedCopies copies(tasks, simulated::joined(1, 1, Transfers::model).platform, Transfers::model);
  copies.reset();
  CHECK(copies.bring(0, 1, 1000, 0) == 1000 + one);
  copies.ran(0, 1, 2000);
  CHECK(copies.bring(1, 1, 0, 2000) == 1000 + 2 * one);
  copies.ran(1, 1, 2010);
  CHECK(copies.bring(2, 0, 2010, 0) == 2010); // the old contents are not needed
}

TEST_CASE("planned copies: a full memory loses what was used longest ago, home if it is alone") {
  auto const tasks =
      graph({{changes(0)}, {reads(1)}, {reads(2)}, {reads(0)}, {reads(1), reads(2), reads(3)}}, 4);
  auto const machine = simulated::with_memory(simulated::joined(1, 1, Transfers::shared), 256);
  PlannedCopies copies(tasks, machine.platform, Transfers::shared);
  copies.reset();
  CHECK(copies.bring(0, 1, 0, 0) == one);
  copies.ran(0, 1, 200);
  CHECK(copies.bring(1, 1, 0, 200) == 2 * one);
  copies.ran(1, 1, 300);
  // Datum 0 was changed: it goes home first, when the bus is free.
  auto const third = one + 130 + one + one;
  CHECK(copies.bring(2, 1, 0, 300) == third);
  copies.ran(2, 1, 700);
  // Datum 1 leaves at once: the host has it. The lane is free when the third transfer ends.
  CHECK(copies.bring(3, 1, 0, 700) == third + one);
  copies.ran(3, 1, 800);
  // Three do not fit. They are all there all the same, and nothing is looked for that cannot leave.
  CHECK(copies.bring(4, 1, 800, 800) > 800);
}

TEST_SUITE_END();

} // namespace planned_copies_test
