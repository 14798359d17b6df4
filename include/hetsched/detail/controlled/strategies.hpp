// SPDX-License-Identifier: MIT
#pragma once
// Who goes on at a point of a controlled run.

#include <hetsched/detail/core/random_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail::controlled {

/// What may be chosen at a point.
struct Options {
  int const* fibers = nullptr; // those that may go on; not empty, without `current`
  int count = 0;
  int current = -1; // the fiber at the point, if it may go on as well; else -1
};

/// Chooses one interleaving after the other.
class Strategy {
public:
  Strategy() = default;
  Strategy(Strategy const&) = delete;
  Strategy& operator=(Strategy const&) = delete;
  virtual ~Strategy() = default;

  /// A run begins. Returns false if there is no further one.
  virtual bool begin() = 0;

  /// The fiber that goes on.
  virtual int choose(Options const& options) noexcept = 0;

  /// A fiber starts. It is a new number.
  virtual void started(int /*fiber*/) noexcept {}

  /// The fiber can do nothing useful now.
  virtual void yielded(int /*fiber*/) noexcept {}
};

/// Each run follows from its seed. Every other one switches at random points, once in 2 to 32. The
/// others have priorities: the fiber with the highest one runs, and at 1 to 5 points of the run the
/// one that runs falls to the lowest (Burckhardt et al.: A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs, ASPLOS 2010). A bug that needs d changes is then found with a
/// probability of 1 / (fibers * points ^ (d - 1)) at least.
class RandomStrategy final : public Strategy {
public:
  /// The first run has the number `first`. `points`: about as many as a run has.
  RandomStrategy(std::uint64_t first, std::uint64_t runs, std::uint64_t points)
      : next_(first), end_(first + runs), points_(std::max<std::uint64_t>(points, 1)) {}

  [[nodiscard]] static bool points_are_before(std::uint64_t seed) noexcept { return seed % 4 < 2; }

  bool begin() override {
    if (next_ == end_) {
      return false;
    }
    auto const seed = next_++;
    random_ = RandomStream(seed * 2654435761U + 1);
    by_priority_ = seed % 2 == 1;
    point_ = 0;
    lowest_ = 0;
    if (by_priority_) {
      changes_ = 1 + static_cast<int>(random_.next() % most_changes);
      for (int i = 0; i < changes_; ++i) {
        change_at_[i] = random_.next() % points_;
      }
    } else {
      mask_ = (std::uint64_t{2} << random_.next() % 5) - 1;
    }
    return true;
  }

  int choose(Options const& options) noexcept override {
    ++point_;
    if (!by_priority_) {
      if (options.current >= 0 && (random_.next() & mask_) != 0) {
        return options.current;
      }
      return options.fibers[random_.next() % static_cast<std::uint64_t>(options.count)];
    }
    if (options.current >= 0) {
      for (int i = 0; i < changes_; ++i) {
        if (change_at_[i] == point_) {
          yielded(options.current);
        }
      }
    }
    int best = options.current >= 0 ? options.current : options.fibers[0];
    for (int i = 0; i < options.count; ++i) {
      if (priority_[options.fibers[i]] > priority_[best]) {
        best = options.fibers[i];
      }
    }
    return best;
  }

  void started(int fiber) noexcept override {
    priority_[fiber] = static_cast<std::int64_t>(random_.next() >> 2);
  }

  void yielded(int fiber) noexcept override { priority_[fiber] = --lowest_; }

private:
  static constexpr int most_changes = 5;

  std::uint64_t next_;
  std::uint64_t end_;
  std::uint64_t points_;
  RandomStream random_{1};
  bool by_priority_ = false;
  std::uint64_t mask_ = 0;
  std::uint64_t point_ = 0;
  std::uint64_t change_at_[most_changes] = {};
  int changes_ = 0;
  std::int64_t lowest_ = 0;
  std::int64_t priority_[64] = {};
};

/// All interleavings in which at most so many switches take a fiber that could have gone on
/// (Musuvathi and Qadeer: Iterative Context Bounding, PLDI 2007). Where the fiber at the point
/// sleeps or yields, all others are tried.
class BoundedStrategy final : public Strategy {
public:
  explicit BoundedStrategy(int preemptions) : bound_(preemptions) { path_.reserve(1 << 16); }

  bool begin() override {
    if (begun_) {
      while (!path_.empty() && path_.back().taken + 1 == path_.back().of) {
        path_.pop_back();
      }
      if (path_.empty()) {
        return false;
      }
      ++path_.back().taken;
    }
    begun_ = true;
    at_ = 0;
    preemptions_ = 0;
    return true;
  }

  int choose(Options const& options) noexcept override {
    bool const could_go_on = options.current >= 0;
    if (could_go_on && preemptions_ == bound_) {
      return options.current;
    }
    auto const of = static_cast<std::uint32_t>(options.count + (could_go_on ? 1 : 0));
    std::uint32_t taken = 0;
    if (of > 1) {
      if (at_ == path_.size() && path_.size() < path_.capacity()) {
        path_.push_back({0, of});
      }
      taken = at_ < path_.size() ? std::min(path_[at_].taken, of - 1) : 0;
      ++at_;
    }
    if (!could_go_on) {
      return options.fibers[taken];
    }
    if (taken == 0) {
      return options.current;
    }
    ++preemptions_;
    return options.fibers[taken - 1];
  }

private:
  struct Branch {
    std::uint32_t taken;
    std::uint32_t of;
  };

  int bound_;
  int preemptions_ = 0;
  bool begun_ = false;
  std::vector<Branch> path_;
  std::size_t at_ = 0;
};

} // namespace hetsched::detail::controlled
