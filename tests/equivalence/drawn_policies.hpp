// SPDX-License-Identifier: MIT
#pragma once
// Policies with which random programs run, and what these need of devices.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>

#include "../support/schedulers.hpp"
#include "random_program.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>

namespace equivalence {

namespace hs = hetsched;

/// One of the cache policies, as the test has drawn it: one type of runtime serves for all.
class DrawnCache {
public:
  static constexpr bool wants_next_use = true;
  static inline std::size_t drawn = 0;

  DrawnCache() {
    switch (drawn % 4) {
    case 0:
      break;
    case 1:
      cache_.emplace<hs::policies::FifoCache>();
      break;
    case 2:
      cache_.emplace<hs::policies::ReuseGuided>();
      break;
    default:
      cache_.emplace<hs::policies::NextUse>();
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
  std::variant<hs::policies::Lru,
               hs::policies::FifoCache,
               hs::policies::ReuseGuided,
               hs::policies::NextUse>
      cache_;
};

/// Begins anew, now and then, what another worker runs.
struct Restless : OldestFirst {
  static inline std::atomic<std::uint64_t> aborted{0};

  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    auto const workers = ctx.workers();
    auto const& other = workers[ctx.random(worker) % workers.size()];
    auto const task = ctx.running(other.id);
    return other.id != worker && task && ctx.task(task).abortable && ctx.can_run(task, worker)
               ? task
               : hs::no_task;
  }
};

/// What the largest leaf task needs of a device's memory, places rounded as there.
inline std::size_t largest_footprint(Program const& program) {
  std::size_t largest = 256;
  for (auto const& node : program.nodes) {
    std::map<int, std::size_t> slots;
    for (auto const& argument : node.arguments) {
      auto const& slot = program.slots[static_cast<std::size_t>(argument.slot)];
      slots[argument.slot] = (slot.rows * slot.cols * sizeof(std::uint64_t) + 255) / 256 * 256;
    }
    std::size_t bytes = 0;
    for (auto const& [slot, size] : slots) {
      bytes += size;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

} // namespace equivalence
