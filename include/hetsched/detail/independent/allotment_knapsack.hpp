// SPDX-License-Identifier: MIT
#pragma once
// The knapsack of Bleuse et al. 2015, sec. 3.3: which tasks go to GPUs, for one guess.

#include <hetsched/core/error.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hetsched::detail {

/// Chooses each task's class such that the area on the cores is as small as can be while
///   the places of tasks on cores are at most those of the cores, and so on GPUs (eqs. 2 and 3),
///   the GPUs' area, in whole units of guess / (parts * tasks that GPUs can run), each task's
///   rounded down, is at most what GPUs have within the guess (eq. 6).
/// A place is half a worker's: tasks longer than two thirds of the guess take two, longer than a
/// third one, others none; mu and mu' are in one sum, since only 2 mu + mu' is asked for. Rounding
/// hides less than guess / parts of the GPUs' area.
class AllotmentKnapsack {
public:
  /// Throws Error(bad_input) if it would take more than `most_states` of states, each task's own.
  AllotmentKnapsack(Batch const& batch, std::int64_t parts, bool places, std::int64_t most_states)
      : batch_(batch), parts_(parts), places_(places), most_states_(most_states) {}

  /// on_gpu of each task, or nothing if the area on the cores exceeds what they have.
  [[nodiscard]] std::optional<std::vector<char>> operator()(std::int64_t guess) const {
    std::vector<char> on_gpu(batch_.tasks().size());
    std::vector<Item> items;
    Room room{.cpu_places = places_ ? 2 * batch_.cpus() : 0,
              .gpu_places = places_ ? 2 * batch_.gpus() : 0,
              .units = 0,
              .cpu_area = batch_.cpu_room(guess)};
    std::int64_t for_gpus = 0;
    for (auto const& task : batch_.tasks()) {
      for_gpus += fits(task.gpu, guess) ? 1 : 0;
    }
    room.units = batch_.gpus() * parts_ * for_gpus;
    for (std::uint32_t j = 0; j < on_gpu.size(); ++j) {
      auto const [cpu, gpu] = batch_.tasks()[j];
      auto const item = Item{j,
                             cpu.ns,
                             places(cpu, guess),
                             places(gpu, guess),
                             static_cast<std::int64_t>(Wide{gpu.ns} * parts_ * for_gpus / guess)};
      if (fits(cpu, guess) && fits(gpu, guess)) {
        items.push_back(item);
      } else if (fits(cpu, guess)) {
        room.cpu_area -= item.cpu;
        room.cpu_places -= item.cpu_places;
      } else if (fits(gpu, guess)) {
        on_gpu[j] = 1;
        room.gpu_places -= item.gpu_places;
        room.units -= item.units;
      } else {
        return std::nullopt;
      }
    }
    if (std::min({room.cpu_area, room.cpu_places, room.gpu_places, room.units}) < 0 ||
        !choose(items, room, on_gpu)) {
      return std::nullopt;
    }
    return on_gpu;
  }

private:
  struct Item {
    std::uint32_t task;
    std::int64_t cpu;
    std::int64_t cpu_places;
    std::int64_t gpu_places;
    std::int64_t units;
  };

  struct Room {
    std::int64_t cpu_places;
    std::int64_t gpu_places;
    std::int64_t units;
    std::int64_t cpu_area;
  };

  static bool fits(Duration time, std::int64_t guess) {
    return time != TaskTimes::never && time.ns <= guess;
  }

  [[nodiscard]] std::int64_t places(Duration time, std::int64_t guess) const {
    return !places_ || 3 * time.ns <= guess ? 0 : 3 * time.ns <= 2 * guess ? 1 : 2;
  }

  /// The dynamic program. least[a, b, u] is the least area on the cores of the items so far with at
  /// most a places taken there, b on the GPUs, and u units; one bit an item and state says that the
  /// GPU was the better choice.
  [[nodiscard]] bool
  choose(std::vector<Item> const& items, Room room, std::vector<char>& on_gpu) const {
    Room all{0, 0, 0, 0};
    for (auto const& item : items) {
      all.cpu_places += item.cpu_places;
      all.gpu_places += item.gpu_places;
      all.units += item.units;
    }
    auto const a_end = std::min(room.cpu_places, all.cpu_places) + 1; // more cannot be asked for
    auto const b_end = std::min(room.gpu_places, all.gpu_places) + 1;
    auto const u_end = std::min(room.units, all.units) + 1;
    auto const states = Wide{a_end} * b_end * u_end;
    if (states * std::max<Wide>(static_cast<Wide>(items.size()), 1) > most_states_) {
      throw Error(ErrorCode::bad_input,
                  "tasks",
                  std::to_string(items.size()) + " take more than " + std::to_string(most_states_) +
                      " states of the dynamic program");
    }
    auto const size = static_cast<std::size_t>(states);
    auto const words = (size + 63) / 64;
    std::vector<std::int64_t> least(size);
    std::vector<std::uint64_t> better(items.size() * words);
    for (std::size_t k = 0; k < items.size(); ++k) {
      auto const [task, cpu, cpu_places, gpu_places, units] = items[k];
      auto* const bits = &better[k * words];
      for (auto a = a_end; a-- > 0;) { // downwards: what is read is of the item before
        for (auto b = b_end; b-- > 0;) {
          auto* const row = &least[static_cast<std::size_t>((a * b_end + b) * u_end)];
          auto const* const core = a >= cpu_places ? row - cpu_places * b_end * u_end : nullptr;
          auto const* const gpu = b >= gpu_places ? row - gpu_places * u_end : nullptr;
          auto const first = (a * b_end + b) * u_end;
          for (auto u = u_end; u-- > 0;) {
            auto const there = gpu != nullptr && u >= units ? gpu[u - units] : unreachable;
            auto const here = core != nullptr ? core[u] + cpu : unreachable;
            bool const moved = there < here;
            row[u] = moved ? there : here;
            auto const bit = static_cast<std::size_t>(first + u);
            bits[bit / 64] |= std::uint64_t{moved} << (bit % 64);
          }
        }
      }
    }
    auto a = a_end - 1;
    auto b = b_end - 1;
    auto u = u_end - 1;
    if (least[size - 1] > room.cpu_area) {
      return false;
    }
    for (auto k = items.size(); k-- > 0;) {
      auto const bit = static_cast<std::size_t>((a * b_end + b) * u_end + u);
      if ((better[k * words + bit / 64] >> (bit % 64) & 1) != 0) {
        on_gpu[items[k].task] = 1;
        b -= items[k].gpu_places;
        u -= items[k].units;
      } else {
        a -= items[k].cpu_places;
      }
    }
    return true;
  }

  // All areas on cores together stay below most_work, so sums with it do not overflow.
  static constexpr std::int64_t unreachable = 2 * most_work;

  Batch const& batch_;
  std::int64_t parts_;
  bool places_;
  std::int64_t most_states_;
};

} // namespace hetsched::detail
