// SPDX-License-Identifier: MIT
#pragma once
// Queues by affinity to a class of worker, then by criticality, from which the nearest is taken.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/at_node.hpp>
#include <hetsched/detail/policies/scored_task.hpp>
#include <hetsched/detail/policies/times_by_class.hpp>
#include <hetsched/detail/policies/wake_idle.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace hetsched::policies {

/// Decides: a ready task has a gain for each class that can run it, from 1 (this class is best by
///   most) over 1/2 to 0. Of the first ten tasks by gain, then criticality, whose gains are within
///   0.8 of the first one's, a worker takes the one with the greatest local score: the bytes that
///   it reads and its node has, and the squares of those that it writes. A class that is not the
///   task's best takes it only if the best has more work waiting for each of its workers than this
///   one would take, or can run it nowhere now; else this memory node forgets the task, and the
///   worker tries the next.
/// Source: MultiPrio (Tayeb, Bramas, Faverge, Guermouche 2024), as in StarPU 1.4. Left open there,
///   so ours: work that runs does not count as waiting; criticality without a graph is the task's
///   priority, with one its normalised out-degree (of its successors, the sum of one over their
///   predecessors).
/// Cost: push O(W + log Q), pop O(log Q + 10 data); one lock.
/// Needs: context: predicted times, valid copies; the graph, from Runtime::run.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: looks at no transfer times. Tasks of unknown times go to whoever is free.
class MultiPrio {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit MultiPrio(std::span<WorkerInfo const> workers) {
    for (auto const& info : workers) {
      ++classes_[info.arch.index].workers;
    }
  }

  template <context Ctx>
  void prepare(Ctx const& /*ctx*/, TaskGraph const& graph) {
    out_degrees_.assign(graph.size(), 0);
    for (std::size_t v = 0; v < graph.size(); ++v) {
      for (auto const after : graph.successors(v)) {
        out_degrees_[v] += 1.0 / graph.predecessor_count(after);
      }
    }
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const view = ctx.task(task);
    Scored scored{task, ++pushed_, criticality(view)};
    bool const known = detail::for_each_class(
        ctx, task, [&](Arch arch, Duration time) { scored.gains.add(arch, time.ns); });
    if (!known) {
      undecided_.push(task, view.priority);
      return Wake::any();
    }
    scored.gains.compare(greatest_ns_);
    insert(scored);
    return detail::wake_idle(
        ctx, task, [&](WorkerInfo const& info) { return info.arch == scored.gains.best; });
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const& info = ctx.workers()[worker.index()];
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    auto const* const found = find(ctx, info, no_peek, accept, [&](Scored const& scored) {
      scored.forgotten |= detail::node_bit(info);
    });
    if (found == nullptr) {
      return undecided_.pop(accept);
    }
    auto const task = found->task;
    remove(*found);
    return task;
  }

  /// What the class is not best for depends on the work that waits: so it comes last.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const& info = ctx.workers()[worker.index()];
    std::size_t count = 0;
    auto const accept = [&](TaskId task) {
      auto const told = next.first(count);
      return ctx.can_run(task, worker) && std::find(told.begin(), told.end(), task) == told.end();
    };
    bool goes_on = true;
    while (goes_on && count < next.size()) {
      auto const peek = ++peeks_;
      auto const* const found = find(ctx, info, peek, accept, [&](Scored const& scored) {
        scored.passed = peek;
        goes_on = false;
      });
      bool const suited = found != nullptr && found->gains.best == info.arch;
      if (found != nullptr && (suited || count == 0)) {
        next[count++] = found->task;
      }
      goes_on = goes_on && suited;
    }
    return count != 0 ? count : undecided_.peek(next, accept);
  }

private:
  using Scored = detail::ScoredTask;
  using Entry = detail::ScoredEntry;

  static constexpr std::uint64_t no_peek = ~std::uint64_t{0};
  static constexpr int most_compared = 10;
  static constexpr double near_gain = 0.8;

  struct Class {
    std::int64_t workers = 0;
    std::int64_t work_ns = 0; // of the tasks that wait and for which this class is best
    std::set<Entry> ready;
  };

  [[nodiscard]] double criticality(TaskView const& view) const noexcept {
    auto const node = static_cast<std::size_t>(view.graph_node);
    return view.graph_node >= 0 && node < out_degrees_.size() ? out_degrees_[node] : view.priority;
  }

  void insert(Scored const& scored) {
    auto const& kept = scored_.emplace(scored.number, scored).first->second;
    classes_[kept.gains.best.index].work_ns += kept.gains.best_time();
    try {
      kept.gains.for_each(
          [&](std::size_t arch) { classes_[arch].ready.insert(Entry(kept, arch)); });
    } catch (...) {
      remove(kept);
      throw;
    }
  }

  void remove(Scored const& scored) noexcept {
    classes_[scored.gains.best.index].work_ns -= scored.gains.best_time();
    scored.gains.for_each(
        [&](std::size_t arch) { classes_[arch].ready.erase(Entry(scored, arch)); });
    scored_.erase(scored.number);
  }

  /// What the worker would take; null: nothing. `refuse` is told what it would not.
  template <context Ctx, class Accept, class Refuse>
  Scored const* find(Ctx const& ctx,
                     WorkerInfo const& info,
                     std::uint64_t peek,
                     Accept const& accept,
                     Refuse const& refuse) const {
    while (auto const* const found = nearest(ctx, info, peek, accept)) {
      if (may_take(*found, info.arch)) {
        return found;
      }
      refuse(*found);
    }
    // What no worker of the best class can run now.
    auto const workers = ctx.workers();
    for (auto const& [gain, scored] : classes_[info.arch.index].ready) {
      auto const best_can = [&ctx, one = scored](WorkerInfo const& other) {
        return other.arch == one->gains.best && ctx.can_run(one->task, other.id);
      };
      if (accept(scored->task) && std::none_of(workers.begin(), workers.end(), best_can)) {
        return scored;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool may_take(Scored const& scored, Arch arch) const noexcept {
    auto const& best = classes_[scored.gains.best.index];
    return arch == scored.gains.best ||
           best.work_ns > best.workers * scored.gains.times[arch.index];
  }

  /// Among the first ones, the one with most on the worker's node.
  template <context Ctx, class Accept>
  Scored const*
  nearest(Ctx const& ctx, WorkerInfo const& info, std::uint64_t peek, Accept const& accept) const {
    Scored const* best = nullptr;
    double best_score = 0;
    double first_gain = 0;
    int compared = 0;
    for (auto const& entry : classes_[info.arch.index].ready) {
      auto const& scored = *entry.scored;
      if (compared == most_compared || (compared != 0 && entry.gain < first_gain - near_gain)) {
        break;
      }
      if ((scored.forgotten & detail::node_bit(info)) != 0 || scored.passed == peek ||
          !accept(scored.task)) {
        continue;
      }
      first_gain = compared++ == 0 ? entry.gain : first_gain;
      auto const local = detail::local_score(ctx, scored.task, info.node);
      if (best == nullptr || local > best_score) {
        best = &scored;
        best_score = local;
      }
    }
    return best;
  }

  std::array<Class, max_archs> classes_;
  std::array<std::int64_t, max_archs> greatest_ns_{}; // see Gains::compare
  std::map<std::uint64_t, Scored> scored_;
  std::vector<double> out_degrees_; // of the graph that runs
  Fifo undecided_;
  std::uint64_t pushed_ = 0;
  std::uint64_t peeks_ = 0;
};

} // namespace hetsched::policies
