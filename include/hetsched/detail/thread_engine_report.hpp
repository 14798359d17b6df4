// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: statistics and the dump for a person who wonders what everybody waits for.

#include <hetsched/detail/thread_engine.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace hetsched::detail {

/// Adds the times of one worker to those of others. Task types are told apart by name: instances of
/// one template in several translation units are one type.
template <class Workers>
[[nodiscard]] std::vector<TypeStats> merge_times(Workers const& workers) {
  std::vector<TypeStats> types;
  for (auto const& worker : workers) {
    for (auto const& entry : worker.times.entries()) {
      auto it = types.begin();
      while (it != types.end() && (it->name < entry.type->name ||
                                   (it->name == entry.type->name && it->arch < worker.info.arch))) {
        ++it;
      }
      if (it == types.end() || it->name != entry.type->name || it->arch != worker.info.arch) {
        it = types.insert(it,
                          TypeStats{std::string(entry.type->name),
                                    worker.info.arch,
                                    0,
                                    {},
                                    entry.shortest,
                                    entry.longest});
      }
      it->count += entry.count;
      it->total += entry.total;
      it->shortest = std::min(it->shortest, entry.shortest);
      it->longest = std::max(it->longest, entry.longest);
    }
  }
  return types;
}

template <class S, class C, class P>
Stats ThreadCore<S, C, P>::stats() const {
  std::lock_guard const guard(stats_mutex_);
  auto stats = raw_stats();
  auto subtract = [](auto& value, auto const& base) { value = value - base; };
  subtract(stats.spawned, stats_base_.spawned);
  subtract(stats.executed, stats_base_.executed);
  subtract(stats.merges, stats_base_.merges);
  subtract(stats.steals, stats_base_.steals);
  subtract(stats.failed, stats_base_.failed);
  subtract(stats.cancelled, stats_base_.cancelled);
  subtract(stats.rerun, stats_base_.rerun);
  subtract(stats.early, stats_base_.early);
  subtract(stats.elapsed, stats_base_.elapsed);
  subtract(stats.idle, stats_base_.idle);
  subtract(stats.aborted, stats_base_.aborted);
  subtract(stats.wasted, stats_base_.wasted);
  subtract(stats.kept_bytes, stats_base_.kept_bytes);
  for (std::size_t w = 0; w < stats_base_.workers.size(); ++w) {
    subtract(stats.workers[w].executed, stats_base_.workers[w].executed);
    subtract(stats.workers[w].steals, stats_base_.workers[w].steals);
    subtract(stats.workers[w].idle, stats_base_.workers[w].idle);
    subtract(stats.workers[w].aborted, stats_base_.workers[w].aborted);
    subtract(stats.workers[w].wasted, stats_base_.workers[w].wasted);
  }
  for (std::size_t d = 0; d < stats_base_.devices.size(); ++d) {
    stats.devices[d].count_from(stats_base_.devices[d]);
  }
  return stats;
}

template <class S, class C, class P>
Stats ThreadCore<S, C, P>::raw_stats() const {
  Stats stats;
  for (auto const& worker : workers_) {
    Duration const idle{static_cast<std::int64_t>(worker.idle_ns.get())};
    Duration const wasted{static_cast<std::int64_t>(worker.wasted_ns.get())};
    stats.workers.push_back({worker.executed.get(),
                             worker.steals.get(),
                             idle,
                             worker.aborted.get(),
                             wasted,
                             worker.running.load(std::memory_order_relaxed) != nullptr});
    stats.aborted += worker.aborted.get();
    stats.wasted += wasted;
    stats.kept_bytes += worker.kept_bytes.get();
    stats.executed += worker.executed.get();
    stats.steals += worker.steals.get();
    stats.idle += idle;
  }
  stats.merges = sum(&ThreadWorker::merges) + outside_merges_.load(std::memory_order_relaxed);
  auto const rejected =
      sum(&ThreadWorker::rejected) + outside_rejected_.load(std::memory_order_relaxed);
  stats.spawned = spawned_total() - stats.merges - rejected;
  stats.failed = sum(&ThreadWorker::failed);
  stats.cancelled = sum(&ThreadWorker::cancelled);
  stats.rerun = sum(&ThreadWorker::rerun);
  stats.early = sum(&ThreadWorker::early);
  stats.elapsed = {clock().ns};
  stats.types = merge_times(workers_);
  if (devices_) {
    devices_->add_to(stats);
  }
  return stats;
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::reset_stats() {
  std::lock_guard const guard(stats_mutex_);
  for (auto& worker : workers_) {
    worker.times.clear();
  }
  stats_since_ns_.store(clock().ns, std::memory_order_relaxed);
  stats_base_ = raw_stats();
}

template <class S, class C, class P>
std::string ThreadCore<S, C, P>::dump(DataRegistry& registry) const {
  std::string text;
  auto line = [&](char const* format, auto... arguments) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, arguments...);
    text.append(buffer).append("\n");
  };
  line("hetsched: %llu tasks live, %zu workers",
       static_cast<unsigned long long>(live()),
       infos_.size());
  for (auto const& worker : workers_) {
    auto const id = worker.info.id;
    auto const* const task = worker.running.load(std::memory_order_acquire);
    auto const* const scope = worker.scope.load(std::memory_order_relaxed);
    bool const vacant = id.value == 0 && seat_.load(std::memory_order_relaxed) == Seat::free;
    line("  worker %d: %s%s%s%s",
         id.value,
         vacant                   ? "vacant (no thread is in sync)"
         : parking_.is_asleep(id) ? "asleep"
         : task != nullptr        ? "running"
                                  : "looking for work",
         task != nullptr ? ", in task " : "",
         task != nullptr ? std::string(task->type_of().name).c_str() : "",
         scope != nullptr ? ", waiting for its children" : "");
  }

  struct Count {
    TaskType const* type;
    TaskState state;
    std::uint64_t tasks;
  };

  std::vector<Count> counts;
  depot_.for_each_record([&](TaskRecord const& task) {
    auto const state = task.state.load(std::memory_order_relaxed);
    auto const* const type = task.type.load(std::memory_order_relaxed);
    if (state != TaskState::free && type != nullptr) {
      auto it = counts.begin();
      while (it != counts.end() && (it->type != type || it->state != state)) {
        ++it;
      }
      if (it == counts.end()) {
        it = counts.insert(it, {type, state, 0});
      }
      ++it->tasks;
    }
  });
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

template <class Scheduler, class Cache, class PerfModel>
Site ThreadCore<Scheduler, Cache, PerfModel>::site_of(Config const& config) const {
  Site site{
      config.model_dir,
      config.machine.empty() ? host_name() : config.machine,
      {{ArchHost,
        "cpu",
        placement_.group == 1 ? cpu_model()
                              : cpu_model() + ", " + std::to_string(placement_.group) + " cores"}},
      device_count()};
  if (devices_) {
    Stats named;
    devices_->add_to(named);
    std::string hardware;
    for (auto const& device : named.devices) {
      if (hardware.find(device.name) == std::string::npos) {
        hardware += (hardware.empty() ? "" : " + ") + device.name;
      }
    }
    site.classes.push_back({ArchCUDA, "cuda", hardware});
  }
  return site;
}

} // namespace hetsched::detail
