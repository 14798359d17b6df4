// SPDX-License-Identifier: MIT
#pragma once
// What the engine for threads asks of devices. The one implementation is compiled once, in the
// library that programs with devices link (cuda/set/device_set.cpp); gpu.hpp announces it here.

#include <hetsched/core/config.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/engine/after_hook.hpp>
#include <hetsched/detail/memory/memory_events.hpp>
#include <hetsched/detail/memory/replicas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

namespace hetsched::detail {

struct CacheKind;
struct DataRecord;
class Recorder;
class ThreadCore;
struct ThreadWorker;

/// How many tasks at most a scheduler is asked to peek at.
inline constexpr std::size_t most_peeked = 16;

/// Config::window if nothing else is said.
inline constexpr int default_window = 8;

/// What happens to the tasks of a device's window.
class DeviceEvents {
public:
  /// The task's data are in the device's memory: launches its kernels. False if the body failed.
  /// Throws Error(device_failed) if the device does not accept the kernels.
  virtual bool launch(TaskRecord& task, GpuStream& stream) = 0;

  /// The task has left the window: its kernels are done, or `error` says why not.
  virtual void finished(TaskRecord& task, std::exception_ptr error, Duration kernel) = 0;

  /// The task has left the window because the device could not run it, as `error` says. The data
  /// that it reads are intact, so that another worker can run it.
  virtual void refused(TaskRecord& task, std::exception_ptr error) = 0;

  /// The task has left the window because a task before it there, whose results it uses, failed.
  virtual void undone(TaskRecord& task) = 0;

protected:
  ~DeviceEvents() = default;
};

/// The tasks that a device's worker has committed to, in order. The transfers of some overlap with
/// the kernels of others (Lima et al. 2015, sec. 3.4.3). Only the device's own worker uses it.
class DeviceWindow {
public:
  /// For how many tasks data are sent ahead (Config::window).
  [[nodiscard]] virtual std::size_t length() const noexcept = 0;

  /// How many kernels may run at a time.
  [[nodiscard]] virtual std::size_t streams() const noexcept = 0;

  /// How many tasks there have not ended, and how many of these were launched.
  [[nodiscard]] virtual std::size_t taken() const noexcept = 0;
  [[nodiscard]] virtual std::size_t running() const noexcept = 0;

  [[nodiscard]] bool empty() const noexcept { return taken() == 0; }

  /// Whether the device has broken down: it refuses all tasks from then on.
  [[nodiscard]] virtual bool lost() const noexcept = 0;

  /// A task that this worker may run enters the window, or an attempt at an abortable task. Every
  /// attempt ends with `finished`, also a losing attempt.
  virtual void commit(TaskRecord& task) = 0;

  /// Starts what can start and reports what has ended. True if anything has happened.
  virtual bool poll(DeviceEvents& events) = 0;

protected:
  ~DeviceWindow() = default;
};

/// All devices of a runtime, and the memory nodes. Thread-safe, but for the windows.
class Devices : public ReplicaKeeper {
public:
  virtual ~Devices() = default;

  /// Node 0 is the host's; device k has node k + 1.
  [[nodiscard]] virtual std::span<NodeInfo const> nodes() const noexcept = 0;

  [[nodiscard]] virtual DeviceWindow& window(NodeId at) noexcept = 0;

  /// The loop of a worker that drives a device; returns when the engine stops.
  virtual void drive(ThreadCore& core, ThreadWorker& worker) = 0;

  /// For caches that want next uses. note_spawn: a task was spawned, and is not registered yet.
  /// note_end: it is complete, or will not be registered. Both are cheap for other caches.
  virtual void note_spawn(TaskRecord& task) = 0;
  virtual void note_end(TaskRecord& task) noexcept = 0;

  /// Where caches learn of future uses. Called before the first task.
  virtual void foretell_by(Oracle const& oracle) = 0;

  /// Before a body on the host: brings the data that the task reads to host memory, and makes all
  /// other copies of the data that it writes invalid. Throws Error(device_failed) if data that it
  /// reads are lost.
  virtual void acquire_on_host(TaskRecord& task) = 0;

