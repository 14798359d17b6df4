// SPDX-License-Identifier: MIT
#pragma once
// A context for tests: a test sets workers, tasks and times, and calls the hooks itself.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hetsched::testing {

/// SplitMix64's output function (Steele, Lea and Flood 2014): a bijection that looks random.
[[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

inline constexpr std::uint64_t scramble_step = 0x9e3779b97f4a7c15U;

/// A task of the script.
struct ScriptedTask {
  std::int32_t priority = 0;
  ArchMask archs = ArchMask::only(ArchHost);
  std::uint32_t group = 0; // see ScriptedContext::restrict_to
  std::int32_t graph_node = -1;
  std::string label{};
  std::vector<ArgumentView> arguments{};
  Duration transfer{}; // to any node but host memory
  bool abortable = false;
  std::string type = "scripted";
  bool spawns = false;
};

/// Satisfies `context` and `memory_context`. Any thread may call const members at any time, and
/// also restrict_to, forbid, permit, finish and the setters. `add` and `predict` may only be called
/// while no other call runs. At most 64 workers.
class ScriptedContext {
public:
  /// Worker k is of class `archs[k]`. Hosts address node 0, and each other worker its own node.
  explicit ScriptedContext(std::vector<Arch> const& archs, std::uint64_t seed = 1)
      : slots_(std::make_unique<Slot[]>(archs.size() + 1)), seed_(seed) {
    nodes_.push_back({host_node, 0});
    for (auto const arch : archs) {
      auto const id = static_cast<std::int32_t>(infos_.size());
      auto node = host_node;
      if (arch != ArchHost) {
        node = NodeId{static_cast<std::int32_t>(nodes_.size())};
        nodes_.push_back({node, std::size_t{1} << 30U});
      }
      infos_.push_back({WorkerId{id}, arch, node, -1});
    }
    for (std::size_t k = 0; k <= archs.size(); ++k) {
      slots_[k].random.store(scramble(seed + k * scramble_step), std::memory_order_relaxed);
    }
  }

  // ---- the script ----

  TaskId add(ScriptedTask task) {
    auto& entry = tasks_.emplace_back();
    entry.task = std::move(task);
    return id_of(tasks_.size() - 1);
  }

  /// The worker waits in a task: until group 0 lifts this, it can run only tasks of this group.
  void restrict_to(WorkerId worker, std::uint32_t group) noexcept {
    slots_[worker.index()].group.store(group, std::memory_order_seq_cst);
  }

  [[nodiscard]] std::uint32_t restricted_to(WorkerId worker) const noexcept {
    return slots_[worker.index()].group.load(std::memory_order_seq_cst);
  }

  void forbid(TaskId task, WorkerId worker) noexcept {
    find(task)->forbidden.fetch_or(std::uint64_t{1} << worker.index());
  }

  void permit(TaskId task, WorkerId worker) noexcept {
    find(task)->forbidden.fetch_and(~(std::uint64_t{1} << worker.index()));
  }

  /// The task's epilogue has returned. Its view must not be asked for any more.
  void finish(TaskId task) noexcept { find(task)->finished.store(true); }

  void set_now(Instant now) noexcept { now_.store(now.ns); }

  void set_running(WorkerId worker, TaskId task) noexcept {
    slots_[worker.index()].running.store(task.value);
  }

  void set_busy_until(WorkerId worker, Instant until) noexcept {
    slots_[worker.index()].busy_until.store(until.ns);
  }

  /// From now on so many bytes of the memory node are in use.
  void set_used_bytes(NodeId node, std::size_t bytes) noexcept {
    slots_[static_cast<std::size_t>(node.value)].used_bytes.store(bytes);
  }

  /// From now on `predicted` returns `mean` for the task on workers of this class.
  void predict(TaskId task, Arch arch, Duration mean) noexcept {
    find(task)->predicted[arch.index] = mean;
  }

  // ---- questions of a test ----

  [[nodiscard]] std::size_t task_count() const noexcept { return tasks_.size(); }

  /// The task that was added after `index` other tasks.
  [[nodiscard]] TaskId task_id(std::size_t index) const noexcept { return id_of(index); }

  /// Position of a task in the order of `add`; no value for an id that was never given out.
  [[nodiscard]] std::optional<std::size_t> number(TaskId task) const noexcept {
    auto const index = (task.value & address_bits) / 64 - 1;
    return index < tasks_.size() && id_of(index) == task ? std::optional(index) : std::nullopt;
  }

  /// How often the view of a finished or unknown task was asked for. 0 if the contract is kept.
  [[nodiscard]] std::uint64_t stale_views() const noexcept { return stale_views_.load(); }

  // ---- the concepts ----

  [[nodiscard]] Instant now() const noexcept { return {now_.load()}; }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return infos_; }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return nodes_; }

  [[nodiscard]] bool can_run(TaskId task, WorkerId worker) const noexcept {
    auto const* const entry = find(task);
    if (entry == nullptr || !entry->task.archs.has(infos_[worker.index()].arch) ||
        ((entry->forbidden.load() >> worker.index()) & 1U) != 0) {
      return false;
    }
    auto const group = restricted_to(worker);
    return group == 0 || group == entry->task.group;
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const noexcept {
    auto& stream = slots_[worker ? worker.index() : infos_.size()].random;
    return scramble(stream.fetch_add(scramble_step, std::memory_order_relaxed));
  }

  [[nodiscard]] TaskView task(TaskId task) const {
    TaskView view;
    auto const* const entry = find(task);
    if (entry == nullptr || entry->finished.load()) {
      stale_views_.fetch_add(1);
      return view;
    }
    view.type = entry->task.type;
    view.label = entry->task.label;
    view.priority = entry->task.priority;
    view.archs = entry->task.archs;
    view.graph_node = entry->task.graph_node;
    view.abortable = entry->task.abortable;
    view.spawns = entry->task.spawns;
    view.arguments = entry->task.arguments.size();
    view.set_source(entry, [](void const* source, std::size_t i) {
      return static_cast<Entry const*>(source)->task.arguments[i];
    });
    return view;
  }

  [[nodiscard]] std::optional<Prediction> predicted(TaskId task, WorkerId worker) const noexcept {
    auto const* const entry = find(task);
    auto const mean =
        entry == nullptr ? std::nullopt : entry->predicted[infos_[worker.index()].arch.index];
    return mean ? std::optional(Prediction{*mean, {}, 0}) : std::nullopt;
  }

  [[nodiscard]] Duration transfer(TaskId task, WorkerId worker) const noexcept {
    auto const* const entry = find(task);
    return entry == nullptr || infos_[worker.index()].node == host_node ? Duration{}
                                                                        : entry->task.transfer;
  }

  [[nodiscard]] TaskId running(WorkerId worker) const noexcept {
    return {slots_[worker.index()].running.load()};
  }

  [[nodiscard]] Instant busy_until(WorkerId worker) const noexcept {
    Instant const until{slots_[worker.index()].busy_until.load()};
    return until > now() ? until : now();
  }

  [[nodiscard]] std::size_t valid_bytes(TaskId task, NodeId node) const noexcept {
    std::size_t bytes = 0;
    if (auto const* const entry = find(task)) {
      for (auto const& argument : entry->task.arguments) {
        bytes += argument.valid_at(node) ? argument.bytes : 0;
      }
    }
    return bytes;
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const noexcept {
    auto const capacity = nodes_[static_cast<std::size_t>(node.value)].capacity_bytes;
    auto const used = slots_[static_cast<std::size_t>(node.value)].used_bytes.load();
    return capacity == 0 ? std::numeric_limits<std::size_t>::max()
                         : capacity - std::min(capacity, used);
  }

private:
  static constexpr std::uint64_t address_bits = (std::uint64_t{1} << 48U) - 1;

  struct Entry {
    ScriptedTask task;
    std::array<std::optional<Duration>, max_archs> predicted;
    std::atomic<std::uint64_t> forbidden{0}; // one bit per worker
    std::atomic<bool> finished{false};
  };

  struct Slot { // one per worker, and one for outside threads; memory nodes are no more
    std::atomic<std::uint64_t> random{0};
    std::atomic<std::uint64_t> running{0};
    std::atomic<std::int64_t> busy_until{0};
    std::atomic<std::uint32_t> group{0};
    std::atomic<std::size_t> used_bytes{0}; // of the memory node of that number
  };

  /// An id like an engine's: a generation above something like an address, neither small nor dense.
  [[nodiscard]] TaskId id_of(std::size_t index) const noexcept {
    auto const generation = scramble(seed_ + index) >> 48U;
    return {generation << 48U | (static_cast<std::uint64_t>(index) + 1) * 64};
  }

  [[nodiscard]] Entry const* find(TaskId task) const noexcept {
    auto const index = number(task);
    return index ? &tasks_[*index] : nullptr;
  }

  [[nodiscard]] Entry* find(TaskId task) noexcept {
    auto const index = number(task);
    return index ? &tasks_[*index] : nullptr;
  }

  std::vector<WorkerInfo> infos_;
  std::vector<NodeInfo> nodes_;
  std::deque<Entry> tasks_; // entries stay where they are
  std::unique_ptr<Slot[]> slots_;
  std::uint64_t seed_;
  std::atomic<std::int64_t> now_{0};
  mutable std::atomic<std::uint64_t> stale_views_{0};
};

static_assert(context<ScriptedContext> && memory_context<ScriptedContext>);

} // namespace hetsched::testing
