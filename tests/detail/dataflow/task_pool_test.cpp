// SPDX-License-Identifier: MIT
#include <hetsched/detail/dataflow/task_pool.hpp>

#include "../../support/support.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using hetsched::detail::SizeClass;
using hetsched::detail::TaskDepot;
using hetsched::detail::TaskPool;
using hetsched::detail::TaskRecord;

namespace task_pool_test {

TEST_SUITE_BEGIN("detail/task_pool");

TEST_CASE("SizeClass: the smallest class that holds the bytes") {
  for (std::size_t bytes = 1; bytes <= 70000; ++bytes) {
    auto const index = SizeClass::of(bytes);
    REQUIRE(SizeClass::bytes(index) >= bytes);
    REQUIRE((index == 0 || SizeClass::bytes(index - 1) < bytes));
  }
}

TEST_CASE("TaskPool: what was released comes back, newest first, within its class") {
  TaskDepot depot;
  TaskPool pool(depot);
  auto* const small = pool.allocate(SizeClass::of(sizeof(TaskRecord)));
  auto* const large = pool.allocate(SizeClass::of(3000));
  CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  std::memset(static_cast<void*>(large + 1), 1, 3000 - sizeof(TaskRecord)); // all of it is there

  pool.release(small);
  pool.release(large);
  CHECK(pool.allocate(SizeClass::of(2500)) == large);
  CHECK(pool.allocate(SizeClass::of(sizeof(TaskRecord))) == small);
}

TEST_CASE("TaskPool: live records are distinct, also in classes of one record a slab") {
  TaskDepot depot;
  TaskPool pool(depot);
  for (std::size_t const bytes : {sizeof(TaskRecord), std::size_t{5000}}) {
    std::set<TaskRecord*> live;
    for (int k = 0; k < 500; ++k) {
      CHECK(live.insert(pool.allocate(SizeClass::of(bytes))).second);
    }
    for (auto* const task : live) {
      pool.release(task);
    }
    for (int k = 0; k < 500; ++k) {
      CHECK(live.count(pool.allocate(SizeClass::of(bytes))) == 1); // no new memory
    }
  }
}

TEST_CASE("TaskPool: the depot knows every record that was ever handed out") {
  TaskDepot depot;
  TaskPool pool(depot);
  std::set<TaskRecord const*> handed_out;
  for (int k = 0; k < 100; ++k) {
    handed_out.insert(pool.allocate(SizeClass::of(sizeof(TaskRecord))));
    handed_out.insert(pool.allocate(SizeClass::of(1000)));
  }
  std::set<TaskRecord const*> known;
  depot.for_each_record([&](TaskRecord const& task) { known.insert(&task); });
  for (auto const* const task : handed_out) {
    CHECK(known.count(task) == 1);
  }
}

//   maker --(queue)--> user: records always go one way, so they must come back by the depot
TEST_CASE("TaskPool: records made by one thread and released by another do not pile up") {
  constexpr int rounds = 50000;
  constexpr std::size_t most_in_flight = 500;
  TaskDepot depot;
  std::mutex mutex;
  std::deque<TaskRecord*> queue;
  bool all_matched = true;
  std::thread user([&] {
    TaskPool pool(depot);
    for (int taken = 0; taken < rounds;) {
      TaskRecord* task = nullptr;
      {
        std::lock_guard const guard(mutex);
        if (!queue.empty()) {
          task = queue.front();
          queue.pop_front();
        }
      }
      if (task == nullptr) {
        std::this_thread::yield();
        continue;
      }
      all_matched = all_matched && task->graph_node == taken; // nobody else has it
      pool.release(task);
      ++taken;
    }
  });
  {
    TaskPool pool(depot);
    for (int made = 0; made < rounds;) {
      bool full = false;
      {
        std::lock_guard const guard(mutex);
        full = queue.size() >= most_in_flight;
      }
      if (full) {
        std::this_thread::yield();
        continue;
      }
      auto* const task = pool.allocate(SizeClass::of(sizeof(TaskRecord)));
      task->graph_node = made++;
      std::lock_guard const guard(mutex);
      queue.push_back(task);
    }
  }
  user.join();
  CHECK(all_matched);
  std::size_t records = 0;
  depot.for_each_record([&](TaskRecord const&) { ++records; });
  CHECK(records <= most_in_flight + 6 * TaskDepot::batch); // two batches a pool, and some under way
}

TEST_SUITE_END();

} // namespace task_pool_test
