// SPDX-License-Identifier: MIT
#pragma once
// All ranks together: sums over a tree, and a verdict for all.

#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// What a rank has done, or some ranks together, since the beginning.
struct WaveCounts {
  std::int64_t created = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t first_failed = 0; // the lowest rank with a failure, counted from 1; 0: none

  bool operator==(WaveCounts const&) const = default;

  WaveCounts& operator+=(WaveCounts const& other) noexcept {
    created += other.created;
    completed += other.completed;
    failed += other.failed;
    if (first_failed == 0 || (other.first_failed != 0 && other.first_failed < first_failed)) {
      first_failed = other.first_failed;
    }
    return *this;
  }

  [[nodiscard]] std::array<std::int64_t, 4> words() const noexcept {
    return {created, completed, failed, first_failed};
  }

  [[nodiscard]] static WaveCounts of(std::array<std::int64_t, 4> const& words) noexcept {
    return {words[0], words[1], words[2], words[3]};
  }
};

/// Waves over a binary tree of ranks: counts go up, a verdict comes down. All ranks make the same
/// waves. A word is changed only by fetch_add, so that any transport can do it.
///
/// Source: termination detection of Scioto (Dinan et al., "Scalable Work Stealing", SC09, sec. 5);
/// its rule is the four-counter method of Mattern, "Algorithms for distributed termination
/// detection", 1987.
class Waves {
  static constexpr std::size_t counts = 4;
  static constexpr std::size_t per_child = counts + 1; // and the waves that have come from it

public:
  /// The words that each rank has for it, from `at` on in that window.
  static constexpr std::size_t words = 2 * per_child + counts + 1;

  Waves(RmaOperations& rma, Looks& looks, Window window, std::size_t at)
      : rma_(rma), looks_(looks), window_(window), at_(at), rank_(rma.rank()),
        children_(std::clamp(rma.ranks() - (2 * rank_ + 1), 0, 2)) {}

  struct Verdict {
    bool over = false;
    WaveCounts all; // of all ranks
  };

  /// Waits until all ranks have come. `may_end`, the same on all: it is over if as many tasks are
  /// completed as were created, and that was so in the wave before, since `begin`.
  [[nodiscard]] Step<Verdict> wave(WaveCounts own, bool may_end) {
    ++waves_;
    for (int child = 0; child < children_; ++child) {
      own += co_await from_child(child);
    }
    Verdict verdict{.over = false, .all = own};
    if (rank_ == 0) {
      verdict.over = may_end && own.created == own.completed && last_ == own;
      last_ = own;
    } else {
      co_await to_parent(own);
      verdict = co_await from_parent();
    }
    for (int child = 0; child < children_; ++child) {
      co_await to_child(2 * rank_ + 1 + child, verdict);
    }
    co_return verdict;
  }

  /// What was so in the wave before counts no longer.
  void begin() noexcept { last_ = {.created = -1}; }

private:
  static constexpr std::int64_t first_pause_ns = 10'000;
  static constexpr std::int64_t longest_pause_ns = 500'000;

  [[nodiscard]] std::size_t down_at() const noexcept { return at_ + 2 * per_child; }

  /// Until the own word is at least that; what it is.
  Step<std::int64_t> reach(std::size_t word, std::int64_t least) {
    for (auto pause = first_pause_ns;; pause = std::min(2 * pause, longest_pause_ns)) {
      auto const changes = looks_.changes();
      auto const value = co_await rma_.read(window_, rank_, word);
      if (value >= least) {
        co_return value;
      }
      co_await looks_.change(pause, changes);
    }
  }

  Step<WaveCounts> read_counts(std::size_t first) {
    std::array<std::int64_t, counts> read{};
    for (std::size_t k = 0; k < counts; ++k) {
      read[k] = co_await rma_.read(window_, rank_, first + k);
    }
    co_return WaveCounts::of(read);
  }

  /// Changes the words of a rank from `told`, what they are, to `now`.
  Step<> write_counts(int rank, std::size_t first, WaveCounts& told, WaveCounts now) {
    auto const before = told.words();
    auto const after = now.words();
    std::array<RmaResult, counts> done;
    for (std::size_t k = 0; k < counts; ++k) {
      if (after[k] != before[k]) {
        rma_.fetch_add(window_, rank, first + k, after[k] - before[k], done[k]);
      }
    }
    for (auto& one : done) {
      co_await one;
    }
    rma_.check_unbroken();
    told = now;
  }

  Step<WaveCounts> from_child(int child) {
    auto const first = at_ + static_cast<std::size_t>(child) * per_child;
    co_await reach(first + counts, waves_);
    co_return co_await read_counts(first);
  }

  Step<> to_parent(WaveCounts own) {
    auto const parent = (rank_ - 1) / 2;
    auto const first = at_ + static_cast<std::size_t>((rank_ - 1) % 2) * per_child;
    co_await write_counts(parent, first, told_parent_, own);
    co_await rma_.add(window_, parent, first + counts, 1);
  }

  // The word behind the counts grows by 2 with each wave, and by 1 more when it is over.

  Step<Verdict> from_parent() {
    auto const word = co_await reach(down_at() + counts, heard_ + 2);
    bool const over = word == heard_ + 3;
    heard_ = word;
    auto const all = co_await read_counts(down_at());
    co_return Verdict{over, all};
  }

  Step<> to_child(int child, Verdict verdict) {
    auto& told = told_child_[static_cast<std::size_t>(child - (2 * rank_ + 1))];
    co_await write_counts(child, down_at(), told, verdict.all);
    co_await rma_.add(window_, child, down_at() + counts, verdict.over ? 3 : 2);
  }

  RmaOperations& rma_;
  Looks& looks_;
  Window window_;
  std::size_t at_;
  int rank_;
  int children_;
  std::int64_t waves_ = 0;
  std::int64_t heard_ = 0; // the word from the parent, as of the wave before
  WaveCounts told_parent_;
  std::array<WaveCounts, 2> told_child_;
  WaveCounts last_{.created = -1};
};

} // namespace hetsched::detail
