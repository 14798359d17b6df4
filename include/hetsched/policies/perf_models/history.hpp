// SPDX-License-Identifier: MIT
#pragma once
// Times that tasks took before.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/policies/time_window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace hetsched::policies {

/// Decides: the time of a task on a class of worker is the median of the newest 32 times of tasks
///   of the same type, with data of the same sizes and, where spawns tell it (hetsched::flops), the
///   same work to within 6 %, there, from the third time on. The spread
///   is 1.4826 times the median distance from it, as for the deviation of a normal distribution.
///   Spikes change neither. When the newest eight times differ from those before, the latter are
///   forgotten.
/// Source: Lima et al. 2015, sec. 4.2: task name, footprint and processor type are the key. The
///   history-based models of StarPU.
/// Cost: predict takes one look-up under a lock that few share. record takes the same and, for the
///   first eight times and every fourth after them, medians of 32 numbers. Clocks are read around
///   bodies.
/// Needs: nothing of the context.
/// Threading: any operation from any thread; sixteen locks, chosen by the key.
/// Deterministic: yes, for one order of records.
/// Knobs: none.
/// Limits: knows nothing about sizes that it has not seen, nor about transfers. Forgets everything
///   when it is destroyed; `Stored` keeps it.
class History {
public:
  static constexpr bool measures = true;

  /// What is known of one kind of task on one class of worker.
  struct Known {
    std::string type;
    std::uint64_t footprint = 0; // TaskView::footprint
    Arch arch;
    std::size_t bytes = 0;    // of its data
    float flops = 0;          // TaskView::flops of the first; 0: unknown
    std::uint64_t count = 0;  // times recorded, ever
    Duration mean;            // of all of them
    Duration median;          // of those that count
    Duration spread;          // the same
    std::uint64_t drifts = 0; // how often older times were forgotten
  };

  static constexpr std::size_t window = 32;                     // times that count
  static constexpr std::uint64_t most_counted = UINT64_MAX / 2; // no sum of two overflows

  /// Times of one kind of task, as they are kept from run to run.
  struct Samples {
    std::string type;
    std::uint64_t footprint = 0;
    Arch arch;
    std::size_t bytes = 0;
    float flops = 0;
    std::uint64_t count = 0;
    double mean_ns = 0; // of all `count`
    std::uint64_t drifts = 0;
    std::vector<Duration> newest; // oldest first, at most `window`

    /// Those of `later` come after these.
    void append(Samples const& later) {
      count = std::min(count + later.count, most_counted);
      mean_ns += count == 0 ? 0
                            : (later.mean_ns - mean_ns) * static_cast<double>(later.count) /
                                  static_cast<double>(count);
      drifts = std::min(drifts + later.drifts, count);
      newest.insert(newest.end(), later.newest.begin(), later.newest.end());
      if (newest.size() > window) {
        newest.erase(newest.begin(), newest.end() - static_cast<std::ptrdiff_t>(window));
      }
    }
  };

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    Key const key{task.footprint(), arch};
    auto& shard = shards_[shard_of(key)];
    std::lock_guard const guard(shard.mutex);
    auto const found = shard.kinds.find(key);
    if (found == shard.kinds.end() || found->second.newest.count() < least) {
      return std::nullopt;
    }
    auto const& newest = found->second.newest;
    return Prediction{newest.median(), newest.spread(), newest.count()};
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    Key const key{task.footprint(), arch};
    auto& shard = shards_[shard_of(key)];
    std::lock_guard const guard(shard.mutex);
    auto& kind = shard.kinds[key];
    if (kind.count == 0) {
      kind.type = task.type;
      kind.bytes = task.bytes();
      kind.flops = task.flops;
    }
    kind.add(measured);
  }

  /// Learns what was kept of a kind that it knows nothing of.
  void restore(Samples const& kept) {
    Key const key{kept.footprint, kept.arch};
    auto& shard = shards_[shard_of(key)];
    std::lock_guard const guard(shard.mutex);
    shard.kinds[key].restore(kept);
  }

  /// What was recorded since the last call, and not restored.
  [[nodiscard]] std::vector<Samples> take_fresh() {
    std::vector<Samples> all;
    for (auto& shard : shards_) {
      std::lock_guard const guard(shard.mutex);
      for (auto& [key, kind] : shard.kinds) {
        if (kind.fresh.count != 0) {
          all.push_back(kind.take_fresh(key));
        }
      }
    }
    return all;
  }

  [[nodiscard]] Duration transfer(std::size_t /*bytes*/, NodeId /*from*/, NodeId /*to*/) const {
    return {};
  }

  /// All that is known, ordered by type, footprint and class.
  [[nodiscard]] std::vector<Known> known() const {
    std::vector<Known> all;
    for (auto const& shard : shards_) {
      std::lock_guard const guard(shard.mutex);
      for (auto const& [key, kind] : shard.kinds) {
        all.push_back({kind.type,
                       key.footprint,
                       key.arch,
                       kind.bytes,
                       kind.flops,
                       kind.count,
                       {static_cast<std::int64_t>(kind.mean + 0.5)},
                       kind.newest.median(),
                       kind.newest.spread(),
                       kind.drifts});
      }
    }
    std::sort(all.begin(), all.end(), [](Known const& a, Known const& b) {
      return std::tie(a.type, a.footprint, a.arch) < std::tie(b.type, b.footprint, b.arch);
    });
    return all;
  }

