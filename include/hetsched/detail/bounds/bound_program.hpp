// SPDX-License-Identifier: MIT
#pragma once
// The linear program of the area bound and the iterative bound, for Clp's C interface.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>

#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The linear program of Kumar 2017, sec. 3.4: the least makespan l under two conditions. Tasks,
/// divided freely among the classes that can run them, fit into l times the workers of each class.
/// And no path that was added is longer than l.
///
/// Only the other classes have columns for a task: the first class that can run it gets the rest.
/// Answers do not depend on the solver's tolerances: see `proven`.
class BoundProgram {
public:
  /// Throws Error(bad_call) naming a task that no worker can run.
  explicit BoundProgram(ClassTimes const& times)
      : times_(times), scale_(scale_of(times)), model_(Clp_newModel()) {
    Clp_setLogLevel(model_.get(), 0);
    Clp_setPrimalTolerance(model_.get(), 1e-9);
    Clp_setDualTolerance(model_.get(), 1e-9);
    list_columns();
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      if (times.workers[c] > 0) {
        add_area_row(c);
      }
    }
    flush();
  }

  /// Throws Error(numerical) if the solver gives up.
  void solve() {
    Clp_dual(model_.get(), 0);
    if (Clp_status(model_.get()) != 0) {
      Clp_primal(model_.get(), 0);
    }
    if (Clp_status(model_.get()) != 0) {
      throw Error(ErrorCode::numerical,
                  "iterative bound",
                  "Clp gave up with status " + std::to_string(Clp_status(model_.get())));
    }
    solution_ = Clp_primalColumnSolution(model_.get());
  }

  /// In nanoseconds, like all times below.
  [[nodiscard]] double makespan() const noexcept { return solution_[0] * scale_; }

  /// The time of each task as it is divided now.
  [[nodiscard]] std::vector<double> durations() const {
    std::vector<double> result(times_.tasks());
    for (std::size_t v = 0; v < result.size(); ++v) {
      result[v] = static_cast<double>(times_.on(v, base_[v]).ns);
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        result[v] += solution_[k] * gain(v, k);
      }
    }
    return result;
  }

  /// The path may not be longer than the makespan. `flush` hands it over.
  void add_path(std::vector<std::uint32_t> const& path) {
    double fixed = 0;
    begin_row();
    for (auto const v : path) {
      fixed += static_cast<double>(times_.on(v, base_[v]).ns);
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        put(k, gain(v, k) / scale_);
      }
    }
    put(0, -1);
    end_row(-fixed / scale_);
    paths_.push_back(path);
    idle_.push_back(0);
  }

  /// Forgets paths that have been shorter than the makespan in each of the last `rounds` solutions.
  void forget_paths(int rounds) {
    auto const first = shares_ + class_of_row_.size();
    auto const* const dual = Clp_dualRowSolution(model_.get());
    auto const* const activity = Clp_primalRowSolution(model_.get());
    auto const* const upper = Clp_rowUpper(model_.get());
    std::vector<int> rows;
    std::size_t kept = 0;
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      auto const row = first + p;
      bool const slack = dual[row] == 0 && activity[row] < upper[row] - 1e-6;
      idle_[p] = slack ? idle_[p] + 1 : 0;
      if (idle_[p] >= rounds) {
        rows.push_back(static_cast<int>(row));
      } else {
        std::swap(paths_[kept], paths_[p]);
        std::swap(idle_[kept++], idle_[p]);
      }
    }
    paths_.resize(kept);
    idle_.resize(kept);
    if (!rows.empty()) {
      Clp_deleteRows(model_.get(), static_cast<int>(rows.size()), rows.data());
    }
  }

  void flush() {
    if (!upper_.empty()) {
      std::vector<double> const lower(upper_.size(), -HUGE_VAL);
      starts_.push_back(static_cast<CoinBigIndex>(columns_.size()));
      Clp_addRows(model_.get(),
                  static_cast<int>(upper_.size()),
                  lower.data(),
                  upper_.data(),
                  starts_.data(),
                  columns_.data(),
                  elements_.data());
      starts_.clear();
      columns_.clear();
      elements_.clear();
      upper_.clear();
    }
  }

  /// A lower bound on every makespan, whatever the solver's errors. It uses weights for the classes
  /// and the added paths, from the dual solution. Every schedule's makespan times the sum of the
  /// weights is at least the weight of all tasks, each on the class where it weighs least. This
  /// holds for any positive weights. Good weights bring the bound close to the program's optimum.
  /// It is rounded up, because makespans are whole.
  [[nodiscard]] Duration proven() const {
    auto const* const dual = Clp_dualRowSolution(model_.get());
    auto const weight = [&](std::size_t row) {
      return std::max(0.0L, -static_cast<long double>(dual[row]));
    };
    long double all = 0;
    std::vector<long double> of_class(times_.workers.size());
    for (std::size_t k = 0; k < class_of_row_.size(); ++k) {
      auto const row_weight = weight(shares_ + k);
      of_class[class_of_row_[k]] = row_weight;
      all += row_weight * times_.workers[class_of_row_[k]];
    }
    std::vector<long double> of_task(times_.tasks());
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      auto const path_weight = weight(shares_ + class_of_row_.size() + p);
      all += path_weight;
      for (auto const v : paths_[p]) {
        of_task[v] += path_weight;
      }
    }
    long double sum = 0;
    for (std::size_t v = 0; v < of_task.size(); ++v) {
      auto const weight_on = [&](std::size_t c) {
        return static_cast<long double>(times_.on(v, c).ns) * (of_class[c] + of_task[v]);
      };
      auto least = weight_on(base_[v]);
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        least = std::min(least, weight_on(class_of_column_[k]));
      }
      sum += least;
    }
    constexpr long double rounding = 1e-14L; // more than that of the sums
    return {all > 0 ? static_cast<std::int64_t>(std::ceil(sum / all * (1 - rounding))) : 0};
  }

