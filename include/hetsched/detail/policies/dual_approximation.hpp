// SPDX-License-Identifier: MIT
#pragma once
// Divides independent tasks between cores and GPUs by guesses of the makespan.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace hetsched::detail {

/// The dual approximation that Kumar 2017, sec. 5.6, describes (from Bleuse et al. 2014): a guess
/// that fails is below every schedule's makespan, and for one that succeeds list scheduling of both
/// sides ends within twice the guess. All times are in ns.
class DualApproximation {
public:
  /// A task's time on a core and on a GPU; `never` where it cannot run.
  using Times = std::array<std::int64_t, 2>;

  static constexpr std::size_t cores = 0;
  static constexpr std::size_t gpus = 1;
  static constexpr auto never = std::numeric_limits<std::int64_t>::max();

  std::array<std::int64_t, 2> workers{}; // of each side
  std::array<std::int64_t, 2> busy{};    // the rest of the tasks that they run

  /// Whether the guess succeeds. Reports the side of each task, in the order of the tasks. A task
  /// that takes longer than the guess on one side goes to the other. Of the rest the GPUs get one
  /// after the other while their work is less than workers x guess, and the cores get what is left.
  /// The guess fails if a side is forced to take more than that, or if the cores get more in all.
  /// O(tasks).
  template <class Tell>
  bool fill(std::span<Times const> tasks, std::int64_t guess, Tell const& tell) const {
    auto load = busy;
    Times const most{guess * workers[cores], guess * workers[gpus]};
    for (auto const& time : tasks) {
      load[gpus] += time[cores] > guess ? time[gpus] : 0;
      load[cores] += time[gpus] > guess ? time[cores] : 0;
    }
    if (load[cores] > most[cores] || load[gpus] > most[gpus]) {
      return false;
    }
    for (auto const& time : tasks) {
      if (time[cores] > guess || time[gpus] > guess) {
        tell(time[cores] > guess ? gpus : cores);
        continue;
      }
      auto const side = load[gpus] < most[gpus] ? gpus : cores;
      load[side] += time[side];
      tell(side);
    }
    return load[cores] <= most[cores];
  }

  /// A guess that succeeds although the guess one smaller fails. It begins with the longest of the
  /// tasks' shorter times, because no smaller guess can succeed, and goes on by doubling, then by
  /// bisection. O(tasks x log(answer)).
  [[nodiscard]] std::int64_t least_guess(std::span<Times const> tasks) const {
    std::int64_t fails = 0;
    for (auto const& time : tasks) {
      fails = std::max(fails, std::min(time[cores], time[gpus]) - 1);
    }
    auto const ignore = [](std::size_t) {};
    auto succeeds = fails + 1;
    while (!fill(tasks, succeeds, ignore)) {
      fails = succeeds;
      succeeds *= 2;
    }
    while (succeeds - fails > 1) {
      auto const guess = fails + (succeeds - fails) / 2;
      (fill(tasks, guess, ignore) ? succeeds : fails) = guess;
    }
    return succeeds;
  }
};

} // namespace hetsched::detail
