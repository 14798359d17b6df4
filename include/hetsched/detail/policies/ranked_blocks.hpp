// SPDX-License-Identifier: MIT
#pragma once
// Blocks of a memory node, for cache policies whose order is not that of time.

#include <hetsched/detail/policies/block_table.hpp>

#include <cstdint>
#include <map>

namespace hetsched::detail {

/// Blocks by rank, lowest first, and among equals by time. O(log R) for R ranks in use, but
/// `victim`.
class RankedBlocks {
public:
  void insert(BlockId block, std::uint64_t rank) {
    table_.make_room(block);
    table_.append(lists_[rank], block, rank);
  }

  /// The block becomes the latest of this rank.
  void move(BlockId block, std::uint64_t rank) {
    auto& list = lists_[rank];
    if (rank == table_.key(block)) {
      table_.remove(list, block);
    } else {
      erase(block);
    }
    table_.append(list, block, rank);
  }

  void erase(BlockId block) noexcept {
    auto const list = lists_.find(table_.key(block));
    table_.remove(list->second, block);
    if (list->second.first == no_block.value) {
      lists_.erase(list);
    }
  }

  void pin(BlockId block) noexcept { table_.pin(block); }

  void release(BlockId block) noexcept { table_.release(block); }

  /// The first clean unpinned block of the lowest rank that has an unpinned block. If all of them
  /// are dirty, it is the first one.
  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    for (auto const& [rank, list] : lists_) {
      if (auto const block = table_.victim(list, dirty); block != no_block) {
        return block;
      }
    }
    return no_block;
  }

private:
  BlockTable table_;
  std::map<std::uint64_t, BlockTable::List> lists_; // none is empty
};

} // namespace hetsched::detail
