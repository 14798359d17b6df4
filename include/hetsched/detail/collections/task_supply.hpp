// SPDX-License-Identifier: MIT
#pragma once
// What a rank is short of, and what it releases to thieves.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/local_tasks.hpp>
#include <hetsched/detail/collections/shared_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace hetsched::detail {

/// What this rank is short of.
struct Shortage {
  bool cpu = false;
  bool gpu = false;

  [[nodiscard]] explicit operator bool() const noexcept { return cpu || gpu; }
};

/// The kinds of which a batch had tasks when it was released.
struct BatchKinds {
  bool cpu = false;
  bool gpu = false;
};

/// Which tasks go to a buffer; `gpu` as in LocalTasks.
struct ReleasedKind {
  bool none = false;
  std::optional<bool> gpu = {};
};

/// By the rule, and the tasks that a rank keeps to itself.
class TaskSupply {
public:
  /// All outlive it. `has_gpu`: the rank.
  TaskSupply(StealRule const& rule, LocalTasks const& local, bool has_gpu)
      : rule_(rule), local_(local), has_gpu_(has_gpu) {}

  [[nodiscard]] Shortage shortage() const noexcept {
    bool const all = local_.size() <= few();
    if (!has_gpu_) { // it does tasks of both kinds, first those for a core
      return {.cpu = all, .gpu = all && rule_.trigger == StealTrigger::all};
    }
    bool const cpu = local_.cpu_tasks() <= few();
    bool const gpu = local_.gpu_tasks() <= few();
    switch (rule_.trigger) {
    case StealTrigger::all:
      return {.cpu = all, .gpu = all};
    case StealTrigger::cpu:
      return {.cpu = cpu, .gpu = false};
    case StealTrigger::gpu:
      return {.cpu = false, .gpu = gpu};
    default:
      return {.cpu = cpu, .gpu = gpu};
    }
  }

  /// Tasks without which this rank is not short of others.
  [[nodiscard]] LocalTasks::Most spare() const noexcept {
    auto const left = [this](std::size_t count) {
      return count > few() + 1 ? count - few() - 1 : 0;
    };
    auto const trigger = rule_.trigger;
    bool const by_kind = has_gpu_ && trigger != StealTrigger::all;
    bool const cpu = by_kind && trigger != StealTrigger::gpu;
    bool const gpu = by_kind && trigger != StealTrigger::cpu;
    auto const without_last = local_.empty() ? 0 : local_.size() - 1; // it would be taken back
    return {.all = by_kind ? without_last : left(local_.size()),
            .cpu = cpu ? left(local_.cpu_tasks()) : local_.cpu_tasks(),
            .gpu = gpu ? left(local_.gpu_tasks()) : local_.gpu_tasks()};
  }

  /// What goes to a buffer, of which the rule has one or two.
  [[nodiscard]] ReleasedKind released_kind(std::size_t buffer, Shortage lack) const noexcept {
    if (rule_.queues == StealQueues::two) {
      bool const gpu = buffer == 1;
      return {.none = gpu ? lack.gpu : lack.cpu, .gpu = gpu};
    }
    if (rule_.queues == StealQueues::unsorted || !lack) {
      return {.none = static_cast<bool>(lack)};
    }
    return {.gpu = lack.cpu};
  }

  /// Whether thieves have taken all tasks of one kind from a batch, and those that are left keep
  /// this rank from releasing others of that kind.
  [[nodiscard]] bool
  lacks_kind(BatchState const& state, BatchKinds const& kinds, std::size_t part) const noexcept {
    if (rule_.queues != StealQueues::sorted || state.empty()) {
      return false;
    }
    auto const left = spare();
    std::size_t const least = part == local_.own_part() ? 2 : 1; // see LocalTasks::take_half
    auto const waits = [&](bool gpu) {
      return (gpu ? left.gpu : left.cpu) != 0 && left.all != 0 && local_.count(part, gpu) >= least;
    };
    return (kinds.gpu && state.gpu_tasks() == 0 && waits(true)) ||
           (kinds.cpu && state.cpu_tasks() == 0 && waits(false));
  }

private:
  /// With no more tasks than these it is short of them.
  [[nodiscard]] std::size_t few() const noexcept {
    return static_cast<std::size_t>(std::max(rule_.threshold, 0));
  }

  StealRule const& rule_;
  LocalTasks const& local_;
  bool has_gpu_;
};

} // namespace hetsched::detail
