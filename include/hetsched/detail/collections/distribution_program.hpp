// SPDX-License-Identifier: MIT
#pragma once
// The integer program of the best distribution of tasks, for Cbc's C interface.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/collections/worker_loads.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

namespace hetsched::detail {

/// The least makespan z such that each CPU and each GPU has no more than z to do, and each task is
/// on one of them. Tasks of equal times are a kind, and a variable is how many tasks of a kind one
/// CPU or GPU has: 0 or 1 where all times differ. There is none where one such task takes longer
/// than the makespan that is known.
///
/// Ranks are equal, so CPUs are numbered in the order in which a walk through all tasks first meets
/// them, and so are GPUs. The k-th task is on one of the first k CPUs or GPUs, and has no variables
/// for the others.
///
/// Source: Arafat et al. 2016, sec. 4.3, equations 1 and 2. There each task is a kind of its own,
/// and all ranks have variables for it.
class DistributionProgram {
public:
  /// `start` is the distribution to begin with. No makespan is below the bound.
  DistributionProgram(std::span<TaskTimes const> times,
                      int ranks,
                      WorkerLoads const& start,
                      Duration lower_bound)
      : ranks_(ranks), makespan_(start.makespan()), lower_bound_(lower_bound) {
    find_kinds(times);
    number_columns();
    number_workers(start.workers());
  }

  /// Cbc solves the first linear program without looking at the clock. With 49,000 variables (770
  /// tasks, 32 ranks) it exceeds a limit of 0.1 s by 1.7 s, with 96,000 one of 1 s by 5 s (2-core
  /// EPYC VM).
  static constexpr std::size_t most_columns = 50'000;

  /// The number of variables.
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }

  /// What Cbc knows at the end.
  struct Answer {
    std::vector<int> workers; // of each task; empty: nothing better than the start
    Duration lower_bound;     // no makespan is below
  };

  /// Ends when the makespan is at most gap * makespan above the bound, or at `deadline` of
  /// monotonic_ns(). Cbc has static data, so one program is solved at a time.
  [[nodiscard]] Answer solve(std::int64_t deadline, double gap) const {
    static Mutex one_at_a_time;
    std::lock_guard const lock(one_at_a_time);
    auto const rest = Duration{deadline - monotonic_ns()};
    if (rest <= Duration{}) {
      return {{}, lower_bound_};
    }
    std::unique_ptr<Cbc_Model, Delete> const cbc(Cbc_newModel());
    Cbc_setLogLevel(cbc.get(), 0);
    Cbc_setParameter(cbc.get(), "logLevel", "0");
    Cbc_setParameter(cbc.get(), "timeMode", "elapsed");
    Cbc_setParameter(cbc.get(), "preprocess", "off"); // 2.10.8 crashes if its time ends there
    Cbc_setParameter(cbc.get(), "probing", "on");
    load(cbc.get());
    begin_with_start(cbc.get());
    Cbc_setMaximumSeconds(cbc.get(), rest.seconds());
    Cbc_setAllowableFractionGap(cbc.get(), std::max(0.0, gap - 2 * tolerance));
    Cbc_solve(cbc.get());
    return {workers_of(Cbc_bestSolution(cbc.get())), bound_of(cbc.get())};
  }

private:
  struct Delete {
    void operator()(Cbc_Model* model) const noexcept { Cbc_deleteModel(model); }
  };

  /// Tasks of equal times.
  struct Kind {
    std::array<Duration, 2> times;            // on a CPU, on a GPU
    std::size_t first = 0;                    // of its tasks in the order of all
    std::size_t end = 0;                      //
    std::size_t workers = 0;                  // it is on one of the first so many of each class
    std::array<std::size_t, 2> columns{0, 0}; // for the first CPU, the first GPU; 0: for none

    [[nodiscard]] double tasks() const noexcept { return static_cast<double>(end - first); }
  };

  static constexpr double scale = 1000;     // the makespan that is known is this in the program
  static constexpr double tolerance = 2e-6; // of a makespan: hidden by Cbc's tolerance of 1e-6

