// SPDX-License-Identifier: MIT
#pragma once
// Least recently used replacement.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

namespace hetsched::policies {

/// Decides: the unpinned block whose last use is longest ago leaves first.
/// Source: Lima et al. 2015, sec. 3.4.4.
/// Cost: O(log B) per call for B blocks; victim O(pinned blocks older than it).
/// Needs: nothing of the context.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: looks at neither sizes nor dirtiness. Host memory needs no replacement: a runtime
/// without
///   devices makes no instance.
template <class Block>
class BasicLru {
public:
  void insert(Block block, std::size_t /*bytes*/) {
    blocks_[block.value] = {clock_, 0};
    order_[clock_++] = block;
  }

  void access(Block block) {
    auto& entry = blocks_.at(block.value);
    order_.erase(entry.used);
    entry.used = clock_;
    order_[clock_++] = block;
  }

  void pin(Block block) { ++blocks_.at(block.value).pins; }

  void release(Block block) { --blocks_.at(block.value).pins; }

  void erase(Block block) {
    order_.erase(blocks_.at(block.value).used);
    blocks_.erase(block.value);
  }

  [[nodiscard]] Block victim() const {
    for (auto const& [used, block] : order_) {
      if (blocks_.at(block.value).pins == 0) {
        return block;
      }
    }
    return Block{};
  }

private:
  struct Entry {
    std::uint64_t used; // key in order_
    int pins;
  };

  std::map<std::uint64_t, Block> order_; // by time of last use
  std::map<std::uint64_t, Entry> blocks_;
  std::uint64_t clock_ = 0;
};

using Lru = BasicLru<BlockId>;

static_assert(cache_policy<Lru>);

} // namespace hetsched::policies
