// SPDX-License-Identifier: MIT
#pragma once
// The cache policies by name.

#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/least_used_future.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

namespace example {

namespace hs = hetsched;

/// The policy that --cache names. One type for all: a program is not compiled once more for each.
class ChosenCache {
public:
  static constexpr bool wants_next_use = true; // one of them does
  static constexpr std::array<std::string_view, 5> names{"lru", "fifo", "reuse", "nextuse", "luf"};

  /// Chooses the policy of the objects made from now on, by the number of its name.
  static void choose(std::size_t which) { chosen_ = which; }

  ChosenCache() {
    switch (chosen_) {
    case 1:
      cache_.emplace<hs::policies::FifoCache>();
      break;
    case 2:
      cache_.emplace<hs::policies::ReuseGuided>();
      break;
    case 3:
      cache_.emplace<hs::policies::NextUse>();
      break;
    case 4:
      cache_.emplace<hs::policies::LeastUsedFuture>();
      break;
    default:
      break;
    }
  }

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    std::visit([&](auto& cache) { cache.insert(block, use); }, cache_);
  }

  void access(hs::BlockId block, hs::BlockUse const& use) {
    std::visit([&](auto& cache) { cache.access(block, use); }, cache_);
  }

  void pin(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.pin(block); }, cache_);
  }

  void release(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.release(block); }, cache_);
  }

  void erase(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.erase(block); }, cache_);
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) {
    return std::visit([&](auto& cache) { return cache.victim(dirty); }, cache_);
  }

private:
  static inline std::size_t chosen_ = 0;

  std::variant<hs::policies::Lru,
               hs::policies::FifoCache,
               hs::policies::ReuseGuided,
               hs::policies::NextUse,
               hs::policies::LeastUsedFuture>
      cache_;
};

} // namespace example
