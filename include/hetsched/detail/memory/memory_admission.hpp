// SPDX-License-Identifier: MIT
#pragma once
// Admission: makes room for a task's data in a device's memory by eviction.

#include <hetsched/detail/memory/memory_transfers.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The part of MemoryNodes that admits tasks to a node. It reserves a task's whole footprint, or
/// nothing. The cache policy chooses what leaves.
class MemoryAdmission : public MemoryTransfers {
public:
  enum class Admission : std::uint8_t {
    admitted,
    later, // when a transfer or a task that is under way has ended
    never, // it does not fit, even if all that can leave has left: see `missing_bytes`
  };

  using MemoryTransfers::MemoryTransfers;

  /// Reserves a place for each datum of `task`. `alone`: no other task is in the node. Such a task
  /// gets all of the node's memory: even its own data leave, since they may split the free memory.
  [[nodiscard]] Admission
  admit(NodeId at, void const* task, std::span<Need const> needs, bool alone) {
    auto const& node = this->node(at);
    if (!reserve(at, needs)) {
      if (!alone || node.moving != 0) {
        return Admission::later;
      }
      for (auto block = victim(at); block != no_block; block = victim(at)) {
        auto& datum = *node.block(block).owner;
        if (cannot_be_copied(datum) && is_only_copy(datum, at)) {
          missing_ = lacking_ - std::min(lacking_ - 1, node.arena.unused());
          return Admission::never;
        }
        if (!expel(datum, at)) {
          return Admission::later;
        }
      }
      if (node.moving != 0) {
        return Admission::later;
      }
      if (!reserve(at, needs)) {
        missing_ = lacking_ - std::min(lacking_ - 1, node.arena.unused());
        return Admission::never;
      }
    }
    ++this->node(at).tasks;
    std::size_t noted = 0;
    try {
      for (; noted < needs.size(); ++noted) {
        note_use(at, task, needs[noted]);
      }
    } catch (...) {
      undo(at, needs, noted);
      throw;
    }
    return Admission::admitted;
  }

  /// The bytes that the task lacked, if admit answered never.
  [[nodiscard]] std::size_t missing_bytes() const noexcept { return missing_; }

  /// The data for which the last admit made new places.
  [[nodiscard]] std::span<Replicas* const> fresh() const noexcept { return fresh_; }

private:
  [[nodiscard]] BlockId victim(NodeId at) const {
    struct Source {
      NodeMemory const* node;
      NodeId at;
      Oracle oracle;

      [[nodiscard]] Replicas const& datum(BlockId block) const {
        if (!node->has(block)) [[unlikely]] {
          node->refuse(block, "asked about a block that is not there");
        }
        return *node->block(block).owner;
      }
    } const asked{&node(at), at, oracle()};

    auto const dirty = [](void const* from, BlockId block) {
      auto const& source = *static_cast<Source const*>(from);
      return is_only_copy(source.datum(block), source.at);
    };
    auto const future = [](void const* from, BlockId block) {
      auto const& source = *static_cast<Source const*>(from);
      auto const& datum = source.datum(block);
      auto const& oracle = source.oracle;
      return oracle.answer == nullptr || datum.contribution
                 ? FutureUses{}
                 : oracle.answer(oracle.scheduler,
                                 reinterpret_cast<std::uintptr_t>(datum.identity),
                                 source.at);
    };
    return asked.node->victim(DirtyBlocks(dirty, &asked, future));
  }

  /// Makes places for the data that have none, and pins all. Evicts as far as needed. Undoes what
  /// it did if there is no room now.
  [[nodiscard]] bool reserve(NodeId at, std::span<Need const> needs) {
    auto& node = this->node(at);
    lacking_ = 0;
    for (auto const& need : needs) {
      if (auto const block = need.datum->at(at).block; block != no_block) {
        node.pin(block);
      } else {
        lacking_ += Arena::rounded(need.datum->bytes());
      }
    }
    fresh_.clear();
    bool there_is_room = false;
    try {
      there_is_room = make_places(at, needs);
    } catch (...) {
      undo(at, needs, 0);
      throw;
    }
    if (!there_is_room) {
      undo(at, needs, 0);
    }
    return there_is_room;
  }

