// SPDX-License-Identifier: MIT
#pragma once
// Replacement by what the scheduler has planned.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/policies/block_table.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block leaves first that the fewest tasks use which are planned for the
///   node; among equals the one that the fewest ready tasks use, then the one whose last use is
///   longest ago.
/// Source: LUF (Gonthier, Marchal, Thibault, Memory-aware scheduling of tasks sharing data on
///   multiple GPUs with dynamic runtime systems, 2022). There blocks of tasks that a GPU has taken
///   leave after all others; here these are pinned. That ready tasks count is our own: with plans
///   alone, most blocks are equal.
/// Cost: O(1) per call; victim O(blocks).
/// Needs: a scheduler with future_uses, such as Darts.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: with schedulers that foretell nothing it is Lru. Looks at no sizes, and not at what an
///   eviction costs.
class LeastUsedFuture : public detail::OldestFirst {
public:
  void access(BlockId block, BlockUse const& use) {
    erase(block);
    insert(block, use);
  }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const {
    auto best = no_block;
    FutureUses least;
    for_each_unpinned([&](BlockId block) {
      auto const uses = dirty.future_uses(block);
      if (best == no_block || uses < least) {
        least = uses;
        best = block;
      }
      return least != FutureUses{};
    });
    return best;
  }
};

static_assert(cache_policy<LeastUsedFuture>);

} // namespace hetsched::policies
