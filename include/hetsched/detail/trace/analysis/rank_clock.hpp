// SPDX-License-Identifier: MIT
#pragma once
// The clock of a rank against that of rank 0.

#include <hetsched/core/time.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::detail {

/// Tells rank 0's time, plus a shift. Comparisons count that are at most twice as uncertain as the
/// best one; between two of them the offset changes evenly, before and behind them it stays.
class RankClock {
public:
  RankClock() = default;

  /// By time.
  explicit RankClock(std::span<Trace::Clock const> all) {
    if (all.empty()) {
      return;
    }
    auto const best = std::min_element(all.begin(), all.end(), [](auto const& a, auto const& b) {
                        return a.error < b.error;
                      })->error;
    for (auto const& comparison : all) {
      // None may let time go backwards.
      if (comparison.error.ns <= 2 * best.ns &&
          (kept_.empty() ||
           comparison.at + comparison.offset >= kept_.back().at + kept_.back().offset)) {
        kept_.push_back(comparison);
        error_ = std::max(error_, comparison.error);
      }
    }
  }

  /// Of what is kept, the most uncertain.
  [[nodiscard]] Duration error() const noexcept { return error_; }

  void shift(Duration by) noexcept { shift_ = by; }

  /// At least 0; `Trace::never` stays so.
  [[nodiscard]] Instant at(Instant here) const {
    return here == Trace::never ? here
                                : Instant{std::max<std::int64_t>(unshifted(here) + shift_.ns, 0)};
  }

  /// The same without the shift, in ns.
  [[nodiscard]] std::int64_t unshifted(Instant here) const { return here.ns + offset(here); }

private:
  [[nodiscard]] std::int64_t offset(Instant here) const {
    if (kept_.empty()) {
      return 0;
    }
    auto const later = std::upper_bound(
        kept_.begin(), kept_.end(), here, [](Instant at, auto const& row) { return at < row.at; });
    if (later == kept_.begin()) {
      return later->offset.ns;
    }
    auto const& before = later[-1];
    if (later == kept_.end() || later->at == before.at) {
      return before.offset.ns;
    }
    auto const part = static_cast<double>((here - before.at).ns) /
                      static_cast<double>((later->at - before.at).ns);
    return before.offset.ns + static_cast<std::int64_t>(
                                  part * static_cast<double>((later->offset - before.offset).ns));
  }

  std::vector<Trace::Clock> kept_;
  Duration error_;
  Duration shift_;
};

} // namespace hetsched::detail
