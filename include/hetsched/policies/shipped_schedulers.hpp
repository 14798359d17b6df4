// SPDX-License-Identifier: MIT
#pragma once
// The schedulers that ship, with their names: the one table. See names.hpp.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/policies/any_solver.hpp>
#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/policies/names.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/auto_hetero_prio.hpp>
#include <hetsched/policies/schedulers/batches.hpp>
#include <hetsched/policies/schedulers/darts.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_affinity.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/heterogeneous.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/multi_prio.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::policies {

/// Batches by a solver that is chosen when the program runs.
using BatchesForms = Batches<detail::AnySolver>;

} // namespace hetsched::policies

namespace hetsched::detail {

/// They stay where they are.
[[nodiscard]] inline std::deque<AddedScheduler>& added_schedulers() {
  static std::deque<AddedScheduler> added;
  return added;
}

/// With its defaults.
template <class S>
[[nodiscard]] constexpr policies::NamedScheduler
named(std::string_view name, std::string_view what, bool in_all = false) {
  return {{name, what, in_all},
          [](std::span<WorkerInfo const> workers) { return make_erased_scheduler<S>(workers); }};
}

/// With these knobs: a Config, or a function that answers one.
template <class S, auto Knobs>
[[nodiscard]] constexpr policies::NamedScheduler
named(std::string_view name, std::string_view what, bool in_all = false) {
  return {{name, what, in_all}, [](std::span<WorkerInfo const> workers) {
            if constexpr (std::is_invocable_v<decltype(Knobs)>) {
              return make_erased_scheduler<S>(workers, Knobs());
            } else {
              return make_erased_scheduler<S>(workers, Knobs);
            }
          }};
}

template <class Solver>
[[nodiscard]] policies::BatchesForms::Config solved_by() {
  policies::BatchesForms::Config config;
  config.solver.solve = solve_by<Solver>;
  return config;
}

} // namespace hetsched::detail

