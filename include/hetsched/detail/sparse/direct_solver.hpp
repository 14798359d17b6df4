// SPDX-License-Identifier: MIT
#pragma once
// What sparse LU and Cholesky have in common.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/analysis.hpp>
#include <hetsched/detail/sparse/critical_path.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/refinement.hpp>
#include <hetsched/detail/sparse/runtime_facts.hpp>
#include <hetsched/detail/sparse/solver_checks.hpp>
#include <hetsched/detail/sparse/spawn_factorisation.hpp>
#include <hetsched/detail/sparse/sweep_tasks.hpp>
#include <hetsched/detail/sparse/sweeps.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/sparse/report.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// Analyses, factorises and solves. `T` is what the factors are made of.
template <class T, Form F>
class DirectSolver {
public:
  /// What matrices and right-hand sides are made of: factors in single precision are refined.
  using Value = std::conditional_t<std::is_same_v<T, float>, double, T>;
  using Matrix = Eigen::SparseMatrix<Value>;
  using Dense = Eigen::Matrix<Value, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;

  /// `name` is for messages. A SparseLUOptions, or what has those of its fields but `matching`.
  template <class Options>
  DirectSolver(char const* name, Options const& given, RowMatching matching)
      : name_(name), given_{given.panel, given.block}, deterministic_(given.deterministic),
        parts_(given.parts == 0 && given.deterministic ? 64 : given.parts),
        sequential_below_(given.sequential_below), accuracy_(given.accuracy) {
    options_.ordering = given.ordering;
    options_.matching = matching;
    options_.symmetric = F == Form::symmetric;
    options_.cut = cut_for(false);
  }

  void analyze(Matrix const& a) { analyze(a, options_); }

  /// Whether matching rows to columns was left to the analysis, which did not do it.
  [[nodiscard]] bool may_match() const noexcept {
    return options_.matching == RowMatching::automatic && analysis_ != nullptr &&
           !analysis_->matched;
  }

  /// Analyses `a` anew, with matching, and factorises it.
  template <class Rt>
  void match(Rt& rt, Matrix const& a) {
    auto options = options_;
    options.matching = RowMatching::always;
    Matrix const copy = a; // it may be the one that is kept
    analyze(copy, options);
    factorize(rt, copy);
  }

  /// The matrix of the last factorisation.
  [[nodiscard]] Matrix const& matrix() const noexcept { return matrix_; }

  [[nodiscard]] bool is_analyzed() const noexcept { return analysis_ != nullptr; }

  /// Factorises a matrix of the pattern that was analysed.
  template <class Rt>
  void factorize(Rt& rt, Matrix const& a) {
    check_matrix(name_, a);
    check_pattern(name_, analysis_->pattern, a);
    factored_ = false;
    report_.factor_seconds = 0;
    auto const begin = clock_of(rt);
    linalg::use_one_blas_thread();
    cut(cut_for(std::is_floating_point_v<T> && has_devices(rt)));
    on_ranks(hetsched::detail::ranks_of(rt));
    share_out(parts_ > 0 ? parts_ : parts_for(rt));
    auto& numbers = *numbers_;
    numbers.forget_contributions();
    take_values(a);
    Factorisation<T, F> const work{analysis_->plan, units_, numbers};
    point_tiles();
    report_.growth = 0;
    if (computes<Rt>() && is_sequential()) {
      factor_unit(work.plan,
                  work.units,
                  numbers,
                  OwnContributions(work.plan, numbers),
                  work.units.units.front());
      report_.tasks = 0;
    } else if constexpr (hetsched::detail::several_ranks<Rt>) {
      factorize_on_ranks(rt, work);
    } else {
      FactorisationTasks<Rt, T, F> tasks(rt, work);
      tasks.spawn();
      report_.tasks = tasks.count().tasks;
      report_.products = tasks.count().products;
      rt.sync();
    }
    if constexpr (computes<Rt>()) {
      factored_ = true;
      matrix_ = a;
      if (!is_shared()) {
        report_.perturbed = numbers.replaced.load(std::memory_order_relaxed);
      }
    }
    report_.factor_seconds = (clock_of(rt) - begin).seconds();
  }

