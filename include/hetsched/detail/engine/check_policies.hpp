// SPDX-License-Identifier: MIT
#pragma once
// Policies that do not keep their contract: one readable line instead of pages.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/concepts/scheduler.hpp>

#include <type_traits>

namespace hetsched::detail {

template <class S, class Ctx>
concept has_push_of_any_kind =
    requires(S& s, Ctx const& ctx) { s.push(ctx, TaskId{}, WorkerId{}); };

template <class S, class Ctx>
concept has_pop_of_any_kind = requires(S& s, Ctx const& ctx) { s.pop(ctx, WorkerId{}); };

/// An optional hook that is called differently, or answers something else, than the contract says.
/// Only hooks that can be named without arguments (non-templates) or called with the contract's
/// arguments can be seen.
template <class S, class Ctx>
concept misdeclared_steal =
    !has_steal<S, Ctx> && (requires { &S::steal; } || requires(S& s, Ctx const& ctx) {
      s.steal(ctx, WorkerId{});
    } || requires(S& s, Ctx const& ctx) { s.steal(ctx); });

template <class S, class Ctx>
concept misdeclared_push_activated =
    !has_push_activated<S, Ctx> && !has_push_activated_each<S, Ctx> &&
    (requires { &S::push_activated; } ||
     requires(S& s, Ctx const& ctx) {
       s.push_activated(ctx, std::span<TaskId const>{}, WorkerId{});
     } || requires(S& s, Ctx const& ctx) { s.push_activated(ctx, TaskId{}, WorkerId{}); });

template <class S, class Ctx>
concept misdeclared_prologue =
    !has_prologue<S, Ctx> && (requires { &S::prologue; } || requires(S& s, Ctx const& ctx) {
      s.prologue(ctx, TaskId{}, WorkerId{});
    } || requires(S& s, Ctx const& ctx) { s.prologue(ctx, TaskId{}); } ||
    requires(S& s, Ctx const& ctx) { s.prologue(ctx, WorkerId{}); });

template <class S, class Ctx>
concept misdeclared_epilogue =
    !has_epilogue<S, Ctx> && (requires { &S::epilogue; } || requires(S& s, Ctx const& ctx) {
      s.epilogue(ctx, TaskId{}, WorkerId{}, Duration{});
    } || requires(S& s, Ctx const& ctx) { s.epilogue(ctx, TaskId{}, WorkerId{}); } ||
    requires(S& s, Ctx const& ctx) { s.epilogue(ctx, TaskId{}); });

template <class S, class Ctx>
concept misdeclared_prepare =
    !has_prepare<S, Ctx> && !has_prepare_expecting<S, Ctx> &&
    (requires { &S::prepare; } ||
     requires(S& s, Ctx const& ctx, TaskGraph const& graph) { s.prepare(ctx, graph); } ||
     requires(S& s, Ctx const& ctx) { s.prepare(ctx); } ||
     requires(S& s, TaskGraph const& graph) { s.prepare(graph); });

template <class S, class Ctx>
concept misdeclared_peek =
    !has_peek<S, Ctx> && (requires { &S::peek; } ||
                          requires(S& s, Ctx const& ctx, std::span<TaskId> next) {
                            s.peek(ctx, WorkerId{}, next);
                          } || requires(S& s, Ctx const& ctx) { s.peek(ctx, WorkerId{}); } ||
                          requires(S& s, Ctx const& ctx) { s.peek(ctx, WorkerId{}, 1); });

template <class S, class Ctx>
concept misdeclared_reconsider =
    !has_reconsider<S, Ctx> && (requires { &S::reconsider; } || requires(S& s, Ctx const& ctx) {
      s.reconsider(ctx, WorkerId{});
    } || requires(S& s, Ctx const& ctx) { s.reconsider(ctx); });

template <class S, class Ctx>
concept misdeclared_preempt =
    !has_preempt<S, Ctx> && (requires { &S::preempt; } || requires(S& s, Ctx const& ctx) {
      s.preempt(ctx, TaskId{});
    } || requires(S& s, Ctx const& ctx) { s.preempt(ctx, TaskId{}, WorkerId{}); } ||
    requires(S& s, Ctx const& ctx) { s.preempt(ctx); });

/// Hooks of a concurrent scheduler are called without the lock under which tasks that run stay.
template <class S, class Ctx>
concept reconsiders_beside_others =
    declares_rules<S> && has_reconsider<S, Ctx> && S::threading == Threading::concurrent;

template <class S>
concept misdeclared_future_uses =
    !has_future_uses<S> &&
    (requires { &S::future_uses; } || requires(S& s) { s.future_uses(std::uint64_t{}, NodeId{}); });

/// One sentence a rung; false after the first broken one.
template <class Scheduler, class Ctx>
struct CheckScheduler {
  static constexpr bool declares = declares_rules<Scheduler> || chosen_at_run_time<Scheduler, Ctx>;
  static_assert(declares,
                "hetsched: Scheduler needs `static constexpr Threading threading` and "
                "`static constexpr PriorityScope priority_scope`; see concepts/scheduler.hpp");