private:
  struct Delete {
    void operator()(Clp_Simplex* model) const noexcept { Clp_deleteModel(model); }
  };

  /// About the makespan. The program's numbers divided by it are about 1.
  [[nodiscard]] static double scale_of(ClassTimes const& times) {
    double work = 1;
    for (auto const time : shortest_times(times)) {
      work += static_cast<double>(time.ns);
    }
    return work / std::max(1, std::accumulate(times.workers.begin(), times.workers.end(), 0));
  }

  [[nodiscard]] bool runs(std::size_t task, std::size_t its_class) const noexcept {
    return times_.workers[its_class] > 0 && times_.on(task, its_class) != ClassTimes::never;
  }

  /// How much longer a task takes on a column's class than on its base.
  [[nodiscard]] double gain(std::size_t task, std::size_t column) const noexcept {
    return static_cast<double>(
        (times_.on(task, class_of_column_[column]) - times_.on(task, base_[task])).ns);
  }

  void list_columns() {
    class_of_column_.push_back(0); // column 0 is the makespan
    for (std::size_t v = 0; v < times_.tasks(); ++v) {
      first_.push_back(class_of_column_.size());
      bool has_base = false;
      for (std::size_t c = 0; c < times_.workers.size(); ++c) {
        if (runs(v, c) && std::exchange(has_base, true)) {
          class_of_column_.push_back(c);
        } else if (runs(v, c)) {
          base_.push_back(c);
        }
      }
    }
    first_.push_back(class_of_column_.size());
    auto const count = class_of_column_.size();
    std::vector<double> const lower(count, 0);
    std::vector<double> upper(count, 1);
    std::vector<double> cost(count, 0);
    upper[0] = HUGE_VAL;
    cost[0] = 1;
    std::vector<CoinBigIndex> const starts(count + 1, 0);
    Clp_addColumns(model_.get(),
                   static_cast<int>(count),
                   lower.data(),
                   upper.data(),
                   cost.data(),
                   starts.data(),
                   nullptr,
                   nullptr);
    for (std::size_t v = 0; v < times_.tasks(); ++v) { // at most all of it leaves its base
      if (first_[v + 1] - first_[v] > 1) {
        begin_row();
        for (auto k = first_[v]; k < first_[v + 1]; ++k) {
          put(k, 1);
        }
        end_row(1);
        ++shares_;
      }
    }
  }

  void add_area_row(std::size_t its_class) {
    double fixed = 0;
    begin_row();
    for (std::size_t v = 0; v < times_.tasks(); ++v) {
      if (base_[v] == its_class) {
        fixed += static_cast<double>(times_.on(v, its_class).ns);
      }
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        if (base_[v] == its_class) {
          put(k, -static_cast<double>(times_.on(v, its_class).ns) / scale_);
        } else if (class_of_column_[k] == its_class) {
          put(k, static_cast<double>(times_.on(v, its_class).ns) / scale_);
        }
      }
    }
    put(0, -times_.workers[its_class]);
    end_row(-fixed / scale_);
    class_of_row_.push_back(its_class);
  }

  void begin_row() { starts_.push_back(static_cast<CoinBigIndex>(columns_.size())); }

  void put(std::size_t column, double element) {
    columns_.push_back(static_cast<int>(column));
    elements_.push_back(element);
  }

  void end_row(double upper) { upper_.push_back(upper); }

  ClassTimes const& times_;
  double const scale_;
  std::unique_ptr<Clp_Simplex, Delete> const model_;
  std::vector<std::size_t> base_;            // class of each task
  std::vector<std::size_t> first_;           // column of each task
  std::vector<std::size_t> class_of_column_; //
  std::vector<std::size_t> class_of_row_;    // of the rows of areas
  std::vector<std::vector<std::uint32_t>> paths_;
  std::vector<int> idle_;  // for how many solutions each path has been shorter than the makespan
  std::size_t shares_ = 0; // rows before those of areas
  double const* solution_ = nullptr;
  // rows to be handed over
  std::vector<CoinBigIndex> starts_;
  std::vector<int> columns_;
  std::vector<double> elements_;
  std::vector<double> upper_;
};

} // namespace hetsched::detail
