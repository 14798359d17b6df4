// SPDX-License-Identifier: MIT
#pragma once
// The inputs and outputs of the state machine of memory nodes: uses, transfers, counters, and
// events for an observer.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/memory/replicas.hpp>

#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// A transfer that the engine is to perform and to report by `MemoryNodes::finished`.
struct Copy {
  Replicas* datum;
  NodeId from;
  NodeId to;
  bool evicts;            // the source leaves its node when it is done
  std::uint32_t version;  // the datum's version when it began
  Copy* engine = nullptr; // for the engine's use
};

/// What a task needs of one datum. There is one for each datum.
struct Need {
  Replicas* datum = nullptr;
  bool reads = false;
  bool writes = false;
  std::int64_t reuse = 0;
};

/// Predicts transfers, by a performance model's `transfer`. Thread-safe.
struct TransferCosts {
  void const* model = nullptr;
  Duration (*predict)(void const* model, std::size_t bytes, NodeId from, NodeId to) = nullptr;
};

/// Foretells what uses a datum, by a scheduler's `future_uses`. Null: nobody can. Thread-safe.
struct Oracle {
  void const* scheduler = nullptr;
  FutureUses (*answer)(void const* scheduler, std::uint64_t data, NodeId node) = nullptr;
};

/// The counters of one node, since the beginning.
struct NodeCounters {
  std::uint64_t hits = 0;   // data that a task found in the node at its admission
  std::uint64_t misses = 0; // data that it did not find
  std::uint64_t evictions_clean = 0;
  std::uint64_t evictions_dirty = 0; // with a transfer to host memory
  std::uint64_t bytes_from_host = 0;
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_from_peers = 0;
  std::uint64_t bytes_ahead = 0;      // that no admitted task had asked for
  std::uint64_t bytes_ahead_used = 0; // of these, there for a task that was admitted later
  std::uint64_t kept_bytes = 0; // copied to the host because an attempt overwrites the only copy
};

/// Gets every event that decides which bytes move, in the order of the events. Data are named by
/// their `Replicas::number`.
class MemoryObserver {
public:
  /// A task that will use the datum is admitted to a node, or the host wants the datum. Transfers
  /// for that may be under way from now on, unless a task that has begun there writes it first.
  virtual void admit(Replicas const& datum, NodeId at, bool reads, bool writes) = 0;

  /// A task that uses the datum at a node begins, or ends; `done` unless it failed. The host's own
  /// writes begin and end at once.
  virtual void begin(Replicas const& datum, NodeId at, bool reads, bool writes) = 0;
  virtual void end(Replicas const& datum, NodeId at, bool writes, bool done) = 0;

  /// The task stops instead of ending, and has written nothing there.
  virtual void cancel(Replicas const& datum, NodeId at, bool writes) = 0;

  /// A transfer to host memory begins, because the datum is to leave the node that has the only
  /// valid copy. The datum stays if a task that uses it is admitted meanwhile.
  virtual void write_back(Replicas const& datum, NodeId at) = 0;

  /// The datum leaves the node, to make room or by the user's `evict`.
  virtual void evict(Replicas const& datum, NodeId at) = 0;

  /// A transfer begins that no task has asked for yet.
  virtual void prefetch(Replicas const& datum, NodeId at) = 0;

  /// A transfer is complete.
  virtual void moved(Replicas const& datum, NodeId from, NodeId to) = 0;

  /// The datum's copies are given up.
  virtual void forget(Replicas const& datum) = 0;

protected:
  ~MemoryObserver() = default;
};

} // namespace hetsched::detail
