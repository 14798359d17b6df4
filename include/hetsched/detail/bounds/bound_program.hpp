// SPDX-License-Identifier: MIT
#pragma once
// The linear program of bounds, for Clp's C interface.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
#include <hetsched/detail/bounds/bound_proof.hpp>

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
/// And the tasks can start so that the conditions that were added hold: one task after another, and
/// none ends after l.
///
/// A task's fastest class has no column: it gets what the others leave. Answers do not depend on
/// the solver's tolerances: see `proven`.
class BoundProgram {
public:
  /// Throws Error(bad_call) naming a task that no worker can run. The model outlives the program.
  explicit BoundProgram(BoundModel const& model)
      : model_(model), scale_(scale_of(model.times)), byte_(byte_of(model)), clp_(Clp_newModel()),
        added_(3 * model.arcs.size() + 2 * model.times.tasks()) {
    Clp_setLogLevel(clp_.get(), 0);
    Clp_setPrimalTolerance(clp_.get(), 1e-9);
    Clp_setDualTolerance(clp_.get(), 1e-9);
    list_columns();
    for (std::size_t c = 0; c < model.times.workers.size(); ++c) {
      if (model.times.workers[c] > 0) {
        put_row({BoundRow::Kind::area, c});
      }
    }
    for (std::size_t k = 0; k < model.lanes.size(); ++k) {
      put_row({BoundRow::Kind::lane, k});
    }
  }

  /// With the conditions that have been added. Throws Error(numerical) if the solver gives up.
  void solve() {
    flush();
    Clp_dual(clp_.get(), 0);
    if (Clp_status(clp_.get()) != 0) {
      Clp_primal(clp_.get(), 0);
    }
    if (Clp_status(clp_.get()) != 0) {
      throw Error(ErrorCode::numerical,
                  "lower bound",
                  "Clp gave up with status " + std::to_string(Clp_status(clp_.get())));
    }
  }

  /// In nanoseconds.
  [[nodiscard]] double makespan() const noexcept {
    return Clp_primalColumnSolution(clp_.get())[0] * scale_;
  }

