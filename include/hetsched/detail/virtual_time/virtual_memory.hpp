// SPDX-License-Identifier: MIT
#pragma once
// The devices of virtual time: their memories, the windows of their workers, and transfers.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/engine/devices.hpp>
#include <hetsched/detail/engine/known_data.hpp>
#include <hetsched/detail/memory/memory_trace.hpp>
#include <hetsched/detail/recording/recorded_memory.hpp>
#include <hetsched/detail/virtual_time/virtual_transfers.hpp>
#include <hetsched/detail/virtual_time/virtual_windows.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Brings tasks their data, as DeviceSet does for threads, with the same state machine of memory
/// nodes. Transfers take the times of VirtualLinks. The engine tells it when time passes. It knows
/// tasks and nodes, but no worker and no scheduler.
///
/// Aborted tasks change no data. Tasks write to other places, which replace their data when the
/// tasks end. These places take no room here.
///
/// Data that a partition, a join or the end of a handle needs in host memory are there at once, in
/// no time, because no thread could wait for them.
class VirtualMemory final : public ReplicaKeeper {
public:
  /// `aborts`: tasks may be aborted.
  VirtualMemory(Simulation const& config,
                CacheKind const& cache,
                std::span<NodeInfo const> nodes,
                bool aborts)
      : aborts_(aborts),
        nodes_(cache,
               capacities_of(nodes),
               {this,
                [](void const* self, std::size_t bytes, NodeId from, NodeId to) {
                  return static_cast<VirtualMemory const*>(self)->time(bytes, from, to);
                }}),
        windows_(nodes_, nodes.size() - 1, now_),
        transfers_(config, nodes_, windows_, nodes.size() - 1, now_) {
    if (!config.memory_trace.empty()) {
      nodes_.observe(&trace_.emplace(config.memory_trace, "Simulation::memory_trace"));
    }
    for (auto const& from : nodes.subspan(1)) {
      names_.push_back(config.platform.nodes[static_cast<std::size_t>(from.id.value)].name);
      for (auto const& to : nodes.subspan(1)) {
        if (from.id != to.id) {
          nodes_.connect(from.id, to.id);
          if (trace_) {
            trace_->peers(from.id, to.id);
          }
        }
      }
    }
  }

  VirtualMemory(VirtualMemory const&) = delete;
  VirtualMemory& operator=(VirtualMemory const&) = delete;

  ~VirtualMemory() {
    while (auto* const datum = nodes_.first()) {
      forget(datum);
    }
  }

  /// Records admissions, transfers and evictions. To be called before the first of them.
  void record(Recorder& recorder) {
    windows_.record(recorder);
    transfers_.record(recorder);
    nodes_.observe(&recorded_.emplace(recorder, Clock{&now_}, trace_ ? &*trace_ : nullptr));
  }

  /// As Devices::foretell_by.
  void foretell_by(Oracle const& oracle) noexcept { nodes_.foretell_by(oracle); }

  /// By the platform and the model of transfers.
  [[nodiscard]] Duration time(std::size_t bytes, NodeId from, NodeId to) const {
    return transfers_.time(bytes, from, to);
  }

  [[nodiscard]] std::size_t unused(NodeId at) const noexcept { return nodes_.unused(at); }

  /// As Devices::shortage.
  [[nodiscard]] Devices::Shortage shortage(std::span<DataRecord* const> data) const noexcept {
    std::size_t bytes = 0;
    for (auto it = data.begin(); it != data.end(); ++it) {
      bytes += std::find(data.begin(), it, *it) == it ? Arena::rounded((*it)->bytes()) : 0;
    }
    for (std::size_t d = 0; d < names_.size(); ++d) {
      auto const capacity = nodes_.capacity(node_of(d));
      if (bytes > capacity) {
        return {bytes - capacity, names_[d]};
      }
    }
    return {};
  }

  void add_to(Stats& stats) const {
    for (std::size_t d = 0; d < names_.size(); ++d) {
      auto& device = stats.devices.emplace_back();
      device.name = names_[d];
      device.node = node_of(d);
      device.kernels = windows_.ended_kernels(d);
      transfers_.add_to(device, d);
      add_counters(device, nodes_.counters(device.node));
    }
  }

  // ---- tasks ----

  /// As Devices::note_spawn and note_end.
  void note_spawn(TaskRecord const& task) {
    if (nodes_.wants_next_use()) {
      kept().expect_uses(task, ++spawned_);
    }
  }

  void note_end(TaskRecord const& task) {
    if (nodes_.wants_next_use()) {
      kept().end_uses(task);
    }
  }