private:
  using Newest = detail::TimeWindow<window>;

  static constexpr std::size_t least = 3; // before a median is worth anything

  struct Key {
    std::uint64_t footprint;
    Arch arch;

    friend bool operator==(Key, Key) = default;
  };

  [[nodiscard]] static std::uint64_t mixed(Key key) noexcept {
    return (key.footprint + key.arch.index) * 0x9e3779b97f4a7c15U;
  }

  struct Hash {
    std::size_t operator()(Key key) const noexcept { return mixed(key); }
  };

  struct Kind {
    std::string type;
    std::size_t bytes = 0;
    float flops = 0;
    std::uint64_t count = 0;
    double mean = 0; // nanoseconds
    Newest newest;
    std::uint64_t drifts = 0;

    struct Fresh { // of those, what is not kept yet
      std::uint64_t count = 0;
      double mean = 0;
      std::uint64_t drifts = 0;
    };

    Fresh fresh;

    void add(Duration measured) {
      average(mean, ++count, measured);
      average(fresh.mean, ++fresh.count, measured);
      newest.add(measured.ns);
      if (count <= Newest::recent || count % 4 == 0) {
        forget_if_drifted();
        newest.summarise();
      }
    }

    void forget_if_drifted() {
      if (newest.forget_if_drifted()) {
        ++drifts;
        ++fresh.drifts;
      }
    }

    static void average(double& mean, std::uint64_t count, Duration another) {
      mean += (static_cast<double>(another.ns) - mean) / static_cast<double>(count);
    }

    void restore(Samples const& samples) {
      type = samples.type;
      bytes = samples.bytes;
      flops = samples.flops;
      count = samples.count;
      mean = samples.mean_ns;
      for (auto const time : samples.newest) {
        newest.add(time.ns);
      }
      forget_if_drifted(); // as the run did that recorded the newest
      drifts = samples.drifts;
      fresh = {};
      newest.summarise();
    }

    [[nodiscard]] Samples take_fresh(Key key) {
      Samples samples{
          type, key.footprint, key.arch, bytes, flops, fresh.count, fresh.mean, fresh.drifts, {}};
      for (auto const time : newest.last(fresh.count)) {
        samples.newest.push_back({time});
      }
      fresh = {};
      return samples;
    }
  };

  struct alignas(64) Shard {
    mutable detail::Mutex mutex;
    std::unordered_map<Key, Kind, Hash> kinds;
  };

  [[nodiscard]] static std::size_t shard_of(Key key) noexcept { return mixed(key) >> 60U; }

  std::array<Shard, 16> shards_;
};

static_assert(perf_model<History>);

} // namespace hetsched::policies
