// SPDX-License-Identifier: MIT
#pragma once
// Which rank the tasks of a collection begin on.

#include <hetsched/core/time.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched {

/// A task that was added without a place, as a distribution sees it.
struct TaskToPlace {
  Duration cpu;            // expected times; 0: not known
  Duration gpu;            //
  std::int32_t output = 0; // the rank of the first patch that it writes; if it writes none, the one
                           // that added it
  std::int32_t rank = 0;   // where it begins: the rank that added it, unless the distribution says
                           // another one
};

/// `place(tasks, ranks)` says for all tasks of all ranks, in the order of the ranks and on each in
/// that of `add`, on which of 0 .. ranks - 1 they begin. Called on rank 0.
template <class D>
concept TaskDistribution = requires(std::span<TaskToPlace> tasks, int ranks) {
  { D::place(tasks, ranks) } -> std::same_as<void>;
};

/// Tasks begin where they were added. No rank waits for another one.
struct AsAdded {
  static void place(std::span<TaskToPlace>, int) {}
};

/// Equally many on each rank, one after the other.
/// Source: Arafat et al. 2016, sec. 5.3, "block distributed".
struct InBlocks {
  static void place(std::span<TaskToPlace> tasks, int ranks) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      tasks[k].rank = static_cast<std::int32_t>(k * static_cast<std::size_t>(ranks) / tasks.size());
    }
  }
};

/// On the rank that has what they write: sums stay there, and what is read travels, as an addition
/// elsewhere costs more than a get.
/// Source: the same, "affinity-based distribution".
struct NearOutputs {
  static void place(std::span<TaskToPlace> tasks, int /*ranks*/) {
    for (auto& task : tasks) {
      task.rank = task.output;
    }
  }
};

/// By expected times: tasks that are better on a GPU by the time on one, the others by that on a
/// core, the longest first, each to the rank that is done first with those of this kind. Within 4/3
/// - 1/(3 ranks) of the best distribution of each kind, with one worker of it on each rank (LPT).
/// Tasks of unknown times count as equally long. Source: the same, "heuristics-based distribution".
struct LongestFirst {
  static void place(std::span<TaskToPlace> tasks, int ranks) {
    struct Part {
      std::int64_t ns;
      std::size_t task;
      bool gpu;
    };

    std::vector<Part> parts;
    parts.reserve(tasks.size());
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      auto const& task = tasks[k];
      bool const gpu = task.gpu.ns > 0 && (task.cpu.ns == 0 || task.cpu > task.gpu);
      parts.push_back({std::max<std::int64_t>(gpu ? task.gpu.ns : task.cpu.ns, 1), k, gpu});
    }
    std::sort(parts.begin(), parts.end(), [](Part const& a, Part const& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.task < b.task;
    });

    struct Load {
      std::int64_t ns = 0;
      std::int32_t rank = 0;
    };

    auto const later = [](Load const& a, Load const& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.rank > b.rank;
    };
    std::vector<Load> loads[2]; // heaps: the rank that is done first at the front
    for (auto& heap : loads) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        heap.push_back({0, rank});
      }
    }
    for (auto const& part : parts) {
      auto& heap = loads[part.gpu ? 1 : 0];
      std::pop_heap(heap.begin(), heap.end(), later);
      tasks[part.task].rank = heap.back().rank;
      heap.back().ns += part.ns;
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
};

} // namespace hetsched
