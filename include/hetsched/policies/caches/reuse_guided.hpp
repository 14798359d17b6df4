// SPDX-License-Identifier: MIT
#pragma once
// Replacement by reuse indices that the program gives.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/policies/ranked_blocks.hpp>

#include <cstdint>

namespace hetsched::policies {

/// Decides: the unpinned block with the lowest reuse index leaves first; among equals a clean one,
///   then the one whose last use is longest ago. The index is that of the block's latest use, or
///   what the program gave the datum since, which then counts as its latest use.
/// Source: the guided software cache for sparse LU, sec. 4.1 (multi-grained sparse LU on CPU and
///   GPU). There an index is fixed when data enter, and ties are left open.
/// Cost: O(log I) per call for I indices in use; victim O(pinned and dirty blocks before it).
/// Needs: use.reuse, from `reuse(index)` at the spawn, otherwise of the datum; reindex.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none; a very high index locks a block until it has a lower one.
/// Limits: knows only what the program says: without indices it is Lru that prefers clean blocks.
class ReuseGuided {
public:
  void insert(BlockId block, BlockUse const& use) { blocks_.insert(block, rank(use.reuse)); }

  void access(BlockId block, BlockUse const& use) { blocks_.move(block, rank(use.reuse)); }

  void reindex(BlockId block, std::int64_t reuse) { blocks_.move(block, rank(reuse)); }

  void pin(BlockId block) noexcept { blocks_.pin(block); }

  void release(BlockId block) noexcept { blocks_.release(block); }

  void erase(BlockId block) noexcept { blocks_.erase(block); }

  [[nodiscard]] BlockId victim(DirtyBlocks const& dirty) const { return blocks_.victim(dirty); }

private:
  /// The index as an unsigned number, in the same order.
  static std::uint64_t rank(std::int64_t reuse) noexcept {
    return static_cast<std::uint64_t>(reuse) ^ (std::uint64_t{1} << 63U);
  }

  detail::RankedBlocks blocks_;
};

static_assert(cache_policy<ReuseGuided>);

} // namespace hetsched::policies
