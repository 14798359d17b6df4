// SPDX-License-Identifier: MIT
// Sequences of events that explore_memory has found, each the shortest that broke something once.

#include "memory_settings.hpp"

#include <doctest/doctest.h>

namespace memory_model_test {

using namespace memory_model;

TEST_SUITE_BEGIN("detail");

TEST_CASE("MemoryNodes: a transfer home that ends well saves what was on a lost device") {
  CHECK(violation_of(two_data(),
                     {
                         {Step::commit, 1, 2, 0}, // device 1 gets a task that writes a
                         {Step::begin, 1, 0, 0},  // task 0 of device 1 begins
                         {Step::end, 1, 0, 0},    // task 0 of device 1 ends well
                         {Step::read, 0, 0, 0},   // the host wants to read a
                         {Step::lose, 1, 0, 0},   // device 1 is lost
                         {Step::arrive, 0, 0, 0}, // transfer 0 ends well
                     })
            .empty());
}

TEST_CASE("MemoryNodes: what arrives on a lost device is not valid there") {
  CHECK(violation_of(two_data(),
                     {
                         {Step::prefetch, 1, 0, 0}, // a is sent ahead to device 1
                         {Step::lose, 1, 0, 0},     // device 1 is lost
                         {Step::arrive, 0, 0, 0},   // transfer 0 ends well
                     })
            .empty());
}

TEST_CASE("MemoryNodes: a sync that misses the lost home of a datum waits for its last copy") {
  CHECK(violation_of(two_devices_home(),
                     {
                         {Step::prefetch, 2, 0, 0}, // a is sent ahead to device 2
                         {Step::lose, 1, 0, 0},     // device 1 is lost
                         {Step::arrive, 0, 0, 0},   // transfer 0 ends well
                         {Step::commit, 2, 4, 0},   // device 2 gets a task that reads b
                         {Step::lose, 2, 0, 0},     // device 2 is lost
                         {Step::home, 0, 0, 0},     // a sync wants a at home
                         {Step::arrive, 0, 0, 0},   // transfer 0 ends well
                     })
            .empty());
}

TEST_CASE("MemoryNodes: transfers that failed do not count for a new version") {
  CHECK(violation_of(two_data(),
                     {
                         {Step::commit, 1, 1, 0},  // device 1 gets a task that reads a
                         {Step::begin, 1, 0, 0},   // task 0 of device 1 asks for its data
                         {Step::give_up, 0, 0, 0}, // transfer 0 fails, and so do those in its place
                     })
            .empty());
}

TEST_CASE("MemoryNodes: a failed attempt that overwrote the only copy has lost it") {
  CHECK(violation_of(attempts(),
                     {
                         {Step::commit, 1, 2, 0},  // device 1 gets a task that writes a
                         {Step::begin, 1, 0, 0},   // task 0 of device 1 begins
                         {Step::end, 1, 0, 0},     // task 0 of device 1 ends well
                         {Step::attempt, 1, 2, 0}, // device 1 gets an attempt at one that writes a
                         {Step::begin, 1, 0, 0},   // task 0 of device 1 begins
                         {Step::fail, 1, 0, 0},    // task 0 of device 1 fails
                     })
            .empty());
}

TEST_CASE("MemoryNodes: a task that fits is admitted, whatever its first places split") {
  CHECK(violation_of(pieces(),
                     {
                         {Step::commit, 1, 1, 0},  // device 1 gets a task that reads a
                         {Step::commit, 1, 84, 0}, // it gets a task that reads b, reads c, reads d
                     })
            .empty());
}

TEST_CASE("MemoryNodes: two devices do not write to one place in host memory at once") {
  CHECK(violation_of(two_devices_pairs(),
                     {
                         {Step::commit, 1, 2, 0},  // device 1 gets a task that writes a
                         {Step::commit, 1, 24, 0}, // device 1 gets a task that writes b, reads c
                         {Step::begin, 1, 0, 0},   // task 0 of device 1 begins
                         {Step::end, 1, 0, 0},     // task 0 of device 1 ends well
                         {Step::commit, 2, 2, 0},  // device 2 gets a task that writes a
                         {Step::commit, 2, 24, 0}, // device 2 gets a task that writes b, reads c
                         {Step::begin, 2, 0, 0},   // task 0 of device 2 begins
                     })
            .empty());
}

TEST_CASE("MemoryNodes: a sync brings home what can be had, though something is lost") {
  CHECK(violation_of(syncs(),
                     {
                         {Step::commit, 1, 8, 0}, // device 1 gets a task that writes b
                         {Step::begin, 1, 0, 0},  // task 0 of device 1 begins
                         {Step::end, 1, 0, 0},    // task 0 of device 1 ends well
                         {Step::lose, 1, 0, 0},   // device 1 is lost
                     })
            .empty());
}

TEST_CASE("MemoryNodes: what could not be had is tried again for whoever asks next") {
  CHECK(violation_of(syncs(),
                     {
                         {Step::read, 0, 0, 0},    // the host wants to read a
                         {Step::give_up, 0, 0, 0}, // transfer 0 fails, and so do those in its place
                     })
            .empty());
}

TEST_CASE("MemoryNodes: an eviction waits for the transfers from where it goes") {
  CHECK(violation_of(attempts_without_room(),
                     {
                         {Step::commit, 1, 1, 0},   // device 1 gets a task that reads a
                         {Step::attempt, 1, 12, 0}, // and an attempt at a task that updates b
                         {Step::attempt, 2, 12, 0}, // device 2 gets an attempt at the task
                         {Step::commit, 2, 1, 0},   // device 2 gets a task that reads a
                     })
            .empty());
}

} // namespace memory_model_test
