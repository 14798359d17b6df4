// SPDX-License-Identifier: MIT
#pragma once
// How long tasks take in virtual time.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

/// One task type on a platform.
struct TypeEntry {
  std::string name;                                  // a copy, because a graph's types do not stay
  std::array<std::optional<Duration>, max_archs> on; // mean of the class; nothing: cannot run
  ArchMask archs;
  std::array<double, max_archs> factor; // the factor of Noise::per_type
  double flops;                         // of the platform's kernel; 0: unknown

  struct Executed {
    std::uint64_t count = 0;
    Duration total;
    Duration shortest;
    Duration longest;
  };

  std::array<Executed, max_archs> executed; // since the statistics were reset

  /// Called twice a task. The comparison of std::string_view would be a call in addition to memcmp.
  [[nodiscard]] bool is_of(TaskType const& type) const noexcept {
    return name.size() == type.name.size() &&
           std::memcmp(name.data(), type.name.data(), name.size()) == 0;
  }

  void count(Arch arch, Duration time) noexcept {
    auto& done = executed[arch.index];
    done.shortest = done.count == 0 ? time : std::min(done.shortest, time);
    done.longest = std::max(done.longest, time);
    ++done.count;
    done.total += time;
  }
};

/// The platform's times by task type, looked up once for each, and the noise on them.
class KernelTimes {
public:
  explicit KernelTimes(Simulation const& config)
      : config_(config), library_(config.library), noise_(config.seed ^ 0x6e6f697365U) {}

  /// Throws Error(cannot_run) naming the type if no worker of the platform has a time for it.
  TypeEntry& learn(TaskType const& type) {
    for (auto& entry : entries_) {
      if (entry.is_of(type)) {
        return entry;
      }
    }
    return add(type);
  }

  /// The entry of a task that was spawned.
  [[nodiscard]] TypeEntry const& of(TaskType const& type) const noexcept {
    return const_cast<KernelTimes&>(*this).of(type);
  }

  [[nodiscard]] TypeEntry& of(TaskType const& type) noexcept {
    auto* entry = &entries_.front();
    for (auto& candidate : entries_) {
      if (candidate.is_of(type)) {
        entry = &candidate;
        break;
      }
    }
    return *entry;
  }

  /// The mean time of a task on a class that can run it: that of its type, in proportion to the
  /// task's work if that and the kernel's are known. `view` makes the task's view.
  template <class View>
  [[nodiscard]] Duration
  mean(TypeEntry const& entry, Arch arch, float flops, View const& view) const {
    auto of_type = *entry.on[arch.index];
    if (flops > 0 && entry.flops > 0) [[unlikely]] {
      of_type = in_proportion(of_type, static_cast<double>(flops) / entry.flops);
    }
    return config_.task_time ? std::max(Duration{1}, config_.task_time(view(), arch, of_type))
                             : of_type;
  }

  /// The time of one execution.
  template <class View>
  [[nodiscard]] Duration draw(TypeEntry const& entry, Arch arch, float flops, View const& view) {
    auto const mean = this->mean(entry, arch, flops, view);
    if (config_.noise == 0) {
      return mean;
    }
    auto const factor =
        config_.noise_is == Simulation::Noise::per_task ? draw_factor() : entry.factor[arch.index];
    auto const ns = static_cast<std::int64_t>(static_cast<double>(mean.ns) * factor + 0.5);
    return {std::max<std::int64_t>(1, ns)};
  }

  /// Adds the executions since the beginning or the last reset.
  void add_to(Stats& stats) const {
    for (auto const& entry : entries_) {
      for (std::size_t a = 0; a < entry.executed.size(); ++a) {
        if (auto const& done = entry.executed[a]; done.count != 0) {
          stats.types.push_back({entry.name,
                                 Arch{static_cast<std::uint8_t>(a)},
                                 done.count,
                                 done.total,
                                 done.shortest,
                                 done.longest});
        }
      }
    }
  }

  void reset_stats() noexcept {
    for (auto& entry : entries_) {
      entry.executed = {};
    }
  }

private:
  [[nodiscard]] static Duration in_proportion(Duration time, double share) noexcept {
    constexpr double most = 9e18;
    auto const ns = std::min(most, static_cast<double>(time.ns) * share + 0.5);
    return {std::max<std::int64_t>(1, static_cast<std::int64_t>(ns))};
  }

  /// From 1 - noise to 1 + noise.
  [[nodiscard]] double draw_factor() noexcept {
    auto const unit = static_cast<double>(noise_.next() >> 11U) * 0x1p-53;
    return 1 + config_.noise * (2 * unit - 1);
  }

  TypeEntry& add(TaskType const& type) {
    auto const& platform = config_.platform;
    auto const* kernel = find(type.name);
    auto const flops = kernel != nullptr ? kernel->flops.value_or(0) : 0;
    TypeEntry entry{std::string(type.name), {}, {}, {}, flops, {}};
    for (std::size_t c = 0; kernel != nullptr && c < platform.classes.size(); ++c) {
      auto const arch = platform.classes[c].arch;
      if (auto const time = kernel->on(c); time && platform.classes[c].workers > 0) {
        entry.on[arch.index] = time->mean;
        entry.archs = entry.archs | ArchMask::only(arch);
      }
      entry.factor[arch.index] = draw_factor();
    }
    if (entry.archs.bits == 0) {
      throw Error(ErrorCode::cannot_run,
                  "task '" + std::string(type.name) + "'",
                  "no worker of platform '" + platform.name + "' has a time for it (algorithm '" +
                      config_.algorithm + "', tiles of " + std::to_string(config_.tile) +
                      (library_.empty() ? "" : ", library '" + library_ + "'") + ")");
    }
    return entries_.emplace_back(std::move(entry));
  }

  [[nodiscard]] Platform::Kernel const* find(std::string_view name) {
    auto const& platform = config_.platform;
    if (library_.empty()) {
      auto const found = platform.libraries(
          {std::string(name)}, config_.algorithm, config_.precision, config_.tile);
      if (found.empty()) {
        return nullptr;
      }
      library_ = found.front();
    }
    return platform.find(name, config_.algorithm, config_.precision, config_.tile, library_);
  }

  Simulation const& config_;
  std::string library_;
  RandomStream noise_;
  std::deque<TypeEntry> entries_;
};

} // namespace hetsched::detail
