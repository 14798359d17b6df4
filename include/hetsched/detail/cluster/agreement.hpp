// SPDX-License-Identifier: MIT
#pragma once
// Whether all ranks have made the same calls, and if not, which one differs first. Rank 0 finds
// out.

#include <hetsched/detail/cluster/spawn_log.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// What a rank says at agreed moments: how many calls it has made, and their hash.
struct CallCheck {
  std::uint64_t calls;
  std::uint64_t hash;

  friend bool operator==(CallCheck const&, CallCheck const&) = default;
};

/// Compares the checks of all ranks with those of rank 0, and searches for the first difference by
/// bisection: it asks the other rank for hashes of prefixes. No transport inside: what it asks is
/// for others to send, and the answers come as calls. Under the caller's lock.
class Agreement {
public:
  /// A question to a rank: the hash of its first `calls` calls, or, to `describe`, number `calls`
  /// in words.
  struct Question {
    int rank;
    bool describe;
    std::uint64_t calls;
  };

  Agreement(SpawnLog const& log, int ranks) : log_(log), given_(static_cast<std::size_t>(ranks)) {}

  /// A rank gives the next of its checks. Returns a question if a search begins with that.
  [[nodiscard]] std::optional<Question> add(int rank, CallCheck check) {
    given_[static_cast<std::size_t>(rank)].push_back(check);
    if (searching_) {
      return std::nullopt;
    }
    for (int r = 1; r < static_cast<int>(given_.size()); ++r) {
      auto const& own = given_[0];
      auto const& other = given_[static_cast<std::size_t>(r)];
      for (std::size_t k = 0; k < std::min(own.size(), other.size()); ++k) {
        if (own[k] != other[k]) {
          return search(r, std::min(own[k].calls, other[k].calls));
        }
      }
    }
    forget_equal();
    return std::nullopt;
  }

  /// Whether the ranks are known to differ.
  [[nodiscard]] bool searching() const noexcept { return searching_; }

  /// How many calls are known to be the same on all ranks.
  [[nodiscard]] std::uint64_t agreed() const noexcept { return agreed_; }

  /// The rank has answered with the hash of a prefix. Returns the next question.
  [[nodiscard]] Question answer(std::uint64_t calls, std::uint64_t hash) {
    (hash == log_.hash_of_first(calls) ? same_ : different_) = calls;
    return next();
  }

  /// The rank has described its call. Returns what all ranks are told.
  [[nodiscard]] std::string verdict(std::string_view description) const {
    auto const place = std::to_string(same_ + 1);
    return "rank 0 " + log_.description(same_) + " as call " + place + " where rank " +
           std::to_string(rank_) + " " + std::string(description) +
           ": all ranks must make the same calls in the same order";
  }

private:
  [[nodiscard]] Question search(int rank, std::uint64_t calls) {
    searching_ = true;
    rank_ = rank;
    same_ = agreed_;
    different_ = calls; // each check follows a call of its own, so the shorter list differs, too
    return next();
  }

  [[nodiscard]] Question next() const {
    if (different_ - same_ <= 1) {
      return {rank_, true, same_};
    }
    return {rank_, false, same_ + (different_ - same_) / 2};
  }

  void forget_equal() {
    auto known = given_[0].size();
    for (auto const& checks : given_) {
      known = std::min(known, checks.size());
    }
    for (; known != 0; --known) {
      agreed_ = given_[0].front().calls;
      for (auto& checks : given_) {
        checks.pop_front();
      }
    }
  }

  SpawnLog const& log_;
  std::vector<std::deque<CallCheck>> given_; // by rank, not yet agreed
  std::uint64_t agreed_ = 0;
  bool searching_ = false;
  int rank_ = 0;
  std::uint64_t same_ = 0;      // prefixes of so many calls are equal
  std::uint64_t different_ = 0; // and of so many are not
};

} // namespace hetsched::detail
