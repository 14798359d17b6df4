// SPDX-License-Identifier: MIT
#pragma once
// Cache policies behind function pointers.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/core/policy_call.hpp>
#include <hetsched/detail/core/type_name.hpp>

#include <string_view>

namespace hetsched::detail {

/// Calls a hook of a cache, watched if that is asked for. It may call no runtime.
template <class Cache, class F>
auto in_cache([[maybe_unused]] char const* hook, void* cache, F&& f) {
  auto const ask = [&] { return f(*static_cast<Cache*>(cache)); };
  if constexpr (HETSCHED_CHECK_POLICIES != 0) {
    PolicyCall const call(nullptr, "cache", type_name<Cache>(), hook);
    return watched_call(call, ask, end_by_policy);
  } else {
    return ask();
  }
}

/// A cache policy without its type: code that is compiled once serves all of them.
struct CacheKind {
  std::string_view name;
  void* (*make)();
  void (*destroy)(void* cache) noexcept;
  void (*insert)(void* cache, BlockId block, BlockUse const& use);
  void (*access)(void* cache, BlockId block, BlockUse const& use);
  void (*pin)(void* cache, BlockId block);
  void (*release)(void* cache, BlockId block);
  void (*erase)(void* cache, BlockId block);
  BlockId (*victim)(void* cache, DirtyBlocks const& dirty);
  void (*foresee)(void* cache, BlockId block, std::uint64_t next_use); // null: no such hook
  void (*reindex)(void* cache, BlockId block, std::int64_t reuse);     // null: no such hook
  bool wants_next_use;
};

template <class Cache>
inline constexpr CacheKind cache_kind{
    type_name<Cache>(),
    []() -> void* { return new Cache(); },
    [](void* cache) noexcept { delete static_cast<Cache*>(cache); },
    [](void* cache, BlockId b, BlockUse const& use) {
      in_cache<Cache>("insert", cache, [&](Cache& it) { it.insert(b, use); });
    },
    [](void* cache, BlockId b, BlockUse const& use) {
      in_cache<Cache>("access", cache, [&](Cache& it) { it.access(b, use); });
    },
    [](void* cache, BlockId b) { in_cache<Cache>("pin", cache, [&](Cache& it) { it.pin(b); }); },
    [](void* cache, BlockId b) {
      in_cache<Cache>("release", cache, [&](Cache& it) { it.release(b); });
    },
    [](void* cache, BlockId b) {
      in_cache<Cache>("erase", cache, [&](Cache& it) { it.erase(b); });
    },
    [](void* cache, DirtyBlocks const& dirty) {
      return in_cache<Cache>("victim", cache, [&](Cache& it) { return it.victim(dirty); });
    },
    [] {
      if constexpr (has_foresee<Cache>) {
        return +[](void* cache, BlockId b, std::uint64_t next_use) {
          in_cache<Cache>("foresee", cache, [&](Cache& it) { it.foresee(b, next_use); });
        };
      } else {
        return nullptr;
      }
    }(),
    [] {
      if constexpr (has_reindex<Cache>) {
        return +[](void* cache, BlockId b, std::int64_t reuse) {
          in_cache<Cache>("reindex", cache, [&](Cache& it) { it.reindex(b, reuse); });
        };
      } else {
        return nullptr;
      }
    }(),
    wants_next_use<Cache>};

} // namespace hetsched::detail
