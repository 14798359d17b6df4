// SPDX-License-Identifier: MIT
#pragma once
// The devices of virtual time: their memories, the windows of their workers, and transfers.

#include <hetsched/detail/devices.hpp>
#include <hetsched/detail/known_data.hpp>
#include <hetsched/detail/memory_trace.hpp>
#include <hetsched/detail/recorded_memory.hpp>
#include <hetsched/detail/virtual_links.hpp>
#include <hetsched/simulation.hpp>
#include <hetsched/stats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Sees to it that tasks find their data, as DeviceSet does for threads, with the same state
/// machine of memory nodes; only that transfers take what VirtualLinks says. The engine tells it
/// whenever time passes. It knows tasks and nodes, but no worker and no scheduler.
///
/// Tasks that are aborted leave no trace: they write aside, and what they write takes its datum's
/// place when they end. That takes no room here.
///
/// What a partition, a join or the end of a handle needs in host memory is there at once, and takes
/// no time: nobody is there who could wait for it.
class VirtualMemory final : public ReplicaKeeper {
public:
  /// `aborts`: tasks may not come to their end.
  VirtualMemory(Simulation const& config,
                CacheKind const& cache,
                std::span<NodeInfo const> nodes,
                bool aborts)
      : links_(config.platform,
               config.transfers,
               static_cast<int>(nodes.size()) - 1,
               2 * static_cast<int>(nodes.size() - 1)),
        window_(static_cast<std::size_t>(config.window)), aborts_(aborts),
        devices_(nodes.size() - 1), lanes_(2 * devices_.size()),
        nodes_(cache,
               capacities_of(nodes),
               {this, [](void const* self, std::size_t bytes, NodeId from, NodeId to) {
                  return static_cast<VirtualMemory const*>(self)->time(bytes, from, to);
                }}) {
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

  /// Tells of admissions, transfers and evictions from now on, before any.
  void record(Recorder& recorder) {
    recorder_ = &recorder;
    nodes_.observe(&recorded_.emplace(recorder, Clock{&now_}, trace_ ? &*trace_ : nullptr));
  }

  /// As the platform and the model of transfers have it.
  [[nodiscard]] Duration time(std::size_t bytes, NodeId from, NodeId to) const {
    return links_.time(bytes, from, to);
  }

  [[nodiscard]] std::size_t unused(NodeId at) const noexcept { return nodes_.unused(at); }

  /// As Devices::shortage.
  [[nodiscard]] Devices::Shortage shortage(std::span<DataRecord* const> data) const noexcept {
    std::size_t bytes = 0;
    for (auto it = data.begin(); it != data.end(); ++it) {
      bytes += std::find(data.begin(), it, *it) == it ? Arena::rounded((*it)->bytes()) : 0;
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      auto const capacity = nodes_.capacity(node_of(d));
      if (bytes > capacity) {
        return {bytes - capacity, names_[d]};
      }
    }
    return {};
  }

  void add_to(Stats& stats) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      auto its = devices_[d].times;
      its.name = names_[d];
      its.node = node_of(d);
      add_counters(its, nodes_.counters(its.node));
      stats.devices.push_back(std::move(its));
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

  /// Before a task begins or is committed: it has private copies for its contributions. They have
  /// a place among the memory nodes, and no contents.
  static void lease_copies(TaskRecord& task) {
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      if (access.mode == AccessMode::reduce && !access.duplicate) {
        auto& free = access.queue->copies;
        auto* const copy =
            free != nullptr ? std::exchange(free, free->next) : PrivateCopy::create(0);
        access.buffer = copy->elements();
      }
    }
  }

  /// Whether a task may begin on a core: host memory holds what it reads, and nobody copies what it
  /// writes. If so, it has begun. Asks for what is not there.
  [[nodiscard]] bool acquire_on_host(TaskRecord& task) {
    std::span<Access const> const accesses(task.accesses(), task.access_count);
    bool const here = ask_on_host(accesses);
    if (here && !aborts_) {
      take_on_host(accesses);
    }
    return here;
  }

  /// It has ended there.
  void end_on_host(TaskRecord& task) {
    if (aborts_) {
      take_on_host(std::span<Access const>(task.accesses(), task.access_count));
    }
  }

  /// The same for a merge, which takes the contributions, too; they are gone when it begins.
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

  [[nodiscard]] std::size_t window() const noexcept { return window_; }

  [[nodiscard]] bool has_room(NodeId at) const noexcept {
    return device(at).slots.size() < window_;
  }

  /// The first task committed there that has not ended; null if there is none.
  [[nodiscard]] TaskRecord* first_task(NodeId at) const noexcept {
    auto const& slots = device(at).slots;
    return slots.empty() ? nullptr : slots.front().task;
  }