  [[nodiscard]] bool make_places(NodeId at, std::span<Need const> needs) {
    auto& node = this->node(at);
    detail::make_room(fresh_, needs.size());
    auto missing = lacking_;
    for (auto const& need : needs) {
      if (need.datum->at(at).block != no_block) {
        continue;
      }
      auto const bytes = need.datum->bytes();
      node.prepare_block();
      if (!make_room(at, bytes, missing)) {
        return false;
      }
      need.datum->at(at).block = node.new_block(offset_, *need.datum);
      fresh_.push_back(need.datum);
      missing -= Arena::rounded(bytes);
    }
    return true;
  }

  /// Finds a free range of `bytes` and sets offset_. Evicts if there is none. Returns false if
  /// there is no room now. `missing`: the bytes that the task still lacks in all.
  [[nodiscard]] bool make_room(NodeId at, std::size_t bytes, std::size_t missing) {
    auto& node = this->node(at);
    for (;;) {
      if (auto const offset = node.arena.allocate(bytes)) {
        offset_ = *offset;
        return true;
      }
      if (node.leaving != 0 && node.arena.unused() + node.leaving >= missing) {
        return false;
      }
      auto const block = victim(at);
      if (block == no_block || !expel(*node.block(block).owner, at)) {
        return false;
      }
    }
  }

  /// Makes an unpinned block leave: at once, or after a transfer to host memory. Returns false if
  /// the block has to stay for now, because an older version is still on its way there or from
  /// there (to an attempt that came too late), or because such transfers have failed over and over.
  [[nodiscard]] bool expel(Replicas& datum, NodeId at) {
    if (!is_only_copy(datum, at)) {
      ++node(at).counters.evictions_clean;
      tell_evict(datum, at);
      drop(datum, at);
      return true;
    }
    if (is_occupied(datum.at(host_node)) || cannot_be_copied(datum)) {
      return false;
    }
    start(datum, at, host_node, true);
    node(at).leaving += Arena::rounded(datum.bytes());
    if (observer() != nullptr) {
      observer()->write_back(datum, at);
    }
    return true;
  }

  /// Undoes an admission that stopped half way: the first `noted` of its uses were noted.
  void undo(NodeId at, std::span<Need const> needs, std::size_t noted) {
    auto& node = this->node(at);
    for (std::size_t k = 0; k < needs.size(); ++k) {
      auto& datum = *needs[k].datum;
      auto& block = datum.at(at).block;
      if (block == no_block) {
        continue;
      }
      if (!is_fresh(datum)) {
        unpin(datum, at);
        continue;
      }
      if (k < noted) {
        (void)node.release(block);
        node.erase(block);
      } else {
        node.free(block);
      }
      block = no_block;
    }
    fresh_.clear();
  }

  [[nodiscard]] bool is_fresh(Replicas const& datum) const noexcept {
    return std::find(fresh_.begin(), fresh_.end(), &datum) != fresh_.end();
  }

  /// Tells the cache of what an admitted task uses. Throws before it has told it of the block.
  void note_use(NodeId at, void const* task, Need const& need) {
    auto& node = this->node(at);
    auto& datum = *need.datum;
    if (observer() != nullptr) {
      observer()->admit(datum, at, need.reads, need.writes);
    }
    auto const block = datum.at(at).block;
    begin_use(datum, task, at);
    datum.reuse = need.reuse;
    BlockUse const use{datum.bytes(), node.tasks, need.reuse, datum.next_use()};
    bool const known = !is_fresh(datum);
    if (known) {
      node.access(block, use);
    } else {
      node.insert(block, use);
    }
    bool const arrives = datum.valid_at(at) || datum.at(at).arriving != nullptr;
    if (set_ahead(datum.at(at), false) && known && arrives && need.reads) {
      node.counters.bytes_ahead_used += datum.bytes();
    }
    bool const coming = arrives || datum.writers != 0;
    ++(known && (coming || !need.reads) ? node.counters.hits : node.counters.misses);
  }

  std::vector<Replicas*> fresh_;
  std::size_t offset_ = 0;
  std::size_t lacking_ = 0; // bytes of the places that the last task had to get
  std::size_t missing_ = 0;
};

} // namespace hetsched::detail