  void find_kinds(std::span<TaskTimes const> times) {
    order_.resize(times.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    auto const key = [&](std::size_t v) {
      auto const [cpu, gpu] = times[v];
      auto const shorter =
          std::min(cpu == TaskTimes::never ? gpu : cpu, gpu == TaskTimes::never ? cpu : gpu);
      return std::tuple(-shorter.ns, cpu, gpu, v);
    };
    std::sort(order_.begin(), order_.end(), [&](std::size_t v, std::size_t w) {
      return key(v) < key(w);
    });
    for (std::size_t k = 0; k < order_.size(); ++k) {
      auto const [cpu, gpu] = times[order_[k]];
      std::array const both{cpu, gpu};
      if (kinds_.empty() || kinds_.back().times != both) {
        kinds_.push_back({.times = both, .first = k});
      }
      kinds_.back().end = k + 1;
    }
  }

  void number_columns() {
    workers_ = std::min(static_cast<std::size_t>(ranks_), order_.size());
    for (auto& kind : kinds_) {
      kind.workers = std::min(workers_, kind.end);
      for (std::size_t c = 0; c < 2; ++c) {
        if (kind.times[c] != TaskTimes::never && kind.times[c] <= makespan_) {
          kind.columns[c] = columns_;
          columns_ += kind.workers;
        }
      }
    }
  }

  void number_workers(std::vector<int> const& workers) {
    std::vector<std::size_t> numbers(2 * static_cast<std::size_t>(ranks_), none);
    std::array<std::size_t, 2> used{0, 0};
    start_.resize(columns_);
    start_[0] = scale;
    for (auto const& kind : kinds_) {
      for (auto k = kind.first; k < kind.end; ++k) {
        auto const worker = static_cast<std::size_t>(workers[order_[k]]);
        std::size_t const c = workers[order_[k]] < ranks_ ? 0 : 1;
        if (numbers[worker] == none) {
          numbers[worker] = used[c]++;
        }
        start_[kind.columns[c] + numbers[worker]] += 1;
      }
    }
  }

  void load(Cbc_Model* cbc) const {
    std::vector<CoinBigIndex> starts;
    std::vector<int> rows;
    std::vector<double> elements;
    auto const begin_column = [&] { starts.push_back(static_cast<CoinBigIndex>(rows.size())); };
    auto const put = [&](std::size_t row, double element) {
      rows.push_back(static_cast<int>(row));
      elements.push_back(element);
    };
    std::vector<double> lower(columns_, 0);
    std::vector<double> upper(columns_, HUGE_VAL);
    std::vector<double> cost(columns_, 0);
    lower[0] = scaled(lower_bound_);
    cost[0] = 1;
    begin_column();
    for (std::size_t w = 0; w < 2 * workers_; ++w) {
      put(w, -1);
    }
    for (std::size_t t = 0; t < kinds_.size(); ++t) {
      auto const& kind = kinds_[t];
      for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t w = 0; kind.columns[c] != 0 && w < kind.workers; ++w) {
          begin_column();
          put(c * workers_ + w, scaled(kind.times[c]));
          put(2 * workers_ + t, 1);
          upper[kind.columns[c] + w] = kind.tasks();
        }
      }
    }
    begin_column();
    auto const least = row_limits(-HUGE_VAL);
    auto const most = row_limits(0);
    Cbc_loadProblem(cbc,
                    static_cast<int>(columns_),
                    static_cast<int>(least.size()),
                    starts.data(),
                    rows.data(),
                    elements.data(),
                    lower.data(),
                    upper.data(),
                    cost.data(),
                    least.data(),
                    most.data());
    for (std::size_t k = 1; k < columns_; ++k) {
      Cbc_setInteger(cbc, static_cast<int>(k));
    }
  }

  /// Of what workers have to do less the makespan, and of how many tasks of each kind there are.
  [[nodiscard]] std::vector<double> row_limits(double of_workers) const {
    std::vector<double> limits(2 * workers_, of_workers);
    for (auto const& kind : kinds_) {
      limits.push_back(kind.tasks());
    }
    return limits;
  }

  void begin_with_start(Cbc_Model* cbc) const {
    std::vector<int> columns;
    std::vector<double> values;
    for (std::size_t k = 0; k < columns_; ++k) {
      if (start_[k] != 0) {
        columns.push_back(static_cast<int>(k));
        values.push_back(start_[k]);
      }
    }
    Cbc_setMIPStartI(cbc, static_cast<int>(columns.size()), columns.data(), values.data());
  }

  [[nodiscard]] double scaled(Duration time) const {
    return static_cast<double>(time.ns) / static_cast<double>(makespan_.ns) * scale;
  }

  /// Empty if it is no solution.
  [[nodiscard]] std::vector<int> workers_of(double const* solution) const {
    std::vector<int> workers(order_.size());
    if (solution == nullptr) {
      return {};
    }
    for (auto const& kind : kinds_) {
      auto next = kind.first;
      for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t w = 0; kind.columns[c] != 0 && w < kind.workers; ++w) {
          for (auto count = std::lround(solution[kind.columns[c] + w]); count > 0; --count) {
            if (next == kind.end) {
              return {};
            }
            workers[order_[next++]] = static_cast<int>(w) + (c == 0 ? 0 : ranks_);
          }
        }
      }
      if (next != kind.end) {
        return {};
      }
    }
    return workers;
  }

  /// What is proven, less what tolerances may hide; makespans are whole nanoseconds.
  [[nodiscard]] Duration bound_of(Cbc_Model* cbc) const {
    auto const found = Cbc_getBestPossibleObjValue(cbc);
    auto const status = Cbc_status(cbc);
    bool const ended = status == 0 || status == 1; // or stopped at a limit
    if (!ended || Cbc_isProvenInfeasible(cbc) != 0 || !(found <= Cbc_getObjValue(cbc))) {
      return lower_bound_;
    }
    auto const bound = (found / scale - tolerance) * static_cast<double>(makespan_.ns);
    return std::max(lower_bound_, Duration{static_cast<std::int64_t>(std::ceil(bound))});
  }

  static constexpr auto none = static_cast<std::size_t>(-1);

  int const ranks_;
  Duration const makespan_;
  Duration const lower_bound_;
  std::vector<std::size_t> order_; // tasks, the longest first
  std::vector<Kind> kinds_;
  std::size_t workers_ = 0; // so many CPUs, and GPUs, can have a task
  std::size_t columns_ = 1; // column 0 is the makespan
  std::vector<double> start_;
};

} // namespace hetsched::detail
