// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds that are linear programs: the area bound on any number of classes of workers, and
// the iterative bound. Needs Clp, by whose C interface the programs are solved.

#include <hetsched/bounds.hpp>
#include <hetsched/error.hpp>
#include <hetsched/task_graph.hpp>
#include <hetsched/time.hpp>

#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// The linear program of Kumar 2017, sec. 3.4: least makespan l such that tasks, cut at will among
/// the classes that can run them, fit into l times the workers of each class, and such that no path
/// that was added is longer than l.
///
/// The first class that can run a task has what the others leave of it, so that there are columns
/// only for these. Answers do not rest on the solver's tolerances: see `proven`.
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

  /// In nanoseconds, as all that follows.
  [[nodiscard]] double makespan() const noexcept { return solution_[0] * scale_; }

  /// How long each task takes as it is cut now.
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

  /// A makespan that none is below, whatever the solver's errors: with weights for the classes and
  /// the paths added, its dual solution, every schedule's makespan times the sum of the weights is
  /// at least what the tasks weigh, each where it weighs least. The weights only have to be
  /// positive for that; how good they are says how close this comes to the program's optimum.
  /// Rounded up: makespans are whole.
  [[nodiscard]] Duration proven() const {
    auto const* const dual = Clp_dualRowSolution(model_.get());
    auto const weight = [&](std::size_t row) {
      return std::max(0.0L, -static_cast<long double>(dual[row]));
    };
    long double all = 0;
    std::vector<long double> of_class(times_.workers.size());
    for (std::size_t k = 0; k < class_of_row_.size(); ++k) {
      auto const its = weight(shares_ + k);
      of_class[class_of_row_[k]] = its;
      all += its * times_.workers[class_of_row_[k]];
    }
    std::vector<long double> of_task(times_.tasks());
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      auto const its = weight(shares_ + class_of_row_.size() + p);
      all += its;
      for (auto const v : paths_[p]) {
        of_task[v] += its;
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

  /// About as much as the makespan, so that the program's numbers are about 1.
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

  /// What a task takes more on a column's class than on its base.
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

/// Paths that are longer than `makespan`, the longest first, none through a task of another; `most`
/// at most.
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>>
longer_paths(TaskGraph const& graph,
             std::vector<double> const& durations,
             double makespan,
             std::size_t most) {
  auto const tasks = static_cast<std::uint32_t>(graph.size());
  std::vector<double> before(tasks); // longest path to a task's start
  std::vector<double> from(tasks);   // and from there on
  std::vector<std::uint32_t> previous(tasks, tasks);
  std::vector<std::uint32_t> next(tasks, tasks);
  for (std::uint32_t v = 0; v < tasks; ++v) { // edges go from lower to higher numbers
    for (auto const w : graph.successors(v)) {
      if (before[v] + durations[v] > before[w]) {
        before[w] = before[v] + durations[v];
        previous[w] = v;
      }
    }
  }
  for (auto v = tasks; v-- > 0;) {
    for (auto const w : graph.successors(v)) {
      if (from[w] > from[v]) {
        from[v] = from[w];
        next[v] = w;
      }
    }
    from[v] += durations[v];
  }
  std::vector<std::uint32_t> through;
  for (std::uint32_t v = 0; v < tasks; ++v) {
    if (before[v] + from[v] > makespan) {
      through.push_back(v);
    }
  }
  std::sort(through.begin(), through.end(), [&](std::uint32_t v, std::uint32_t w) {
    auto const a = before[v] + from[v];
    auto const b = before[w] + from[w];
    return a != b ? a > b : v < w;
  });
  std::vector<bool> taken(tasks);
  std::vector<std::vector<std::uint32_t>> paths;
  for (auto const v : through) {
    if (taken[v] || paths.size() == most) {
      continue;
    }
    auto& path = paths.emplace_back();
    for (auto w = v; w != tasks; w = previous[w]) {
      path.push_back(w);
    }
    std::reverse(path.begin(), path.end());
    for (auto w = next[v]; w != tasks; w = next[w]) {
      path.push_back(w);
    }
    for (auto const w : path) {
      taken[w] = true;
    }
  }
  return paths;
}

/// Tasks that take the same time on each class, as one that takes the sum.
struct TaskGroups {
  ClassTimes times;
  std::vector<std::size_t> group; // of each task
  std::vector<std::int64_t> count;

  explicit TaskGroups(ClassTimes const& all) : times{all.workers, {}} {
    auto const classes = static_cast<std::ptrdiff_t>(all.workers.size());
    std::map<std::vector<Duration>, std::size_t> known;
    for (std::size_t v = 0; v < all.tasks(); ++v) {
      auto const first = all.times.begin() + static_cast<std::ptrdiff_t>(v) * classes;
      std::vector<Duration> its(first, first + classes);
      auto const [found, fresh] = known.try_emplace(std::move(its), known.size());
      group.push_back(found->second);
      if (fresh) {
        count.push_back(0);
      }
      ++count[found->second];
    }
    times.times.resize(known.size() * all.workers.size());
    for (auto const& [its, number] : known) {
      for (std::size_t c = 0; c < its.size(); ++c) {
        times.times[number * its.size() + c] =
            its[c] == ClassTimes::never ? its[c] : Duration{its[c].ns * count[number]};
      }
    }
  }

  /// How long each task takes if all of a group are cut alike.
  [[nodiscard]] std::vector<double> spread(std::vector<double> const& of_groups) const {
    std::vector<double> result;
    result.reserve(group.size());
    for (auto const number : group) {
      result.push_back(of_groups[number] / static_cast<double>(count[number]));
    }
    return result;
  }
};

} // namespace detail

/// The area bound on any number of classes (Kumar 2017, sec. 2.3.1), rounded up to a whole
/// nanosecond. Throws Error: bad_call naming a task that no worker can run; numerical if the solver
/// gives up. Cost: a linear program with a column for each class but one and each of the tasks that
/// differ in their times.
[[nodiscard]] inline Duration linear_area_bound(ClassTimes const& times) {
  detail::TaskGroups const groups(times);
  detail::BoundProgram program(groups.times);
  program.solve();
  return program.proven();
}

/// The iterative bound of Kumar 2017, sec. 3.4: the area bound's linear program and, for each path
/// through the graph, that it is no longer than the makespan. Paths are added until there is a
/// solution, on the way between those found so far, in which none is longer by more than a part in
/// 1e9. At least the area bound and the critical path; rounded up to a whole nanosecond. Throws
/// Error: bad_call naming a task that no worker can run, or unless there are times for each task;
/// numerical if the solver gives up. Cost: some ten to a hundred linear programs with a column for
/// each task and class but one, and up to some thousand rows.
[[nodiscard]] inline Duration iterative_bound(TaskGraph const& graph, ClassTimes const& times) {
  constexpr std::size_t most_paths = 64; // at a time
  constexpr int most_idle = 8;           // solutions until a path is forgotten
  constexpr double tolerance = 1e-9;
  constexpr double stay = 0.8; // how slowly the point that is cut off follows the solutions
  if (times.tasks() != graph.size()) {
    throw Error(ErrorCode::bad_call,
                "times",
                "of " + std::to_string(times.tasks()) + " tasks for a graph of " +
                    std::to_string(graph.size()));
  }
  auto bound = critical_path(graph, shortest_times(times));
  detail::TaskGroups const groups(times);
  detail::BoundProgram area(groups.times);
  area.solve();
  bound = std::max(bound, area.proven());
  auto durations = groups.spread(area.durations());
  auto const cut = [&](double makespan, std::size_t most) {
    return detail::longer_paths(graph, durations, makespan * (1 + tolerance), most);
  };
  auto paths = cut(static_cast<double>(bound.ns), most_paths);
  if (paths.empty()) {
    return bound; // tasks can be cut so that no path is too long
  }
  // Solutions are corners and jump to and fro. What lies between the old ones and the new one is
  // cut off instead: that converges far sooner, and ends when it is a solution itself.
  detail::BoundProgram program(times);
  double last = 0;
  int patience = most_idle; // grows whenever the makespan does not: no path is forgotten for ever
  for (;;) {
    for (auto const& path : paths) {
      program.add_path(path);
    }
    program.flush();
    program.solve();
    bound = std::max(bound, program.proven());
    auto const corner = program.durations();
    if (detail::longer_paths(graph, corner, program.makespan() * (1 + tolerance), 1).empty()) {
      return bound;
    }
    for (std::size_t v = 0; v < durations.size(); ++v) {
      durations[v] = stay * durations[v] + (1 - stay) * corner[v];
    }
    paths = cut(program.makespan(), most_paths);
    if (paths.empty()) {
      return bound;
    }
    patience += program.makespan() > last * (1 + tolerance) ? 0 : 1;
    last = program.makespan();
    program.forget_paths(patience);
  }
}

} // namespace hetsched
