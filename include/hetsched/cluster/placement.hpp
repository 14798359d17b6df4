// SPDX-License-Identifier: MIT
#pragma once
// Which rank executes a task.

#include <hetsched/core/access.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hetsched {

/// A datum of a task that is being placed.
struct PlacedDatum {
  std::int32_t home; // rank
  AccessMode mode;
  std::size_t bytes;
};

/// A task that is being placed: what all ranks know of it.
struct PlacedTask {
  std::string_view type;
  std::span<PlacedDatum const> data; // in the order of the parameters
  std::uint64_t number;              // how many calls came before, the same on all ranks
  std::int32_t ranks;
};

/// `rank_of(task)` answers a rank from 0 to task.ranks - 1. All ranks ask it, each for itself,
/// about every spawn without `on_rank`, in program order; all must get the same answer, so it
/// depends on nothing but the tasks so far. One thread calls it. It may cost some nanoseconds.
template <class P>
concept Placement = std::default_initializable<P> && requires(P& policy, PlacedTask const& task) {
  { policy.rank_of(task) } -> std::same_as<std::int32_t>;
};

/// Where the first datum is at home that the task writes; of a task that writes none, the first;
/// tasks without data in turn.
struct OwnerComputes {
  [[nodiscard, gnu::always_inline]] std::int32_t rank_of(PlacedTask const& task) const noexcept {
#pragma GCC unroll 4
    for (auto const& datum : task.data) {
      if (writes(datum.mode)) {
        return datum.home;
      }
    }
    return !task.data.empty()
               ? task.data[0].home
               : static_cast<std::int32_t>(task.number % static_cast<std::uint64_t>(task.ranks));
  }
};

/// Where the fewest bytes have to come from elsewhere, or go back, if no rank has copies; as
/// OwnerComputes among equals. O(data^2).
struct LeastBytes {
  [[nodiscard]] std::int32_t rank_of(PlacedTask const& task) const noexcept {
    auto const moved = [&task](std::int32_t rank) {
      std::size_t bytes = 0;
      for (auto const& datum : task.data) {
        if (datum.home != rank) {
          bytes += (reads(datum.mode) ? datum.bytes : 0) + (writes(datum.mode) ? datum.bytes : 0);
        }
      }
      return bytes;
    };
    auto best = OwnerComputes().rank_of(task);
    auto least = moved(best);
    for (auto const& datum : task.data) {
      if (auto const bytes = moved(datum.home); bytes < least) {
        best = datum.home;
        least = bytes;
      }
    }
    return best;
  }
};

/// The task runs on that rank, whatever the placement policy says.
struct RankAttribute {
  std::int32_t rank;
};

/// An attribute of DistributedRuntime::spawn.
[[nodiscard]] constexpr RankAttribute on_rank(std::int32_t rank) noexcept {
  return {rank};
}

} // namespace hetsched
