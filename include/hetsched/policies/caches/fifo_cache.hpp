// SPDX-License-Identifier: MIT
#pragma once
// First in, first out replacement; policies::Fifo is a queue.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/block_table.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block that has been in the node for longest leaves first, however often it
///   was used; of blocks brought in by one task, a clean one.
/// Source: the textbook.
/// Cost: O(1) per call; victim O(pinned blocks older than it + blocks brought in by its task).
/// Needs: use.task.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: what every task uses leaves as soon as what one task used.
class FifoCache {
public:
  void insert(BlockId block, BlockUse const& use) { table_.append(oldest_first_, block, use.task); }

  void access(BlockId /*block*/, BlockUse const& /*use*/) noexcept {}

  void pin(BlockId block) noexcept { table_.pin(block); }

  void release(BlockId block) noexcept { table_.release(block); }

  void erase(BlockId block) noexcept { table_.remove(oldest_first_, block); }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    return table_.victim(oldest_first_, dirty);
  }

private:
  detail::BlockTable table_;
  detail::BlockTable::List oldest_first_; // by insertion
};

static_assert(cache_policy<FifoCache>);

} // namespace hetsched::policies
