// SPDX-License-Identifier: MIT
#pragma once
// One rank of a cluster in virtual time: its engine, its data, and the transfers that wait there.

#include <hetsched/detail/cluster/cluster_data.hpp>
#include <hetsched/detail/cluster/virtual_network.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/runtime/runtime_data.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

struct VirtualRank;
struct VirtualTransfer;

/// What an external task of a rank is for: one end of a transfer, or to begin a partial value.
struct TransferEnd : ExternalUse {
  VirtualRank* rank = nullptr;
  VirtualTransfer* transfer = nullptr; // null: a partial value begins
  TaskRecord* task = nullptr;          // once it was granted its datum
  TransferEnd* next = nullptr;         // granted later
  Instant asked;                       // when host memory had the datum

  TransferEnd() : ExternalUse{&note_granted} {}

private:
  static inline void note_granted(ExternalUse& use, TaskRecord& task) noexcept;
};

/// A value on its way.
struct VirtualTransfer : VirtualMessage {
  TransferEnd send;
  TransferEnd receive;
  std::uint64_t number = 0; // see DatumLine
  bool arrived = false;
  bool awaited = false;                       // the receiving task has its datum
  std::vector<VirtualTransfer*> with_it = {}; // of the same value: `to` passes it on to theirs
  std::size_t asked_before = 0;               // sends of those that the rank begins with together
  bool passed_on = false;                     // from where it came, the value has left before
};

/// A rank. It has all members to itself.
struct VirtualRank {
  using Node = RuntimeData<VirtualEngine>;

  Node& node;
  VirtualCore& core;
  std::int32_t number;
  std::unordered_map<std::uint32_t, ClusterDatum> data = {}; // that it knows of
  std::uintptr_t next_address = std::uintptr_t{1} << 44U;    // data have addresses, and no memory
  TransferEnd* first_granted = nullptr;
  TransferEnd* last_granted = nullptr;
  std::vector<TransferEnd*> without_data = {}; // granted, and host memory has not got the datum

  [[nodiscard]] ClusterDatum& datum(std::uint32_t which, std::int32_t home, std::size_t bytes) {
    return data.try_emplace(which, which, home, 1, Shape{bytes, 1, bytes}, &make_record)
        .first->second;
  }

  void add_granted(TransferEnd& end) noexcept {
    (first_granted == nullptr ? first_granted : last_granted->next) = &end;
    last_granted = &end;
  }

  /// Calls `begin(end)` for each end whose datum host memory has now, in the order in which they
  /// were granted. Returns whether there was one.
  template <class Begin>
  bool begin_granted(Begin&& begin) {
    auto waiting = std::exchange(without_data, {});
    for (auto* end = std::exchange(first_granted, nullptr); end != nullptr; end = end->next) {
      waiting.push_back(end);
    }
    bool any = false;
    for (auto* const end : waiting) {
      if (core.holds_at_home(*end->task)) {
        begin(*end);
        any = true;
      } else {
        without_data.push_back(end);
      }
    }
    return any;
  }

private:
  static DataRecord* make_record(void* of, ClusterDatum const& datum, void* /*memory*/) {
    auto& rank = *static_cast<VirtualRank*>(of);
    auto* const first = reinterpret_cast<std::byte*>(rank.next_address);
    rank.next_address += datum.rows / 64 * 64 + 64;
    auto const handle = rank.node.data(first, datum.rows);
    handle.record()->handles.fetch_add(1, std::memory_order_relaxed); // for the datum
    return handle.record();
  }
};

inline void TransferEnd::note_granted(ExternalUse& use, TaskRecord& task) noexcept {
  auto& end = static_cast<TransferEnd&>(use);
  end.task = &task;
  end.rank->add_granted(end);
}

} // namespace hetsched::detail
