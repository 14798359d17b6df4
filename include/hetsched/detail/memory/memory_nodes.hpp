// SPDX-License-Identifier: MIT
#pragma once
// Which memory node holds what: coherence, admission and replacement, for every engine.

#include <hetsched/detail/memory/memory_admission.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hetsched::detail {

/// The state machine behind device memories: events in, transfers to perform out. No lock, no wait,
/// no clock and no device call inside, so that one implementation serves threads and virtual time;
/// the engine holds one lock around every call.
///
/// Coherence: a node's copy is valid or not. A task makes valid what it reads, at its own node, and
/// its end makes that node's copy of what it wrote the only one (write-back, lazily: Lima et al.
/// 2015, sec. 3.4.4). Until then older copies stay valid, so that a failed task loses nothing but
/// what it overwrote in place. Admission: a task's whole footprint is reserved, or nothing.
///
/// It has four parts, each of which knows only those before it: MemoryPlaces (places, and which of
/// them are valid), MemoryTransfers (copies), MemoryAdmission (room and eviction), and this class
/// (tasks, attempts, hints, and the program's own uses).
class MemoryNodes : public MemoryAdmission {
public:
  /// `capacities`: of the devices' memories, nodes 1 and following. Without costs all transfers
  /// count as equally long.
  MemoryNodes(CacheKind const& kind,
              std::span<std::size_t const> capacities,
              TransferCosts costs = {})
      : MemoryAdmission(kind, capacities, costs) {}

  /// The program's own memory in a device holds the datum's value, and is the datum's place there
  /// from now on. `offset`: from the device's memory.
  void adopt(Replicas& datum, NodeId at, std::size_t offset) {
    new_place(datum, at, offset, true);
    datum.home = at;
    program_takes(datum, at);
  }

  /// Gives up the datum's copies and their places, whatever they hold. No transfer of it is under
  /// way.
  void remove(Replicas& datum) noexcept {
    if (observer() != nullptr) {
      observer()->forget(datum);
    }
    for (auto n = host_node; next(n);) {
      if (auto const block = datum.at(n).block; block != no_block) {
        while (node(n).block(block).pins > datum.at(n).attempts) { // pins of the user
          (void)node(n).release(block);
        }
        if (datum.at(n).attempts == 0) {
          drop(datum, n);
        }
      }
    }
    // An attempt's place stays until the attempt ends.
    datum.valid.store(0, std::memory_order_release);
    unlist(datum);
  }

  // ---- tasks on a device ----

  /// Whether an admitted task may begin. The data that it reads must be here, or tasks that have
  /// begun and that the device runs first must write them here. And no transfer may read data that
  /// it will overwrite. Asks for transfers of the data that are missing.
  [[nodiscard]] Arrival ready(NodeId at, std::span<Need const> needs) {
    auto all = Arrival::here;
    for (auto const& need : needs) {
      if (need.reads && need.datum->writers == 0) {
        auto const arrival = request(*need.datum, at);
        if (arrival == Arrival::failed) {
          return arrival;
        }
        all = std::max(all, arrival);
      }
      if (need.writes && (need.datum->copies_moving != 0 || need.datum->at(at).unsettled != 0)) {
        all = Arrival::coming;
      }
    }
    return all;
  }

