// SPDX-License-Identifier: MIT
#pragma once
// One device memory: its blocks, their pins, and the policy that chooses which leave.

#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/memory/arena.hpp>
#include <hetsched/detail/memory/cache_kind.hpp>
#include <hetsched/detail/memory/memory_events.hpp>
#include <hetsched/detail/memory/replicas.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace hetsched::detail {

/// A part of MemoryNodes, guarded by the same lock.
class NodeMemory {
public:
  struct Block {
    std::size_t offset = 0;
    Replicas* owner = nullptr;
    int pins = 0;
    bool outside = false; // of the arena: the program's own memory
  };

  NodeMemory(CacheKind const& kind, std::size_t capacity)
      : arena(capacity), cache_kind_(kind), cache_(kind.make()) {}

  NodeMemory(NodeMemory const&) = delete;
  NodeMemory& operator=(NodeMemory const&) = delete;

  ~NodeMemory() { cache_kind_.destroy(cache_); }

  [[nodiscard]] Block const& block(BlockId id) const noexcept { return blocks_[id.value]; }

  [[nodiscard]] bool wants_next_use() const noexcept { return cache_kind_.wants_next_use; }

  /// The memory of a new block: new_block, and its end, then take none.
  void prepare_block() {
    if (unused_ids_.empty()) {
      make_room(unused_ids_, blocks_.size() + 1);
      unused_ids_.push_back({static_cast<std::uint32_t>(blocks_.size())});
      try {
        blocks_.emplace_back();
      } catch (...) {
        unused_ids_.pop_back();
        throw;
      }
    }
  }

  /// A block at `offset` for the datum, pinned once. The policy is told by `insert`.
  BlockId new_block(std::size_t offset, Replicas& datum, bool outside = false) noexcept {
    auto const id = unused_ids_.back();
    unused_ids_.pop_back();
    blocks_[id.value] = {offset, &datum, 1, outside};
    return id;
  }

  void insert(BlockId id, BlockUse const& use) {
    cache_kind_.insert(cache_, id, use);
    cache_kind_.pin(cache_, id);
  }

  /// Of a block that the policy knows. Without memory for that, it knows the use before.
  void access(BlockId id, BlockUse const& use) noexcept {
    try {
      cache_kind_.access(cache_, id, use);
    } catch (std::bad_alloc const&) {
    }
  }

  void foresee(BlockId id, std::uint64_t next_use) noexcept {
    if (cache_kind_.foresee != nullptr) {
      try {
        cache_kind_.foresee(cache_, id, next_use);
      } catch (std::bad_alloc const&) {
      }
    }
  }

  /// Without memory for that, the policy knows the index before.
  void reindex(BlockId id, std::int64_t reuse) noexcept {
    if (cache_kind_.reindex != nullptr) {
      try {
        cache_kind_.reindex(cache_, id, reuse);
      } catch (std::bad_alloc const&) {
      }
    }
  }

  void pin(BlockId id) {
    ++blocks_[id.value].pins;
    cache_kind_.pin(cache_, id);
  }

  /// Undoes one `pin`. True if no other is left.
  bool release(BlockId id) {
    cache_kind_.release(cache_, id);
    return --blocks_[id.value].pins == 0;
  }

  /// Whether the policy may ask about the block.
  [[nodiscard]] bool has(BlockId id) const noexcept {
    return id.value < blocks_.size() && blocks_[id.value].owner != nullptr;
  }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    auto const id = cache_kind_.victim(cache_, dirty);
    if (id != no_block && (!has(id) || blocks_[id.value].pins != 0)) [[unlikely]] {
      refuse(id, has(id) ? "answered a pinned block" : "answered a block that is not there");
    }
    return id;
  }

  /// Ends the program: `victim` was wrong.
  [[noreturn, gnu::cold]] void refuse(BlockId id, char const* what) const {
    end_by_policy(policy_called("cache", cache_kind_.name),
                  std::string("victim ") + what + " (block " + std::to_string(id.value) + ")");
  }

  /// Removes an unpinned block that the policy knows.
  void erase(BlockId id) {
    cache_kind_.erase(cache_, id);
    free(id);
  }

  /// Removes a block that the policy does not know.
  void free(BlockId id) noexcept {
    auto& block = blocks_[id.value];
    if (!block.outside) {
      arena.release(block.offset, block.owner->bytes());
    }
    block.owner = nullptr;
    unused_ids_.push_back(id);
  }

  Arena arena;
  std::size_t leaving = 0; // bytes of blocks that are being written back to leave
  int moving = 0;          // transfers from and to here
  std::uint64_t tasks = 0; // tasks admitted so far
  bool lost = false;       // no copy here is valid from now on
  NodeCounters counters;

private:
  CacheKind const cache_kind_;
  std::vector<Block> blocks_ = std::vector<Block>(1); // number 0 is no_block
  std::vector<BlockId> unused_ids_;
  void* const cache_; // made last
};

} // namespace hetsched::detail
