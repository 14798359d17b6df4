// SPDX-License-Identifier: MIT
#pragma once
// The places of data in the memory nodes, and which of them hold the values.

#include <hetsched/core/access.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/memory/cache_kind.hpp>
#include <hetsched/detail/memory/memory_events.hpp>
#include <hetsched/detail/memory/node_memory.hpp>
#include <hetsched/detail/memory/replicas.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The lowest part of MemoryNodes: the data that are known, their places, and their coming uses.
/// Tells an observer of evictions.
class MemoryPlaces {
public:
  /// `capacities`: of the devices' memories, nodes 1 and following.
  MemoryPlaces(CacheKind const& kind, std::span<std::size_t const> capacities) {
    for (auto const capacity : capacities) {
      nodes_.push_back(std::make_unique<NodeMemory>(kind, capacity));
    }
  }

  /// Counts the host's.
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size() + 1; }

  /// Who is told of everything; null: nobody.
  void observe(MemoryObserver* observer) noexcept { observer_ = observer; }

  /// Where caches learn of future uses.
  void foretell_by(Oracle const& oracle) noexcept { oracle_ = oracle; }

  void add(Replicas& datum) noexcept {
    datum.number = ++added_;
    datum.next = all_;
    if (all_ != nullptr) {
      all_->previous = &datum;
    }
    all_ = &datum;
  }

  /// The first of all data known here. Replicas::next leads to the others.
  [[nodiscard]] Replicas* first() const noexcept { return all_; }

  /// Where the datum is in the node's memory; it has a place there.
  [[nodiscard]] std::size_t offset(Replicas const& datum, NodeId at) const noexcept {
    return node(at).block(datum.at(at).block).offset;
  }

  [[nodiscard]] std::size_t capacity(NodeId at) const noexcept { return node(at).arena.capacity(); }

  [[nodiscard]] std::size_t unused(NodeId at) const noexcept { return node(at).arena.unused(); }

  [[nodiscard]] NodeCounters const& counters(NodeId at) const noexcept { return node(at).counters; }

  [[nodiscard]] bool wants_next_use() const noexcept { return nodes_.front()->wants_next_use(); }

  /// A task that will use the datum was spawned. It is the task of that number.
  void will_use(Replicas& datum, void const* task, std::uint64_t number) {
    datum.coming.push_back({task, number});
    if (datum.coming.size() == 1) {
      foresee(datum, host_node);
    }
  }

  /// The task uses the datum now, at a node. Or it will never use it.
  void begin_use(Replicas& datum, void const* task, NodeId at) {
    for (std::size_t k = 0; k < datum.coming.size(); ++k) {
      if (datum.coming[k].task == task) {
        datum.coming.erase(k, k + 1);
        if (k == 0) {
          foresee(datum, at);
        }
        return;
      }
    }
  }

protected:
  [[nodiscard]] static std::uint64_t bit(NodeId at) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(at.value);
  }

  [[nodiscard]] NodeMemory& node(NodeId at) noexcept {
    return *nodes_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] NodeMemory const& node(NodeId at) const noexcept {
    return *nodes_[static_cast<std::size_t>(at.value) - 1];
  }

  /// Steps to the next device's node.
  [[nodiscard]] bool next(NodeId& at) const noexcept {
    return static_cast<std::size_t>(++at.value) <= nodes_.size();
  }

  /// Undoes one pin. A place without pins is given back if it holds no valid copy.
  void unpin(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    if (node.release(datum.at(at).block) && !datum.valid_at(at) &&
        datum.at(at).arriving == nullptr) {
      drop(datum, at);
    }
  }

  void drop(Replicas& datum, NodeId at) {
    auto& place = datum.at(at);
    node(at).erase(place.block);
    place.block = no_block;
    datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
  }

  [[nodiscard]] static bool is_only_copy(Replicas const& datum, NodeId at) noexcept {
    return datum.valid.load(std::memory_order_acquire) == bit(at);
  }

  void tell_evict(Replicas const& datum, NodeId at) {
    if (observer_ != nullptr) {
      observer_->evict(datum, at);
    }
  }

  /// The datum has a new version there: makes all other copies invalid and gives up their places,
  /// except pinned ones.
  void only_valid_at(Replicas& datum, NodeId at) {
    ++datum.version;
    datum.failed_copies = 0;
    datum.lost = false;
    datum.valid.store(bit(at), std::memory_order_release);
    for (auto n = host_node; next(n);) {
      auto const block = datum.at(n).block;
      if (n != at && block != no_block && node(n).block(block).pins == 0) {
        drop(datum, n);
      }
    }
  }

  /// A datum without a valid copy is lost: no node counts as having it until it is overwritten.
  void invalidate(Replicas& datum, NodeId at) {
    datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
    note_loss(datum);
    auto const block = datum.at(at).block;
    if (block != no_block && node(at).block(block).pins == 0) {
      drop(datum, at);
    }
  }

  /// A datum without a valid copy is lost, unless a transfer from what was valid is under way.
  static void note_loss(Replicas& datum) noexcept {
    datum.lost = datum.copies_moving == 0 && datum.valid.load(std::memory_order_acquire) == 0;
  }

  /// Who is told of everything; null: nobody.
  [[nodiscard]] MemoryObserver* observer() const noexcept { return observer_; }

  [[nodiscard]] Oracle const& oracle() const noexcept { return oracle_; }

  /// Takes the datum off the list of all.
  void unlist(Replicas& datum) noexcept {
    (datum.previous != nullptr ? datum.previous->next : all_) = datum.next;
    if (datum.next != nullptr) {
      datum.next->previous = datum.previous;
    }
  }

private:
  /// Tells the caches of the datum's next use, except the cache of node `user`, which learns it
  /// from the use itself.
  void foresee(Replicas const& datum, NodeId user) {
    for (auto n = host_node; next(n);) {
      auto const block = datum.at(n).block;
      if (n != user && block != no_block) {
        node(n).foresee(block, datum.next_use());
      }
    }
  }

  std::vector<std::unique_ptr<NodeMemory>> nodes_;
  Replicas* all_ = nullptr;
  std::uint64_t added_ = 0;
  MemoryObserver* observer_ = nullptr;
  Oracle oracle_;
};

} // namespace hetsched::detail
