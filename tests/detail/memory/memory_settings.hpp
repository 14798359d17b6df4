// SPDX-License-Identifier: MIT
#pragma once
// The machines that are explored.

#include "memory_model.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace memory_model {

/// Tasks that use at most two of the data, in every way that `pairs` allows, or up to `most` in one
/// way.
[[nodiscard]] inline std::vector<Uses>
tasks_of(std::size_t data, std::size_t most, bool all_pairs = true) {
  std::vector<Uses> tasks;
  for (Uses uses = 1; uses < 1U << (2 * data); ++uses) {
    std::array<std::size_t, 4> count{}; // of each use
    for (std::size_t datum = 0; datum < data; ++datum) {
      ++count[use_of(uses, datum)];
    }
    auto const all = data - count[0];
    bool const one_way = count[reads] == all || count[writes] == all || count[3] == all;
    bool const pair = all == 2 && (all_pairs || (count[reads] == 1 && count[writes] == 1));
    if (all <= most && (one_way || pair)) {
      tasks.push_back(uses);
    }
  }
  return tasks;
}

[[nodiscard]] inline Setting
plain(std::string name, std::vector<std::size_t> sizes, std::size_t capacity, int devices = 1) {
  Setting setting;
  setting.name = std::move(name);
  setting.tasks = tasks_of(sizes.size(), sizes.size());
  setting.sizes = std::move(sizes);
  setting.capacity = capacity;
  setting.devices = devices;
  return setting;
}

[[nodiscard]] inline Setting two_data() {
  return plain("two_data", {1, 1}, 2);
}

[[nodiscard]] inline Setting room_for_one() {
  return plain("room_for_one", {1, 1}, 1);
}

[[nodiscard]] inline Setting aborts() {
  auto setting = plain("aborts", {1, 1}, 2);
  setting.aborts = true;
  return setting;
}

[[nodiscard]] inline Setting attempts() {
  auto setting = plain("attempts", {1, 1}, 2);
  setting.attempts = true;
  return setting;
}

[[nodiscard]] inline Setting pins() {
  auto setting = plain("pins", {1, 2}, 4);
  setting.pins = true;
  return setting;
}

[[nodiscard]] inline Setting at_home() {
  auto setting = plain("at_home", {1, 1}, 2);
  setting.adopted = true;
  return setting;
}

[[nodiscard]] inline Setting all_at_once() {
  auto setting = plain("all_at_once", {1, 2}, 3);
  setting.attempts = true;
  setting.pins = true;
  setting.adopted = true;
  return setting;
}

/// Syncs of all data, one of which is at home on the device.
[[nodiscard]] inline Setting syncs() {
  auto setting = plain("syncs", {1, 1}, 2);
  setting.tasks = tasks_of(2, 1);
  setting.adopted = true;
  setting.syncs = true;
  return setting;
}

/// The free memory may be in pieces.
[[nodiscard]] inline Setting pieces() {
  auto setting = plain("pieces", {1, 1, 1, 2}, 4);
  setting.losses = false;
  return setting;
}

/// One datum takes the whole memory.
[[nodiscard]] inline Setting small_and_large() {
  auto setting = plain("small_and_large", {1, 1, 3}, 3);
  setting.tasks = tasks_of(3, 2, false);
  return setting;
}

[[nodiscard]] inline Setting two_devices() {
  auto setting = plain("two_devices", {1, 1, 1}, 2, 2);
  setting.tasks = tasks_of(3, 1);
  setting.peers = true;
  return setting;
}

[[nodiscard]] inline Setting two_devices_pairs() {
  auto setting = plain("two_devices_pairs", {1, 1, 1}, 2, 2);
  setting.tasks = tasks_of(3, 2, false);
  return setting;
}

[[nodiscard]] inline Setting two_devices_aborts() {
  auto setting = plain("two_devices_aborts", {1, 1}, 1, 2);
  setting.aborts = true;
  setting.peers = true;
  return setting;
}

[[nodiscard]] inline Setting two_devices_home() {
  auto setting = plain("two_devices_home", {1, 1}, 1, 2);
  setting.adopted = true;
  setting.pins = true;
  setting.peers = true;
  return setting;
}

[[nodiscard]] inline Setting attempts_on_two() {
  auto setting = plain("attempts_on_two", {1, 1}, 2, 2);
  setting.tasks = tasks_of(2, 1);
  setting.attempts = true;
  setting.peers = true;
  return setting;
}

/// What one attempt wrote leaves its device, and another still waits for what it was.
[[nodiscard]] inline Setting attempts_without_room() {
  auto setting = plain("attempts_without_room", {1, 1}, 1, 2);
  setting.tasks = tasks_of(2, 1);
  setting.attempts = true;
  setting.losses = false;
  return setting;
}

} // namespace memory_model
