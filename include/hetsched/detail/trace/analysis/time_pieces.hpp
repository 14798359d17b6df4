// SPDX-License-Identifier: MIT
#pragma once
// Pieces of time, and the time that they cover.

#include <hetsched/core/time.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace hetsched::detail {

using TimePiece = std::pair<Instant, Instant>; // begin, end

/// Sorts the pieces and removes overlaps and empty pieces.
inline void unite(std::vector<TimePiece>& pieces) {
  std::sort(pieces.begin(), pieces.end());
  std::size_t kept = 0;
  for (auto const& piece : pieces) {
    if (piece.second <= piece.first) {
      continue;
    }
    if (kept != 0 && piece.first <= pieces[kept - 1].second) {
      pieces[kept - 1].second = std::max(pieces[kept - 1].second, piece.second);
    } else {
      pieces[kept++] = piece;
    }
  }
  pieces.resize(kept);
}

/// The time in `pieces` that is not in `others`. Both are as `unite` leaves them.
[[nodiscard]] inline std::vector<TimePiece> without(std::vector<TimePiece> const& pieces,
                                                    std::vector<TimePiece> const& others) {
  std::vector<TimePiece> left;
  std::size_t next = 0;
  for (auto [begin, end] : pieces) {
    while (next < others.size() && others[next].second <= begin) {
      ++next;
    }
    for (auto k = next; k < others.size() && others[k].first < end; ++k) {
      if (begin < others[k].first) {
        left.emplace_back(begin, others[k].first);
      }
      begin = std::min(end, others[k].second);
    }
    if (begin < end) {
      left.emplace_back(begin, end);
    }
  }
  return left;
}

[[nodiscard]] inline Duration length_of(std::vector<TimePiece> const& pieces) noexcept {
  Duration sum;
  for (auto const& piece : pieces) {
    sum += piece.second - piece.first;
  }
  return sum;
}

/// Walks through sorted pieces at rising moments.
class PieceCursor {
public:
  explicit PieceCursor(std::vector<TimePiece> const& pieces) noexcept : pieces_(pieces) {}

  /// Whether a piece covers the moment, and until when this holds, at most `until`.
  [[nodiscard]] std::pair<bool, Instant> at(Instant moment, Instant until) noexcept {
    while (next_ < pieces_.size() && pieces_[next_].second <= moment) {
      ++next_;
    }
    if (next_ == pieces_.size()) {
      return {false, until};
    }
    bool const covers = pieces_[next_].first <= moment;
    return {covers, std::min(until, covers ? pieces_[next_].second : pieces_[next_].first)};
  }

private:
  std::vector<TimePiece> const& pieces_;
  std::size_t next_ = 0;
};

} // namespace hetsched::detail
