// SPDX-License-Identifier: MIT
#pragma once
// How much of a device's transfers went on while it ran kernels.

#include <hetsched/core/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

/// From `begin` to before `end`, in nanoseconds of a device's own clock.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const noexcept {
    return std::max<std::int64_t>(0, end - begin);
  }
};

/// The latest stretches in which the device was busy, ascending and disjoint. Only the last `most`
/// are kept.
class Timeline {
public:
  static constexpr std::size_t most = 1024;

  /// How much of this stretch the known stretches cover. Cost: the number of known stretches that
  /// end later.
  [[nodiscard]] std::int64_t common(Stretch with) const noexcept {
    std::int64_t sum = 0;
    for (auto it = known_.rbegin(); it != known_.rend() && it->end > with.begin; ++it) {
      sum += Stretch{std::max(it->begin, with.begin), std::min(it->end, with.end)}.length();
    }
    return sum;
  }

  /// Adds a stretch; calls `fresh(Stretch)` for each part of it that was not in another.
  template <class Fresh>
  void add(Stretch added, Fresh&& fresh) {
    if (added.length() == 0) {
      return;
    }
    auto first = known_.end();
    while (first != known_.begin() && std::prev(first)->end >= added.begin) {
      --first;
    }
    auto last = first;
    auto from = added.begin;
    auto merged = added;
    for (; last != known_.end() && last->begin <= added.end; ++last) {
      if (last->begin > from) {
        fresh(Stretch{from, last->begin});
      }
      from = std::max(from, last->end);
      merged = {std::min(merged.begin, last->begin), std::max(merged.end, last->end)};
    }
    if (from < added.end) {
      fresh(Stretch{from, added.end});
    }
    known_.insert(known_.erase(first, last), merged);
    if (known_.size() > most) {
      known_.erase(known_.begin(), known_.begin() + most / 2);
    }
  }

private:
  std::vector<Stretch> known_;
};

/// Sums over one device, updated when transfers and kernels end, in any order. A transfer and a
/// kernel are compared when the later of the two is added. The cost is that of the stretches during
/// this time. Memory is bounded: the overlap of a transfer during which more than Timeline::most
/// kernels ended comes out too short.
class OverlapMeter {
public:
  /// The stream of a transfer. Transfers in one stream follow one another.
  enum class Lane : std::uint8_t { in, out };

  void add_transfer(Lane lane, Stretch stretch) {
    transfers_.ns += stretch.length();
    hidden_.ns += busy_.common(stretch);
    lanes_[static_cast<std::size_t>(lane)].add(stretch, [](Stretch) {});
  }

  void add_kernel(Stretch stretch) {
    busy_.add(stretch, [this](Stretch fresh) {
      kernels_.ns += fresh.length();
      for (auto const& lane : lanes_) {
        hidden_.ns += lane.common(fresh);
      }
    });
  }

  /// The length of all transfers together.
  [[nodiscard]] Duration transfers() const noexcept { return transfers_; }

  /// The time during which at least one kernel ran.
  [[nodiscard]] Duration kernels() const noexcept { return kernels_; }

  /// The part of `transfers` during which a kernel ran.
  [[nodiscard]] Duration hidden() const noexcept { return hidden_; }

private:
  Timeline busy_;
  std::array<Timeline, 2> lanes_;
  Duration transfers_;
  Duration kernels_;
  Duration hidden_;
};

} // namespace hetsched::detail
