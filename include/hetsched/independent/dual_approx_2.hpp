// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on cores and GPUs, at most twice as long as the shortest schedule.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/independent/allotment_knapsack.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hetsched {

/// The 2-approximation, DP. For a guess L it asks for the least area on the m cores, W, such that
/// the area on the k GPUs, each task's rounded down to a multiple of L / n, is at most k L; no task
/// goes where it takes longer than L. A schedule of length L would be such a choice with W <= m L,
/// so if W > m L, there is none. Else longest_first() is no longer than 2 L:
///   A task of length p <= L starts no later than when the others of its class, shared out evenly,
///   are done, and so ends by A / w + p (1 - 1 / w) on w workers with A to do in all. On cores,
///   A <= m L: less than 2 L. On GPUs, A <= (k + 1) L, since rounding hides less than n L / n: at
///   most L + L / k + L - L / k = 2 L.
/// The proof leaves an area of (k + 1) L on GPUs. So does a greedy choice, for many tasks: those of
/// the highest acceleration factor to GPUs until these have k L to do. The last of them is at most
/// L more than that, and what is left to the cores is no more than if tasks could be cut, with k L
/// on GPUs: no choice leaves less.
/// Source: Bleuse et al. 2015, sec. 5.2. The greedy choice is ours.
/// Cost of a guess: O(n^2 k), with n^2 k bits; of the greedy choice O(n log n).
struct DualApprox2 {
  double tolerance = 0;                 // of the search: ratio 2 (1 + tolerance)
  std::int64_t most_states = 1LL << 24; // n^2 k; beyond, the greedy choice

  /// Throws as heft() does, and Error(bad_input) if the tolerance is not in [0, 1].
  [[nodiscard]] BatchSchedule operator()(std::span<TaskTimes const> tasks,
                                         TwoClasses machine) const {
    detail::Batch const batch(tasks, machine);
    auto const n = static_cast<detail::Wide>(tasks.size());
    if (n * (n * batch.gpus() + 1) <= most_states) {
      detail::AllotmentKnapsack const knapsack(batch, 1, false, most_states);
      return detail::search_guess(batch, 2, tolerance, knapsack);
    }
    auto const order = by_acceleration(batch);
    return detail::search_guess(
        batch, 2, tolerance, [&](std::int64_t guess) { return greedy(batch, order, guess); });
  }

private:
  /// Those that can run on both and take time somewhere, the highest factor first.
  [[nodiscard]] static std::vector<std::uint32_t> by_acceleration(detail::Batch const& batch) {
    auto const& tasks = batch.tasks();
    std::vector<std::uint32_t> order;
    for (std::uint32_t j = 0; j < tasks.size(); ++j) {
      auto const [cpu, gpu] = tasks[j];
      if (cpu != TaskTimes::never && gpu != TaskTimes::never && std::max(cpu, gpu) > Duration{}) {
        order.push_back(j);
      }
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t v, std::uint32_t w) {
      auto const left = detail::Wide{tasks[v].cpu.ns} * tasks[w].gpu.ns;
      auto const right = detail::Wide{tasks[w].cpu.ns} * tasks[v].gpu.ns;
      return left != right ? left > right : v < w;
    });
    return order;
  }

  [[nodiscard]] static std::optional<std::vector<char>>
  greedy(detail::Batch const& batch, std::vector<std::uint32_t> const& order, std::int64_t guess) {
    auto const& tasks = batch.tasks();
    std::vector<char> on_gpu(tasks.size());
    auto cpu_room = batch.cpu_room(guess);
    auto gpu_room = batch.gpu_room(guess);
    auto const fits = [guess](Duration time) {
      return time != TaskTimes::never && time.ns <= guess;
    };
    for (std::size_t j = 0; j < tasks.size(); ++j) {
      auto const [cpu, gpu] = tasks[j];
      if (fits(cpu) && !fits(gpu)) {
        cpu_room -= cpu.ns;
      } else if (!fits(cpu) && fits(gpu)) {
        on_gpu[j] = 1;
        gpu_room -= gpu.ns;
      } else if (!fits(cpu)) {
        return std::nullopt;
      }
    }
    if (gpu_room < 0) {
      return std::nullopt;
    }
    for (auto const j : order) {
      auto const [cpu, gpu] = tasks[j];
      if (fits(cpu) && fits(gpu)) {
        if (gpu_room > 0 || gpu == Duration{}) {
          on_gpu[j] = 1;
          gpu_room -= gpu.ns;
        } else {
          cpu_room -= cpu.ns;
        }
      }
    }
    return cpu_room < 0 ? std::nullopt : std::optional(on_gpu);
  }
};

} // namespace hetsched
