// SPDX-License-Identifier: MIT
#pragma once
// The contract of replacement policies for a device memory.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hetsched {

/// Identifies a block held in one memory node: a small number, used again after `erase`.
struct BlockId {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(BlockId, BlockId) = default;
};

inline constexpr BlockId no_block{};

inline constexpr std::uint64_t never_again = ~std::uint64_t{0};

/// A task's use of a block, as it is told to the policy.
struct BlockUse {
  std::size_t bytes = 0;  // of the block
  std::uint64_t task = 0; // counts the tasks let into the node: equal for the blocks of one task
  std::int64_t reuse = 0; // index given by `reuse(index)` at the spawn, else at the datum
  /// Which of the tasks spawned so far uses the block next after this one, in program order;
  /// `never_again` if none does. Kept only for policies with `static constexpr bool
  /// wants_next_use = true`: else always `never_again`.
  std::uint64_t next_use = never_again;
};

/// Answers whether a block holds the only valid copy of a datum, so that its eviction costs a
/// transfer. Valid during the call it is given to.
class DirtyBlocks {
public:
  using Answer = bool (*)(void const* source, BlockId block);

  DirtyBlocks(Answer answer, void const* source) noexcept : answer_(answer), source_(source) {}

  [[nodiscard]] bool operator()(BlockId block) const { return answer_(source_, block); }

private:
  Answer answer_;
  void const* source_;
};

/// Chooses what leaves a memory node when space is short. One instance per node; every call is made
/// under the lock of that engine's memory, so no operation needs care for threads.
///
/// insert(block, use): the block is now in the node, for the use told. access(block, use): a later
/// use of it. pin(block), release(block): it may not, may again, be a victim; pins count, and a
/// block is inserted without any. erase(block): it left; it is not pinned then.
/// victim(dirty): an unpinned block to evict, not yet erased; no_block if there is none. Asking
/// changes nothing. `dirty` may be asked about blocks in the node. Where the policy has no
/// preference, a clean one: eviction of a dirty one costs a transfer.
/// foresee(block, next_use) (optional, of a policy that wants next uses): what the last insert or
/// access told of the next use has changed: the task was spawned since, or ran elsewhere.
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

/// Whether the engine is to keep `BlockUse::next_use` for the policy.
template <class C>
inline constexpr bool wants_next_use = [] {
  if constexpr (requires { C::wants_next_use; }) {
    return static_cast<bool>(C::wants_next_use);
  } else {
    return false;
  }
}();

} // namespace hetsched
