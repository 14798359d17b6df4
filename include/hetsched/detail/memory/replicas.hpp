// SPDX-License-Identifier: MIT
#pragma once
// The copies of one datum in the memory nodes of a machine.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::detail {

class MemoryNodes;
struct Copy;
struct Replicas;

/// The place to which a datum is brought.
enum class Destination : std::uint8_t {
  host,
  home,  // where the program has it: on a device, if it was registered there
  parts, // to the host, where its parts hold the value from now on
  whole  // to the host, where the parts become one region again
};

/// The part of an engine that moves data. Code below the engines uses it when it needs a datum in
/// host memory or gives it up.
class ReplicaKeeper {
public:
  /// Waits until the data are where `destination` says. `taken`: the caller may write them there,
  /// so that all other copies become invalid. Throws Error(device_failed) if the only copy of a
  /// datum is lost.
  virtual void take(std::span<Replicas* const> data, Destination destination, bool taken) = 0;

  /// The program has given the datum another reuse index.
  virtual void reindex(Replicas& datum, std::int64_t reuse) noexcept = 0;

  /// Gives up all copies of the data. Their values are not needed any more.
  virtual void forget(Replicas* data) noexcept = 0;

  /// The caller, who may write the datum in host memory, takes pages of that memory away. A device
  /// that has them pinned would go on with the old ones, so they are not pinned until a device uses
  /// the datum again.
  virtual void unpin_host(Replicas& /*datum*/) noexcept {}

protected:
  ~ReplicaKeeper() = default;
};

/// A place for a datum in one device memory. Guarded by the lock of its MemoryNodes.
struct Replica {
  BlockId block;            // no_block: none
  Copy* arriving = nullptr; // the transfer that will make it valid
  int user_pins = 0;        // less than 0: unpins that came before their pins
  int attempts = 0;         // attempts at abortable tasks with a place here
  int unsettled = 0;        // attempts whose kernels may still use it
  int sending = 0;          // transfers from it
  bool ahead = false;       // came before a task that reads it was admitted, and none was since
};

/// One datum, as the memory nodes know it. It is made when a device first needs the datum. Until
/// then, host memory has the only copy.
struct Replicas {
  Replicas(ReplicaKeeper& mover, std::size_t nodes)
      : keeper(&mover), replicas(nodes, [](std::size_t) { return Replica(); }) {}

  ReplicaKeeper* const keeper;
  FixedArray<Replica> replicas; // one for each node; the host's has no block
  /// Bit n: node n holds the value. None: the datum is lost, or a transfer that is under way brings
  /// it from a node that is lost. Written under the lock. Policies read it without the lock, and
  /// so does the host before a body: the queues of accesses order this as they order the value
  /// itself.
  Atomic<std::uint64_t> valid{1};
  // Constant: the region in host memory, `columns` runs of `width` bytes, and its name.
  std::byte* host = nullptr;
  std::size_t width = 0;
  std::size_t columns = 0;
  std::size_t pitch = 0;
  void const* identity = nullptr;
  bool contribution = false; // a private copy of that region
  NodeId home = host_node;   // where the program has its memory
  std::uint64_t number = 0;  // from 1 on, in the order in which devices first needed them
  // Guarded by the lock.
  std::int64_t reuse = 0;    // index of the latest use; before the first one the datum's
  std::uint32_t version = 0; // changes when a write is complete
  int copies_moving = 0;     // transfers from or to any of its places
  /// The number of tasks that have begun and will write it. They are all on one device. Attempts at
  /// abortable tasks do not count.
  int writers = 0;
  int failed_copies = 0;  // failed transfers since the last good one, or the last write
  bool read_only = false; // host memory may only be read: copies stay valid whatever the host does
  bool in_parts = false;  // its parts hold the value
  bool lost = false;      // no copy is valid, and none will be before the next write
  bool home_lost = false; // the program's memory failed with its device, and it was told so
  int holders = 0; // threads that wait for it with the lock released, and attempts in windows
  bool forgotten = false;            // the last holder deletes it
  Atomic<Replicas*>* slot = nullptr; // the pointer to this; emptied by the destructor

  /// Spawned tasks that have not begun to use it, in program order, each with its number among all
  /// tasks. Kept for policies that want next uses.
  struct ComingUse {
    void const* task;
    std::uint64_t number;
  };

  Array<ComingUse> coming;
  Replicas* previous = nullptr; // list of all
  Replicas* next = nullptr;

  [[nodiscard]] std::uint64_t next_use() const noexcept {
    return coming.empty() ? never_again : coming[0].number;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return width * columns; }

  [[nodiscard]] bool valid_at(NodeId node) const noexcept {
    return ((valid.load(std::memory_order_acquire) >> static_cast<unsigned>(node.value)) & 1U) != 0;
  }

  [[nodiscard]] Replica& at(NodeId node) noexcept {
    return replicas[static_cast<std::size_t>(node.value)];
  }

  [[nodiscard]] Replica const& at(NodeId node) const noexcept {
    return replicas[static_cast<std::size_t>(node.value)];
  }
};

/// Where a region or a private copy keeps its Replicas; null: only host memory holds it. Tasks
/// whose accesses exclude each other see each other's changes of it, as they do with the datum
/// itself.
using ReplicaSlot = Atomic<Replicas*>;

/// As ReplicaKeeper::take, of one datum.
inline void take_data(ReplicaSlot& slot, Destination destination, bool taken) {
  if (auto* const replicas = slot.load(std::memory_order_acquire)) [[unlikely]] {
    replicas->keeper->take(std::span(&replicas, 1), destination, taken);
  }
}

inline void reindex_replicas(ReplicaSlot& slot, std::int64_t reuse) noexcept {
  if (auto* const replicas = slot.load(std::memory_order_acquire)) {
    replicas->keeper->reindex(*replicas, reuse);
  }
}

inline void unpin_replicas(ReplicaSlot& slot) noexcept {
  if (auto* const replicas = slot.load(std::memory_order_acquire)) {
    replicas->keeper->unpin_host(*replicas);
  }
}

inline void forget_replicas(ReplicaSlot& slot) noexcept {
  if (auto* const replicas = slot.load(std::memory_order_acquire)) [[unlikely]] {
    replicas->keeper->forget(replicas);
  }
}

} // namespace hetsched::detail
