// SPDX-License-Identifier: MIT
#pragma once
// From a solver's dual solution to a lower bound on makespans, in integers.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The parts of a condition on tasks: makespans() * makespan + start of starts_after() - start of
/// starts_before() is at least fixed() and the sum, over each_task, of `of` its class, in
/// nanoseconds. For a crossing, the transfers' bytes are at least the sum, in bytes.
class BoundDemands {
public:
  BoundDemands(BoundModel const& model, std::vector<BoundCrossing> const& crossings, BoundRow row)
      : model_(model), row_(row) {
    if (row.is_arc()) {
      arc_ = model.arcs[row.which];
    } else if (row.kind == BoundRow::Kind::crossing) {
      crossing_ = &crossings[row.which];
    }
  }

  [[nodiscard]] std::int64_t makespans() const noexcept {
    switch (row_.kind) {
    case BoundRow::Kind::area:
      return model_.times.workers[row_.which];
    case BoundRow::Kind::end:
    case BoundRow::Kind::lane:
      return 1;
    default:
      return 0;
    }
  }

  [[nodiscard]] std::optional<std::size_t> starts_after() const noexcept {
    return row_.kind == BoundRow::Kind::begin ? std::optional(row_.which)
           : row_.is_arc()                    ? std::optional(std::size_t{arc_.to})
                                              : std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> starts_before() const noexcept {
    return row_.kind == BoundRow::Kind::end ? std::optional(row_.which)
           : row_.is_arc()                  ? std::optional(std::size_t{arc_.from})
                                            : std::nullopt;
  }

  [[nodiscard]] std::int64_t fixed() const noexcept {
    bool const idle = row_.kind == BoundRow::Kind::area && !model_.idle.empty();
    return idle                                ? model_.idle[row_.which].ns
           : row_.kind == BoundRow::Kind::lane ? model_.lanes[row_.which].idle.ns
                                               : 0;
  }

  /// Calls function(task, extra); `of` takes both.
  template <class Function>
  void each_task(Function const& function) const {
    if (row_.kind == BoundRow::Kind::area) {
      for (std::size_t v = 0; v < model_.times.tasks(); ++v) {
        function(v, std::int64_t{0});
      }
    } else if (row_.kind == BoundRow::Kind::crossing) {
      for (auto const& [v, bytes] : crossing_->bytes) {
        function(std::size_t{v}, bytes);
      }
    } else if (row_.is_arc()) {
      auto const lag = row_.kind == BoundRow::Kind::arc_in    ? Duration{} - arc_.in
                       : row_.kind == BoundRow::Kind::arc_out ? arc_.out
                                                              : Duration{};
      function(std::size_t{arc_.from}, lag.ns);
      if (lag.ns != 0) {
        function(std::size_t{arc_.to}, -lag.ns);
      }
    } else if (row_.kind != BoundRow::Kind::lane) {
      function(row_.which, std::int64_t{0});
    }
  }

  /// The class can run the task. `extra` counts on devices.
  [[nodiscard]] std::int64_t
  of(std::size_t task, std::size_t its_class, std::int64_t extra) const noexcept {
    auto const time = model_.times.on(task, its_class);
    auto const on_device = model_.device[its_class] ? extra : 0;
    switch (row_.kind) {
    case BoundRow::Kind::area:
      return its_class == row_.which ? time.ns : 0;
    case BoundRow::Kind::begin:
      return model_.head_of(task, its_class).ns;
    case BoundRow::Kind::end:
      return (time + model_.tail_of(task, its_class)).ns;
    case BoundRow::Kind::crossing:
      return on_device;
    default:
      return task == arc_.from ? time.ns + on_device : on_device;
    }
  }

private:
  BoundModel const& model_;
  BoundRow const row_;
  BoundArc arc_;
  BoundCrossing const* crossing_ = nullptr;
};

/// Weights for conditions, from the dual solution: whole numbers, none negative. In every schedule
/// the conditions hold with each task on one class and with the schedule's makespan and starts. So
/// does the sum of the conditions, each times its weight. The weights are changed until no start
/// counts more in rows after it than in rows before it; starts, none negative, can then be left
/// out. What remains says that the makespan times a whole number is at least a sum over the tasks,
/// in which each counts as on the class where it counts least. This holds for any weights. Good
/// weights bring the bound close to the program's optimum.
///
/// A transfer's byte counts in the lanes that it uses, each times the lane's weight. On no device
/// does it count less than the weights of the crossings together: they are lowered to that.
class BoundProof {
public:
  /// `dual` has one value for each row: for nanoseconds, and for bytes if the row is a crossing.
  BoundProof(BoundModel const& model,
             std::vector<BoundCrossing> const& crossings,
             std::span<BoundRow const> rows,
             double const* dual)
      : model_(model), crossings_(crossings), rows_(rows.begin(), rows.end()),
        weights_(rows.size()) {
    double all = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto const makespans = demands(rows[r]).makespans();
      all += std::max(0.0, dual[r]) * static_cast<double>(makespans);
    }
    if (!(all > 0) || !std::isfinite(all)) {
      return; // no weights
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto const weight = std::max(0.0, dual[r]) / all * whole;
      weights_[r] = weight < most ? std::llround(weight) : 0; // also if it is no number
    }
    balance();
    lower(true);
    lower(false);
  }