  static constexpr bool constructible =
      std::is_constructible_v<Scheduler, std::span<WorkerInfo const>> ||
      std::is_default_constructible_v<Scheduler>;
  static_assert(!declares || constructible,
                "hetsched: Scheduler must be constructible from std::span<WorkerInfo const> or by "
                "default; see concepts/scheduler.hpp");

  static constexpr bool pushes = has_push_of_any_kind<Scheduler, Ctx>;
  static_assert(!declares || pushes,
                "hetsched: Scheduler needs a member `Wake push(Ctx const&, TaskId, WorkerId)`, "
                "callable for every context; see concepts/scheduler.hpp");

  static constexpr bool pops = has_pop_of_any_kind<Scheduler, Ctx>;
  static_assert(!declares || pops,
                "hetsched: Scheduler needs a member `TaskId pop(Ctx const&, WorkerId)`, callable "
                "for every context; see concepts/scheduler.hpp");

  static constexpr bool answers = scheduler_for<Scheduler, Ctx>;
  static_assert(!declares || !pushes || !pops || answers,
                "hetsched: Scheduler's push must answer a Wake and its pop a TaskId; see "
                "concepts/scheduler.hpp");

  static constexpr bool steals = !misdeclared_steal<Scheduler, Ctx>;
  static_assert(steals,
                "hetsched: Scheduler's steal must be `TaskId steal(Ctx const&, WorkerId)`; see "
                "concepts/scheduler.hpp");

  static constexpr bool activates = !misdeclared_push_activated<Scheduler, Ctx>;
  static_assert(activates,
                "hetsched: Scheduler's push_activated must be `Wake push_activated(Ctx const&, "
                "std::span<TaskId const>, WorkerId)`; see concepts/scheduler.hpp");

  static constexpr bool begins = !misdeclared_prologue<Scheduler, Ctx>;
  static_assert(begins,
                "hetsched: Scheduler's prologue must be `void prologue(Ctx const&, TaskId, "
                "WorkerId)`; see concepts/scheduler.hpp");

  static constexpr bool ends = !misdeclared_epilogue<Scheduler, Ctx>;
  static_assert(ends,
                "hetsched: Scheduler's epilogue must be `void epilogue(Ctx const&, TaskId, "
                "WorkerId, Duration)`; see concepts/scheduler.hpp");

  static constexpr bool peeks = !misdeclared_peek<Scheduler, Ctx>;
  static_assert(peeks,
                "hetsched: Scheduler's peek must be `std::size_t peek(Ctx const&, WorkerId, "
                "std::span<TaskId>)`; see concepts/scheduler.hpp");

  static constexpr bool prepares = !misdeclared_prepare<Scheduler, Ctx>;
  static_assert(prepares,
                "hetsched: Scheduler's prepare must be `void prepare(Ctx const&, TaskGraph "
                "const&)`; see concepts/scheduler.hpp");

  static constexpr bool reconsiders = !misdeclared_reconsider<Scheduler, Ctx>;
  static_assert(reconsiders,
                "hetsched: Scheduler's reconsider must be `TaskId reconsider(Ctx const&, "
                "WorkerId)`; see concepts/scheduler.hpp");

  static constexpr bool serialized = !reconsiders_beside_others<Scheduler, Ctx>;
  static_assert(serialized,
                "hetsched: a Scheduler with reconsider must be Threading::serialized, so that no "
                "task ends while it looks at it; see concepts/scheduler.hpp");

  static constexpr bool preempts = !misdeclared_preempt<Scheduler, Ctx>;
  static_assert(preempts,
                "hetsched: Scheduler's preempt must be `TaskId preempt(Ctx const&, TaskId)`; see "
                "concepts/scheduler.hpp");

  static constexpr bool plans = !misdeclared_future_uses<Scheduler>;
  static_assert(plans,
                "hetsched: Scheduler's future_uses must be `FutureUses future_uses(std::uint64_t, "
                "NodeId) const`; see concepts/scheduler.hpp");

  static constexpr bool ok = declares && constructible && pushes && pops && answers && steals &&
                             activates && begins && ends && peeks && prepares && reconsiders &&
                             serialized && preempts && plans;
};

template <class C>
concept told_of_uses = requires(C& cache, BlockId block, BlockUse const& use) {
  { cache.insert(block, use) } -> std::same_as<void>;
  { cache.access(block, use) } -> std::same_as<void>;
};

template <class C>
concept told_of_pins = requires(C& cache, BlockId block) {
  { cache.pin(block) } -> std::same_as<void>;
  { cache.release(block) } -> std::same_as<void>;
  { cache.erase(block) } -> std::same_as<void>;
};

template <class C>
concept answers_victim = requires(C& cache, DirtyBlocks const& dirty) {
  { cache.victim(dirty) } -> std::same_as<BlockId>;
};

/// A `wants_next_use` that is no constant, or no bool.
template <class C>
concept misdeclared_next_use = requires { C::wants_next_use; } &&
                               !requires { typename std::bool_constant<C::wants_next_use>; };

/// A `foresee` that cannot be called as the engine does.
template <class C>
concept misdeclared_foresee = requires { &C::foresee; } && !has_foresee<C>;

/// The same of `reindex`.
template <class C>
concept misdeclared_reindex = requires { &C::reindex; } && !has_reindex<C>;

/// One sentence a rung; each is reported, since all are independent.
template <class Cache>
struct CheckCache {
  static constexpr bool constructible = std::default_initializable<Cache>;
  static_assert(constructible,
                "hetsched: Cache must be constructible by default; see concepts/cache.hpp");

