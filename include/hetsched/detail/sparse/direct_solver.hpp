// SPDX-License-Identifier: MIT
#pragma once
// What sparse LU and Cholesky have in common.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/analysis.hpp>
#include <hetsched/detail/sparse/critical_path.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/refinement.hpp>
#include <hetsched/detail/sparse/runtime_facts.hpp>
#include <hetsched/detail/sparse/spawn_factorisation.hpp>
#include <hetsched/detail/sparse/sweeps.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/sparse/report.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstddef>
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
    check_pattern(a);
    factored_ = false;
    report_.factor_seconds = 0;
    auto const begin = clock_of(rt);
    linalg::use_one_blas_thread();
    cut(cut_for(std::is_floating_point_v<T> && has_devices(rt)));
    share_out(parts_ > 0 ? parts_ : 32 * rt.workers().size());
    auto& numbers = *numbers_;
    numbers.forget_contributions();
    take_values(a);
    Factorisation<T, F> const work{analysis_->plan, units_, numbers};
    point_tiles();
    if (Rt::computes && is_sequential()) {
      factor_unit(work.plan, work.units, numbers, work.units.units.front());
      report_.tasks = 0;
    } else {
      FactorisationTasks<Rt, T, F> tasks(rt, work);
      tasks.spawn();
      report_.tasks = tasks.count().tasks;
      report_.products = tasks.count().products;
      rt.sync();
    }
    if constexpr (Rt::computes) {
      factored_ = true;
      matrix_ = a;
      report_.perturbed = numbers.replaced.load(std::memory_order_relaxed);
    }
    report_.factor_seconds = (clock_of(rt) - begin).seconds();
  }

  /// X with A X = B, or with the transpose of A.
  template <class Rt, class B>
  [[nodiscard]] Dense solve(Rt& rt, Eigen::MatrixBase<B> const& b, bool transposed) {
    check_right_hand_side(b);
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
        refuse(j, refined);
      }
    }
    return x;
  }

  /// Pivots that the last factorisation replaced.
  [[nodiscard]] std::size_t perturbed() const noexcept { return report_.perturbed; }

  [[nodiscard]] SparseReport report() const {
    auto report = report_;
    if (factored_) {
      double largest = 0;
      auto const& plan = analysis_->plan;
      for (std::size_t k = 0; k < plan.factor_size; ++k) {
        largest = std::max(largest, static_cast<double>(std::abs(numbers_->factors.data()[k])));
      }
      report.growth = largest_value_ > 0 ? largest / largest_value_ : 0;
    }
    if (numbers_ != nullptr) {
      report.memory = sizeof(T) * (numbers_->factors.size() + numbers_->tiles.size() +
                                   numbers_->values.size() + numbers_->pool.size()) +
                      sizeof(std::size_t) * numbers_->pivots.size();
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

  void check_pattern(Matrix const& a) const {
    auto const& pattern = analysis_->pattern;
    bool const same = a.cols() == pattern.size() &&
                      static_cast<std::size_t>(a.nonZeros()) == pattern.rows.size() &&
                      std::equal(pattern.begin.begin(),
                                 pattern.begin.end(),
                                 a.outerIndexPtr(),
                                 [](auto x, auto y) { return x == static_cast<std::size_t>(y); }) &&
                      std::equal(pattern.rows.begin(), pattern.rows.end(), a.innerIndexPtr());
    if (!same) {
      throw Error(
          ErrorCode::bad_data,
          name_,
          hetsched::detail::text(
              "the matrix has another pattern (%td rows, %td entries) than the one that was "
              "analysed (%td rows, %zu entries)",
              static_cast<std::ptrdiff_t>(a.rows()),
              static_cast<std::ptrdiff_t>(a.nonZeros()),
              static_cast<std::ptrdiff_t>(pattern.size()),
              pattern.rows.size()));
    }
  }

  template <class B>
  void check_right_hand_side(B const& b) const {
    if (!factored_) {
      throw Error(ErrorCode::bad_call, name_, "solve was called before a factorisation succeeded");
    }
    if (b.rows() != matrix_.rows()) {
      throw Error(ErrorCode::bad_data,
                  name_,
                  "the right-hand side has " + std::to_string(b.rows()) + " rows, the matrix " +
                      std::to_string(matrix_.rows()));
    }
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      for (Eigen::Index i = 0; i < b.rows(); ++i) {
        if (!std::isfinite(std::abs(b(i, j)))) {
          throw Error(ErrorCode::bad_data,
                      name_,
                      "row " + std::to_string(i) + " of right-hand side " + std::to_string(j) +
                          " is not a finite number");
        }
      }
    }
  }

  [[noreturn]] void refuse(Eigen::Index j, Refined const& refined) const {
    throw Error(
        ErrorCode::numerical,
        name_,
        hetsched::detail::text(
            "right-hand side %td: backward error %.2g after %zu steps of refinement and %zu "
            "iterations of GMRES, above %.2g; %zu of %zu pivots were too small and replaced: "
            "the matrix is singular or nearly so",
            static_cast<std::ptrdiff_t>(j),
            refined.backward_error,
            refined.steps,
            refined.iterations,
            accuracy_,
            report_.perturbed,
            report_.size));
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
      auto numbers = std::make_unique<Numbers<T, F>>(plan);
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
    numbers_->tiles = Buffer<T>(size, name_);
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
  double largest_value_ = 0;
  SparseReport report_;
};

} // namespace hetsched::sparse::detail
