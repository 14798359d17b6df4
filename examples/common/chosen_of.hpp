// SPDX-License-Identifier: MIT
#pragma once
// Schedulers chosen when the program runs. One type stands for all, so code that takes long to
// compile is compiled once.

#include <hetsched/concepts/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace example {

namespace hs = hetsched;

/// The one of `Policies` whose number was chosen last. The engine holds its lock around all hooks,
/// even if the policy does not need that. The engine does not know the policy's priority scope.
template <class... Policies>
class ChosenOf {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  static constexpr std::size_t count = sizeof...(Policies);
  static inline std::size_t chosen = 0; // the number for objects made from now on

  explicit ChosenOf(std::span<hs::WorkerInfo const> workers) { become(chosen, workers); }

  /// Makes it another policy, or the same one new. It must have no task.
  void become(std::size_t number, std::span<hs::WorkerInfo const> workers) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (void)((K == number && (make<K + 1>(workers), true)) || ...);
    }(std::make_index_sequence<count>{});
  }

  template <class Ctx>
  hs::Wake push(Ctx const& ctx, hs::TaskId task, hs::WorkerId worker) {
    static_assert((!hs::has_prologue<Policies, Ctx> && ...), "that hook is not passed on yet");
    return visit([&](auto& scheduler) { return scheduler.push(ctx, task, worker); },
                 hs::Wake::none());
  }

  template <class Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<hs::TaskId const> tasks,
                      hs::WorkerId worker,
                      std::span<hs::Wake> wakes) {
    visit(
        [&]<class S>(S& scheduler) {
          if constexpr (hs::has_push_activated_each<S, Ctx>) {
            scheduler.push_activated(ctx, tasks, worker, wakes);
          } else if constexpr (hs::has_push_activated<S, Ctx>) {
            std::fill(wakes.begin(), wakes.end(), scheduler.push_activated(ctx, tasks, worker));
          } else {
            for (std::size_t k = 0; k < tasks.size(); ++k) {
              wakes[k] = scheduler.push(ctx, tasks[k], worker);
            }
          }
          return true;
        },
        false);
  }

  /// Steals, too. There is no steal hook, because some of the policies have none.
  template <class Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker) {
    return visit(
        [&]<class S>(S& scheduler) -> hs::TaskId {
          auto const task = scheduler.pop(ctx, worker);
          if constexpr (hs::has_steal<S, Ctx>) {
            return task ? task : scheduler.steal(ctx, worker);
          } else {
            return task;
          }
        },
        hs::no_task);
  }

  template <class Ctx>
  std::size_t peek(Ctx const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next) {
    return visit(
        [&]<class S>(S& scheduler) -> std::size_t {
          if constexpr (hs::has_peek<S, Ctx>) {
            return scheduler.peek(ctx, worker, next);
          } else {
            return 0;
          }
        },
        std::size_t{0});
  }

  /// Of a graph that is run as a whole.
  template <class Ctx>
  void
  prepare(Ctx const& ctx, hs::TaskGraph const& graph, std::span<hs::ExpectedTimes const> expected) {
    visit(
        [&]<class S>(S& scheduler) {
          if constexpr (hs::has_prepare_expecting<S, Ctx>) {
            scheduler.prepare(ctx, graph, expected);
          } else if constexpr (hs::has_prepare<S, Ctx>) {
            scheduler.prepare(ctx, graph);
          }
          return true;
        },
        false);
  }

  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    return visit(
        [&]<class S>(S& scheduler) -> hs::TaskId {
          if constexpr (hs::has_reconsider<S, Ctx>) {
            return scheduler.reconsider(ctx, worker);
          } else {
            return hs::no_task;
          }
        },
        hs::no_task);
  }

  template <class Ctx>
  void epilogue(Ctx const& ctx, hs::TaskId task, hs::WorkerId worker, hs::Duration time) {
    visit(
        [&]<class S>(S& scheduler) {
          if constexpr (hs::has_epilogue<S, Ctx>) {
            scheduler.epilogue(ctx, task, worker, time);
          }
          return true;
        },
        false);
  }

private:
  using Variant = std::variant<std::monostate, Policies...>;

  template <std::size_t K>
  void make(std::span<hs::WorkerInfo const> workers) {
    if constexpr (std::is_constructible_v<std::variant_alternative_t<K, Variant>,
                                          std::span<hs::WorkerInfo const>>) {
      scheduler_.template emplace<K>(workers);
    } else {
      scheduler_.template emplace<K>();
    }
  }

  template <class F, class R>
  R visit(F const& f, R otherwise) {
    return std::visit(
        [&]<class S>(S& scheduler) -> R {
          if constexpr (std::is_same_v<S, std::monostate>) {
            return otherwise;
          } else {
            return f(scheduler);
          }
        },
        scheduler_);
  }

  Variant scheduler_;
};

} // namespace example
