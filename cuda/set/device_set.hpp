// SPDX-License-Identifier: MIT
#pragma once
// The devices of one runtime: opens them, performs the transfers that MemoryNodes asks for, and
// drives the windows of their workers.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/engine/devices.hpp>
#include <hetsched/detail/engine/known_data.hpp>
#include <hetsched/detail/memory/memory_trace.hpp>
#include <hetsched/detail/recording/recorded_memory.hpp>
#include <hetsched/detail/recording/recorder.hpp>

#include "device_list.hpp"
#include "overlap.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

class DeviceSet;

/// One open device: its memory, in one block, its streams and events. Closes what it opened.
class OpenDevice {
public:
  /// Throws Error(bad_config).
  OpenDevice(hs_driver const& driver, DeviceChoice const& choice, NodeId node, int compute_streams);
  OpenDevice(OpenDevice const&) = delete;
  OpenDevice& operator=(OpenDevice const&) = delete;
  ~OpenDevice();

  /// Returns null if the driver can make no more. `status`: what the driver answered.
  [[nodiscard]] hs_event* take_event(hs_status* status = nullptr) noexcept;

  /// Marks in a stream where a measurement begins. Returns null if that is not possible; nothing is
  /// then measured.
  [[nodiscard]] hs_event* mark(hs_stream* stream) noexcept;

  /// Has the event tell the end of what the stream was given. If it cannot, which is rare, waits
  /// and returns how that ended.
  [[nodiscard]] std::optional<hs_status> mark_end(hs_event* event, hs_stream* stream) noexcept;

  /// Measures a transfer in a stream, from `begin` to `end`. Both events are reached. `begin` may
  /// be null, and is given back. Returns nothing if the time is not known.
  std::optional<Stretch> measure_transfer(hs_stream* stream, hs_event* begin, hs_event* end);

  /// The same for a task's kernels.
  std::optional<Stretch> measure_kernel(hs_event* begin, hs_event* end);

  /// Finds out what the host's clock shows when the device's clock shows 0, to some microseconds.
  /// To be called before the first measurement.
  void anchor();

  /// The same stretch by CLOCK_MONOTONIC. Returns nothing if that is not known.
  [[nodiscard]] std::optional<Stretch> on_host(std::optional<Stretch> measured) const noexcept;

  void give_back(hs_event* event) noexcept { events_.push_back(event); } // take_event made room

  /// Throws Error(device_failed) with the driver's words if it refused something.
  void check(hs_status status) const;

  /// One of the streams for branches, made if it is not there. For the device's worker. Throws
  /// Error(device_failed).
  [[nodiscard]] hs_stream* branch(std::size_t k);

  /// Where a copy of so many bytes is that has this place in the device's memory.
  [[nodiscard]] std::byte* address(std::size_t offset, std::size_t bytes) const noexcept {
    if (pages_ != nullptr && offset < capacity) [[unlikely]] {
      return address_on_pages(offset, bytes);
    }
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory_) + offset);
  }

  /// The inverse of `address` for memory of the program's. The difference may wrap around.
  [[nodiscard]] std::size_t offset(void const* memory) const noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(memory_);
  }

  hs_driver const& driver;
  NodeId const node;
  hs_device* device = nullptr;
  std::string name; // as the driver describes it
  std::size_t capacity = 0;
  hs_stream* in = nullptr;  // copies to the device
  hs_stream* out = nullptr; // copies from it
  std::vector<hs_stream*> compute;
  Atomic<bool> lost{false};
  OverlapMeter overlap;

private:
  [[nodiscard]] std::optional<Stretch> stretch(hs_event* begin, hs_event* end);
  void close() noexcept;
  void require(hs_status status) const;
  void take_pages();
  [[nodiscard]] std::byte* address_on_pages(std::size_t offset, std::size_t bytes) const noexcept;

  void* memory_ = nullptr;
  std::byte* pages_ = nullptr;       // see take_pages; null: copies share pages
  std::vector<hs_stream*> branches_; // see GpuBranches
  std::vector<hs_event*> events_;    // free for use
  std::size_t events_made_ = 0;
  hs_event* origin_ = nullptr; // it was reached at origin_ns_ of the device's clock
  std::int64_t origin_ns_ = 0;
  std::optional<std::int64_t> anchor_ns_; // by the host's clock, when the device's clock shows 0
};

/// A transfer under way.
struct Moving {
  Copy* copy;
  OpenDevice* by; // the device whose stream has it
  hs_stream* stream;
  hs_event* begin; // null: not measured
  hs_event* done;
  int waiting = 0; // threads that wait for `done`
  bool over = false;
};