  /// Before an attempt at an abortable task on the host: brings the data that it reads to host
  /// memory. Other copies stay valid.
  virtual void bring_to_host(TaskRecord& attempt) = 0;

  /// Before the result of such an attempt is written: waits for transfers of the data that the task
  /// writes, and makes all their copies but the one in host memory invalid.
  virtual void take_on_host(TaskRecord& task) = 0;

  /// By how many bytes a task's data exceed a device's memory, and which device that is; 0 bytes if
  /// they fit into every device.
  struct Shortage {
    std::size_t bytes = 0;
    std::string_view device;
  };

  [[nodiscard]] virtual Shortage shortage(std::span<DataRecord* const> data) const noexcept = 0;

  /// Makes the program's own memory on a device the home of a datum that was just registered. The
  /// memory holds the datum's value. Throws Error(bad_data).
  virtual void adopt(DataRecord& record, NodeId at, void* memory) = 0;

  /// Marks the point that one of the program's own streams on a device has reached. Answers the
  /// stream's number. Throws Error(device_failed).
  [[nodiscard]] virtual std::uint32_t mark_stream(NodeId at, void* native) = 0;

  /// Brings the datum of a hint to a device if there is room; it may leave at any time.
  virtual void prefetch(TaskRecord& hint, NodeId at) = 0;

  /// What a device has of a task's data, and of the memory for them.
  struct Ahead {
    bool ready = false;     // nobody has taken the task
    bool all_there = false; // all that it reads
    bool has_places = true; // there is free memory for the rest
  };

  /// The same for all data that a ready task reads, as long as few others are on their way to the
  /// device. The task is not committed to the device. Does nothing if another worker has taken the
  /// task since the scheduler named it, or it has ended. `look` gets the task, and nobody takes it
  /// meanwhile; it is not called for a task without data.
  virtual Ahead send_ahead(TaskId id, NodeId at, AfterHook<TaskRecord const*> look) = 0;

  /// A worker has taken the task. Returns when `send_ahead` does not look at it, and will not.
  /// Called before a body or an attempt begins, or the task ends without.
  virtual void taken(TaskRecord& task) noexcept = 0;

  /// Removes the datum from a device, unless a task there uses it. If no other copy is valid, it is
  /// copied to host memory before.
  virtual void evict(ReplicaSlot& slot, NodeId at) = 0;

  /// Undoes one `pin`.
  virtual void unpin(ReplicaSlot& slot, NodeId at) = 0;

  /// Waits until the data registered in a domain (null: none) are at home, and the data that
  /// `task` declared (null: none) in host memory, where its body goes on. Makes their other copies
  /// invalid, so that the program or the body may use them. Data that tasks are using are left out.
  /// If data are lost, throws Error(device_failed), which names them, when all others are there.
  /// What the program's memory holds is their value from then on.
  virtual void take_all_home(Domain const* domain, TaskRecord* task) = 0;

  [[nodiscard]] virtual std::size_t unused(NodeId at) const = 0;

  /// Tells the recorder of all admissions, kernels, transfers and evictions; called before the
  /// first of them. The recorder may be destroyed before this is. `start_ns`: when times begin, by
  /// CLOCK_MONOTONIC.
  virtual void record(Recorder& recorder, std::int64_t start_ns) = 0;

  /// Adds what was counted since the runtime began.
  virtual void add_to(Stats& stats) const = 0;
};

using DevicesFactory = Devices* (*)(Config const& config,
                                    CacheKind const& cache,
                                    TransferCosts const& costs);

/// Set by gpu.hpp in any of a program's files, before main begins.
inline constinit DevicesFactory devices_factory = nullptr;

/// Opens the devices that Config::devices asks for; null if that is none. Throws Error(bad_config).
[[nodiscard]] inline Devices*
open_devices(Config const& config, CacheKind const& cache, TransferCosts const& costs) {
  if (devices_factory != nullptr) {
    return devices_factory(config, cache, costs);
  }
  if (!config.devices.empty() && config.devices != "none") {
    throw Error(ErrorCode::bad_config,
                "HETSCHED_DEVICES",
                "this program was made without devices: include <hetsched/gpu.hpp> in one of its "
                "files and link hetsched-devices");
  }
  return nullptr;
}

} // namespace hetsched::detail
