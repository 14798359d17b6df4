// SPDX-License-Identifier: MIT
#pragma once
// Times that tasks of other sizes took.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/policies/perf_models/history.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace hetsched::policies {

/// t = a n^b + c, fitted to times by least squares of the relative errors.
struct PowerLaw {
  double a = 0;
  double b = 0;
  double c = 0;
  double error = 0; // root mean square of the relative errors

  [[nodiscard]] double operator()(double n) const { return a * std::pow(n, b) + c; }

  struct Point {
    double n; // above 0
    double t; // above 0
  };

  /// Finds the constant c between 0 and the least time, on a grid that is refined around its best
  /// point. For each c the rest is a straight line in logarithms. With two sizes c is 0. No value
  /// with fewer sizes, or if all sizes lie within a factor of 1.5. O(128 points).
  [[nodiscard]] static std::optional<PowerLaw> fit(std::span<Point const> points) {
    if (points.empty()) {
      return std::nullopt;
    }
    auto const by_n = [](Point const& p, Point const& q) { return p.n < q.n; };
    auto const [low, high] = std::minmax_element(points.begin(), points.end(), by_n);
    if (high->n < 1.5 * low->n) {
      return std::nullopt;
    }
    bool const constant = std::any_of(points.begin(), points.end(), [&](Point const& p) {
      return p.n != low->n && p.n != high->n;
    });
    auto least = points.front().t;
    for (auto const& point : points) {
      least = std::min(least, point.t);
    }
    auto best = with_constant(points, 0);
    double from = 0;
    double to = constant ? 0.999 * least : 0;
    constexpr int steps = 32;
    for (int round = 0; round < 4 && from < to; ++round) {
      auto const step = (to - from) / steps;
      for (int k = 0; k <= steps; ++k) {
        auto const law = with_constant(points, from + k * step);
        if (law.error < best.error) {
          best = law;
        }
      }
      from = std::max(0.0, best.c - step);
      to = std::min(0.999 * least, best.c + step);
    }
    return best;
  }

private:
  [[nodiscard]] static PowerLaw with_constant(std::span<Point const> points, double c) {
    auto const count = static_cast<double>(points.size());
    double x = 0;
    double y = 0;
    for (auto const& point : points) {
      x += std::log(point.n) / count;
      y += std::log(point.t - c) / count;
    }
    double xx = 0;
    double xy = 0;
    for (auto const& point : points) {
      auto const dx = std::log(point.n) - x;
      xx += dx * dx;
      xy += dx * (std::log(point.t - c) - y);
    }
    PowerLaw law;
    law.b = std::max(0.0, xy / xx); // more data never take less time
    law.a = std::exp(y - law.b * x);
    law.c = c;
    for (auto const& point : points) {
      auto const off = law(point.n) / point.t - 1;
      law.error += off * off / count;
    }
    law.error = std::sqrt(law.error);
    return law;
  }
};

/// Decides: as History. For sizes that it has not seen three times, a n^b + c, fitted to the known
///   times of the type on that class of worker, where n is the task's work, if its spawn told it
///   (hetsched::flops), else the number of bytes of all data. No value if only one size is known,
///   or if the size is more than eight times off the known ones.
/// Source: StarPU's non-linear regression models; History's.
/// Cost: as History's. For other sizes a look-up under one lock, and a fit to all sizes of the type
///   whenever the times of 16 more tasks were recorded.
/// Needs: nothing of the context.
/// Threading: any operation from any thread.
/// Deterministic: yes, for one order of records and predictions.
/// Knobs: none.
/// Limits: shapes with equally many bytes are one size; knows nothing about transfers.
class Regression {
public:
  static constexpr bool measures = true;

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    if (auto const known = history_.predict(task, arch)) {
      return known;
    }
    auto const n = size_of(task.flops, task.bytes());
    std::lock_guard const guard(mutex_);
    auto const& fit = fitted(task, arch);
    if (!fit.law || n * reach < fit.low || n > fit.high * reach) {
      return std::nullopt;
    }
    auto const time = (*fit.law)(n);
    if (!(time < 9e18)) {
      return std::nullopt;
    }
    return Prediction{{static_cast<std::int64_t>(time + 0.5)},
                      {static_cast<std::int64_t>(time * fit.law->error + 0.5)},
                      fit.sizes};
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    history_.record(task, arch, measured);
    recorded_.fetch_add(1, std::memory_order_relaxed); // says only that there are new times
  }

  [[nodiscard]] Duration transfer(std::size_t /*bytes*/, NodeId /*from*/, NodeId /*to*/) const {
    return {};
  }

  [[nodiscard]] History const& history() const noexcept { return history_; }

  void restore(History::Samples const& kept) {
    history_.restore(kept);
    recorded_.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::vector<History::Samples> take_fresh() { return history_.take_fresh(); }

private:
  static constexpr double reach = 8;
  static constexpr std::uint64_t refit_after = 16;

  struct Fit {
    std::optional<PowerLaw> law;
    double low = 0; // sizes to which it was fitted
    double high = 0;
    std::uint64_t sizes = 0;
    std::optional<std::uint64_t> recorded; // value of recorded_ when it was made
  };

  [[nodiscard]] static double size_of(float flops, std::size_t bytes) noexcept {
    return flops > 0 ? static_cast<double>(flops) : static_cast<double>(bytes);
  }

  Fit const& fitted(TaskView const& task, Arch arch) const {
    bool const by_work = task.flops > 0;
    auto& fit = fits_[{std::string(task.type), by_work, arch}];
    auto const recorded = recorded_.load(std::memory_order_relaxed);
    if (fit.recorded && recorded < *fit.recorded + (fit.law ? refit_after : 1)) {
      return fit;
    }
    std::vector<PowerLaw::Point> points;
    for (auto const& known : history_.known()) {
      auto const n = size_of(known.flops, known.bytes);
      if (known.type == task.type && known.arch == arch && (known.flops > 0) == by_work && n > 0 &&
          known.median.ns > 0) {
        points.push_back({n, static_cast<double>(known.median.ns)});
      }
    }
    fit = {PowerLaw::fit(points), 0, 0, points.size(), recorded};
    for (auto const& point : points) {
      fit.low = fit.low == 0 ? point.n : std::min(fit.low, point.n);
      fit.high = std::max(fit.high, point.n);
    }
    return fit;
  }

  History history_;
  detail::Atomic<std::uint64_t> recorded_{0};
  mutable detail::Mutex mutex_;
  mutable std::map<std::tuple<std::string, bool, Arch>, Fit> fits_;
};

static_assert(perf_model<Regression>);

} // namespace hetsched::policies