/// A task in a device's window.
struct WindowSlot {
  enum class Stage : std::uint8_t { committed, admitted, launched };

  TaskRecord* task = nullptr;
  Stage stage = Stage::committed;
  bool failed = false;  // its body threw; the window waits for what it launched
  bool undone = false;  // it follows a task that failed or was refused
  bool attempt = false; // the task is an attempt at an abortable task
  std::vector<Need> needs;
  std::vector<Replicas*> arguments; // the datum of each access, in order
  std::vector<void*> places;        // where these data are on the device
  hs_stream* stream = nullptr;      // the stream of its kernels
  hs_event* begin = nullptr;
  hs_event* end = nullptr;
  std::vector<hs_event*> branch_ends; // before `end`: where its GpuBranches begin and end
  std::optional<hs_status> ended = std::nullopt; // how it ended, if `end` could not be recorded
  std::string message;                           // why `ended` is not hs_ok
};

class TaskWindow final : public DeviceWindow {
public:
  /// `length`: Config::window.
  TaskWindow(DeviceSet& set, OpenDevice& device, int length)
      : set_(set), device_(device), length_(static_cast<std::size_t>(length)) {}

  [[nodiscard]] std::size_t length() const noexcept override { return length_; }

  [[nodiscard]] std::size_t streams() const noexcept override { return device_.compute.size(); }

  [[nodiscard]] std::size_t taken() const noexcept override { return slots_.size(); }

  [[nodiscard]] std::size_t running() const noexcept override;

  [[nodiscard]] bool lost() const noexcept override { return device_.lost; }

  void commit(TaskRecord& task) override;
  bool poll(DeviceEvents& events) override;

  /// Whether followers of a failed task are still running. They use their places, which no other
  /// task and no transfer may get meanwhile. Asked by the device's worker.
  [[nodiscard]] bool has_undone() const noexcept;

private:
  /// A task that left the window. The worker is told of it when the lock is free.
  struct Ended {
    TaskRecord* task;
    std::exception_ptr error;
    Duration kernel;
    bool undone;  // as in WindowSlot
    bool refused; // the device did not run it, and the data that it reads are intact
  };

  using Slots = std::list<WindowSlot>;

  void collect_ended();
  void admit_next();
  void find_ready();
  void launch(DeviceEvents& events, WindowSlot& slot);
  [[nodiscard]] hs_status state_of(WindowSlot const& slot) const;
  [[nodiscard]] hs_stream* follow(WindowSlot const& slot);
  [[nodiscard]] bool follows_any(Slots::iterator slot);
  void undo_followers(Slots::iterator failed);
  void leave_nodes(WindowSlot const& slot, bool done);
  void
  leave(Slots::iterator& slot, bool done, std::exception_ptr error, std::optional<Stretch> kernel);
  [[nodiscard]] std::exception_ptr error_of(WindowSlot const& slot,
                                            char const* message) const noexcept;
  void fill(WindowSlot& slot, TaskRecord& task);
  static void keep(WindowSlot& slot, char const* message) noexcept;

  DeviceSet& set_;
  OpenDevice& device_;
  std::size_t const length_;
  Slots slots_; // in the order of commitment; launched tasks end in any order
  std::vector<Ended> ended_;
  std::vector<WindowSlot*> ready_;
  std::size_t next_stream_ = 0;
};

/// CLOCK_MONOTONIC.
[[nodiscard]] std::int64_t host_ns() noexcept;

/// The recorder, and a clock that shows 0 when the host's clock shows `start_ns`.
struct Recording {
  struct Clock {
    std::int64_t start_ns;

    [[nodiscard]] Instant operator()() const noexcept { return {host_ns() - start_ns}; }

    /// The stretch by this clock.
    [[nodiscard]] std::pair<Instant, Instant>
    times(std::optional<Stretch> const& on_host) const noexcept;
  };

  Recorder& recorder;
  Clock clock;
  RecordedMemory<Clock> memory;
};

/// Host memory that tasks on devices use.
struct PinnedRegion {
  DataRecord* record;
  bool ours; // else the program pinned some of it, or pinning failed
};

/// Data that cannot be had.
struct Missing {
  /// A sync tells the program, once: what its memory holds is the value from then on.
  bool told = false;
  int count = 0;
  std::string names;
};

/// A stream of the program's own. `mark` is the point up to which tasks followed it last.
struct ProgramStream {
  NodeId node;
  void* native;
  hs_event* mark;
};

