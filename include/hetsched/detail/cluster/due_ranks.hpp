// SPDX-License-Identifier: MIT
#pragma once
// When something is to happen on each of several ranks in virtual time.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/cluster/virtual_network.hpp>

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The next event of each rank. A call costs O(log(notes)). Not thread-safe.
class DueRanks {
public:
  static constexpr Instant never = VirtualNetwork::never;

  /// The next event of the rank is at that time; `never`: there is none.
  void note(std::size_t rank, Instant due) {
    if (rank >= noted_.size()) {
      noted_.resize(rank + 1, never);
    }
    if (due != noted_[rank]) {
      noted_[rank] = due;
      if (due != never) {
        due_.push({due, rank});
      }
    }
  }

  /// The time of the first one; `never` if there is none.
  [[nodiscard]] Instant next() {
    while (!due_.empty() && noted_[due_.top().second] != due_.top().first) {
      due_.pop(); // another time was noted since
    }
    return due_.empty() ? never : due_.top().first;
  }

  /// Calls f(rank) for those at `now`, at most next(), which then have none until it is noted.
  template <class F>
  void take(Instant now, F&& f) {
    while (next() == now) {
      auto const rank = due_.top().second;
      due_.pop();
      noted_[rank] = never;
      f(rank);
    }
  }

private:
  using Due = std::pair<Instant, std::size_t>;

  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Instant> noted_; // of each rank: the time in due_ that counts
};

} // namespace hetsched::detail
