// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: statistics, recording and explanations.

#include <hetsched/detail/virtual_time/virtual_core.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace hetsched::detail {

inline void VirtualCore::watch_pushed(std::span<TaskId const> tasks) {
  for (auto const task : tasks) {
    if (recorder_) {
      recorder_->ready(no_worker, task, clock_.now());
    }
    if (explainer_.on()) {
      explainer_.ready(Context(*this), task);
    }
  }
}

inline void VirtualCore::watch_taken(TaskId task, WorkerId worker, bool stolen) {
  auto const now = clock_.now();
  if (recorder_) {
    recorder_->taken(no_worker, worker, task, {now, now, stolen});
  }
  if (explainer_.on()) {
    explainer_.taken(task, worker, now);
  }
}

/// The worker's task ends now.
inline void VirtualCore::report_execution(TaskRecord const& task, WorkerId worker, bool aborted) {
  auto const& state = workers_[worker.index()];
  auto const now = clock_.now();
  if (auto const& on_task = machine_.config().on_task) {
    on_task({task.type_of().name,
             task.label_text(),
             state.number,
             worker,
             state.begin,
             now,
             aborted,
             task.graph_node});
  }
  if (recorder_ && aborted) {
    recorder_->aborted(no_worker, worker, task.id(), state.begin, now);
  } else if (recorder_) {
    recorder_->ran(no_worker, worker, task.id(), {}, state.begin, now, TaskOutcome::done);
  }
}

inline Stats VirtualCore::stats() const {
  auto const now = clock_.now();
  Stats stats;
  stats.spawned = counts_.spawned;
  stats.merges = counts_.merges;
  stats.cancelled = counts_.cancelled;
  stats.early = counts_.early;
  stats.elapsed = now - counts_.since;
  stats.deciding = counts_.deciding;
  for (auto const& worker : workers_) {
    auto const running =
        worker.running != nullptr ? now - std::max(worker.begin, counts_.since) : Duration{};
    auto const idle = stats.elapsed - worker.busy - running;
    stats.workers.push_back({worker.executed, worker.steals, idle, worker.aborted, worker.wasted});
    stats.executed += worker.executed;
    stats.steals += worker.steals;
    stats.idle += idle;
    stats.aborted += worker.aborted;
    stats.wasted += worker.wasted;
  }
  if (memory_) {
    memory_->add_to(stats);
    for (std::size_t d = 0; d < counts_.devices_before.size(); ++d) {
      stats.devices[d].count_from(counts_.devices_before[d]);
    }
  }
  machine_.times().add_to(stats);
  return stats;
}

inline void VirtualCore::reset_stats() {
  counts_ = {};
  counts_.since = clock_.now();
  if (memory_) {
    Stats counted;
    memory_->add_to(counted);
    counts_.devices_before = std::move(counted.devices);
  }
  for (auto& worker : workers_) {
    worker.executed = worker.steals = worker.aborted = 0;
    worker.busy = worker.wasted = {};
  }
  machine_.times().reset_stats();
}

inline std::string VirtualCore::dump(DataRegistry&) const {
  auto text = "virtual time " + std::to_string(clock_.now().ns) + " ns, " +
              std::to_string(tasks_.live()) + " tasks not complete, " + std::to_string(waiting_) +
              " with the scheduler\n";
  for (auto const& info : workers()) {
    auto const& worker = workers_[info.id.index()];
    text +=
        "worker " + std::to_string(info.id.value) + ": " +
        (worker.running != nullptr ? "'" + std::string(worker.running->type_of().name) +
                                         "' until " + std::to_string(worker.end.ns)
                                   : std::string(running(info.id) ? "waits for data" : "idle")) +
        "\n";
  }
  return text;
}

} // namespace hetsched::detail
