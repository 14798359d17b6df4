// SPDX-License-Identifier: MIT
#pragma once
// The choice of a victim by an idle worker: a parameter of the schedulers that steal.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/array.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

// A choice of victim is made from the workers and has
//   Stolen steal(ctx, thief, load, take)
// which calls take(v) for each worker v but the thief, once, until one answers a task, and answers
// that. load(v): how many tasks v has to be stolen, about, at some time of late; needs_load says
// whether it is called. One thread at a time steals for a thief.

/// Each other worker in turn, from a random one on (Lima et al. 2015, algorithm 1).
/// Cost: O(W) takes.
class RandomVictim {
public:
  static constexpr bool needs_load = false;

  explicit RandomVictim(std::span<WorkerInfo const>) noexcept {}

  template <placement_context Ctx, class Load, class Take>
  [[gnu::always_inline]] Stolen
  steal(Ctx const& ctx, WorkerId thief, Load const&, Take const& take) const {
    auto const count = ctx.workers().size();
    auto const first = ctx.random(thief) % count;
    for (std::size_t i = 0; i < count; ++i) {
      auto const victim = (first + i) % count;
      if (victim == thief.index()) {
        continue;
      }
      if (auto const stolen = take(victim); stolen.task) {
        return stolen;
      }
    }
    return {};
  }
};

/// The worker with the most tasks; if the thief can have none of them, that with the most of the
/// others, and so on; equals from a random one on. Queues and inboxes count alike, and must be
/// sized. StarPU's `ws` (Kumar 2017, sec. 1.1.1), which does not say what follows a refusal.
/// Cost: O(W) sizes, cache lines of others, and a take; both again for each that refuses.
class MostLoadedVictim {
public:
  static constexpr bool needs_load = true;

  explicit MostLoadedVictim(std::span<WorkerInfo const> workers)
      : words_((workers.size() + line - 1) / line * (line / 64)), tried_(workers.size() * words_) {}

  template <placement_context Ctx, class Load, class Take>
  Stolen steal(Ctx const& ctx, WorkerId thief, Load const& load, Take const& take) const {
    auto const count = ctx.workers().size();
    auto const first = ctx.random(thief) % count;
    std::span const tried(tried_.data() + thief.index() * words_, words_);
    for (auto& word : tried) {
      word = 0;
    }
    mark(tried, thief.index());
    for (;;) {
      auto victim = count;
      std::size_t most = 0;
      for (std::size_t i = 0; i < count; ++i) {
        auto const candidate = (first + i) % count;
        auto const waiting = is_marked(tried, candidate) ? 0 : load(candidate);
        if (waiting > most) {
          most = waiting;
          victim = candidate;
        }
      }
      if (victim == count) {
        break;
      }
      if (auto const stolen = take(victim); stolen.task) {
        return stolen;
      }
      mark(tried, victim);
    }
    // Loads are hints: a completed push may not show in them, but a take finds its task.
    for (std::size_t i = 0; i < count; ++i) {
      auto const victim = (first + i) % count;
      if (is_marked(tried, victim)) {
        continue;
      }
      if (auto const stolen = take(victim); stolen.task) {
        return stolen;
      }
    }
    return {};
  }

private:
  static constexpr std::size_t line = 512; // bits

  static void mark(std::span<std::uint64_t> bits, std::size_t i) noexcept {
    bits[i / 64] |= std::uint64_t{1} << i % 64;
  }

  [[nodiscard]] static bool is_marked(std::span<std::uint64_t> bits, std::size_t i) noexcept {
    return (bits[i / 64] >> i % 64 & 1U) != 0;
  }

  std::size_t words_; // for each thief, whole cache lines
  detail::FixedArray<std::uint64_t> tried_;
};

} // namespace hetsched::policies
