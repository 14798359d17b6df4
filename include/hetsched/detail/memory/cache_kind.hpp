// SPDX-License-Identifier: MIT
#pragma once
// Cache policies behind function pointers.

#include <hetsched/concepts/cache.hpp>

namespace hetsched::detail {

/// A cache policy without its type: code that is compiled once serves all of them.
struct CacheKind {
  void* (*make)();
  void (*destroy)(void* cache) noexcept;
  void (*insert)(void* cache, BlockId block, BlockUse const& use);
  void (*access)(void* cache, BlockId block, BlockUse const& use);
  void (*pin)(void* cache, BlockId block);
  void (*release)(void* cache, BlockId block);
  void (*erase)(void* cache, BlockId block);
  BlockId (*victim)(void* cache, DirtyBlocks const& dirty);
  void (*foresee)(void* cache, BlockId block, std::uint64_t next_use); // null: no such hook
  bool wants_next_use;
};

template <class Cache>
inline constexpr CacheKind cache_kind{
    []() -> void* { return new Cache(); },
    [](void* cache) noexcept { delete static_cast<Cache*>(cache); },
    [](void* cache, BlockId b, BlockUse const& use) { static_cast<Cache*>(cache)->insert(b, use); },
    [](void* cache, BlockId b, BlockUse const& use) { static_cast<Cache*>(cache)->access(b, use); },
    [](void* cache, BlockId b) { static_cast<Cache*>(cache)->pin(b); },
    [](void* cache, BlockId b) { static_cast<Cache*>(cache)->release(b); },
    [](void* cache, BlockId b) { static_cast<Cache*>(cache)->erase(b); },
    [](void* cache, DirtyBlocks const& dirty) { return static_cast<Cache*>(cache)->victim(dirty); },
    [] {
      if constexpr (has_foresee<Cache>) {
        return +[](void* cache, BlockId b, std::uint64_t next_use) {
          static_cast<Cache*>(cache)->foresee(b, next_use);
        };
      } else {
        return nullptr;
      }
    }(),
    wants_next_use<Cache>};

} // namespace hetsched::detail
