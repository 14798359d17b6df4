// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on global arrays, which move between ranks.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/global_array.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/collections/task_adder.hpp>
#include <hetsched/collections/task_distribution.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/collections/collection_state.hpp>
#include <hetsched/detail/collections/collection_type.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace hetsched {

/// The task types of a TaskCollection.
template <task_type... Tasks>
struct TaskTypes {};

namespace detail {

/// Where the distribution says.
struct AnyRank {};

template <class T>
struct WritesPatch {
  static constexpr bool ok = [] {
    for (auto const& patch : PackedArguments<T>::patches) {
      if (patch.use != PatchUse::get) {
        return true;
      }
    }
    return false;
  }();
  static_assert(ok, "hetsched: near_output needs a task that writes a patch (W or Acc)");
};

template <class T, class Place, class... Args>
void add_packed(CollectionState& state,
                std::uint16_t type,
                [[maybe_unused]] Place place,
                Args const&... arguments) {
  PackedTask task(state.task_bytes());
  task.set_head({.type = type, .archs = packed_archs<T>()});
  PackedArguments<T>::pack(task.arguments(), arguments...);
  auto& queue = state.queue();
  if constexpr (std::is_same_v<Place, AnyRank>) {
    queue.add_unplaced(std::move(task));
  } else if constexpr (std::is_same_v<Place, NearRank>) {
    queue.add(std::move(task), place.rank);
  } else if constexpr (std::is_same_v<Place, NearOutput>) {
    (void)WritesPatch<T>::ok;
    auto const rank = queue.output_of(task);
    queue.add(std::move(task), rank);
  } else {
    queue.add(std::move(task), state.space().rank());
  }
}

} // namespace detail

template <task_type T, class Place>
  requires detail::is_place<Place>
auto TaskAdder::add(Place place) const {
  return [state = state_, place]<class... Args>(Args const&... arguments) {
    auto const type = state->queue().number_of(&detail::type_key<T>, detail::type_name<T>());
    detail::add_packed<T>(*state, type, place, arguments...);
  };
}

template <class Types,
          class Rt = Runtime<>,
          class Steal = SingleEnded,
          class Distribution = AsAdded>
class TaskCollection;

/// Tasks without dependencies between them, on patches of global arrays, run by all ranks: each has
/// a queue, and steals from others when it has too few. A rank's tasks run on a Runtime, with that
/// runtime's scheduler, caches, devices and performance model. What a task reads (R) comes by
/// one-sided gets before it is run; what it overwrites (W) or adds to (Acc) goes to the arrays
/// afterwards.
///
///     struct Contract : hs::Task<3>::Signature<hs::R<hs::Patch<double>>, hs::R<hs::Patch<double>>,
///                                              hs::Acc<hs::Patch<double>>> {};
///     // TaskBodyCPU<Contract>, TaskBodyGPU<Contract> as for a Runtime, with TileView<double>
///
///     hs::Runtime<> rt;
///     hs::TaskCollection<hs::TaskTypes<Contract>, hs::Runtime<>, hs::GpuEnded<>> tasks(arrays,
///     rt); tasks.add<Contract>(hs::near_output)(a.tile(i, k), b.tile(k, j), c.tile(i, j));
///     tasks.process();
///
/// In one `process` no task reads what another one writes, and what is overwritten has one writer;
/// additions may meet. Bodies may add tasks to the same collection: see TaskAdder. Their by-value
/// arguments are copied as bytes.
///
/// Steal: SingleEnded, DoubleQueue, DoubleEnded, GpuEnded, CpuEnded, EitherEnd, or any policy with
/// a StealRule. Types, Steal and options are the same on all ranks; runtimes need not be.
///
/// Construction, `process` and destruction are collective. `add` may be called by any thread, also
/// before `process`. The arrays and the runtime outlive the collection. While it is processed,
/// nobody else uses the arrays or their transport.
///
/// Source: Arafat, Dinan, Krishnamoorthy, Balaji, Sadayappan, "Work Stealing for GPU-accelerated
/// Parallel Programs in a Global Address Space Framework", 2016 (Scioto-ACC), sec. 3 and 4.
template <task_type... Tasks, class Rt, class Steal, class Distribution>
class TaskCollection<TaskTypes<Tasks...>, Rt, Steal, Distribution> {
  static_assert(StealPolicy<Steal>,
                "hetsched: the steal policy of a TaskCollection needs a `static constexpr "
                "hetsched::StealRule rule`");
  static_assert(TaskDistribution<Distribution>,
                "hetsched: the distribution of a TaskCollection needs a `static void "
                "place(std::span<hetsched::TaskToPlace>, int ranks)`");
  static_assert(sizeof...(Tasks) != 0, "hetsched: a TaskCollection needs a task type");

public:
  /// Throws, on all ranks, Error: cannot_run if a rank has no worker for one of the types,
  /// bad_config for options that cannot be, rank_failed.
  TaskCollection(GlobalArrays& arrays, Rt& runtime, CollectionOptions const& options = {})
      : state_(arrays.space(), runtime, &runtime, types, Steal::rule, options) {}

  // ---- tasks ----

  /// `add<T>(place)(arguments...)`: a Patch for each data parameter, values for the others, nothing
  /// for a TaskAdder. place: near(rank), near_output, or none for what the distribution says.
  /// Throws Error: bad_call (no such rank), bad_data (patches of other arrays).
  template <task_type T, class Place = NearHere>
    requires detail::is_place<Place>
  [[nodiscard]] auto add(Place place = {}) {
    static_assert((std::is_same_v<T, Tasks> || ...),
                  "hetsched: this task type is none of the collection's TaskTypes");
    using Where =
        std::conditional_t<distributes && std::is_same_v<Place, NearHere>, detail::AnyRank, Place>;
    Where where;
    if constexpr (std::is_same_v<Where, Place>) {
      where = place;
    }
    return [this, where]<class... Args>(Args const&... arguments) {
      detail::add_packed<T>(state_, number_of<T>(), where, arguments...);
    };
  }

  /// What tasks of type T are expected to take: f(arguments...), with what was given to `add`,
  /// answers EstimatedTimes. Else the runtime's performance model says it, if it knows; else tasks
  /// with both bodies count as equally good on both. The queue is ordered by it. `f` is called by
  /// any thread, one at a time, for each task that comes into this rank's queue. Not while the
  /// collection is processed; on each rank by itself.
  template <task_type T, class F>
  void estimate(F f) {
    state_.queue().set_estimate(number_of<T>(), [f = std::move(f)](std::byte const* arguments) {
      return detail::PackedArguments<T>::call(f, arguments);
    });
  }

  /// Runs all tasks that were added, and those that they add, on all ranks. When it returns, all
  /// are complete and the arrays hold what they wrote. Rethrows on each rank the first exception of
  /// a task there; throws on others Error(cancelled) with the rank, and Error(rank_failed) if a
  /// rank is gone. What a task that failed should have written is not written; all others run. A
  /// body may not call it.
  void process() { state_.process(distributes ? &Distribution::place : nullptr); }

  [[nodiscard]] CollectionStats stats() const { return state_.stats(); }

private:
  static constexpr bool distributes = !std::is_same_v<Distribution, AsAdded>;

  template <class T>
  [[nodiscard]] static constexpr std::uint16_t number_of() noexcept {
    std::uint16_t number = 0;
    (void)((std::is_same_v<T, Tasks> || (++number, false)) || ...);
    return number;
  }

  static constexpr std::array<detail::CollectionType const*, sizeof...(Tasks)> types{
      &detail::collection_type<Rt, Tasks>...};

  detail::CollectionState state_;
};

} // namespace hetsched
