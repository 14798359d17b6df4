// SPDX-License-Identifier: MIT
#pragma once
// HeteroPrio with a queue for each type of task, its corrections, and more than two classes.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/affinity_queues.hpp>
#include <hetsched/detail/policies/affinity_types.hpp>
#include <hetsched/detail/policies/hetero_prio_options.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/detail/policies/spoliation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <vector>

namespace hetsched::policies {

/// What the thesis leaves open, and how it is read here.
/// - Types: by name, with their mean times; what has none, by magnitude of its factor.
/// - "potrf" and "trsm" of the rules are types by their factors, so that they apply to other
///   algorithms: AffinityPlan::suits_cores and suits_less. They are potrf and trsm in Cholesky.
/// - Ties in a queue: the oldest is taken where the highest priority is, the youngest where the
///   lowest is. Where cores are faster the two ends are exchanged, as in sec. 5.2.2. Of combined
///   queues equal priorities go by the score.
/// - Spoliation takes the highest priority among the tasks that would end earlier here, of equals
///   the latest end; the text might mean the highest of all, and nothing if that would not.
/// - PP: the lowest priority on cores stops, whether or not below the newcomer's, but no other
///   "potrf"; the core takes the newcomer, whatever else is ready.
/// - PC: its spoliation, too, is of tasks that end earlier here. "If no ready task has priority
///   higher" is read as: if all have a lower one, for with equal ones nothing is passed over.
/// - Sec. 4.3.2: a resource is a class, and the mean of the classes' means has no weights. Scores
///   differ by less than 25 % of the greater one; groups are filled from the best score on. A class
///   that is the quickest at a type gets its high priorities, although it is slow.
///
/// Decides: one queue per type. Classes look into them in the order of their scores: GPUs from the
///   highest acceleration factor on, cores from the lowest (or by the other scores, which need not
///   be opposed); fast workers take the highest priority of a queue, or of several combined, slow
///   ones the lowest. A fast worker for which nothing is ready takes over what a slow one runs and
///   it would end earlier; with a constraint also what has priority over all that is ready.
/// Source: Kumar 2017, sec. 3.7 (HP to HP+PCEPT), 4.3.2 (Area, Het.Index); readings above.
/// Cost: push, pop O(types + log Q), a prediction for each class outside captured graphs; also
///   reconsider O(W + data), preempt O(W), if it stops a task O(Q); Area a linear program at times;
///   one lock.
/// Needs: context: predicted times; priorities of graphs, such as Priorities::bottom_min. Area:
///   counts of tasks, of a graph by Runtime::run, else of those that became ready so far.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: Config, which is HeteroPrioOptions: by default HP without corrections.
/// Limits: spoliation and preemption need tasks that may be aborted. Transfers count in spoliation
///   only. Types of unknown times have a factor of 1, or come last.
class HeteroPrioForms {
public:
  using Config = HeteroPrioOptions;

  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit HeteroPrioForms(std::span<WorkerInfo const> workers, Config config = {})
      : config_(config), types_(workers) {}

  /// A form without a correction does without its hook.
  template <class Ctx>
  [[nodiscard]] SchedulerRules rules() const noexcept {
    return {threading,
            priority_scope,
            hook_push | hook_pop | hook_peek | hook_prepare |
                (config_.spoliation ? hook_reconsider : 0U) |
                (config_.preemption ? hook_preempt : 0U)};
  }

  template <context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> times) {
    types_.learn(graph, times);
    promised_.clear();
    detail::push_again(queues_, [&](TaskId task) { (void)push(ctx, task, no_worker); });
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const view = ctx.task(task);
    auto const type = types_.note(ctx, task, view);
    queues_.push(type, view.priority, task);
    return Wake::any();
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    if (auto const task = take_promised(ctx, worker)) {
      return task;
    }
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    if (!update_plan()) {
      return queues_.take_any(accept);
    }
    for (auto const& group : plan_.order(ctx.workers()[worker.index()].arch)) {
      if (auto const task = queues_.take(group, accept)) {
        return task;
      }
    }
    return no_task;
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) try {
    auto const arch = ctx.workers()[worker.index()].arch;
    detail::AffinityPlan later; // a pop would make it now
    if (types_.changed()) {
      later = plan_now();
    }
    auto const& plan = types_.changed() ? later : plan_;
    auto promised = promised_.begin();
    return detail::peek_each(
        next,
        [&](TaskId task) { return ctx.can_run(task, worker); },
        [&](auto const& accept) {
          promised = promised_to(worker, promised);
          if (promised != promised_.end()) {
            auto const& [core, type, entry] = *promised++;
            if (accept(entry.task) && queues_.has(type, entry)) {
              return entry.task;
            }
          }
          for (auto const& group : plan.order(arch)) {
            if (auto const task = queues_.first(group, accept)) {
              return task;
            }
          }
          return no_task;
        });
  } catch (std::bad_alloc const&) { // no plan

    return 0;
  }