  /// Before a task begins or is committed: gives it private copies for its contributions. They have
  /// places in the memory nodes, and no contents.
  static void lease_copies(TaskRecord& task) {
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      if (access.mode == AccessMode::reduce && !access.duplicate) {
        auto& free = access.queue->copies;
        auto* const copy =
            free != nullptr ? std::exchange(free, free->next) : PrivateCopy::create(0, 1);
        access.carried.copy = copy->elements();
      }
    }
  }

  /// Whether a task may begin on a core: host memory holds the data that it reads, and no transfer
  /// uses the data that it writes. If so, it has begun. Otherwise asks for the data that are
  /// missing.
  [[nodiscard]] bool acquire_on_host(TaskRecord& task) {
    std::span<Access const> const accesses(task.accesses(), task.access_count);
    bool const here = ask_on_host(accesses);
    if (here && !aborts_) {
      take_on_host(accesses);
    }
    return here;
  }

  /// The task has ended on the core.
  void end_on_host(TaskRecord& task) {
    if (aborts_) {
      take_on_host(std::span<Access const>(task.accesses(), task.access_count));
    }
  }

  /// acquire_on_host for a merge, which needs the contributions, too. They are gone when it begins.
  [[nodiscard]] bool acquire_for_merge(TaskRecord& merge) {
    auto& queue = *merge.accesses()[0].queue;
    bool here = true;
    for (auto* copy = queue.copies; copy != nullptr; copy = copy->next) {
      if (auto* const datum = copy->replicas.load(std::memory_order_relaxed)) {
        here = request(*datum, true) && here;
      }
    }
    std::span<Access const> const access(merge.accesses(), 1);
    here = ask_on_host(access) && here;
    if (here) {
      take_on_host(access);
    }
    while (here && queue.copies != nullptr) {
      PrivateCopy::destroy(std::exchange(queue.copies, queue.copies->next));
    }
    return here;
  }

  // ---- the windows of devices ----

  /// How many tasks committed there have not ended.
  [[nodiscard]] std::size_t taken(NodeId at) const noexcept { return windows_.taken(at); }

  /// Whether a kernel runs there.
  [[nodiscard]] bool busy(NodeId at) const noexcept { return windows_.busy(at); }

  /// The first task committed there that has not ended; null if there is none.
  [[nodiscard]] TaskRecord* first_task(NodeId at) const noexcept { return windows_.first_task(at); }

  /// Puts the task into the device's window.
  void commit(TaskRecord& task, NodeId at) {
    std::vector<Need> needs;
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (!access.duplicate) {
        needs.push_back(KeptNodes::need_of(task, access, kept().datum_of(access)));
      }
    }
    windows_.commit(task, at, std::move(needs));
  }

  /// Moves the window on: admits tasks and asks for their data. If no kernel runs there, begins the
  /// first task whose data are there, and returns it.
  [[nodiscard]] TaskRecord* next_kernel(NodeId at) {
    if (windows_.first_task(at) == nullptr) {
      return nullptr;
    }
    auto* const begun = windows_.next_kernel(at);
    transfers_.start();
    return begun;
  }

  /// The kernel that runs there has ended; its task leaves the window.
  void end_kernel(NodeId at) { windows_.end_kernel(at); }

  /// A task that was committed and has not ended leaves the window.
  void take_back(TaskRecord& task, NodeId at) { windows_.take_back(task, at); }

  // ---- hints ----

  void prefetch(Access const& access, NodeId at) {
    nodes_.prefetch(kept().datum_of(access), at);
    transfers_.start();
  }

  /// The datum's copy leaves the device, unless a task uses it. Returns false if host memory must
  /// get it first: the copy is then on its way.
  [[nodiscard]] bool evict(Access const& access, NodeId at) {
    auto* const datum = replicas_of(access).load(std::memory_order_relaxed);
    if (datum == nullptr || !datum->valid_at(at)) {
      return true;
    }
    bool const here = request(*datum, false);
    transfers_.start();
    if (here) {
      nodes_.evict(*datum, at);
    }
    return here;
  }

  /// Whether the device has all that a ready task reads.
  [[nodiscard]] bool has_all(TaskRecord const& task, NodeId at) {
    return kept().sent_ahead(task, [&](Replicas& datum) { return datum.valid_at(at); });
  }

  /// Whether the device has free memory for what a ready task reads and has no place there.
  [[nodiscard]] bool has_places(TaskRecord const& task, NodeId at) {
    std::size_t bytes = 0;
    (void)kept().sent_ahead(task, [&](Replicas& datum) {
      bytes += datum.at(at).block == no_block ? Arena::rounded(datum.bytes()) : 0;
      return true;
    });
    return bytes <= nodes_.unused(at);
  }

  /// Asks for what a ready task reads, one datum after the other, as long as nothing else is on its
  /// way into the device, and nothing that somebody waits for into any. Returns whether that is so.
  bool send_ahead(TaskRecord const& task, NodeId at) {
    return kept().sent_ahead(task, [&](Replicas& datum) {
      if (!transfers_.idle_into(at) || nodes_.awaited() != 0) {
        return false;
      }
      nodes_.prefetch(datum, at);
      transfers_.start();
      return true;
    });
  }

  // ---- transfers ----

  /// When the next transfer begins or ends.
  [[nodiscard]] Instant next() const noexcept { return transfers_.next(); }

  static constexpr Instant never = VirtualTransfers::never;

  /// Time has come to `now`, at most next().
  void advance(Instant now) {
    now_ = now;
    transfers_.advance();
  }

  /// Whether host memory holds all data registered in a domain, and the host may write them. Asks
  /// for the data that are missing.
  [[nodiscard]] bool all_home(Domain const& domain) {
    bool here = true;
    auto const each_of_domain = [&](auto&& visit) {
      for (auto* datum = nodes_.first(); datum != nullptr; datum = datum->next) {
        auto const* const record = static_cast<DataRecord const*>(datum->identity);
        if (!datum->contribution && record->home.domain == &domain && !datum->in_parts &&
            !record->temporary) {
          visit(*datum);
        }
      }
    };
    each_of_domain([&](Replicas& datum) { here = request(datum, true) && here; });
    transfers_.start();
    if (here) {
      each_of_domain([&](Replicas& datum) { take_on_host(datum); });
    }
    return here;
  }

  // ---- for code below the engines ----

  void take(std::span<Replicas* const> data, Destination destination, bool taken) override {
    for (auto* datum : data) {
      datum->in_parts = destination == Destination::parts ||
                        (datum->in_parts && destination != Destination::whole);
      transfers_.end_transfers(*datum);
      nodes_.program_reads(*datum, host_node);
      while (nodes_.request(*datum, host_node) == MemoryNodes::Arrival::coming) {
        transfers_.end_transfers(*datum);
      }
      transfers_.start();
      if (taken) {
        take_on_host(*datum);
      }
    }
  }

  void reindex(Replicas& datum, std::int64_t reuse) noexcept override {
    nodes_.reindex(datum, reuse);
  }

  void forget(Replicas* datum) noexcept override {
    transfers_.end_transfers(*datum);
    try {
      transfers_.start();             // of other data
    } catch (std::bad_alloc const&) { // they begin when time goes on
    }
    datum->slot->store(nullptr, std::memory_order_relaxed);
    nodes_.remove(*datum);
    delete datum;
  }

