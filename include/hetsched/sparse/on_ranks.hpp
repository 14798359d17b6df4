// SPDX-License-Identifier: MIT
#pragma once
// SparseLU and SparseCholesky on a DistributedRuntime: included beside their headers.
//
//     #include <hetsched/sparse/lu.hpp>
//     #include <hetsched/sparse/on_ranks.hpp>
//
// Every rank makes the same calls, with the same matrices and right-hand sides, and gets the same
// solutions, bit for bit. The factors are shared by the ranks: the fronts' tree is divided in
// proportion to flops (Pothen and Sun, 1993). Every rank analyses the matrix for itself.

#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/rank_factorisation.hpp>
#include <hetsched/detail/sparse/rank_layout.hpp>
#include <hetsched/detail/sparse/rank_sweep_tasks.hpp>
#include <hetsched/detail/sparse/rank_sweeps.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <cstddef>

namespace hetsched::sparse::detail {

/// What DirectSolver does on several ranks. Collective.
template <class Rt, class T, Form F>
struct RankSolver {
  [[nodiscard]] static RankFactors factorise(Rt& rt, Factorisation<T, F> const& work) {
    RankLayout const layout(work.plan, work.units, rt.ranks());
    RankFactors factors;
    {
      RankFactorisationTasks<Rt, T, F> tasks(rt, work, layout);
      tasks.spawn();
      factors.tasks = tasks.count();
      rt.sync();
    }
    factors.facts = facts_of_all(rt, work, layout);
    factors.numbers_here = numbers_at_home(layout, work, rt.rank());
    return factors;
  }

  /// See Sweeps.
  static void sweep(Rt& rt,
                    Factorisation<T, F> const& work,
                    typename RankSweeps<T, F>::Block& x,
                    bool transposed) {
    RankLayout const layout(work.plan, work.units, rt.ranks());
    RankSweeps<T, F> const sweeps(work.plan, work.units, work.numbers, x, transposed);
    RankSweepTasks<Rt, T, F> tasks(rt, work.plan, work.units, layout, sweeps);
    tasks.spawn();
    rt.sync();
  }
};

} // namespace hetsched::sparse::detail