  template <context Ctx>
  TaskId reconsider(Ctx const& ctx, WorkerId worker) {
    if (!config_.spoliation || !update_plan() || !plan_.fast(ctx.workers()[worker.index()].arch)) {
      return no_task;
    }
    auto const ready = queues_.highest([&](TaskId task) { return ctx.can_run(task, worker); });
    if (ready && config_.constraint == PriorityConstraint::none) {
      return no_task;
    }
    return detail::spoliated_by(
        ctx, worker, [&](WorkerInfo const& other, TaskId task, TaskView const& view) {
          return !plan_.fast(other.arch) &&
                 !(ready &&
                   (view.priority <= *ready || is_excepted(types_.type_of(ctx, task, view))));
        });
  }

  template <context Ctx>
  TaskId preempt(Ctx const& ctx, TaskId task) {
    if (!config_.preemption || !update_plan()) {
      return no_task;
    }
    auto const view = ctx.task(task);
    auto const type = types_.type_of(ctx, task, view);
    if (!plan_.suits_cores(type)) {
      return no_task;
    }
    auto victim = no_task;
    WorkerId core;
    std::int32_t priority = 0;
    Instant end;
    for (auto const& other : ctx.workers()) {
      auto const candidate = other.arch == ArchHost ? ctx.running(other.id) : no_task;
      if (!candidate || !ctx.can_run(task, other.id)) {
        continue;
      }
      auto const running = ctx.task(candidate);
      auto const until = ctx.busy_until(other.id);
      if (!running.abortable || plan_.suits_cores(types_.type_of(ctx, candidate, running)) ||
          (victim &&
           (running.priority > priority || (running.priority == priority && until <= end)))) {
        continue;
      }
      victim = candidate;
      core = other.id;
      priority = running.priority;
      end = until;
    }
    if (auto const entry = victim ? queues_.entry_of(type, task) : std::nullopt) {
      promised_.push_back({core, type, *entry});
      return victim;
    }
    return no_task;
  }

private:
  struct Promise {
    WorkerId core;
    std::size_t type;
    detail::AffinityQueues::Entry entry;
  };

  [[nodiscard]] detail::AffinityPlan plan_now() const {
    return {types_.all(), types_.workers(), config_.score, config_.view};
  }

  /// Returns false if there is no memory for that now.
  [[nodiscard]] bool update_plan() try {
    if (types_.take_change()) {
      plan_ = plan_now();
    }
    return true;
  } catch (std::bad_alloc const&) {

    types_.note_change();
    return false;
  }

  /// From the constraint.
  [[nodiscard]] bool is_excepted(std::size_t type) {
    using enum PriorityConstraint;
    return (config_.constraint != all && plan_.suits_cores(type)) ||
           (config_.constraint == except_suited_to_cores_or_less && plan_.suits_less(type));
  }

  using Promises = std::vector<Promise>;

  /// The first promise to this worker from there on.
  [[nodiscard]] Promises::iterator promised_to(WorkerId worker, Promises::iterator from) {
    return std::find_if(
        from, promised_.end(), [&](Promise const& made) { return made.core == worker; });
  }

  /// What a core was stopped for, unless another has taken it.
  template <context Ctx>
  [[nodiscard]] TaskId take_promised(Ctx const& ctx, WorkerId worker) {
    auto const found = promised_to(worker, promised_.begin());
    if (found == promised_.end()) {
      return no_task;
    }
    auto const [core, type, entry] = *found;
    promised_.erase(found);
    return ctx.can_run(entry.task, worker) && queues_.erase(type, entry) ? entry.task : no_task;
  }

  Config config_;
  detail::AffinityTypes types_;
  detail::AffinityPlan plan_;
  detail::AffinityQueues queues_;
  Promises promised_;
};

/// One of the forms as a type of its own, which has no hooks but those it needs.
template <HeteroPrioOptions Options>
class HeteroPrioTypes : private HeteroPrioForms {
public:
  using HeteroPrioForms::peek;
  using HeteroPrioForms::pop;
  using HeteroPrioForms::prepare;
  using HeteroPrioForms::priority_scope;
  using HeteroPrioForms::push;
  using HeteroPrioForms::threading;

  explicit HeteroPrioTypes(std::span<WorkerInfo const> workers)
      : HeteroPrioForms(workers, Options) {}

  template <context Ctx>
    requires(Options.spoliation)
  TaskId reconsider(Ctx const& ctx, WorkerId worker) {
    return HeteroPrioForms::reconsider(ctx, worker);
  }

  template <context Ctx>
    requires(Options.preemption)
  TaskId preempt(Ctx const& ctx, TaskId task) {
    return HeteroPrioForms::preempt(ctx, task);
  }
};

} // namespace hetsched::policies