class DeviceSet final : public Devices {
public:
  DeviceSet(std::vector<DeviceChoice> const& choices,
            int window_length,
            int compute_streams,
            CacheKind const& cache,
            TransferCosts const& costs,
            std::string const& memory_trace);
  ~DeviceSet() override;

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept override { return infos_; }

  [[nodiscard]] DeviceWindow& window(NodeId at) noexcept override { return window_of(at); }

  void drive(ThreadCore& core, ThreadWorker& worker) override;

  void foretell_by(Oracle const& oracle) override;
  void note_spawn(TaskRecord& task) override;
  void note_end(TaskRecord& task) noexcept override;
  void acquire_on_host(TaskRecord& task) override;
  void bring_to_host(TaskRecord& attempt) override;
  void take_on_host(TaskRecord& task) override;
  [[nodiscard]] Shortage shortage(std::span<DataRecord* const> data) const noexcept override;
  void adopt(DataRecord& record, NodeId at, void* memory) override;
  [[nodiscard]] std::uint32_t mark_stream(NodeId at, void* native) override;
  void prefetch(TaskRecord& hint, NodeId at) override;
  Ahead send_ahead(TaskId id, NodeId at, AfterHook<TaskRecord const*> look) override;
  void taken(TaskRecord& task) noexcept override;
  void evict(ReplicaSlot& slot, NodeId at) override;
  void reindex(Replicas& datum, std::int64_t reuse) noexcept override;
  void unpin(ReplicaSlot& slot, NodeId at) override;
  void take_all_home(Domain const* domain, TaskRecord* task) override;
  [[nodiscard]] std::size_t unused(NodeId at) const override;
  void record(Recorder& recorder, std::int64_t start_ns) override;
  void add_to(Stats& stats) const override;

  void take(std::span<Replicas* const> data, Destination destination, bool taken) override;
  void forget(Replicas* data) noexcept override;
  void unpin_host(Replicas& datum) noexcept override;

private:
  friend class TaskWindow;
  using Lock = std::unique_lock<Mutex>;

  // With the lock held:
  [[nodiscard]] KeptNodes kept() noexcept { return {*this, *nodes_}; }

  void start_copies();
  void start_copy(Copy& copy);
  bool settle_copies();
  void settle(Moving& moving, hs_status status);
  void note_copy_error(char const* text) noexcept;
  void settle_unmarked(Moving& moving, hs_status status);
  void record_admitted(WindowSlot const& slot);
  void record_end(OpenDevice const& device,
                  WindowSlot const& slot,
                  std::optional<Stretch> kernel,
                  bool done,
                  bool stopped);
  [[nodiscard]] bool may_send_ahead(NodeId to) const noexcept;
  void wait_for_copy(Lock& lock, Replicas const& datum);
  void bring(Lock& lock,
             std::span<Replicas* const> data,
             Destination destination,
             bool taken,
             Missing& missing);
  void acquire(Lock& lock, TaskRecord& task, bool begun, Missing& missing);
  void note_missing(Replicas& datum, NodeId at, Missing& missing);
  void report(Missing const& missing) const;
  void leave_home(Replicas& datum) noexcept;
  void give_up(OpenDevice& device);

  [[nodiscard]] OpenDevice& device(NodeId at) noexcept {
    return *devices_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] TaskWindow& window_of(NodeId at) noexcept {
    return *windows_[static_cast<std::size_t>(at.value) - 1];
  }

  void follow(TaskRecord& hint, hs_stream* stream);
  void pin_region(DataRecord& record);
  void unpin_region(Replicas const& datum) noexcept;
  void unpin(void* memory, PinnedRegion const& region) noexcept;

  mutable Mutex mutex_;
  Atomic<TaskRecord*> looked_at_{nullptr}; // by send_ahead; written under the lock
  std::vector<std::unique_ptr<OpenDevice>> devices_;
  std::vector<NodeInfo> infos_;
  std::vector<std::unique_ptr<TaskWindow>> windows_;
  std::optional<MemoryTrace> trace_;
  std::optional<MemoryNodes> nodes_;
  std::optional<Recording> recording_;
  std::vector<std::unique_ptr<Moving>> moving_;
  std::map<void*, PinnedRegion> pinned_;                    // by their first byte
  std::map<std::pair<NodeId, void*>, std::size_t> adopted_; // offset of the program's memory
  std::vector<ProgramStream> streams_;
  std::string last_copy_error_;
  std::uint64_t spawned_ = 0; // tasks; counted for caches that want next uses
};

} // namespace hetsched::detail