  /// The device's worker takes the task on.
  void commit(TaskRecord& task, NodeId at) {
    auto& slot = device(at).slots.emplace_back();
    slot.task = &task;
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (!access.duplicate) {
        slot.needs.push_back(KeptNodes::need_of(task, access, kept().datum_of(access)));
      }
    }
  }

  /// Moves the window on: lets tasks in, asks for their data, and, if no kernel runs there, begins
  /// the first task whose data are there, which is returned.
  [[nodiscard]] TaskRecord* next_kernel(NodeId at) {
    auto& its = device(at);
    if (its.slots.empty()) {
      return nullptr;
    }
    admit_next(its, at);
    TaskRecord* begun = nullptr;
    for (auto& slot : its.slots) {
      if (slot.stage != Stage::admitted) {
        continue;
      }
      auto const here = nodes_.ready(at, slot.needs) == MemoryNodes::Arrival::here;
      if (here && !its.busy) {
        nodes_.begin(at, slot.needs);
        slot.stage = Stage::running;
        its.busy = true;
        its.begin = now_;
        begun = slot.task;
      }
    }
    start_copies();
    return begun;
  }

  /// The kernel that runs there has ended; its task leaves the window.
  void end_kernel(NodeId at) {
    auto& its = device(at);
    auto const slot = std::find_if(its.slots.begin(), its.slots.end(), [](Slot const& candidate) {
      return candidate.stage == Stage::running;
    });
    nodes_.end(at, slot->needs, true);
    its.slots.erase(slot);
    its.times.kernels += now_ - its.begin;
    its.busy = false;
  }

  /// A task that was committed and has not ended leaves the window.
  void take_back(TaskRecord& task, NodeId at) {
    auto& its = device(at);
    auto const slot = std::find_if(its.slots.begin(), its.slots.end(), [&](Slot const& candidate) {
      return candidate.task == &task;
    });
    if (slot->stage == Stage::running) {
      nodes_.cancel(at, slot->needs);
      its.times.kernels += now_ - its.begin;
      its.busy = false;
    } else if (slot->stage == Stage::admitted) {
      nodes_.leave(at, slot->needs);
    }
    its.slots.erase(slot);
  }

  // ---- hints ----

  void prefetch(Access const& access, NodeId at) {
    nodes_.prefetch(kept().datum_of(access), at);
    start_copies();
  }

  void send_ahead(TaskRecord const& task, NodeId at) {
    kept().send_ahead(task, at);
    start_copies();
  }

  // ---- transfers ----

  /// When the next one begins or ends.
  [[nodiscard]] Instant next() const noexcept { return links_.next(); }

  static constexpr Instant never = VirtualLinks<Copy*>::never;

  /// Time has come to `now`, at most next().
  void advance(Instant now) {
    now_ = now;
    links_.advance(now, [this](Copy* copy) { finish(copy); });
    start_copies();
  }

  /// Whether host memory holds all data registered in a domain, for the host to use as it likes;
  /// asks for what it lacks.
  [[nodiscard]] bool all_home(Domain const& domain) {
    bool here = true;
    auto const each_of_domain = [&](auto&& visit) {
      for (auto* datum = nodes_.first(); datum != nullptr; datum = datum->next) {
        auto const* const record = static_cast<DataRecord const*>(datum->identity);
        if (record != nullptr && record->home.domain == &domain && !datum->in_parts) {
          visit(*datum);
        }
      }
    };
    each_of_domain([&](Replicas& datum) { here = request(datum, true) && here; });
    start_copies();
    if (here) {
      each_of_domain([&](Replicas& datum) { take_on_host(datum); });
    }
    return here;
  }

  // ---- for code below the engines ----

  void take(std::span<Replicas* const> data, Whither whither, bool taken) override {
    for (auto* datum : data) {
      datum->in_parts = whither == Whither::parts || (datum->in_parts && whither != Whither::whole);
      hurry(*datum);
      nodes_.program_reads(*datum, host_node);
      while (nodes_.request(*datum, host_node) == MemoryNodes::Arrival::coming) {
        hurry(*datum);
      }
      if (taken) {
        take_on_host(*datum);
      }
    }
  }

  void forget(Replicas* datum) noexcept override {
    hurry(*datum);
    datum->slot->store(nullptr, std::memory_order_relaxed);
    nodes_.remove(*datum);
    delete datum;
  }

