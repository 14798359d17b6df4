// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on cores and GPUs, at most 3/2 as long as the shortest schedule, and fast.

#include <hetsched/core/time.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// One guess of Accel32; see there.
class CutAllotment {
public:
  CutAllotment(Batch const& batch, std::int64_t guess)
      : batch_(batch), guess_(guess), on_gpu_(batch.tasks().size()),
        cpu_room_(batch.cpu_room(guess)), gpu_room_(batch.gpu_room(guess)),
        cpu_places_(batch.cpus()), gpu_places_(batch.gpus()) {}

  /// on_gpu of each task, or nothing: no schedule is as short as the guess.
  [[nodiscard]] std::optional<std::vector<char>> operator()() {
    if (!sort_out()) {
      return std::nullopt;
    }
    auto low = least(0, 1); // area on the cores
    if (accepts(low)) {
      return answer(low);
    }
    auto high = least(1, 0); // area on the GPUs
    if (accepts(high)) {
      return answer(high);
    }
    if (low.cpu > cpu_room_ || high.gpu > gpu_room_) {
      return std::nullopt;
    }
    for (;;) { // low has too much on GPUs, high has not
      Wide const u = high.cpu - low.cpu;
      Wide const v = low.gpu - high.gpu;
      auto next = least(u, v);
      if (accepts(next)) {
        return answer(next);
      }
      if (v * (next.cpu - cpu_room_) + u * (next.gpu - gpu_room_) > 0) {
        return std::nullopt;
      }
      if (v * next.cpu + u * next.gpu == v * low.cpu + u * low.gpu) {
        return between(std::move(low), high);
      }
      (next.gpu > gpu_room_ ? low : high) = std::move(next);
    }
  }

private:
  // Kinds of tasks by where they are long, longer than half the guess.
  enum Kind : std::uint8_t { nowhere = 0, on_core = 1, elsewhere = 2, everywhere = 3 };

  struct Item {
    std::uint32_t task;
    std::int64_t cpu;
    std::int64_t gpu;
  };

  /// Which of the items run on cores, and the areas of all tasks.
  struct Choice {
    std::array<std::vector<char>, 4> core;
    std::int64_t cpu;
    std::int64_t gpu;
  };

  struct Keyed {
    Wide key;
    std::uint32_t item;

    friend bool operator<(Keyed const& a, Keyed const& b) noexcept {
      return a.key != b.key ? a.key < b.key : a.item < b.item;
    }
  };

  /// Settles the tasks that have no choice; false if they do not fit.
  [[nodiscard]] bool sort_out() {
    auto const fits = [this](Duration time) {
      return time != TaskTimes::never && time.ns <= guess_;
    };
    auto const is_long = [this](Duration time) { return 2 * time.ns > guess_; };
    for (std::uint32_t j = 0; j < on_gpu_.size(); ++j) {
      auto const [cpu, gpu] = batch_.tasks()[j];
      if (fits(cpu) && fits(gpu)) {
        items_[(is_long(cpu) ? on_core : 0) + (is_long(gpu) ? elsewhere : 0)].push_back(
            {j, cpu.ns, gpu.ns});
      } else if (fits(cpu)) {
        fixed_cpu_ += cpu.ns;
        cpu_places_ -= is_long(cpu) ? 1 : 0;
      } else if (fits(gpu)) {
        on_gpu_[j] = 1;
        fixed_gpu_ += gpu.ns;
        gpu_places_ -= is_long(gpu) ? 1 : 0;
      } else {
        return false;
      }
    }
    return cpu_places_ >= 0 && gpu_places_ >= 0 && count(everywhere) <= cpu_places_ + gpu_places_;
  }

  [[nodiscard]] std::int64_t count(Kind kind) const {
    return static_cast<std::int64_t>(items_[kind].size());
  }