  /// X with A X = B, or with the transpose of A.
  template <class Rt, class B>
  [[nodiscard]] Dense solve(Rt& rt, Eigen::MatrixBase<B> const& b, bool transposed) {
    if (!factored_) {
      throw Error(ErrorCode::bad_call, name_, "solve was called before a factorisation succeeded");
    }
    check_right_hand_side(name_, matrix_.rows(), b);
    check_ranks(hetsched::detail::ranks_of(rt));
    linalg::use_one_blas_thread();
    report_.backward_error = 0;
    report_.refinements = 0;
    report_.gmres_iterations = 0;
    auto x = sweep(rt, b, transposed);
    Residuals<Value> const residuals(matrix_, transposed);
    auto const again = [&](Vector const& r) -> Vector { return sweep(rt, r, transposed); };
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      Vector const right = b.col(j);
      auto const refined = refine(residuals, again, right, x.col(j), accuracy_);
      report_.backward_error = std::max(report_.backward_error, refined.backward_error);
      report_.refinements = std::max(report_.refinements, refined.steps);
      report_.gmres_iterations += refined.iterations;
      if (!(refined.backward_error <= accuracy_)) {
        refuse_solution(name_, j, refined, accuracy_, report_.perturbed, report_.size);
      }
    }
    return x;
  }

  /// Pivots that the last factorisation replaced.
  [[nodiscard]] std::size_t perturbed() const noexcept { return report_.perturbed; }

  [[nodiscard]] SparseReport report() const {
    auto report = report_;
    if (numbers_ != nullptr && is_shared()) {
      return report;
    }
    if (factored_) {
      double largest = 0;
      auto const& plan = analysis_->plan;
      for (std::size_t k = 0; k < plan.factor_size; ++k) {
        largest = std::max(largest, static_cast<double>(std::abs(numbers_->factors.data()[k])));
      }
      report.growth = largest_value_ > 0 ? largest / largest_value_ : 0;
    }
    if (numbers_ != nullptr) {
      report.memory = memory_for(numbers_->factors.size() + numbers_->tiles.size());
    }
    return report;
  }

