// SPDX-License-Identifier: MIT
#pragma once
// The contract of replacement policies for a device memory.

#include <hetsched/core/task.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hetsched {

/// Identifies a block in one memory node: a small number, used again after `erase`.
struct BlockId {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(BlockId, BlockId) = default;
};

inline constexpr BlockId no_block{};

inline constexpr std::uint64_t never_again = ~std::uint64_t{0};

/// A task's use of a block.
struct BlockUse {
  std::size_t bytes = 0;  // of the block
  std::uint64_t task = 0; // grows with each task admitted to the node; equal for all its blocks
  std::int64_t reuse = 0; // from `reuse(index)` at the spawn, otherwise the datum's; 0: none given
  /// Number of the spawned task that uses the block next after this use, in program order;
  /// `never_again` if there is none. The engine keeps it only for policies that declare
  /// `static constexpr bool wants_next_use = true`. For others it is always `never_again`.
  std::uint64_t next_use = never_again;
};

/// What a policy may ask about the blocks in the node. Valid only during the call that receives it.
class DirtyBlocks {
public:
  using Answer = bool (*)(void const* source, BlockId block);
  using Foretold = FutureUses (*)(void const* source, BlockId block);

  DirtyBlocks(Answer answer, void const* source, Foretold future = nullptr) noexcept
      : answer_(answer), future_(future), source_(source) {}

  /// Whether the block holds the only valid copy of a datum, so that its eviction costs a transfer.
  [[nodiscard]] bool operator()(BlockId block) const { return answer_(source_, block); }

  /// What the scheduler says about uses of the block that are to come, with plans for this node.
  /// Nothing if it has no `future_uses`, as most have not.
  [[nodiscard]] FutureUses future_uses(BlockId block) const {
    return future_ == nullptr ? FutureUses{} : future_(source_, block);
  }

private:
  Answer answer_;
  Foretold future_;
  void const* source_;
};

/// Chooses which block leaves a memory node when space is short. There is one instance for each
/// node. Every call is made under the lock of that node's memory, so no operation needs protection
/// against threads.
///
/// insert(block, use)   The block is in the node now, for this use. It has no pins.
/// access(block, use)   A later use of the block.
/// pin(block)           The block must not be a victim. Pins are counted.
/// release(block)       Takes one pin back.
/// erase(block)         The block has left the node. It has no pins then.
/// victim(dirty)        Returns an unpinned block to evict, or no_block if there is none. The call
///   changes nothing: the block stays until `erase`. The policy may ask `dirty` about blocks in the
///   node. Without a preference it should return a clean block, because evicting a dirty one costs
///   a transfer.
/// foresee(block, next_use)   Optional, for policies that want next uses. The next use that the
///   last insert or access stated has changed, because a task was spawned since or ran elsewhere.
/// reindex(block, reuse)   Optional. The program has given the block's datum another reuse index
///   (Handle::reuse), which counts in place of that of the last insert or access.
template <class C>
concept cache_policy =
    std::default_initializable<C> &&
    requires(C& cache, BlockId block, BlockUse const& use, DirtyBlocks const& dirty) {
      { cache.insert(block, use) } -> std::same_as<void>;
      { cache.access(block, use) } -> std::same_as<void>;
      { cache.pin(block) } -> std::same_as<void>;
      { cache.release(block) } -> std::same_as<void>;
      { cache.erase(block) } -> std::same_as<void>;
      { cache.victim(dirty) } -> std::same_as<BlockId>;
    };

template <class C>
inline constexpr bool has_foresee =
    requires(C& cache, BlockId block, std::uint64_t use) { cache.foresee(block, use); };

template <class C>
inline constexpr bool has_reindex =
    requires(C& cache, BlockId block, std::int64_t reuse) { cache.reindex(block, reuse); };

/// Whether the engine keeps `BlockUse::next_use` for the policy.
template <class C>
inline constexpr bool wants_next_use = [] {
  if constexpr (requires { C::wants_next_use; }) {
    return static_cast<bool>(C::wants_next_use);
  } else {
    return false;
  }
}();

} // namespace hetsched
