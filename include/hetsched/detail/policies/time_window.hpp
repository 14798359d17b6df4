// SPDX-License-Identifier: MIT
#pragma once
// The newest measurements of one time, with their median and spread.

#include <hetsched/core/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <tuple>

namespace hetsched::detail {

/// The newest times, in ns, at most Size. Their median and spread are those of the last
/// `summarise`.
template <std::size_t Size>
class TimeWindow {
public:
  static constexpr std::size_t recent = 8; // the times that show a drift

  void add(std::int64_t time) {
    if (count_ == Size) {
      std::copy(times_.begin() + 1, times_.end(), times_.begin());
      --count_;
    }
    times_[count_++] = time;
  }

  void summarise() {
    if (count_ != 0) {
      std::tie(median_, spread_) = summary(std::span(times_).first(count_));
    }
  }

  /// If the newest times differ from the others by more than chance, and by more than a tenth,
  /// keeps only the newest. Returns whether they differ.
  bool forget_if_drifted() {
    if (count_ < 3 * recent) { // fewer times do not show their spread
      return false;
    }
    auto const all = std::span(times_).first(count_);
    auto const [before, width] = summary(all.first(count_ - recent));
    auto const [now, ignored] = summary(all.last(recent));
    if (std::abs(now.ns - before.ns) <= std::max(4 * width.ns, before.ns / 10)) {
      return false;
    }
    std::copy(all.end() - recent, all.end(), times_.begin());
    count_ = recent;
    return true;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// The newest so many, or all if there are fewer; oldest first.
  [[nodiscard]] std::span<std::int64_t const> last(std::uint64_t most) const noexcept {
    return std::span(times_).first(count_).last(std::min<std::uint64_t>(most, count_));
  }

  [[nodiscard]] Duration median() const noexcept { return median_; }

  [[nodiscard]] Duration spread() const noexcept { return spread_; }

private:
  /// Median and spread.
  [[nodiscard]] static std::tuple<Duration, Duration>
  summary(std::span<std::int64_t const> values) {
    std::array<std::int64_t, Size> sorted{};
    auto const place = std::span(sorted).first(values.size());
    std::copy(values.begin(), values.end(), place.begin());
    auto const median = middle(place);
    for (auto& value : place) {
      value = std::abs(value - median);
    }
    auto const deviation = 1.4826 * static_cast<double>(middle(place));
    return {Duration{median}, Duration{static_cast<std::int64_t>(deviation + 0.5)}};
  }

  /// The lower of the two in the middle, if there are two.
  [[nodiscard]] static std::int64_t middle(std::span<std::int64_t> values) {
    auto const at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }

  std::array<std::int64_t, Size> times_{};
  std::size_t count_ = 0;
  Duration median_;
  Duration spread_;
};

} // namespace hetsched::detail
