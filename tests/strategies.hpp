// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that look at data and times, chosen when the program runs: one type for all, so that
// what takes long to compile is not compiled for each.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

/// The one whose number was last chosen. The engine's lock is around all hooks.
class ChosenStrategy {
public:
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;
  static inline std::size_t chosen = 0;

  explicit ChosenStrategy(std::span<hetsched::WorkerInfo const> workers) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (void)((K == chosen && (make<K + 1>(workers), true)) || ...);
    }(std::make_index_sequence<count>{});
  }

  template <class Ctx>
  hetsched::Wake push(Ctx const& ctx, hetsched::TaskId task, hetsched::WorkerId worker) {
    return visit([&](auto& its) { return its.push(ctx, task, worker); }, hetsched::Wake::none());
  }

  template <class Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<hetsched::TaskId const> tasks,
                      hetsched::WorkerId worker,
                      std::span<hetsched::Wake> wakes) {
    visit(
        [&]<class S>(S& its) {
          if constexpr (hetsched::has_push_activated_each<S, Ctx>) {
            its.push_activated(ctx, tasks, worker, wakes);
          } else {
            for (std::size_t k = 0; k < tasks.size(); ++k) {
              wakes[k] = its.push(ctx, tasks[k], worker);
            }
          }
          return true;
        },
        false);
  }

  /// And steals: the engine is not to rely on it, as some do not.
  template <class Ctx>
  hetsched::TaskId pop(Ctx const& ctx, hetsched::WorkerId worker) {
    return visit(
        [&]<class S>(S& its) -> hetsched::TaskId {
          auto const task = its.pop(ctx, worker);
          if constexpr (hetsched::has_steal<S, Ctx>) {
            return task ? task : its.steal(ctx, worker);
          } else {
            return task;
          }
        },
        hetsched::no_task);
  }

  template <class Ctx>
  std::size_t peek(Ctx const& ctx, hetsched::WorkerId worker, std::span<hetsched::TaskId> next) {
    return visit(
        [&]<class S>(S& its) -> std::size_t {
          if constexpr (hetsched::has_peek<S, Ctx>) {
            return its.peek(ctx, worker, next);
          } else {
            return 0;
          }
        },
        std::size_t{0});
  }

  template <class Ctx>
  void epilogue(Ctx const& ctx,
                hetsched::TaskId task,
                hetsched::WorkerId worker,
                hetsched::Duration time) {
    visit(
        [&]<class S>(S& its) {
          if constexpr (hetsched::has_epilogue<S, Ctx>) {
            its.epilogue(ctx, task, worker, time);
          }
          return true;
        },
        false);
  }

private:
  using Variant =
      std::variant<std::monostate,
                   hetsched::policies::DataAware<>,
                   hetsched::policies::LocalityAware<>,
                   hetsched::policies::Heft<>,
                   hetsched::policies::Heft<hetsched::policies::PriorityHeap>,
                   hetsched::policies::Dmda<>,
                   hetsched::policies::Dmdar,
                   hetsched::policies::Dmdas,
                   hetsched::policies::SciotoSingle,
                   hetsched::policies::SciotoDouble<>,
                   hetsched::policies::WorkStealing<hetsched::policies::Fifo,
                                                    hetsched::policies::MostLoadedVictim>>;

  template <std::size_t K>
  void make(std::span<hetsched::WorkerInfo const> workers) {
    if constexpr (std::is_constructible_v<std::variant_alternative_t<K, Variant>,
                                          std::span<hetsched::WorkerInfo const>>) {
      scheduler_.emplace<K>(workers);
    } else {
      scheduler_.emplace<K>();
    }
  }

  template <class F, class R>
  R visit(F const& f, R otherwise) {
    return std::visit(
        [&]<class S>(S& its) -> R {
          if constexpr (std::is_same_v<S, std::monostate>) {
            return otherwise;
          } else {
            return f(its);
          }
        },
        scheduler_);
  }

  Variant scheduler_;

public:
  static constexpr std::size_t count = std::variant_size_v<Variant> - 1;
};

/// Knows most tasks' times, by what they look like, and transfers'; all of it invented.
struct InventedTimes {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hetsched::Prediction> predict(hetsched::TaskView const& task,
                                                            hetsched::Arch arch) const {
    auto const dice = (task.footprint() + arch.index) * 0x9e3779b97f4a7c15U >> 40U;
    return dice % 8 == 0 ? std::nullopt
                         : std::optional(hetsched::Prediction{
                               {static_cast<std::int64_t>(1000 + dice % 30000)}, {}, 1});
  }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}

  [[nodiscard]] hetsched::Duration
  transfer(std::size_t bytes, hetsched::NodeId, hetsched::NodeId) const {
    return {static_cast<std::int64_t>(500 + bytes / 8)};
  }
};
