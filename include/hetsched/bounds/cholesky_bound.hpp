// SPDX-License-Identifier: MIT
#pragma once
// A lower bound on the makespan of tile Cholesky that knows of its longest path.

#include <hetsched/bounds/bounds.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace hetsched {

namespace detail {

/// The linear program of the mixed bound for two classes, at a given makespan. In units of
/// 1 / `unit` tasks, so that all that the program divides by is whole.
class MixedProgram {
public:
  /// The tasks of one type, and how many of them, in units, may run on the second class.
  struct Type {
    Wide count;
    Duration first;
    Duration second;
    Wide least = 0;
    Wide most = 0;
  };

  /// `kernels`: potrf, trsm, syrk and gemm on classes a and b, both of which have workers.
  MixedProgram(std::size_t tiles, ClassTimes const& kernels, std::size_t a, std::size_t b)
      : workers_a_(kernels.workers[a]), workers_b_(kernels.workers[b]) {
    auto const n = static_cast<std::int64_t>(tiles);
    std::array<std::int64_t, 4> const counts{
        n, n * (n - 1) / 2, n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6};
    for (std::size_t k = 0; k < counts.size(); ++k) {
      types_[k] = {counts[k], kernels.on(k, a), kernels.on(k, b)};
    }
    auto const& potrf = types_[0];
    if (potrf.first != ClassTimes::never && potrf.second != ClassTimes::never &&
        potrf.first != potrf.second) {
      unit_ = std::max(potrf.first, potrf.second).ns - std::min(potrf.first, potrf.second).ns;
    }
    for (auto& type : types_) {
      type.count *= unit_;
      type.least = type.first == ClassTimes::never ? type.count : 0;
      type.most = type.second == ClassTimes::never ? 0 : type.count;
    }
    auto const shortest = shortest_times(kernels);
    rest_of_chain_ = (shortest[1].ns + shortest[2].ns) * (n - 1);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t v, std::size_t w) {
      auto const left = Wide{types_[v].first.ns} * types_[w].second.ns;
      auto const right = Wide{types_[w].first.ns} * types_[v].second.ns;
      return left != right ? left > right : v < w;
    });
  }

  /// Whether it has a solution of at most this makespan.
  [[nodiscard]] bool feasible(std::int64_t makespan) const {
    auto types = types_;
    if (!limit_chain(types[0], makespan)) {
      return false;
    }
    Wide room_b = Wide{makespan} * workers_b_ * unit_;
    Wide work_a = 0;
    for (auto const& type : types) {
      room_b -= type.least * (type.least != 0 ? type.second.ns : 0);
      work_a += (type.count - type.least) * (type.count != type.least ? type.first.ns : 0);
    }
    if (room_b < 0) {
      return false;
    }
    auto const room_a = Wide{makespan} * workers_a_ * unit_;
    for (auto const k : order_) { // those that gain most first: each takes most work off class a
      auto const& type = types[k];
      auto const movable = type.most - type.least;
      if (movable == 0 || work_a <= room_a) {
        continue;
      }
      if (movable * type.second.ns > room_b) { // a part of them
        return (work_a - room_a) * type.second.ns <= room_b * type.first.ns;
      }
      room_b -= movable * type.second.ns;
      work_a -= movable * type.first.ns;
    }
    return work_a <= room_a;
  }

private:
  /// How many potrf may run where, so that the chain is no longer than the makespan.
  [[nodiscard]] bool limit_chain(Type& potrf, std::int64_t makespan) const {
    auto const room = (Wide{makespan} - rest_of_chain_) * unit_;
    if (potrf.least == potrf.most || potrf.first == potrf.second) {
      auto const time = potrf.most == 0 ? potrf.first.ns : potrf.second.ns;
      return potrf.count * time <= room;
    }
    // count * first - x (first - second) <= room, where the difference is `unit_`, or minus that;
    // both sides are multiples of it
    auto const excess = potrf.count * potrf.first.ns - room;
    if (potrf.first > potrf.second) {
      potrf.least = std::max<Wide>(potrf.least, excess / unit_);
    } else {
      potrf.most = std::min<Wide>(potrf.most, -(excess / unit_));
    }
    return potrf.least <= potrf.most;
  }

  Wide workers_a_;
  Wide workers_b_;
  std::array<Type, 4> types_;
  Wide unit_ = 1;
  std::int64_t rest_of_chain_ = 0;
  std::array<std::size_t, 4> order_{};
};

} // namespace detail

/// The area bound of tile Cholesky with one more condition: all potrf tasks lie on one path, with
/// one trsm and one syrk between two of them, taken to be as fast as anywhere (Kumar 2017, sec.
/// 2.3.1, with rational numbers of tasks). Rounded up to a whole nanosecond. `kernels`: the times
/// of potrf, trsm, syrk and gemm, one row each; `tiles` >= 1 in a row of the matrix. Nothing for
/// more than two classes with workers. Throws Error(bad_call) for other than four rows, no tile, or
/// a kernel that no worker can run. Cost: O(log(makespan)).
[[nodiscard]] inline std::optional<Duration> cholesky_mixed_bound(std::size_t tiles,
                                                                  ClassTimes const& kernels) {
  if (kernels.tasks() != 4 || tiles < 1 || tiles > 100'000) {
    throw Error(ErrorCode::bad_call,
                "cholesky_mixed_bound",
                "takes potrf, trsm, syrk and gemm, and 1 to 100000 tiles");
  }
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < kernels.workers.size(); ++c) {
    if (kernels.workers[c] > 0) {
      classes.push_back(c);
    }
  }
  auto const shortest = shortest_times(kernels);
  if (classes.size() > 2) {
    return std::nullopt;
  }
  auto const n = static_cast<std::int64_t>(tiles);
  auto const area_of_one = [&] {
    detail::Wide const pairs = n * (n - 1) / 2;
    return detail::divide_up(n * detail::Wide{shortest[0].ns} +
                                 pairs * (shortest[1].ns + shortest[2].ns) +
                                 pairs * (n - 2) / 3 * shortest[3].ns,
                             kernels.workers[classes[0]]);
  };
  if (classes.size() == 1) {
    Duration const chain{n * shortest[0].ns + (n - 1) * (shortest[1].ns + shortest[2].ns)};
    return std::max(chain, area_of_one());
  }
  detail::MixedProgram const program(tiles, kernels, classes[0], classes[1]);
  std::int64_t low = 0; // not feasible
  std::int64_t high = 1;
  while (!program.feasible(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    auto const middle = low + (high - low) / 2;
    (program.feasible(middle) ? high : low) = middle;
  }
  return Duration{high};
}

} // namespace hetsched
