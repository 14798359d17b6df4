// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: statistics, and the dump that tells people what all threads wait for.

#include <hetsched/detail/threads/thread_core.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

HETSCHED_INLINE std::uint64_t ThreadCore::sum(Counter WorkerCounters::* counter) const noexcept {
  std::uint64_t total = 0;
  for (auto const& worker : crew_.workers) {
    total += (worker.counts.*counter).get();
  }
  return total;
}

HETSCHED_INLINE std::uint64_t ThreadCore::spawned_total() const noexcept {
  return sum(&WorkerCounters::spawned) + outsiders_.spawned.load(std::memory_order_acquire);
}

HETSCHED_INLINE std::uint64_t ThreadCore::completed_total() const noexcept {
  return sum(&WorkerCounters::completed) + outsiders_.completed.load(std::memory_order_acquire);
}

/// Counts what may have changed which tasks a worker can reach: a task was spawned, completed or
/// given back to the scheduler, a body waits, a sync of a datum has ended. Only grows.
HETSCHED_INLINE std::uint64_t ThreadCore::events() const noexcept {
  return spawned_total() + completed_total() + sum(&WorkerCounters::rerun) +
         sum(&WorkerCounters::waits) + waiting_.syncs.load(std::memory_order_relaxed);
}

/// Completions are read first. Both counts only grow, and no task completes before it is spawned.
/// So a difference of 0 proves that all tasks had completed at the first reading.
HETSCHED_INLINE std::uint64_t ThreadCore::live() const noexcept {
  auto const completed = completed_total();
  return spawned_total() - completed;
}

/// Whether all tasks are complete.
HETSCHED_INLINE bool ThreadCore::quiescent() const noexcept {
  return live() == 0;
}

/// Adds the times of one worker to those of others, by name and class. Task types are told apart by
/// name: instances of one template in several translation units are one type.
[[gnu::cold]] inline void add_times(std::vector<TypeStats>& types, ThreadWorker const& worker) {
  for (auto const& entry : worker.times.entries()) {
    std::size_t at = 0;
    while (at != types.size() &&
           (types[at].name < entry.type->name ||
            (types[at].name == entry.type->name && types[at].arch < worker.info.arch))) {
      ++at;
    }
    if (at == types.size() || types[at].name != entry.type->name ||
        types[at].arch != worker.info.arch) {
      types.push_back(
          {std::string(entry.type->name), worker.info.arch, 0, {}, entry.shortest, entry.longest});
      for (std::size_t k = types.size() - 1; k > at; --k) {
        std::swap(types[k], types[k - 1]);
      }
    }
    auto& type = types[at];
    type.count += entry.count;
    type.total += entry.total;
    type.shortest = std::min(type.shortest, entry.shortest);
    type.longest = std::max(type.longest, entry.longest);
  }
}

[[gnu::cold]] HETSCHED_INLINE Stats ThreadCore::stats() const {
  std::lock_guard const guard(stats_base_.mutex);
  auto stats = raw_stats();
  auto subtract = [](auto& value, auto const& base) { value = value - base; };
  subtract(stats.spawned, stats_base_.base.spawned);
  subtract(stats.executed, stats_base_.base.executed);
  subtract(stats.merges, stats_base_.base.merges);
  subtract(stats.steals, stats_base_.base.steals);
  subtract(stats.failed, stats_base_.base.failed);
  subtract(stats.cancelled, stats_base_.base.cancelled);
  subtract(stats.rerun, stats_base_.base.rerun);
  subtract(stats.early, stats_base_.base.early);
  subtract(stats.elapsed, stats_base_.base.elapsed);
  subtract(stats.idle, stats_base_.base.idle);
  subtract(stats.aborted, stats_base_.base.aborted);
  subtract(stats.wasted, stats_base_.base.wasted);
  subtract(stats.kept_bytes, stats_base_.base.kept_bytes);
  for (std::size_t w = 0; w < stats_base_.base.workers.size(); ++w) {
    subtract(stats.workers[w].executed, stats_base_.base.workers[w].executed);
    subtract(stats.workers[w].steals, stats_base_.base.workers[w].steals);
    subtract(stats.workers[w].idle, stats_base_.base.workers[w].idle);
    subtract(stats.workers[w].aborted, stats_base_.base.workers[w].aborted);
    subtract(stats.workers[w].wasted, stats_base_.base.workers[w].wasted);
  }
  for (std::size_t d = 0; d < stats_base_.base.devices.size(); ++d) {
    stats.devices[d].count_from(stats_base_.base.devices[d]);
  }
  return stats;
}