  /// Of all that leave each long task a worker of its own, the choice with the least v * area on
  /// cores + u * area on GPUs. O(tasks + places log places).
  [[nodiscard]] Choice least(Wide u, Wide v) {
    Choice choice{{}, fixed_cpu_, fixed_gpu_};
    auto const bring = [&](Kind kind, std::int64_t number) { // the first so many of keys_
      choice.core[kind].assign(items_[kind].size(), 0);
      for (std::int64_t k = 0; k < number; ++k) {
        choice.core[kind][keys_[kind][static_cast<std::size_t>(k)].item] = 1;
      }
    };
    for (auto const kind : {nowhere, on_core, elsewhere, everywhere}) {
      auto& keys = keys_[kind];
      keys.clear();
      for (std::uint32_t k = 0; k < items_[kind].size(); ++k) {
        auto const& item = items_[kind][k];
        keys.push_back({v * item.cpu - u * item.gpu, k}); // of bringing it to a core
      }
    }
    bring(nowhere, 0);
    for (auto const& task : keys_[nowhere]) {
      choice.core[nowhere][task.item] = task.key < 0 ? 1 : 0;
    }
    auto const cores = sort_from(on_core, 0, std::min(cpu_places_, count(on_core)));
    auto const others = sort_from(
        elsewhere, std::max<std::int64_t>(count(elsewhere) - gpu_places_, 0), count(elsewhere));
    auto const both = sort_from(everywhere, 0, count(everywhere));
    // i tasks long everywhere on cores, and as many of the others as is best then
    std::int64_t best_i = -1;
    Wide best_cost = 0;
    auto const with = [&](std::int64_t i) {
      auto const on_cores = std::min(cores.negative, cpu_places_ - i);
      auto const must = count(everywhere) + count(elsewhere) - gpu_places_ - i;
      return std::pair{on_cores, std::max(others.negative, must)};
    };
    for (auto i = std::max<std::int64_t>(count(everywhere) - gpu_places_, 0);
         i <= std::min(count(everywhere), cpu_places_);
         ++i) {
      auto const [on_cores, off_gpus] = with(i);
      auto const cost = both.of_first(i) + cores.of_first(on_cores) + others.of_first(off_gpus);
      if (best_i < 0 || cost < best_cost) {
        best_i = i;
        best_cost = cost;
      }
    }
    auto const [on_cores, off_gpus] = with(best_i);
    bring(everywhere, best_i);
    bring(on_core, on_cores);
    bring(elsewhere, off_gpus);
    for (std::size_t kind = 0; kind < items_.size(); ++kind) {
      for (std::size_t k = 0; k < items_[kind].size(); ++k) {
        choice.cpu += choice.core[kind][k] != 0 ? items_[kind][k].cpu : 0;
        choice.gpu += choice.core[kind][k] != 0 ? 0 : items_[kind][k].gpu;
      }
    }
    return choice;
  }

  /// The keys of a kind, in order from place `first` to `last`: those before are smaller, those
  /// behind greater.
  struct Sums {
    std::int64_t first;
    std::vector<Wide> sums;    // of the first `first` keys, and one more each
    std::int64_t negative = 0; // how many, as far as they are in order

    [[nodiscard]] Wide of_first(std::int64_t number) const {
      return sums[static_cast<std::size_t>(number - first)];
    }
  };

  [[nodiscard]] Sums sort_from(Kind kind, std::int64_t first, std::int64_t last) {
    auto& keys = keys_[kind];
    if (first > 0) {
      std::nth_element(keys.begin(), keys.begin() + first, keys.end());
    }
    std::partial_sort(keys.begin() + first, keys.begin() + last, keys.end());
    Sums result{first, {0}};
    for (std::int64_t k = 0; k < last; ++k) {
      auto const key = keys[static_cast<std::size_t>(k)].key;
      if (k >= first) {
        result.sums.push_back(result.sums.back());
      }
      result.sums.back() += key;
      result.negative += key < 0 ? 1 : 0;
    }
    result.negative = std::max(result.negative, first);
    return result;
  }

  [[nodiscard]] bool accepts(Choice const& choice) const {
    return 2 * (Wide{choice.cpu} - cpu_room_) <= guess_ &&
           2 * (Wide{choice.gpu} - gpu_room_) <= guess_;
  }

  [[nodiscard]] std::vector<char> answer(Choice const& choice) {
    for (std::size_t kind = 0; kind < items_.size(); ++kind) {
      for (std::size_t k = 0; k < items_[kind].size(); ++k) {
        on_gpu_[items_[kind][k].task] = choice.core[kind][k] != 0 ? 0 : 1;
      }
    }
    return on_gpu_;
  }

  /// From the one to the other in the steps of the proof, up to what can be accepted.
  [[nodiscard]] std::vector<char> between(Choice from, Choice const& to) {
    std::array<std::vector<std::size_t>, 4> up; // items to be brought to a core
    std::array<std::vector<std::size_t>, 4> down;
    for (std::size_t kind = 0; kind < items_.size(); ++kind) {
      for (std::size_t k = 0; k < items_[kind].size(); ++k) {
        if (from.core[kind][k] != to.core[kind][k]) {
          (to.core[kind][k] != 0 ? up : down)[kind].push_back(k);
        }
      }
    }
    auto const move = [&](Kind kind, bool upwards) { // one, if there is one
      auto& those = (upwards ? up : down)[kind];
      if (!those.empty()) {
        auto const& item = items_[kind][those.back()];
        from.core[kind][those.back()] = upwards ? 1 : 0;
        from.cpu += upwards ? item.cpu : -item.cpu;
        from.gpu += upwards ? -item.gpu : item.gpu;
        those.pop_back();
      }
    };
    while (!accepts(from)) {
      auto const pair = std::find_if(kinds.begin(), kinds.end(), [&](Kind kind) {
        return !up[kind].empty() && !down[kind].empty();
      });
      if (pair != kinds.end()) {
        move(*pair, true);
        move(*pair, false);
      } else if (!up[everywhere].empty() || !down[everywhere].empty()) {
        bool const upwards = !up[everywhere].empty();
        move(everywhere, upwards);
        move(on_core, !upwards);
        move(elsewhere, !upwards);
      } else {
        auto const single = std::find_if(kinds.begin(), kinds.end(), [&](Kind kind) {
          return !up[kind].empty() || !down[kind].empty();
        });
        HETSCHED_ASSERT(single != kinds.end(), "no choice on the way can be accepted");
        move(*single, !up[*single].empty());
      }
    }
    return answer(from);
  }

