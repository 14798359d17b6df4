// SPDX-License-Identifier: MIT
#pragma once
// The contract of replacement policies for a device memory.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hetsched {

/// Identifies a block held in one memory node.
struct BlockId {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(BlockId, BlockId) = default;
};

inline constexpr BlockId no_block{};

/// Chooses what leaves a memory node when space is short. One instance per node; every call is made
/// under that node's lock, so no operation needs care for threads.
///
/// insert(block, bytes): the block is now in the node. access(block): a task uses it.
/// pin(block), release(block): it may not, may again, be a victim; pins count.
/// erase(block): it left. victim(): an unpinned block to evict, not yet erased; no_block if none.
template <class C>
concept cache_policy =
    std::default_initializable<C> && requires(C& cache, BlockId block, std::size_t bytes) {
      { cache.insert(block, bytes) } -> std::same_as<void>;
      { cache.access(block) } -> std::same_as<void>;
      { cache.pin(block) } -> std::same_as<void>;
      { cache.release(block) } -> std::same_as<void>;
      { cache.erase(block) } -> std::same_as<void>;
      { cache.victim() } -> std::same_as<BlockId>;
    };

} // namespace hetsched