[[gnu::cold]] HETSCHED_INLINE Stats ThreadCore::raw_stats() const {
  Stats stats;
  for (auto const& worker : crew_.workers) {
    Duration const idle{static_cast<std::int64_t>(worker.counts.idle_ns.get())};
    Duration const wasted{static_cast<std::int64_t>(worker.counts.wasted_ns.get())};
    stats.workers.push_back({worker.counts.executed.get(),
                             worker.counts.steals.get(),
                             idle,
                             worker.counts.aborted.get(),
                             wasted,
                             worker.running.load(std::memory_order_relaxed) != nullptr &&
                                 !waiting_.parking.is_asleep(worker.info.id)});
    stats.aborted += worker.counts.aborted.get();
    stats.wasted += wasted;
    stats.kept_bytes += worker.counts.kept_bytes.get();
    stats.executed += worker.counts.executed.get();
    stats.steals += worker.counts.steals.get();
    stats.idle += idle;
  }
  stats.merges = sum(&WorkerCounters::merges) + outsiders_.merges.load(std::memory_order_relaxed);
  auto const rejected =
      sum(&WorkerCounters::rejected) + outsiders_.rejected.load(std::memory_order_relaxed);
  stats.spawned = spawned_total() - stats.merges - rejected;
  stats.failed = sum(&WorkerCounters::failed);
  stats.cancelled = sum(&WorkerCounters::cancelled);
  stats.rerun = sum(&WorkerCounters::rerun);
  stats.early = sum(&WorkerCounters::early);
  stats.elapsed = {clock().ns};
  for (auto const& worker : crew_.workers) {
    add_times(stats.types, worker);
  }
  if (devices_) {
    devices_->add_to(stats);
  }
  return stats;
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::reset_stats() {
  std::lock_guard const guard(stats_base_.mutex);
  for (auto& worker : crew_.workers) {
    worker.times.clear();
  }
  stats_base_.since_ns.store(clock().ns, std::memory_order_relaxed);
  stats_base_.base = raw_stats();
}

[[gnu::cold]] HETSCHED_INLINE std::string ThreadCore::dump(DataRegistry& registry) const {
  std::string text;
  auto line = [&](char const* format, auto... arguments) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, arguments...);
    text.append(buffer).append("\n");
  };
  line("hetsched: %llu tasks live, %zu workers",
       static_cast<unsigned long long>(live()),
       crew_.infos.size());
  for (auto const& worker : crew_.workers) {
    auto const id = worker.info.id;
    auto const* const task = worker.running.load(std::memory_order_acquire);
    auto const* const scope = worker.scope.load(std::memory_order_relaxed);
    bool const vacant = id.value == 0 && waiting_.seating.state() == Seat::free;
    line("  worker %d: %s%s%s%s%s",
         id.value,
         worker.launched.lost.load(std::memory_order_relaxed) ? "its device is lost, " : "",
         vacant                           ? "vacant (no thread is in sync)"
         : waiting_.parking.is_asleep(id) ? "asleep"
         : task != nullptr                ? "running"
                                          : "looking for work",
         task != nullptr ? ", in task " : "",
         task != nullptr ? std::string(task->type_of().name).c_str() : "",
         scope != nullptr ? ", waiting for its children" : "");
  }
  if (auto const aside = waiting_.aside.load(std::memory_order_relaxed); aside != 0) {
    line("  %d threads wait aside, in bodies or for their workers", aside);
  }

  struct Count {
    TaskType const* type;
    TaskState state;
    std::uint64_t tasks;
  };

  Array<Count> counts;
  std::uint64_t ready = 0;
  depot_.for_each_record([&](TaskRecord const& task) {
    auto const state = task.state.load(std::memory_order_relaxed);
    auto const* const type = task.type.load(std::memory_order_relaxed);
    if (state != TaskState::free && type != nullptr) {
      auto* count = counts.begin();
      while (count != counts.end() && (count->type != type || count->state != state)) {
        ++count;
      }
      if (count == counts.end()) {
        counts.push_back({type, state, 0});
        count = &counts.back();
      }
      ++count->tasks;
      ready += state == TaskState::ready ? 1 : 0;
    }
  });
  if (ready != 0) {
    auto const name = policies_->rules().name;
    line("  %llu ready tasks, for a worker to get from scheduler '%.*s'",
         static_cast<unsigned long long>(ready),
         static_cast<int>(name.size()),
         name.data());
  }
  constexpr char const* states[] = {
      "free", "being created", "waiting for data", "ready", "running", "waiting for children"};
  for (auto const& count : counts) {
    line("  %llu x %s: %s",
         static_cast<unsigned long long>(count.tasks),
         std::string(count.type->name).c_str(),
         states[static_cast<int>(count.state)]);
  }
  registry.for_each([&](DataRecord& record) {
    std::lock_guard const guard(record.home.lock);
    auto const& queue = record.home;
    if (queue.active != 0 || queue.waiting != 0) {
      auto const* const first = queue.head;
      line("  %s: held by %u in mode %s, awaited by %u%s%s",
           record.describe().c_str(),
           queue.active,
           to_string(queue.active_mode),
           queue.waiting,
           first != nullptr ? ", first " : "",
           first != nullptr ? std::string(task_of(*queue.head).type_of().name).c_str() : "");
    }
  });
  return text;
}

} // namespace hetsched::detail