private:
  struct Clock {
    Instant const* now;

    [[nodiscard]] Instant operator()() const noexcept { return *now; }
  };

  static std::vector<std::size_t> capacities_of(std::span<NodeInfo const> nodes) {
    constexpr std::size_t unbounded = std::size_t{1} << 60U;
    std::vector<std::size_t> capacities;
    for (auto const& node : nodes.subspan(1)) {
      capacities.push_back(node.capacity_bytes != 0 ? node.capacity_bytes : unbounded);
    }
    return capacities;
  }

  [[nodiscard]] static NodeId node_of(std::size_t device) noexcept {
    return {static_cast<std::int32_t>(device) + 1};
  }

  [[nodiscard]] KeptNodes kept() noexcept { return {*this, nodes_}; }

  /// Whether host memory holds the datum and, if `taken`, no transfer uses it. Otherwise asks for
  /// it.
  [[nodiscard]] bool request(Replicas& datum, bool taken) {
    if (!datum.valid_at(host_node)) {
      nodes_.program_reads(datum, host_node);
    }
    auto const here = nodes_.request(datum, host_node) == MemoryNodes::Arrival::here;
    return here && !(taken && datum.copies_moving != 0);
  }

  void take_on_host(Replicas& datum) {
    if (!datum.read_only && datum.writers == 0) {
      nodes_.program_takes(datum, host_node);
    }
  }

  /// Visits the data that some device has ever needed.
  template <class Visit>
  static void each_known(std::span<Access const> accesses, Visit&& visit) {
    for (auto const& access : accesses) {
      auto* const datum =
          access.duplicate ? nullptr : replicas_of(access).load(std::memory_order_relaxed);
      if (datum != nullptr) {
        visit(access.mode, *datum);
      }
    }
  }

  [[nodiscard]] bool ask_on_host(std::span<Access const> accesses) {
    bool here = true;
    each_known(accesses, [&](AccessMode mode, Replicas& datum) {
      here = (reads(mode) ? request(datum, writes(mode)) : datum.copies_moving == 0) && here;
    });
    transfers_.start();
    return here;
  }

  void take_on_host(std::span<Access const> accesses) {
    each_known(accesses, [&](AccessMode mode, Replicas& datum) {
      if (writes(mode)) {
        nodes_.program_takes(datum, host_node);
      }
    });
  }

  bool const aborts_;
  Instant now_;
  std::optional<MemoryTrace> trace_;
  std::optional<RecordedMemory<Clock>> recorded_;
  MemoryNodes nodes_;
  VirtualWindows windows_;
  VirtualTransfers transfers_;
  std::vector<std::string> names_; // of the devices
  std::uint64_t spawned_ = 0;      // tasks; counted for caches that want next uses
};

} // namespace hetsched::detail
