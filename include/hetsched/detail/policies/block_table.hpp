// SPDX-License-Identifier: MIT
#pragma once
// The blocks of a memory node, as cache policies keep them.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <cstdint>

namespace hetsched::detail {

/// Blocks by number, chained in lists; each has pins and the key it was appended with. O(1) all but
/// `victim`. 24 bytes for each number up to the highest.
class BlockTable {
public:
  struct List {
    std::uint32_t first = no_block.value;
    std::uint32_t last = no_block.value;
  };

  /// For a block, which `append` then does without memory.
  void make_room(BlockId block) {
    while (entries_.size() <= block.value) {
      entries_.push_back({});
    }
  }

  /// The block, in no list so far, becomes the last one. Its pins stay.
  void append(List& list, BlockId block, std::uint64_t key) {
    make_room(block);
    entries_[block.value].key = key;
    entries_[block.value].before = list.last;
    entries_[block.value].after = no_block.value;
    (list.last == no_block.value ? list.first : entries_[list.last].after) = block.value;
    list.last = block.value;
  }

  void remove(List& list, BlockId block) noexcept {
    auto const before = entries_[block.value].before;
    auto const after = entries_[block.value].after;
    (before == no_block.value ? list.first : entries_[before].after) = after;
    (after == no_block.value ? list.last : entries_[after].before) = before;
  }

  [[nodiscard]] std::uint64_t key(BlockId block) const noexcept {
    return entries_[block.value].key;
  }

  void pin(BlockId block) noexcept { ++entries_[block.value].pins; }

  void release(BlockId block) noexcept {
    HETSCHED_ASSERT(entries_[block.value].pins != 0, "a pin to release");
    --entries_[block.value].pins;
  }

  /// The first unpinned block or, if it is dirty, the first clean one of those that follow it with
  /// the same key; no_block if all are pinned.
  [[nodiscard]] BlockId victim(List const& list, DirtyBlocks const& dirty) const {
    BlockId first = no_block;
    for (BlockId block{list.first}; block != no_block; block.value = entries_[block.value].after) {
      if (first != no_block && key(block) != key(first)) {
        break;
      }
      if (entries_[block.value].pins != 0) {
        continue;
      }
      if (!dirty(block)) {
        return block;
      }
      first = first == no_block ? block : first;
    }
    return first;
  }

  /// From the first one on, while `visit` answers true.
  template <class Visit>
  void for_each_unpinned(List const& list, Visit const& visit) const {
    for (BlockId block{list.first}; block != no_block; block.value = entries_[block.value].after) {
      if (entries_[block.value].pins == 0 && !visit(block)) {
        return;
      }
    }
  }

private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t before = no_block.value;
    std::uint32_t after = no_block.value;
    std::uint32_t pins = 0;
  };

  Array<Entry> entries_; // that of no_block is not used
};

/// A replacement policy in which the block that has been in the list for the longest time leaves
/// first. Derived policies decide what an access does.
class OldestFirst {
public:
  void insert(BlockId block, BlockUse const& use) { table_.append(oldest_first_, block, use.task); }

  void pin(BlockId block) noexcept { table_.pin(block); }

  void release(BlockId block) noexcept { table_.release(block); }

  void erase(BlockId block) noexcept { table_.remove(oldest_first_, block); }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    return table_.victim(oldest_first_, dirty);
  }

protected:
  template <class Visit>
  void for_each_unpinned(Visit const& visit) const {
    table_.for_each_unpinned(oldest_first_, visit);
  }

private:
  BlockTable table_;
  BlockTable::List oldest_first_;
};

} // namespace hetsched::detail
