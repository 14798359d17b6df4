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

/// The parts of a condition: makespans() * makespan + start of starts_after() - start of
/// starts_before() is at least fixed() and the sum, over each_task, of `of` its class.
class BoundDemands {
public:
  BoundDemands(BoundModel const& model, BoundRow row) : model_(model), row_(row) {
    if (is_arc()) {
      arc_ = model.arcs[row.which];
    }
  }

  [[nodiscard]] std::int64_t makespans() const noexcept {
    return row_.kind == BoundRow::Kind::area  ? model_.times.workers[row_.which]
           : row_.kind == BoundRow::Kind::end ? 1
                                              : 0;
  }

  [[nodiscard]] std::optional<std::size_t> starts_after() const noexcept {
    return row_.kind == BoundRow::Kind::begin ? std::optional(row_.which)
           : is_arc()                         ? std::optional(std::size_t{arc_.to})
                                              : std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> starts_before() const noexcept {
    return row_.kind == BoundRow::Kind::end ? std::optional(row_.which)
           : is_arc()                       ? std::optional(std::size_t{arc_.from})
                                            : std::nullopt;
  }

  [[nodiscard]] Duration fixed() const noexcept {
    bool const idle = row_.kind == BoundRow::Kind::area && !model_.idle.empty();
    return idle ? model_.idle[row_.which] : Duration{};
  }

  template <class Function>
  void each_task(Function const& function) const {
    if (row_.kind == BoundRow::Kind::area) {
      for (std::size_t v = 0; v < model_.times.tasks(); ++v) {
        function(v);
      }
    } else if (!is_arc()) {
      function(row_.which);
    } else {
      function(std::size_t{arc_.from});
      if (row_.kind != BoundRow::Kind::arc) {
        function(std::size_t{arc_.to});
      }
    }
  }

  /// The class can run the task.
  [[nodiscard]] Duration of(std::size_t task, std::size_t its_class) const noexcept {
    auto const time = model_.times.on(task, its_class);
    switch (row_.kind) {
    case BoundRow::Kind::area:
      return its_class == row_.which ? time : Duration{};
    case BoundRow::Kind::begin:
      return model_.head_of(task, its_class);
    case BoundRow::Kind::end:
      return time + model_.tail_of(task, its_class);
    default:
      break;
    }
    bool const first = task == arc_.from;
    auto lag = Duration{};
    if (model_.device[its_class] && row_.kind == BoundRow::Kind::in) {
      lag = first ? Duration{} - arc_.in : arc_.in;
    } else if (model_.device[its_class] && row_.kind == BoundRow::Kind::out) {
      lag = first ? arc_.out : Duration{} - arc_.out;
    }
    return first ? time + lag : lag;
  }

private:
  [[nodiscard]] bool is_arc() const noexcept {
    return row_.kind == BoundRow::Kind::arc || row_.kind == BoundRow::Kind::in ||
           row_.kind == BoundRow::Kind::out;
  }

  BoundModel const& model_;
  BoundRow const row_;
  BoundArc arc_;
};

/// Weights for conditions, from the dual solution: whole numbers, none negative. In every schedule
/// the conditions hold with each task on one class and with the schedule's makespan and starts. So
/// does the sum of the conditions, each times its weight. The weights are changed until no start
/// counts more in rows after it than in rows before it; starts, none negative, can then be left
/// out. What remains says that the makespan times a whole number is at least a sum over the tasks,
/// in which each counts as on the class where it counts least. This holds for any weights. Good
/// weights bring the bound close to the program's optimum.
class BoundProof {
public:
  /// `dual` has one value for each row, in units of the makespan.
  BoundProof(BoundModel const& model, std::span<BoundRow const> rows, double const* dual)
      : model_(model), rows_(rows.begin(), rows.end()), weights_(rows.size()) {
    double all = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto const makespans = BoundDemands(model, rows[r]).makespans();
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
      BoundDemands const demands(model_, rows_[r]);
      makespans += Wide{weights_[r]} * demands.makespans();
      sum += Wide{weights_[r]} * demands.fixed().ns;
      demands.each_task([&](std::size_t v) {
        for (std::size_t c = 0; c < classes; ++c) {
          if (model_.runs(v, c)) {
            counts[v * classes + c] += Wide{weights_[r]} * demands.of(v, c).ns;
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
      BoundDemands const demands(model_, rows_[r]);
      if (auto const task = demands.starts_before(); task && weights_[r] > 0) {
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
        if (auto const next = BoundDemands(model_, rows_[r]).starts_after()) {
          after[*next] += weights_[r];
        }
      }
    }
  }

  BoundModel const& model_;
  std::vector<BoundRow> rows_;
  std::vector<std::int64_t> weights_;
};

} // namespace hetsched::detail
