// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: start and end, and rare questions of contexts.

#include <hetsched/detail/engine/device_rules.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE
Crew::Crew(Config const& config, int devices, void* core, TaskDepot& depot)
    : placement(place_workers(config, devices)),
      infos(static_cast<std::size_t>(placement.workers + devices),
            [&](std::size_t w) {
              auto const worker = static_cast<std::int32_t>(w);
              auto const device = worker - placement.workers;
              return device < 0 ? WorkerInfo{WorkerId{worker},
                                             ArchHost,
                                             host_node,
                                             placement.cpu_of(worker),
                                             placement.group}
                                : WorkerInfo{WorkerId{worker},
                                             ArchCUDA,
                                             NodeId{device + 1},
                                             placement.cpu_of_device(device)};
            }),
      present([&] {
        ArchMask archs;
        for (auto const& info : infos) {
          archs = archs | ArchMask::only(info.arch);
        }
        return archs;
      }()),
      one_class(std::has_single_bit(present.bits)), workers(infos.size(), [&](std::size_t w) {
        RandomStream seeds(config.seed.value_or(1) + 1000003U * (w + 1));
        return ThreadWorker(core, infos[w], depot, seeds.next());
      }) {
}

[[gnu::cold]] HETSCHED_INLINE
ThreadCore::ThreadCore(Config const& config, void* runtime, CacheKind const& cache)
    : runtime_(runtime),
      devices_(open_devices(config,
                            cache,
                            {this,
                             [](void const* core, std::size_t bytes, NodeId from, NodeId to) {
                               return static_cast<ThreadCore const*>(core)->transfer(
                                   bytes, from, to);
                             }})),
      crew_(config, device_count(), this, depot_),
      recorder_(open_recorder({config.trace,
                               config.record,
                               config.trace_memory.value_or(default_trace_memory),
                               config.reuse_profile},
                              crew_.infos.size())),
      timing_(config.timing.value_or(false)), notes_spawns_(devices_ || recorder_),
      max_live_(config.max_live_tasks.value_or(0)),
      when_stolen_(config.dependencies == Dependencies::when_stolen),
      explainer_(config.explain, explanations_factory),
      waiting_(static_cast<int>(crew_.infos.size())), outsiders_(depot_, config.seed.value_or(1)),
      reuse_indices_(open_reuse_indices(config.reuse_profile, recorder_.get())) {
  if (config.check == Check::access) {
    char const* const refusal =
        access_check != nullptr
            ? access_check->refusal()
            : "access needs `#include <hetsched/checking.hpp>` in one of the program's files";
    if (refusal != nullptr) {
      throw Error(ErrorCode::bad_config, "HETSCHED_CHECK", refusal);
    }
  }
  if (when_stolen_ && backlogs == nullptr) {
    throw Error(ErrorCode::bad_config,
                "HETSCHED_DEPENDENCIES",
                "when_stolen needs `#include <hetsched/when_stolen.hpp>` in one of the program's "
                "files");
  }
  if (recorder_) {
    explainer_.watch();
    if (devices_) {
      devices_->record(*recorder_, start_ns_);
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE ThreadCore::~ThreadCore() = default;

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::check_accesses(DataRegistry& registry) noexcept {
  checked_ = &registry;
  accesses_are_checked.store(true, std::memory_order_relaxed);
  registry.tell_forgotten(access_check->forgotten);
  attention_ |= attention_check;
  for (auto& worker : crew_.workers) {
    worker.attention = attention_;
  }
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::start(PolicyPort& policies) {
  policies_ = &policies;
  if (devices_) {
    devices_->foretell_by(oracle_of(policies));
  }
  if (timing_ || recorder_ || policies.measures()) {
    attention_ |= attention_clock;
  }
  if (policies.has(hook_prologue) || policies.has(hook_epilogue) || policies.has(hook_reconsider)) {
    attention_ |= attention_hooks;
  }
  if (when_stolen_ && backlogs->possible(*this)) {
    attention_ |= attention_backlog;
    watches_spawns_ = true;
  }
  try {
    for (auto& worker : crew_.workers) {
      worker.attention = attention_;
      if (worker.drives_device()) { // tasks that have left the window count until that was told
        auto const& window = devices_->window(worker.info.node);
        worker.launched.tasks.reserve(2 * std::max(window.length(), window.streams() + 2) + 1);
        worker.launched.successors.prepare();
      }
      if (auto const cpus = crew_.placement.cpus_beside(worker.info.id.value);
          worker.info.cores > 1 && team_factory != nullptr) {
        worker.team = Owned<TeamPort>(team_factory(cpus.data(), static_cast<int>(cpus.size())));
      }
    }
    for (auto& worker : crew_.workers) {
      if (worker.info.id.value != 0) {
        worker.thread.start(&run_worker, &worker);
      }
    }
  } catch (...) {
    stop();
    throw;
  }
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::stop() noexcept {
  waiting_.stopping.store(true, std::memory_order_seq_cst);
  for (auto& worker : crew_.workers) {
    waiting_.parking.unpark(worker.info.id, WakeReason::condition);
    worker.thread.join();
  }
  stand_ins_.stop();
}

/// A worker's thread from its beginning to its end.
[[gnu::cold]] HETSCHED_INLINE void* ThreadCore::run_worker(void* argument) {
  auto& worker = *static_cast<ThreadWorker*>(argument);
  auto& core = *static_cast<ThreadCore*>(worker.core);
  bind_this_thread(worker.info.cpu);
  ThreadStateGuard const state({&core, &worker, nullptr, nullptr, nullptr});
  if (worker.drives_device()) {
    core.devices_->drive(core, worker);
    return nullptr;
  }
  auto const stopping = [&core] { return core.waiting_.stopping.load(std::memory_order_seq_cst); };
  core.work_until(worker, Condition::that(stopping));
  return nullptr;
}

[[gnu::cold]] HETSCHED_INLINE std::size_t ThreadCore::free_bytes(NodeId node) const {
  return node == host_node ? std::numeric_limits<std::size_t>::max() : devices_->unused(node);
}

[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::has_record(TaskId id) const {
  return depot_.has_record(id);
}

HETSCHED_INLINE Instant ThreadCore::busy_until(WorkerId worker) const noexcept {
  auto const& asked = crew_.workers[worker.index()];
  Instant const until{asked.busy_until_ns.load(std::memory_order_relaxed)};
  auto const since = asked.busy_since_ns.load(std::memory_order_relaxed);
  if (since == 0) [[likely]] {
    return until;
  }
  auto const now = clock();
  return until > now ? until : now + Duration{now.ns - since};
}

HETSCHED_INLINE bool ThreadCore::can_run_here(TaskRecord const& task,
                                              ThreadWorker const& worker) const noexcept {
  if (!ArchMask{task.archs.load(std::memory_order_relaxed)}.has(worker.info.arch) ||
      is_kept_from(worker, task)) {
    return false;
  }
  if (worker.launched.lost.load(std::memory_order_seq_cst)) [[unlikely]] {
    return takes_though_lost(task, worker); // it waits in no sync: no scope
  }
  auto const* const scope = worker.scope.load(std::memory_order_relaxed);
  return scope == nullptr || task.parent.load(std::memory_order_relaxed) == scope ||
         descends(task, scope);
}

[[gnu::cold]] HETSCHED_INLINE Site ThreadCore::site_of(Config const& config) const {
  auto const cores = crew_.placement.group;
  auto const cpu = cores == 1 ? cpu_model() : text("%s, %d cores", cpu_model().c_str(), cores);
  Site site{config.model_dir,
            config.machine.empty() ? host_name() : config.machine,
            {{ArchHost, "cpu", cpu}},
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