  static constexpr std::array kinds{nowhere, on_core, elsewhere, everywhere};

  Batch const& batch_;
  std::int64_t guess_;
  std::vector<char> on_gpu_;
  std::int64_t cpu_room_; // area
  std::int64_t gpu_room_;
  std::int64_t cpu_places_; // for long tasks
  std::int64_t gpu_places_;
  std::int64_t fixed_cpu_ = 0; // area of the tasks without a choice
  std::int64_t fixed_gpu_ = 0;
  std::array<std::vector<Item>, 4> items_; // by kind
  std::array<std::vector<Keyed>, 4> keys_;
};

} // namespace detail

/// The 3/2-approximation. The paper asks that each task be accelerated, gpu <= cpu; this one does
/// not. Write W for the area on the m cores, V for that on the k GPUs, and call a task long on a
/// class if it takes more than L / 2 there, L the guess. Q are the choices, one class for each
/// task, in which none goes where it takes longer than L, at most m that are long on cores go to
/// cores and at most k long on GPUs to GPUs. In a schedule of length L no worker runs two long
/// tasks: it is a choice of Q with W <= m L and V <= k L.
///   (1) A choice of Q with W <= m L + L / 2 and V <= k L + L / 2 makes longest_first() no longer
///       than 3/2 L. Long tasks come first, each to a worker of its own. Any other, p <= L / 2,
///       starts no later than when all others of its class, shared out evenly over the w workers,
///       are done, so it ends by (w L + L / 2 - p) / w + p <= 3/2 L.
///   (2) For u, v >= 0, if v W + u V > v m L + u k L for all of Q, there is no schedule of length
///       L. least(u, v) has the least v W + u V.
/// So look for (1) or (2). With tasks cut, Q is a polytope with two rows beside x in [0, 1], the
/// tasks long on cores and those long on GPUs; a matrix of two rows of zeros and ones is totally
/// unimodular, so its corners are choices. least(0, 1) and least(1, 0) are the ends of the search;
/// each further (u, v) is that for which the two choices nearest to V = k L on both sides, "low"
/// with V > k L and "high", are equal. Either least(u, v) is less, and replaces one; or low and
/// high are both least. In that case, and not (2), go from low to high in steps: exchange two tasks
/// of the same kind (long nowhere, only on cores, only on GPUs, on both) as long as one has to go
/// each way; then one that is long on both against one that is long only on cores and one only on
/// GPUs that have to go the other way, as far as there are any; then the rest one by one.
///   (3) All on the way are least for (u, v), too. Tasks in which two optimal corners differ have
///       reduced cost 0, and a row's count goes from low's to high's without turning back, so stays
///       in Q, and stays where it is if both make the row tight.
///   (4) A step changes W by at most L, and V: it is a time up to L, or a difference of two, or
///       a - b - c with a, b in (L / 2, L] and c <= L / 2.
/// The step that passes V = k L passes it, cut, at a point with W <= m L: by (3) v W + u V is least
/// there, too, and (2) does not hold. By (4) the nearer of its ends is off by at most L / 2 each,
/// so it is a choice as (1) asks for. Source: the idea, halves of the guess and the most
/// accelerated tasks to GPUs, is of Bleuse et
///   al. 2015, sec. 4. Its algorithm has no guarantee as our copy has it, and this one is ours.
/// Cost of a guess: O(n + m log m + k log k) for each of a few (u, v), and a sort of n if it is
///   accepted.
struct Accel32 {
  double tolerance = 0; // of the search: ratio 3/2 (1 + tolerance)

  /// Throws as heft() does, and Error(bad_input) if the tolerance is not in [0, 1].
  [[nodiscard]] BatchSchedule operator()(std::span<TaskTimes const> tasks,
                                         TwoClasses machine) const {
    detail::Batch const batch(tasks, machine);
    return detail::search_guess(batch, 1.5, tolerance, [&](std::int64_t guess) {
      return detail::CutAllotment(batch, guess)();
    });
  }
};

} // namespace hetsched