private:
  enum class Stage : std::uint8_t { committed, admitted, running };

  struct Clock {
    Instant const* now;

    [[nodiscard]] Instant operator()() const noexcept { return *now; }
  };

  struct Slot {
    TaskRecord* task = nullptr;
    Stage stage = Stage::committed;
    std::vector<Need> needs;
  };

  struct Device {
    std::deque<Slot> slots; // in the order of commitment
    bool busy = false;      // a kernel runs
    Instant begin;          // of it
    DeviceStats times;      // no counters in it
  };

  /// The transfers into a device, or out of it, that were asked for and are not over.
  struct Lane {
    std::size_t transfers = 0;
    Instant since;    // begin of the one that is under way
    Duration kernels; // that had run on the device until then
  };

  static std::vector<std::size_t> capacities_of(std::span<NodeInfo const> nodes) {
    constexpr std::size_t unbounded = std::size_t{1} << 60U;
    std::vector<std::size_t> capacities;
    for (auto const& its : nodes.subspan(1)) {
      capacities.push_back(its.capacity_bytes != 0 ? its.capacity_bytes : unbounded);
    }
    return capacities;
  }

  [[nodiscard]] static NodeId node_of(std::size_t device) noexcept {
    return {static_cast<std::int32_t>(device) + 1};
  }

  [[nodiscard]] Device& device(NodeId at) noexcept {
    return devices_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] Device const& device(NodeId at) const noexcept {
    return devices_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] KeptNodes kept() noexcept { return {*this, nodes_}; }

  /// Whether host memory holds the datum and, to be `taken`, nobody copies it; else asks for it.
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
    start_copies();
    return here;
  }

  void take_on_host(std::span<Access const> accesses) {
    each_known(accesses, [&](AccessMode mode, Replicas& datum) {
      if (writes(mode)) {
        nodes_.program_takes(datum, host_node);
      }
    });
  }

  /// Lets in the first tasks that are not, as many as there is room for. One alone finds room: its
  /// spawn saw to that, and nothing is pinned for good.
  void admit_next(Device& its, NodeId at) {
    for (auto& slot : its.slots) {
      if (slot.stage == Stage::committed) {
        bool const alone = &slot == &its.slots.front();
        if (nodes_.admit(at, slot.task, slot.needs, alone) != MemoryNodes::Admission::admitted) {
          return;
        }
        slot.stage = Stage::admitted;
        if (recorder_ != nullptr) {
          recorder_->admitted(slot.task->id(), now_);
        }
      }
    }
  }

  /// A lane for each device and direction.
  [[nodiscard]] static std::size_t lane_of(Copy const& copy) noexcept {
    auto const device = copy.to == host_node ? copy.from : copy.to;
    return 2 * (static_cast<std::size_t>(device.value) - 1) + (copy.to == host_node ? 1 : 0);
  }

  [[nodiscard]] Duration kernels(std::size_t lane) const noexcept {
    auto const& its = devices_[lane / 2];
    return its.times.kernels + (its.busy ? now_ - its.begin : Duration{});
  }

  void start_copies() {
    while (auto* const copy = nodes_.next_copy()) {
      auto const lane = lane_of(*copy);
      if (lanes_[lane].transfers++ == 0) {
        begin_measure(lane);
      }
      links_.start(lane, copy, copy->datum->bytes(), copy->from, copy->to, now_);
    }
  }

  void begin_measure(std::size_t lane) noexcept {
    lanes_[lane].since = now_;
    lanes_[lane].kernels = kernels(lane);
  }

  /// The next one in the lane, if there is one, has just begun.
  void finish(Copy* copy) {
    auto const lane = lane_of(*copy);
    auto& its = lanes_[lane];
    auto& times = devices_[lane / 2].times;
    times.transfers += now_ - its.since;
    times.hidden += kernels(lane) - its.kernels;
    --its.transfers;
    if (recorder_ != nullptr) {
      recorder_->moved(*copy->datum, copy->from, copy->to, its.since, now_);
    }
    begin_measure(lane);
    nodes_.finished(copy, true);
  }

  /// The datum's transfers, asked for or under way, end now.
  void hurry(Replicas& datum) {
    start_copies();
    if (datum.copies_moving != 0) {
      std::vector<Copy*> ended;
      links_.cut(now_, [&](Copy* copy) {
        bool const its = copy->datum == &datum;
        if (its) {
          ended.push_back(copy);
        }
        return its;
      });
      for (auto* copy : ended) {
        --lanes_[lane_of(*copy)].transfers;
        if (recorder_ != nullptr) {
          recorder_->moved(datum, copy->from, copy->to, now_, now_);
        }
        nodes_.finished(copy, true);
      }
      start_copies();
    }
  }

  VirtualLinks<Copy*> links_;
  std::size_t const window_;
  bool const aborts_;
  std::vector<Device> devices_;
  std::vector<Lane> lanes_;
  std::optional<MemoryTrace> trace_;
  std::optional<RecordedMemory<Clock>> recorded_;
  Recorder* recorder_ = nullptr; // null: none
  MemoryNodes nodes_;
  std::vector<std::string> names_;
  Instant now_;
  std::uint64_t spawned_ = 0; // counted for caches that want next uses
};

} // namespace hetsched::detail
