// SPDX-License-Identifier: MIT
#pragma once
// Least recently used replacement.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/block_table.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block whose last use is longest ago leaves first; of blocks last used by
///   one task, a clean one.
/// Source: Lima et al. 2015, sec. 3.4.4; there without the rule for blocks of one task.
/// Cost: O(1) per call; victim O(pinned blocks older than it + blocks last used by its task).
/// Needs: use.task.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: looks neither at sizes nor ahead: a sweep over more blocks than fit hits nothing.
class Lru {
public:
  void insert(BlockId block, BlockUse const& use) { table_.append(oldest_first_, block, use.task); }

  void access(BlockId block, BlockUse const& use) {
    table_.remove(oldest_first_, block);
    table_.append(oldest_first_, block, use.task);
  }

  void pin(BlockId block) noexcept { table_.pin(block); }

  void release(BlockId block) noexcept { table_.release(block); }

  void erase(BlockId block) noexcept { table_.remove(oldest_first_, block); }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    return table_.victim(oldest_first_, dirty);
  }

private:
  detail::BlockTable table_;
  detail::BlockTable::List oldest_first_; // by last use
};

static_assert(cache_policy<Lru>);

} // namespace hetsched::policies
