// SPDX-License-Identifier: MIT
#pragma once
// What tasks took before.

#include <hetsched/concepts/perf_model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace hetsched::policies {

/// Decides: a task takes on a class of worker what tasks of the same type, with data of the same
///   sizes, took there: the median of the newest 32 times, from the third on. The spread is 1.4826
///   times the median distance from it, a normal distribution's deviation: neither minds spikes.
///   When the newest eight times lie apart from those before, these are forgotten.
/// Source: Lima et al. 2015, sec. 4.2: task name, footprint and processor type are the key;
/// StarPU's
///   history-based models.
/// Cost: predict one look-up under a lock that few share; record the same and, for the first eight
///   times and every fourth after them, medians of 32 numbers; clocks are read around bodies.
/// Needs: nothing of the context.
/// Threading: any operation from any thread; sixteen locks, chosen by the key.
/// Deterministic: yes, for one order of records.
/// Knobs: none.
/// Limits: knows nothing of sizes that it has not seen, and of transfers; forgets all when it goes:
///   `Stored` keeps it.
class History {
public:
  static constexpr bool measures = true;

  /// What is known of one kind of task on one class of worker.
  struct Known {
    std::string type;
    std::uint64_t footprint = 0; // TaskView::footprint
    Arch arch;
    std::size_t bytes = 0;    // of its data
    std::uint64_t count = 0;  // times recorded, ever
    Duration mean;            // of all of them
    Duration median;          // of those that count
    Duration spread;          // the same
    std::uint64_t drifts = 0; // how often older times were forgotten
  };

  static constexpr std::size_t window = 32; // times that count

  /// Times of one kind of task, as they are kept from run to run.
  struct Samples {
    std::string type;
    std::uint64_t footprint = 0;
    Arch arch;
    std::size_t bytes = 0;
    std::uint64_t count = 0;
    double mean_ns = 0; // of all `count`
    std::uint64_t drifts = 0;
    std::vector<Duration> newest; // oldest first, at most `window`

    /// Those of `later` come after these.
    void append(Samples const& later) {
      count += later.count;
      mean_ns += count == 0 ? 0
                            : (later.mean_ns - mean_ns) * static_cast<double>(later.count) /
                                  static_cast<double>(count);
      drifts += later.drifts;
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
    auto const its = shard.kinds.find(key);
    if (its == shard.kinds.end() || its->second.kept < least) {
      return std::nullopt;
    }
    auto const& kind = its->second;
    return Prediction{kind.median, kind.spread, kind.kept};
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    Key const key{task.footprint(), arch};
    auto& shard = shards_[shard_of(key)];
    std::lock_guard const guard(shard.mutex);
    auto& kind = shard.kinds[key];
    if (kind.count == 0) {
      kind.type = task.type;
      kind.bytes = task.bytes();
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
                       kind.count,
                       {static_cast<std::int64_t>(kind.mean + 0.5)},
                       kind.median,
                       kind.spread,
                       kind.drifts});
      }
    }
    std::sort(all.begin(), all.end(), [](Known const& a, Known const& b) {
      return std::tie(a.type, a.footprint, a.arch) < std::tie(b.type, b.footprint, b.arch);
    });
    return all;
  }

private:
  static constexpr std::size_t recent = 8; // those that tell of a drift
  static constexpr std::size_t least = 3;  // before a median is worth anything

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
    std::uint64_t count = 0;
    double mean = 0; // nanoseconds
    std::array<std::int64_t, window> times{};
    std::size_t kept = 0; // of `times`, oldest first
    Duration median;
    Duration spread;
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
      if (kept == window) {
        std::copy(times.begin() + 1, times.end(), times.begin());
        --kept;
      }
      times[kept++] = measured.ns;
      if (count <= recent || count % 4 == 0) {
        forget_if_drifted();
        std::tie(median, spread) = summary(std::span(times).first(kept));
      }
    }

    static void average(double& mean, std::uint64_t count, Duration another) {
      mean += (static_cast<double>(another.ns) - mean) / static_cast<double>(count);
    }

    void restore(Samples const& samples) {
      type = samples.type;
      bytes = samples.bytes;
      count = samples.count;
      mean = samples.mean_ns;
      for (auto const time : samples.newest) {
        times[kept++] = time.ns;
      }
      forget_if_drifted(); // as the run did that recorded the newest
      drifts = samples.drifts;
      fresh = {};
      if (kept != 0) {
        std::tie(median, spread) = summary(std::span(times).first(kept));
      }
    }

    [[nodiscard]] Samples take_fresh(Key key) {
      Samples samples{
          type, key.footprint, key.arch, bytes, fresh.count, fresh.mean, fresh.drifts, {}};
      auto const newest = std::min<std::uint64_t>(fresh.count, kept);
      for (auto k = kept - newest; k < kept; ++k) {
        samples.newest.push_back({times[k]});
      }
      fresh = {};
      return samples;
    }

    /// The newest are apart from the others by more than chance, and by more than a tenth.
    void forget_if_drifted() {
      if (kept < 3 * recent) { // fewer do not tell how wide they scatter
        return;
      }
      auto const all = std::span(times).first(kept);
      auto const [before, width] = summary(all.first(kept - recent));
      auto const [now, ignored] = summary(all.last(recent));
      if (std::abs(now.ns - before.ns) > std::max(4 * width.ns, before.ns / 10)) {
        std::copy(all.end() - recent, all.end(), times.begin());
        kept = recent;
        ++drifts;
        ++fresh.drifts;
      }
    }

    /// Median and spread.
    [[nodiscard]] static std::tuple<Duration, Duration>
    summary(std::span<std::int64_t const> values) {
      std::array<std::int64_t, window> sorted{};
      auto const place = std::span(sorted).first(values.size());
      std::copy(values.begin(), values.end(), place.begin());
      auto const median = middle(place);
      for (auto& value : place) {
        value = std::abs(value - median);
      }
      auto const deviation = 1.4826 * static_cast<double>(middle(place));
      return {Duration{median}, Duration{static_cast<std::int64_t>(deviation + 0.5)}};
    }

    /// The lower of the two in the middle, if there are two.
    [[nodiscard]] static std::int64_t middle(std::span<std::int64_t> values) {
      auto const at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
      std::nth_element(values.begin(), at, values.end());
      return *at;
    }
  };

  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, Kind, Hash> kinds;
  };

  [[nodiscard]] static std::size_t shard_of(Key key) noexcept { return mixed(key) >> 60U; }

  std::array<Shard, 16> shards_;
};

static_assert(perf_model<History>);

} // namespace hetsched::policies
