// SPDX-License-Identifier: MIT
#pragma once
// What the engine for threads asks of devices. The one implementation is compiled once, in the
// library that programs with devices link (cuda/device_set.cpp); gpu.hpp announces it here.

#include <hetsched/config.hpp>
#include <hetsched/detail/memory_events.hpp>
#include <hetsched/detail/replicas.hpp>
#include <hetsched/detail/task_record.hpp>
#include <hetsched/gpu_stream.hpp>
#include <hetsched/platform.hpp>
#include <hetsched/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

namespace hetsched::detail {

struct CacheKind;
struct DataRecord;
class Recorder;

/// How many tasks at most a scheduler is asked to peek at.
inline constexpr std::size_t most_peeked = 16;

/// What happens to the tasks of a device's window.
class DeviceEvents {
public:
  /// What it reads is there: the task's kernels are to be launched. True unless it failed. Throws
  /// Error(device_failed) if the device would not take them.
  virtual bool launch(TaskRecord& task, GpuStream& stream) = 0;

  /// The task's kernels are done, or `error` says why not. It is not in the window any more.
  virtual void finished(TaskRecord& task, std::exception_ptr error, Duration kernel) = 0;

  /// The device could not do the task, as `error` says; what it reads is intact, so that another
  /// worker can. It is not in the window any more.
  virtual void refused(TaskRecord& task, std::exception_ptr error) = 0;

  /// The task followed another in the window whose data it uses, and that one did not end well. It
  /// is not in the window any more.
  virtual void undone(TaskRecord& task) = 0;

protected:
  ~DeviceEvents() = default;
};

/// The tasks that a device's worker has committed to, in order: transfers of some, kernels of
/// others and the ends of yet others overlap (Lima et al. 2015, sec. 3.4.3). Used by the device's
/// own worker only.
class DeviceWindow {
public:
  /// How many tasks it takes.
  [[nodiscard]] virtual std::size_t length() const noexcept = 0;

  /// Whether it takes another task now.
  [[nodiscard]] virtual bool has_room() const noexcept = 0;

  [[nodiscard]] virtual bool empty() const noexcept = 0;

  /// Whether the device has broken down: it refuses all tasks from then on.
  [[nodiscard]] virtual bool lost() const noexcept = 0;

  /// The task, which this worker may run, enters the window; or an attempt at an abortable one.
  /// That of an attempt whose result comes too late is `finished`, as one that has the result is.
  virtual void commit(TaskRecord& task) = 0;

  /// Moves everything on that can be. Whether anything has happened.
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

  /// For caches that want next uses: the task, which is not registered yet, was spawned; it is
  /// complete, or was never registered after all. Cheap for other caches.
  virtual void note_spawn(TaskRecord& task) = 0;
  virtual void note_end(TaskRecord& task) noexcept = 0;

  /// Before a body on the host: what the task reads is brought to host memory, what it writes will
  /// be valid nowhere else. `begun`: its body goes on after a sync, so that what it wrote, or a
  /// child did, counts, too.
  virtual void acquire_on_host(TaskRecord& task, bool begun) = 0;

  /// Before an attempt at an abortable task on the host: what it reads is brought to host memory;
  /// other copies stay.
  virtual void bring_to_host(TaskRecord& attempt) = 0;

  /// Before the result of such an attempt is written: what the task writes will be valid in host
  /// memory only, and no copy is made from there or to there.
  virtual void take_on_host(TaskRecord& task) = 0;

  /// By how many bytes a task's data exceed what some device can hold, and which device that is; 0
  /// if they fit into each.
  struct Shortage {
    std::size_t bytes = 0;
    std::string_view device;
  };

  [[nodiscard]] virtual Shortage shortage(std::span<DataRecord* const> data) const noexcept = 0;

  /// Memory that the program has on a device becomes the home of a datum just registered, whose
  /// value it holds. Throws Error(bad_data).
  virtual void adopt(DataRecord& record, NodeId at, void* memory) = 0;

  /// Marks what one of the program's streams on a device holds now; the stream's number. Throws
  /// Error(device_failed).
  [[nodiscard]] virtual std::uint32_t mark_stream(NodeId at, void* native) = 0;

  /// Brings the datum of a hint to a device if there is room; it may leave at any time.
  virtual void prefetch(TaskRecord& hint, NodeId at) = 0;

  /// The same for all that a ready task reads. It is no task of the device's, but stays ready.
  virtual void send_ahead(TaskRecord& task, NodeId at) = 0;

  /// The datum leaves a device, to host memory if it is valid nowhere else, unless a task there
  /// uses it.
  virtual void evict(ReplicaSlot& slot, NodeId at) = 0;

  /// Undoes one `pin`.
  virtual void unpin(ReplicaSlot& slot, NodeId at) = 0;

  /// Waits until host memory holds all data registered in a domain, for the host to use as it
  /// likes. What tasks are using is left alone.
  virtual void take_all_home(Domain const& domain) = 0;

  [[nodiscard]] virtual std::size_t unused(NodeId at) const = 0;

  /// Tells of admissions, kernels, transfers and evictions from now on, before any, until this is
  /// destroyed, which the recorder need not live to see. `start_ns`: when times begin, by
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