  /// The part of each task on each class as they are divided now.
  [[nodiscard]] std::vector<double> shares() const {
    auto const* const solution = Clp_primalColumnSolution(clp_.get());
    auto const classes = model_.times.workers.size();
    std::vector<double> result(model_.times.times.size());
    for (std::size_t v = 0; v < base_.size(); ++v) {
      double rest = 1;
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        auto const share = std::clamp(solution[k], 0.0, 1.0);
        result[v * classes + class_of_column_[k]] = share;
        rest -= share;
      }
      result[v * classes + base_[v]] = std::max(0.0, rest);
    }
    return result;
  }

  /// Adds a condition, which `solve` hands over. Returns false if it was added before.
  bool add(BoundRow row) {
    auto const number = number_of(row);
    if (added_[number]) {
      return false;
    }
    added_[number] = true;
    put_row(row);
    return true;
  }

  /// Adds a crossing.
  void add(BoundCrossing crossing) {
    crossings_.push_back(std::move(crossing));
    put_row({BoundRow::Kind::crossing, crossings_.size() - 1});
  }

  /// The bytes that transfers into devices, or to the host, move in the solution.
  [[nodiscard]] double moved(bool in) const {
    auto const* const solution = Clp_primalColumnSolution(clp_.get());
    double sum = 0;
    for (std::size_t g = 0; g < model_.devices; ++g) {
      sum += solution[transfers_of(g, in)];
    }
    return sum * scale_ / byte_;
  }

  /// A lower bound on every makespan, whatever the solver's errors: see BoundProof.
  [[nodiscard]] Duration proven() const {
    auto const* const duals = Clp_dualRowSolution(clp_.get()) + shares_;
    std::vector<double> dual(duals, duals + rows_.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      dual[r] *= unit_of(rows_[r]);
    }
    return BoundProof(model_, crossings_, rows_, dual.data()).bound();
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

  /// About the time that a lane needs for a byte.
  [[nodiscard]] static double byte_of(BoundModel const& model) {
    double byte = 0;
    for (auto const& lane : model.lanes) {
      byte =
          std::max({byte, lane.in.empty() ? 0 : *std::max_element(lane.in.begin(), lane.in.end())});
    }
    return byte > 0 ? byte : 1;
  }

  /// What the program's number for a nanosecond or a byte is multiplied by.
  [[nodiscard]] double unit_of(BoundRow row) const noexcept {
    return row.kind == BoundRow::Kind::crossing ? byte_ : 1;
  }

  [[nodiscard]] std::size_t transfers_of(std::size_t device, bool in) const noexcept {
    return class_of_column_.size() + base_.size() + 2 * device + (in ? 0 : 1);
  }

  [[nodiscard]] std::size_t start_of(std::size_t task) const noexcept {
    return class_of_column_.size() + task;
  }

  [[nodiscard]] std::size_t number_of(BoundRow row) const noexcept {
    auto const arcs = 3 * model_.arcs.size();
    switch (row.kind) {
    case BoundRow::Kind::begin:
      return arcs + 2 * row.which;
    case BoundRow::Kind::end:
      return arcs + 2 * row.which + 1;
    case BoundRow::Kind::arc_in:
      return 3 * row.which + 1;
    case BoundRow::Kind::arc_out:
      return 3 * row.which + 2;
    default:
      return 3 * row.which;
    }
  }

  void list_columns() {
    auto const& times = model_.times;
    class_of_column_.push_back(0); // column 0 is the makespan
    for (std::size_t v = 0; v < times.tasks(); ++v) {
      first_.push_back(class_of_column_.size());
      base_.push_back(fastest(v));
      for (std::size_t c = 0; c < times.workers.size(); ++c) {
        if (model_.runs(v, c) && c != base_[v]) {
          class_of_column_.push_back(c);
        }
      }
    }
    first_.push_back(class_of_column_.size());
    auto const count = class_of_column_.size() + times.tasks() + 2 * model_.devices;
    std::vector<double> const lower(count, 0);
    std::vector<double> upper(count, HUGE_VAL);
    std::fill(
        upper.begin() + 1, upper.begin() + static_cast<std::ptrdiff_t>(class_of_column_.size()), 1);
    std::vector<double> cost(count, 0);
    cost[0] = 1;
    std::vector<CoinBigIndex> const starts(count + 1, 0);
    Clp_addColumns(clp_.get(),
                   static_cast<int>(count),
                   lower.data(),
                   upper.data(),
                   cost.data(),
                   starts.data(),
                   nullptr,
                   nullptr);
    for (std::size_t v = 0; v < times.tasks(); ++v) { // at most all of it leaves its base
      if (first_[v + 1] - first_[v] > 1) {
        begin_row();
        for (auto k = first_[v]; k < first_[v + 1]; ++k) {
          put(k, -1);
        }
        lower_.push_back(-1);
        ++shares_;
      }
    }
  }

  [[nodiscard]] std::size_t fastest(std::size_t task) const {
    std::size_t best = model_.times.workers.size();
    for (std::size_t c = 0; c < model_.times.workers.size(); ++c) {
      if (model_.runs(task, c) && (best == model_.times.workers.size() ||
                                   model_.times.on(task, c) < model_.times.on(task, best))) {
        best = c;
      }
    }
    return best;
  }

  void put_row(BoundRow row) {
    BoundDemands const demands(model_, crossings_, row);
    auto const unit = unit_of(row) / scale_;
    auto fixed = static_cast<double>(demands.fixed());
    begin_row();
    demands.each_task([&](std::size_t v, std::int64_t extra) {
      auto const on_base = static_cast<double>(demands.of(v, base_[v], extra));
      fixed += on_base;
      for (auto k = first_[v]; k < first_[v + 1]; ++k) {
        auto const gain = static_cast<double>(demands.of(v, class_of_column_[k], extra)) - on_base;
        if (gain != 0) {
          put(k, -gain * unit);
        }
      }
    });
    if (auto const times = demands.makespans(); times != 0) {
      put(0, static_cast<double>(times));
    }
    if (auto const task = demands.starts_before(); task) {
      put(start_of(*task), -1);
    }
    if (auto const task = demands.starts_after(); task) {
      put(start_of(*task), 1);
    }
    put_transfers(row);
    lower_.push_back(fixed * unit);
    rows_.push_back(row);
  }

  void put_transfers(BoundRow row) {
    for (std::size_t g = 0; g < model_.devices; ++g) {
      if (row.kind == BoundRow::Kind::crossing) {
        put(transfers_of(g, crossings_[row.which].in), 1);
      } else if (row.kind == BoundRow::Kind::lane) {
        auto const& lane = model_.lanes[row.which];
        for (bool const in : {true, false}) {
          if (auto const byte = (in ? lane.in : lane.out)[g]; byte != 0) {
            put(transfers_of(g, in), -byte / byte_);
          }
        }
      }
    }
  }

  void begin_row() { starts_.push_back(static_cast<CoinBigIndex>(columns_.size())); }

  void put(std::size_t column, double element) {
    columns_.push_back(static_cast<int>(column));
    elements_.push_back(element);
  }

  void flush() {
    if (!lower_.empty()) {
      std::vector<double> const upper(lower_.size(), HUGE_VAL);
      starts_.push_back(static_cast<CoinBigIndex>(columns_.size()));
      Clp_addRows(clp_.get(),
                  static_cast<int>(lower_.size()),
                  lower_.data(),
                  upper.data(),
                  starts_.data(),
                  columns_.data(),
                  elements_.data());
      starts_.clear();
      columns_.clear();
      elements_.clear();
      lower_.clear();
    }
  }

  BoundModel const& model_;
  double const scale_; // in nanoseconds
  double const byte_;  // the same of bytes is scale_ / byte_
  std::unique_ptr<Clp_Simplex, Delete> const clp_;
  std::vector<BoundCrossing> crossings_;
  std::vector<bool> added_;                  // whether each condition is in the program
  std::vector<std::size_t> base_;            // class of each task
  std::vector<std::size_t> first_;           // column of each task
  std::vector<std::size_t> class_of_column_; // the makespan counts as 0
  std::vector<BoundRow> rows_;               // after those that keep shares together
  std::size_t shares_ = 0;                   // number of the latter
  // rows to be handed over
  std::vector<CoinBigIndex> starts_;
  std::vector<int> columns_;
  std::vector<double> elements_;
  std::vector<double> lower_;
};

} // namespace hetsched::detail