  static constexpr bool uses = told_of_uses<Cache>;
  static_assert(uses,
                "hetsched: Cache needs members `void insert(BlockId, BlockUse const&)` and "
                "`void access(BlockId, BlockUse const&)`; see concepts/cache.hpp");

  static constexpr bool pins = told_of_pins<Cache>;
  static_assert(pins,
                "hetsched: Cache needs members `void pin(BlockId)`, `void release(BlockId)` and "
                "`void erase(BlockId)`; see concepts/cache.hpp");

  static constexpr bool answers = answers_victim<Cache>;
  static_assert(answers,
                "hetsched: Cache needs a member `BlockId victim(DirtyBlocks const&)`; see "
                "concepts/cache.hpp");

  static constexpr bool wants = !misdeclared_next_use<Cache>;
  static_assert(wants,
                "hetsched: Cache's wants_next_use must be `static constexpr bool`; see "
                "concepts/cache.hpp");

  static constexpr bool foresees = !misdeclared_foresee<Cache>;
  static_assert(foresees,
                "hetsched: Cache's foresee must be `void foresee(BlockId, std::uint64_t)`; see "
                "concepts/cache.hpp");

  static constexpr bool reindexes = !misdeclared_reindex<Cache>;
  static_assert(reindexes,
                "hetsched: Cache's reindex must be `void reindex(BlockId, std::int64_t)`; see "
                "concepts/cache.hpp");

  static constexpr bool ok =
      constructible && uses && pins && answers && wants && foresees && reindexes;
};

template <class PerfModel>
struct CheckPerfModel {
  static constexpr bool ok = perf_model<PerfModel>;
  static_assert(ok,
                "hetsched: PerfModel needs measures, predict, record and transfer; see "
                "concepts/perf_model.hpp");
};

/// Stands in for a scheduler that failed its checks, so that nothing else is reported.
struct UncheckedScheduler {
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  template <class Ctx>
  Wake push(Ctx const&, TaskId, WorkerId) {
    return Wake::none();
  }

  template <class Ctx>
  TaskId pop(Ctx const&, WorkerId) {
    return no_task;
  }
};

/// The same for a cache and a model.
struct UncheckedCache {
  void insert(BlockId, BlockUse const&) {}

  void access(BlockId, BlockUse const&) {}

  void pin(BlockId) {}

  void release(BlockId) {}

  void erase(BlockId) {}

  BlockId victim(DirtyBlocks const&) { return no_block; }
};

struct UncheckedModel {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<Prediction> predict(TaskView const&, Arch) const { return {}; }

  void record(TaskView const&, Arch, Duration) {}

  [[nodiscard]] Duration transfer(std::size_t, NodeId, NodeId) const { return {}; }
};

/// hetsched/fwd.hpp declares all policies that ship.
template <class Policy>
struct PolicyDefined {
  static constexpr bool ok = requires { sizeof(Policy); };
  static_assert(
      ok,
      "hetsched: this policy is only declared here: include its header, "
      "hetsched/policies/schedulers/NAME.hpp, caches/NAME.hpp or perf_models/NAME.hpp, or "
      "hetsched/policies.hpp for all (which policy: see PolicyDefined<policy>)");
};

/// Of a policy that is only declared, nothing else is checked.
template <class Policy, class Check>
[[nodiscard]] constexpr bool passes() {
  if constexpr (PolicyDefined<Policy>::ok) {
    return Check::ok;
  } else {
    return false;
  }
}

/// The core of an engine, with policies that passed their checks.
template <class Engine, class Scheduler, class CacheGiven, class PerfModel>
struct CheckedCore {
  using Context = typename Engine::BaseCore::Context;
  static constexpr bool cache_ok = passes<CacheGiven, CheckCache<CacheGiven>>();
  static constexpr bool ok = passes<Scheduler, CheckScheduler<Scheduler, Context>>() &&
                             passes<PerfModel, CheckPerfModel<PerfModel>>();

  /// One without any operation stands in for a cache that failed its checks.
  using Cache = std::conditional_t<cache_ok, CacheGiven, UncheckedCache>;
  using Type = typename Engine::template Core<std::conditional_t<ok, Scheduler, UncheckedScheduler>,
                                              std::conditional_t<ok, PerfModel, UncheckedModel>>;
};

} // namespace hetsched::detail
