// SPDX-License-Identifier: MIT
#pragma once
// Replacement by the next use, known from the tasks spawned so far.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/policies/ranked_blocks.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block whose next use is farthest in program order leaves first, and before
///   all others a block without a next use; among equals a clean one, then the one whose last use
///   is longest ago.
/// Source: Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems
///   Journal 5(2), 1966. There pages have one size, and all uses come in the known order.
/// Cost: O(log U) per call for U known next uses; victim O(pinned and dirty blocks before it).
/// Needs: use.next_use; the engine keeps it only for policies that want it.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: learns a next use only at a use: it does not see tasks spawned later before that, and a
///   use that went to another node still counts as a future use. Looks at no sizes.
class NextUse {
public:
  static constexpr bool wants_next_use = true;

  void insert(BlockId block, BlockUse const& use) { blocks_.insert(block, ~use.next_use); }

  void access(BlockId block, BlockUse const& use) { blocks_.move(block, ~use.next_use); }

  void foresee(BlockId block, std::uint64_t next_use) { blocks_.move(block, ~next_use); }

  void pin(BlockId block) noexcept { blocks_.pin(block); }

  void release(BlockId block) noexcept { blocks_.release(block); }

  void erase(BlockId block) noexcept { blocks_.erase(block); }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const { return blocks_.victim(dirty); }

private:
  detail::RankedBlocks blocks_; // farthest first: by the complement of the next use
};

static_assert(cache_policy<NextUse>);

} // namespace hetsched::policies