  /// The same for an admitted attempt at an abortable task. The attempt overwrites its copies, so
  /// the data that it reads and writes must be valid elsewhere, too. Asks for a transfer to host
  /// memory if they are not.
  [[nodiscard]] Arrival ready_to_attempt(NodeId at, std::span<Need const> needs) {
    auto all = ready(at, needs);
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (all == Arrival::failed || !need.reads || !need.writes || !is_only_copy(datum, at)) {
        continue;
      }
      auto const moving = datum.copies_moving;
      all = std::max(all, request(datum, host_node));
      node(at).counters.kept_bytes += datum.copies_moving != moving ? datum.bytes() : 0;
    }
    return all;
  }

  /// The task was launched.
  void begin(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      if (observer() != nullptr) {
        observer()->begin(*need.datum, at, need.reads, need.writes);
      }
      need.datum->writers += need.writes ? 1 : 0;
    }
  }

  /// An attempt at an abortable task was admitted. Its places stay even if the data are given up.
  void hold(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      ++need.datum->at(at).attempts;
    }
  }

  /// The attempt was launched. If other copies of the data that it writes are valid, the copies
  /// here are not valid any more.
  void begin_attempt(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (observer() != nullptr) {
        observer()->begin(datum, at, need.reads, need.writes);
      }
      ++datum.at(at).unsettled;
      if (need.writes && !is_only_copy(datum, at)) {
        datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
      }
    }
  }

  /// The attempt has ended. `launched`: it had begun. `published`: the data that it wrote are the
  /// values now. Otherwise the data may have changed without it, or be gone.
  void end_attempt(NodeId at, std::span<Need const> needs, bool launched, bool published) {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      --datum.at(at).attempts;
      if (!launched) {
        continue;
      }
      --datum.at(at).unsettled;
      if (published && need.writes) {
        only_valid_at(datum, at);
      } else if (need.writes && is_only_copy(datum, at)) {
        invalidate(datum, at); // it was overwritten
      }
      if (observer() != nullptr && !datum.forgotten) {
        observer()->end(datum, at, need.writes, published);
      }
    }
    leave(at, needs);
  }

  /// A task that had begun has ended. If it is not `done`, the data that it should have written
  /// there are not valid. If it overwrote the only copy, the datum is lost.
  void end(NodeId at, std::span<Need const> needs, bool done) {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (observer() != nullptr) {
        observer()->end(datum, at, need.writes, done);
      }
      if (need.writes) {
        --datum.writers;
        if (done) {
          only_valid_at(datum, at);
        } else {
          invalidate(datum, at);
        }
      }
    }
    leave(at, needs);
  }

  /// A task that had begun stops, and has not written there: its data are as they were before.
  void cancel(NodeId at, std::span<Need const> needs) {
    for (auto const& need : needs) {
      if (observer() != nullptr) {
        observer()->cancel(*need.datum, at, need.writes);
      }
      need.datum->writers -= need.writes ? 1 : 0;
    }
    leave(at, needs);
  }

  /// An admitted task gives its places back. If it had begun, `end` or `cancel` does this instead.
  void leave(NodeId at, std::span<Need const> needs) {
    for (auto const& need : needs) {
      unpin(*need.datum, at);
    }
  }

  // ---- hints ----

  /// Brings a datum to a device if there is room without eviction; it may leave at any time.
  void prefetch(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    if (node.lost) {
      return;
    }
    if (datum.at(at).block != no_block) {
      request_early(datum, at);
      return;
    }
    node.prepare_block();
    if (auto const offset = node.arena.allocate(datum.bytes())) {
      new_place(datum, at, *offset, false);
      try {
        request_early(datum, at);
      } catch (...) {
        unpin(datum, at);
        throw;
      }
      unpin(datum, at); // without a transfer the place is given back
    }
  }

  /// Keeps the datum's place from being evicted, until there were as many unpins. The datum has a
  /// place. Pins and unpins may come in any order, because both only read the datum.
  void pin_user(Replicas& datum, NodeId at) {
    if (++datum.at(at).user_pins > 0) {
      node(at).pin(datum.at(at).block);
    }
  }

  void unpin_user(Replicas& datum, NodeId at) {
    if (--datum.at(at).user_pins >= 0) {
      unpin(datum, at);
    }
  }

  /// The program has given the datum another reuse index.
  void reindex(Replicas& datum, std::int64_t reuse) noexcept {
    datum.reuse = reuse;
    for (auto n = host_node; next(n);) {
      if (auto const block = datum.at(n).block; block != no_block) {
        node(n).reindex(block, reuse);
      }
    }
  }

  // ---- memory of the program's: the host's, or what it has on a device ----

  /// The program is about to read the datum at a node, where it was requested.
  void program_reads(Replicas const& datum, NodeId at) noexcept {
    if (observer() != nullptr) {
      observer()->admit(datum, at, true, false);
    }
  }

  /// The program is about to write the datum at a node: no other copy stays valid. No copy is
  /// moving and no task on a device uses it.
  void program_takes(Replicas& datum, NodeId at) {
    if (observer() != nullptr) {
      observer()->begin(datum, at, false, true);
      observer()->end(datum, at, true, true);
    }
    only_valid_at(datum, at);
  }

  /// The datum leaves the node if nobody uses it there and another copy is valid.
  void evict(Replicas& datum, NodeId at) {
    auto const block = datum.at(at).block;
    if (block != no_block && node(at).block(block).pins == 0 && !is_only_copy(datum, at)) {
      ++node(at).counters.evictions_clean;
      tell_evict(datum, at);
      drop(datum, at);
    }
  }

  /// No task will use the datum any more: it leaves all devices, unless it is moving or pinned.
  void expire(Replicas& datum) {
    for (auto n = host_node; datum.copies_moving == 0 && next(n);) {
      auto const block = datum.at(n).block;
      if (block != no_block && node(n).block(block).pins == 0) {
        tell_evict(datum, n);
        drop(datum, n);
      }
    }
  }

  /// The node is lost, with all its copies. Nothing is brought there any more.
  void lose_copies(NodeId at) {
    node(at).lost = true;
    for (auto* datum = first(); datum != nullptr; datum = datum->next) {
      if (datum->valid_at(at)) {
        invalidate(*datum, at);
      }
    }
  }

private:
  /// Gives the datum a place, pinned once, of which the cache knows.
  void new_place(Replicas& datum, NodeId at, std::size_t offset, bool outside) {
    auto& node = this->node(at);
    node.prepare_block();
    auto const block = node.new_block(offset, datum, outside);
    try {
      node.insert(block, {datum.bytes(), node.tasks, datum.reuse});
    } catch (...) {
      node.free(block);
      throw;
    }
    datum.at(at).block = block;
  }

  /// A request that no task makes.
  void request_early(Replicas& datum, NodeId at) {
    auto const moving = datum.copies_moving;
    (void)request(datum, at);
    if (datum.copies_moving != moving && datum.at(at).arriving != nullptr) {
      (void)set_ahead(datum.at(at), true);
      node(at).counters.bytes_ahead += datum.bytes();
    }
    if (observer() != nullptr && datum.copies_moving != moving) {
      observer()->prefetch(datum, datum.at(at).arriving != nullptr ? at : host_node);
    }
  }
};

} // namespace hetsched::detail