namespace hetsched::policies {

/// The schedulers that ship: first those that programs run for `all`; behind them forms of others,
/// which differ little from these or cost much.
inline constexpr auto shipped_table = [] {
  using Ahead = HeftpForms::Config;
  using enum LookAhead;
  constexpr bool all = true;
  return std::to_array<NamedScheduler>(
      {detail::named<WorkStealing<>>("ws", "own newest first, idle workers steal the oldest", all),
       detail::named<Eager<>>("eager", "one queue, first come, first served", all),
       detail::named<Random<>>("random", "a worker drawn by lot, by the task's speed there", all),
       detail::named<Priority<>>("priority", "the highest priority first", all),
       detail::named<DataAware<>>(
           "dataaware", "to the memory node with most of a task's bytes", all),
       detail::named<LocalityAware<>>("locality", "to an owner of what a task writes", all),
       detail::named<XkaapiHeft<>>(
           "heft:xkaapi", "by speedup, each to the worker that ends it first", all),
       detail::named<Heft>("heft", "each to the worker that ends it first", all),
       detail::named<HeftpForms>("heftp", "so, and the highest priority of a queue first", all),
       detail::named<Dmda<>>(
           "dmda", "each to the worker that ends it first, transfers included", all),
       detail::named<Dmdar>("dmdar", "so, and of a queue what lacks the fewest bytes first", all),
       detail::named<Dmdas>("dmdas", "so, and of a queue the highest priority first", all),
       detail::named<Heterogeneous>(
           "heterogeneous", "heftp, and idle cores take over what is least urgent", all),
       detail::named<HeteroPrio>("heteroprio", "by acceleration factor, with spoliation", all),
       detail::named<HeteroPrioAffinity>(
           "heteroprio:affinity", "so, GPUs by transfers, cores take over what suits them", all),
       detail::named<AutoHeteroPrio>(
           "heteroprio:auto", "by orders of types found while they run, at the nearest node", all),
       detail::named<MultiPrio>(
           "multiprio", "by gain and criticality, of the first ones the nearest", all),
       detail::named<Darts>(
           "darts", "the datum that lets a GPU run most tasks next, then these tasks", all),
       detail::named<DualHP>(
           "dualhp", "cores and GPUs share what is ready by dual approximation", all),
       detail::named<BatchesForms, detail::solved_by<DualApprox43>>(
           "dual43", "sets of ready tasks by the dual approximation of ratio 4/3", all),
       detail::named<BatchesForms, detail::solved_by<Accel32>>(
           "accel32", "sets of ready tasks by the accelerated one of ratio 3/2", all),
       detail::named<BatchesForms, detail::solved_by<DualApprox2>>(
           "dual2", "sets of ready tasks by the dual approximation of ratio 2", all),
       detail::named<Multigrain<>>(
           "multigrain", "super-tasks whole to GPUs by reuse, small tasks to cores", all),
       detail::named<SciotoSingle>("scioto:single", "one queue by ratio of times, two ends", all),
       detail::named<SciotoDouble<>>("scioto:double", "a queue for cores and one for GPUs", all),
       detail::named<HeftpForms, Ahead{local_time}>(
           "heftp:let", "heftp, to a core if a simulation ends it no earlier elsewhere"),
       detail::named<HeftpForms, Ahead{gpus_busy}>("heftp:gb",
                                                   "heftp, to a core if no GPU is idle for that"),
       detail::named<HeftpForms, Ahead{min_makespan}>(
           "heftp:mms", "heftp, to a core if the whole graph ends earlier then"),
       detail::named<HeteroPrioForms, hetero_prio::hp>("heteroprio:hp", "a queue for each type"),
       detail::named<HeteroPrioForms, hetero_prio::sp>("heteroprio:sp", "hp with spoliation"),
       detail::named<HeteroPrioForms, hetero_prio::cgv>("heteroprio:cgv",
                                                        "sp, GPUs combine queues"),
       detail::named<HeteroPrioForms, hetero_prio::pp>("heteroprio:pp", "cgv with preemption"),
       detail::named<HeteroPrioForms, hetero_prio::pc>(
           "heteroprio:pc", "pp, GPUs take over what has priority over all that is ready"),
       detail::named<HeteroPrioForms, hetero_prio::pcep>("heteroprio:pcep",
                                                         "pc, but not types that suit cores"),
       detail::named<HeteroPrioForms, hetero_prio::pcept>("heteroprio:pcept",
                                                          "pcep, nor those that suit GPUs little"),
       detail::named<HeteroPrioForms, hetero_prio::area>(
           "heteroprio:area", "by shares of the area bound, for several classes of worker"),
       detail::named<HeteroPrioForms, hetero_prio::hetindex>(
           "heteroprio:hetindex", "by heterogeneity index, for several classes of worker")});
}();

HETSCHED_SCHEDULERS_INLINE std::span<NamedScheduler const> shipped_schedulers() noexcept {
  return shipped_table;
}

HETSCHED_SCHEDULERS_INLINE std::vector<SchedulerName> scheduler_names() {
  auto const shipped = shipped_schedulers();
  std::vector<SchedulerName> names(shipped.begin(), shipped.end());
  for (auto const& own : detail::added_schedulers()) {
    names.push_back({own.name, own.what, own.in_all});
  }
  return names;
}

} // namespace hetsched::policies

namespace hetsched::detail {

HETSCHED_SCHEDULERS_INLINE void add_scheduler(AddedScheduler own) {
  for (auto const& one : policies::shipped_schedulers()) {
    if (one.name == own.name) {
      throw Error(ErrorCode::bad_config, own.name, "is a scheduler that ships");
    }
  }
  auto& added = added_schedulers();
  auto const same = std::find_if(
      added.begin(), added.end(), [&](auto const& one) { return one.name == own.name; });
  if (same == added.end()) {
    added.push_back(std::move(own));
  } else {
    same->make = std::move(own.make);
  }
}

HETSCHED_SCHEDULERS_INLINE ChosenScheduler scheduler_by_name(std::string_view name,
                                                             char const* culprit,
                                                             std::span<WorkerInfo const> workers) {
  for (auto const& one : policies::shipped_schedulers()) {
    if (one.name == name) {
      return {one.name, one.make(workers)};
    }
  }
  for (auto const& own : added_schedulers()) {
    if (own.name == name) {
      return {own.name, own.make(workers)};
    }
  }
  std::string known;
  for (auto const& one : policies::scheduler_names()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(ErrorCode::bad_config, culprit, "'" + std::string(name) + "' is none of " + known);
}

} // namespace hetsched::detail
