// SPDX-License-Identifier: MIT
#pragma once
// Tests any cache policy against the contract of concepts/cache.hpp, in any test framework.

#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/testing/cache_driver.hpp>
#include <hetsched/detail/testing/conformance_run.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace hetsched::testing {

/// How much to test. The defaults take a fraction of a second for a shipped policy.
struct CacheOptions {
  std::uint64_t seed = 1;          // the first one
  int seeds = 10;                  // the random scenario runs once for each
  int steps = 600;                 // of the random scenario
  int blocks = 2000;               // at one time, in the scenario of many blocks
  std::size_t max_violations = 16; // the kit stops when it has found so many
};

namespace detail {

template <class C>
class CacheSubjectOf final : public CacheSubject {
public:
  [[nodiscard]] bool wants_next_use() const noexcept override {
    return hetsched::wants_next_use<C>;
  }

  void insert(BlockId block, BlockUse const& use) override { cache_.insert(block, use); }

  void access(BlockId block, BlockUse const& use) override { cache_.access(block, use); }

  void pin(BlockId block) override { cache_.pin(block); }

  void release(BlockId block) override { cache_.release(block); }

  void erase(BlockId block) override { cache_.erase(block); }

  BlockId victim(DirtyBlocks const& dirty) override { return cache_.victim(dirty); }

private:
  C cache_;
};

class CacheConformance
    : ConformanceRun<CacheDriver, CacheOptions, MakeCache, CacheReport, CacheFindings> {
public:
  using ConformanceRun::ConformanceRun;

  CacheReport run() && {
    in_case("empty node", options_.seed, [](CacheDriver& node) { empty_node(node); });
    in_case("pins", options_.seed, [](CacheDriver& node) { pins(node); });
    in_case("numbers again", options_.seed, [](CacheDriver& node) { numbers_again(node); });
    for (int k = 0; k < options_.seeds; ++k) {
      auto const seed = options_.seed + static_cast<std::uint64_t>(k);
      in_case("random mix", seed, [&](CacheDriver& node) { random_mix(node, seed); });
    }
    in_case("many blocks", options_.seed, [&](CacheDriver& node) { many_blocks(node); });
    return std::move(report_);
  }

private:
  static BlockUse use_of(std::uint64_t task) { return {.bytes = 64, .task = task}; }

  static void empty_node(CacheDriver& node) {
    node.victim();
    auto const block = node.insert(use_of(1));
    node.victim();
    node.set_dirty(block, true);
    node.victim();
    node.erase(block);
    node.victim();
  }

  /// Pins count, and a use does not remove them.
  static void pins(CacheDriver& node) {
    auto const a = node.insert(use_of(1));
    auto const b = node.insert(use_of(1));
    for (auto const& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
      node.pin(first);
      node.pin(first);
      node.access(first, use_of(2));
      node.victim();
      node.release(first);
      node.victim();
      node.pin(second);
      node.victim();
      node.release(first);
      node.access(second, use_of(3));
      node.victim();
      node.release(second);
    }
    drain(node);
  }

  /// A block that left leaves nothing behind for the next block with its number.
  static void numbers_again(CacheDriver& node) {
    for (std::uint64_t task = 1; task <= 50 && !node.spoiled(); ++task) {
      auto const other = node.insert(use_of(task));
      auto const block = node.insert(use_of(task));
      node.pin(block);
      node.access(block, use_of(task));
      node.set_dirty(block, true);
      node.release(block);
      node.erase(block);
      node.victim();
      node.insert(use_of(task)); // the same number again
      node.pin(other);
      node.victim();
      node.release(other);
      while (node.size() > task % 3 && node.evict()) {
      }
    }
    drain(node);
  }

  /// Few blocks, so that everything happens to each of them. The calls are drawn, too.
  void random_mix(CacheDriver& node, std::uint64_t seed) const {
    constexpr std::size_t capacity = 12;
    Dice dice(seed);
    std::uint64_t task = 1;
    for (int step = 0; step < options_.steps && !node.spoiled(); ++step) {
      task += dice.below(2);
      if (node.size() == 0 || dice.chance(25)) {
        if (node.size() == capacity) {
          node.evict();
        }
        if (node.size() < capacity) {
          bool const dirty = dice.chance(30);
          node.set_dirty(node.insert(draw_use(dice, task, node)), dirty);
        }
        continue;
      }
      auto const use = draw_use(dice, task, node); // in an order that no compiler may change
      touch(node, node.at(dice.below(node.size())), dice, use);
      node.victim();
    }
    drain(node);
  }

  static void touch(CacheDriver& node, BlockId block, Dice& dice, BlockUse const& use) {
    switch (dice.below(6)) {
    case 0:
      node.pin(block);
      break;
    case 1:
      if (node.pins(block) > 0) {
        node.release(block);
      }
      break;
    case 2:
      if (node.pins(block) == 0) { // another node writes it
        node.erase(block);
      }
      break;
    case 3:
      node.set_dirty(block, dice.chance(50));
      break;
    default:
      node.access(block, use);
    }
  }

  static BlockUse draw_use(Dice& dice, std::uint64_t task, CacheDriver const& node) {
    auto use = use_of(task);
    use.reuse = static_cast<std::int64_t>(dice.below(7)) - 3;
    if (dice.chance(5)) {
      use.reuse = dice.chance(50) ? INT64_MAX : INT64_MIN;
    }
    if (node.wants_next_use() && !dice.chance(20)) {
      use.next_use = task + dice.below(20);
    }
    return use;
  }

  void many_blocks(CacheDriver& node) const {
    auto const count = static_cast<std::size_t>(options_.blocks);
    Dice dice(options_.seed);
    std::uint64_t task = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const block = node.insert(draw_use(dice, ++task, node));
      node.set_dirty(block, dice.chance(50));
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto const use = draw_use(dice, ++task, node);
      node.access(node.at(dice.below(count)), use);
    }
    for (std::size_t i = 0; i < count; i += count / 32 + 1) { // blocks that tasks use at a time
      node.pin(node.at(i));
    }
    for (std::size_t i = 0; i < count / 4 && node.evict(); ++i) {
      node.insert(draw_use(dice, ++task, node));
    }
    while (node.evict()) {
    }
    drain(node);
  }

  /// Without pins, every block is a victim once, and then there is none.
  static void drain(CacheDriver& node) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      while (node.pins(node.at(i)) > 0) {
        node.release(node.at(i));
      }
    }
    while (node.evict()) {
    }
  }
};

} // namespace detail

/// Drives instances of C as an engine would for a node, and reports every rule of the contract that
/// was broken; nothing if there is none. Violations are in the report, never in an exception. The
/// kit ends by itself unless an operation does not return.
///
///     auto const report = hetsched::testing::check_cache<MyCache>();
///     CHECK_MESSAGE(report.ok(), report.text());
///
/// It cannot see whether the choice is a good one.
template <class C>
[[nodiscard]] CacheReport check_cache(CacheOptions const& options = {}) {
  static_assert(cache_policy<C>, "hetsched: check_cache<C> needs a Cache; see concepts/cache.hpp");
  return detail::CacheConformance(options,
                                  hetsched::detail::type_name<C>(),
                                  [] { return std::make_unique<detail::CacheSubjectOf<C>>(); })
      .run();
}

} // namespace hetsched::testing
