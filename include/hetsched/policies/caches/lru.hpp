// SPDX-License-Identifier: MIT
#pragma once
// Least recently used replacement.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/policies/block_table.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block whose last use is longest ago leaves first; of blocks last used by
///   one task, a clean one.
/// Source: Lima et al. 2015, sec. 3.4.4, which has no rule for blocks of one task.
/// Cost: O(1) per call; victim O(pinned blocks older than it + blocks last used by its task).
/// Needs: use.task.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: looks neither at sizes nor ahead: a sweep over more blocks than fit hits nothing.
class Lru : public detail::OldestFirst {
public:
  void access(BlockId block, BlockUse const& use) {
    erase(block);
    insert(block, use);
  }
};

static_assert(cache_policy<Lru>);

} // namespace hetsched::policies