  /// Rounded up, because makespans are whole.
  [[nodiscard]] Duration bound() const {
    auto const classes = model_.times.workers.size();
    std::vector<Wide> counts(model_.times.times.size());
    Wide sum = 0;
    Wide makespans = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (weights_[r] == 0) {
        continue;
      }
      auto const parts = demands(rows_[r]);
      makespans += Wide{weights_[r]} * parts.makespans();
      sum += Wide{weights_[r]} * parts.fixed();
      parts.each_task([&](std::size_t v, std::int64_t extra) {
        for (std::size_t c = 0; c < classes; ++c) {
          if (model_.runs(v, c)) {
            counts[v * classes + c] += Wide{weights_[r]} * parts.of(v, c, extra);
          }
        }
      });
    }
    for (std::size_t v = 0; v < model_.times.tasks(); ++v) {
      std::optional<Wide> least;
      for (std::size_t c = 0; c < classes; ++c) {
        auto const count = counts[v * classes + c];
        if (model_.runs(v, c) && (!least || count < *least)) {
          least = count;
        }
      }
      sum += least.value_or(0);
    }
    return makespans > 0 && sum > 0 ? divide_up(sum, makespans) : Duration{};
  }

private:
  // About the sum of the weights. Sums of 2^20 tasks of 2^55 ns, a year, fit into 127 bits.
  static constexpr double whole = 17592186044416; // 2^44
  static constexpr double most = 16 * whole;

  /// Makes the rows before a start weigh as much as those after it, or more.
  void balance() {
    auto const tasks = model_.times.tasks();
    std::vector<std::vector<std::size_t>> before(tasks); // rows of each start
    std::vector<std::int64_t> after(tasks);              // sum of weights
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      auto const parts = demands(rows_[r]);
      if (auto const task = parts.starts_before(); task && weights_[r] > 0) {
        before[*task].push_back(r);
      }
      if (rows_[r].kind == BoundRow::Kind::begin) {
        after[rows_[r].which] += weights_[r];
      }
    }
    for (std::size_t v = 0; v < tasks; ++v) { // arcs go from lower to higher numbers
      auto missing = after[v];
      for (auto const r : before[v]) {
        missing -= weights_[r];
      }
      if (missing > 0 && before[v].empty()) {
        before[v].push_back(rows_.size());
        rows_.push_back({BoundRow::Kind::end, v});
        weights_.push_back(0);
      }
      if (missing > 0) {
        weights_[*std::max_element(
            before[v].begin(), before[v].end(), [&](std::size_t a, std::size_t b) {
              return weights_[a] < weights_[b];
            })] += missing;
      }
      for (auto const r : before[v]) {
        if (auto const next = demands(rows_[r]).starts_after()) {
          after[*next] += weights_[r];
        }
      }
    }
  }

  /// Lowers the weights of the crossings into devices, or of the others, to what lanes allow.
  void lower(bool in) {
    std::vector<long double> of_device(model_.devices);
    long double sum = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].kind == BoundRow::Kind::lane) {
        auto const& lane = model_.lanes[rows_[r].which];
        for (std::size_t g = 0; g < model_.devices; ++g) {
          of_device[g] += static_cast<long double>(weights_[r]) * (in ? lane.in : lane.out)[g];
        }
      } else if (is_crossing(rows_[r], in)) {
        sum += static_cast<long double>(weights_[r]);
      }
    }
    if (sum == 0) {
      return;
    }
    constexpr long double rounding = 1e-12L; // more than that of the sums
    auto const most_of = *std::min_element(of_device.begin(), of_device.end()) * (1 - rounding);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (is_crossing(rows_[r], in) && sum > most_of) {
        auto const part = static_cast<long double>(weights_[r]) / sum * most_of;
        weights_[r] = static_cast<std::int64_t>(part * (1 - rounding));
      }
    }
  }

  [[nodiscard]] bool is_crossing(BoundRow row, bool in) const {
    return row.kind == BoundRow::Kind::crossing && crossings_[row.which].in == in;
  }

  [[nodiscard]] BoundDemands demands(BoundRow row) const { return {model_, crossings_, row}; }

  BoundModel const& model_;
  std::vector<BoundCrossing> const& crossings_;
  std::vector<BoundRow> rows_;
  std::vector<std::int64_t> weights_;
};

} // namespace hetsched::detail