private:
  void analyze(Matrix const& a, AnalysisOptions const& options) {
    check_matrix(name_, a);
    numbers_.reset();
    factored_ = false;
    analysis_.reset(); // a failure leaves nothing
    analysis_ = std::make_unique<Analysis>(analysed(name_, a, options));
    report_ = {};
    describe_analysis();
  }

  void describe_analysis() {
    auto const& plan = analysis_->plan;
    report_.size = at(analysis_->pattern.size());
    report_.entries = analysis_->pattern.rows.size();
    report_.symmetry = analysis_->symmetry;
    report_.matched = analysis_->matched;
    report_.factor_entries = plan.factor_size;
    report_.flops = plan.flops;
    report_.scalar_flops =
        F == Form::symmetric ? plan.nodes.scalar_flops / 2 : plan.nodes.scalar_flops;
    report_.supernodes = plan.fronts.size();
  }

  [[nodiscard]] bool is_sequential() const noexcept {
    return units_.units.size() == 1 && !units_.units.front().tiled;
  }

  /// Whether several ranks have parts of the factors. What needs no tasks, each has whole.
  [[nodiscard]] bool is_shared() const noexcept { return ranks_ > 1 && !is_sequential(); }

  /// Bytes, with so many numbers of factors and contributions.
  [[nodiscard]] std::size_t memory_for(std::size_t numbers) const {
    return sizeof(T) * (numbers + numbers_->values.size() + numbers_->pool.size()) +
           sizeof(std::size_t) * numbers_->pivots.size();
  }

  void on_ranks(std::int32_t ranks) {
    if (std::exchange(ranks_, ranks) != ranks) {
      numbers_.reset(); // its memory is whole, or some of it
    }
  }

  template <class Rt>
  void factorize_on_ranks(Rt& rt, Factorisation<T, F> const& work) {
    auto const factors = OnRanks<Rt>::factorise(rt, work);
    report_.tasks = factors.tasks.tasks;
    report_.products = factors.tasks.products;
    if (is_shared()) {
      report_.perturbed = factors.facts.replaced;
      report_.growth = largest_value_ > 0 ? factors.facts.largest / largest_value_ : 0;
      report_.memory = memory_for(factors.numbers_here);
    }
  }

  void check_ranks(std::int32_t ranks) const {
    if (!is_sequential() && ranks != ranks_) {
      throw Error(ErrorCode::bad_call,
                  name_,
                  hetsched::detail::text("solve was called on %d ranks, the factors are on %d",
                                         int{ranks},
                                         int{ranks_}));
    }
  }

  /// How fronts are cut, by the options that were given, else by what runs the tasks: a GPU needs
  /// larger products than a core to be busy. Other panels round otherwise, so a deterministic
  /// solver does not look at that.
  [[nodiscard]] FrontCut cut_for(bool devices) const noexcept {
    std::size_t const times = devices && !deterministic_ ? 2 : 1;
    FrontCut const usual;
    return {given_.panel == 0 ? times * usual.panel : given_.panel,
            given_.block == 0 ? times * usual.block : given_.block};
  }

  void cut(FrontCut const& how) {
    if (analysis_->plan.cut != how) {
      shared_out_ = 0; // what follows may fail
      analysis_->plan.cut = {0, 0};
      analysis_->cut(how);
    }
    report_.panel = how.panel;
    report_.block = how.block;
  }

  /// Decides what the tasks are, and has the memory for them.
  void share_out(std::size_t parts) {
    auto const& plan = analysis_->plan;
    if (numbers_ != nullptr && parts == shared_out_) {
      return;
    }
    if (numbers_ == nullptr) {
      auto numbers = std::make_unique<Numbers<T, F>>(plan, use());
      numbers->values.resize(analysis_->pattern.rows.size());
      numbers_ = std::move(numbers);
    }
    shared_out_ = 0; // what follows may fail
    auto const cut = plan.flops < sequential_below_ ? std::numeric_limits<double>::infinity()
                                                    : plan.flops / static_cast<double>(parts);
    units_ = make_units(plan, cut);
    report_.units = units_.units.size();
    report_.critical_path =
        is_sequential() ? plan.flops : std::min(plan.flops, CriticalPath(plan, units_).length());
    report_.tiled_fronts = 0;
    std::size_t size = 0;
    for (auto const& unit : units_.units) {
      auto const m = plan.fronts[at(unit.begin)].m;
      size += unit.tiled ? m * m : 0;
      report_.tiled_fronts += unit.tiled ? 1U : 0U;
    }
    numbers_->tiles = {};
    numbers_->tiles = Buffer<T>(size, name_, use());
    shared_out_ = parts;
  }

  /// Where the contributions of tiled fronts are.
  void point_tiles() {
    auto* next = numbers_->tiles.data();
    for (auto const& unit : units_.units) {
      if (unit.tiled) {
        auto const m = analysis_->plan.fronts[at(unit.begin)].m;
        numbers_->contributions[at(unit.begin)].data = next;
        next += m * m;
      }
    }
  }

  void take_values(Matrix const& a) {
    auto const& scaling = analysis_->scaling;
    auto& values = numbers_->values;
    largest_value_ = 0;
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      auto const column = scaling.columns[static_cast<std::size_t>(j)];
      for (auto k = a.outerIndexPtr()[j]; k < a.outerIndexPtr()[j + 1]; ++k) {
        auto const scaled = a.valuePtr()[k] * (scaling.rows[at(a.innerIndexPtr()[k])] * column);
        values[at(k)] = static_cast<T>(scaled);
        largest_value_ = std::max(largest_value_, static_cast<double>(std::abs(scaled)));
      }
    }
    using Real = typename Eigen::NumTraits<T>::Real;
    numbers_->floor =
        std::sqrt(static_cast<double>(std::numeric_limits<Real>::epsilon())) * largest_value_;
  }

  /// The factors' solution, without refinement.
  template <class Rt>
  [[nodiscard]] Dense sweep(Rt& rt, Dense const& b, bool transposed) {
    auto const& in = transposed ? analysis_->column_place : analysis_->row_place;
    auto const& out = transposed ? analysis_->row_place : analysis_->column_place;
    auto const& before = transposed ? analysis_->scaling.columns : analysis_->scaling.rows;
    auto const& after = transposed ? analysis_->scaling.rows : analysis_->scaling.columns;
    auto const n = static_cast<Index>(b.rows());
    // Single precision must neither overflow nor underflow: a residual may be very small.
    double largest = std::is_same_v<T, float> ? 0 : 1;
    if constexpr (std::is_same_v<T, float>) {
      for (Eigen::Index j = 0; j < b.cols(); ++j) {
        for (Index i = 0; i < n; ++i) {
          largest = std::max(largest, std::abs(b(i, j)) * before[at(i)]);
        }
      }
      largest = largest > 0 ? power_of_two(largest) : 1;
    }
    typename Sweeps<T, F>::Block x(b.rows(), b.cols());
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      for (Index i = 0; i < n; ++i) {
        x(in[at(i)], j) = static_cast<T>(b(i, j) * (before[at(i)] / largest));
      }
    }
    Sweeps<T, F> sweeps(analysis_->plan, units_, *numbers_, x, transposed);
    if (is_sequential()) {
      sweeps.up(0);
      sweeps.down(0);
    } else if constexpr (hetsched::detail::several_ranks<Rt>) {
      if (x.cols() > 0) {
        Factorisation<T, F> const work{analysis_->plan, units_, *numbers_};
        OnRanks<Rt>::sweep(rt, work, x, transposed);
      }
    } else {
      SweepTasks<Rt, Sweeps<T, F>> tasks(rt, units_, sweeps);
      tasks.spawn();
      rt.sync();
    }
    Dense result(b.rows(), b.cols());
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      for (Index i = 0; i < n; ++i) {
        result(i, j) = static_cast<Value>(x(out[at(i)], j)) * (after[at(i)] * largest);
      }
    }
    return result;
  }

  [[nodiscard]] Use use() const noexcept { return ranks_ > 1 ? Use::some : Use::whole; }

  template <class Rt>
  struct NeedsHeader {
    static constexpr bool ok = requires { sizeof(RankSolver<Rt, T, F>); };
    static_assert(ok,
                  "hetsched: a sparse solver on a DistributedRuntime needs `#include "
                  "<hetsched/sparse/on_ranks.hpp>`");
  };

  template <class Rt>
  using OnRanks = std::conditional_t<NeedsHeader<Rt>::ok, RankSolver<Rt, T, F>, void>;

  char const* name_;
  AnalysisOptions options_;
  FrontCut given_; // 0: what suits the runtime
  bool deterministic_;
  std::size_t parts_; // subtrees have the flops over this; 0: over 32 for each worker
  double sequential_below_;
  double accuracy_;
  std::unique_ptr<Analysis> analysis_;
  Units units_;
  std::size_t shared_out_ = 0; // the parts of units_
  std::unique_ptr<Numbers<T, F>> numbers_;
  Matrix matrix_;
  bool factored_ = false;
  std::int32_t ranks_ = 1; // of the runtime that factorised
  double largest_value_ = 0;
  SparseReport report_;
};

} // namespace hetsched::sparse::detail
