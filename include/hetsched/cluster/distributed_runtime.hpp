// SPDX-License-Identifier: MIT
#pragma once
// One program on several ranks: each makes the same calls, and each runs its part of the tasks.

#include <hetsched/cluster/distributed_data.hpp>
#include <hetsched/cluster/placement.hpp>
#include <hetsched/fwd.hpp>

#include <array>
#include <exception>
#include <numeric>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

/// Runs tasks on several ranks: processes of an MPI program, or, with LoopbackTransport, threads of
/// one. Each rank makes the same registrations, spawns and syncs in the same order, and has a
/// `Runtime<Scheduler, Cache, PerfModel>` that runs the tasks which `Placement` gives to the rank.
/// Data have a home rank. What a task reads comes from there, once for each value and rank, and
/// what it writes goes back. The result is that of the same program on one rank, bit for bit, but
/// for floating-point sums by CW, whose order is not fixed.
///
/// One thread of each rank calls it. Idle workers look for messages, busy ones between tasks. One
/// more thread sleeps, and once a second says that the rank is alive. The destructor waits for all
/// ranks.
///
/// Ranks that do not make the same calls are told so, with the first call in which they differ, by
/// Error(bad_call) from the next call that waits; a rank that is gone is named by
/// Error(rank_failed). All later calls throw the same.
///
/// Source: superscalar task insertion on every rank, owner computes: StarPU-MPI (Agullo et al.,
/// "Achieving High Performance on Supercomputers with a Sequential Task-based Programming Model",
/// 2017). Comparing hashes of the calls: Legion's control replication checks.
template <class Scheduler, class Cache, class PerfModel, class PlacementPolicy, class T>
  requires Placement<PlacementPolicy> && Transport<T>
class DistributedRuntime : public DistributedData<Runtime<Scheduler, Cache, PerfModel>, T> {
  using Base = DistributedData<Runtime<Scheduler, Cache, PerfModel>, T>;

public:
  using Base::Base;
  using typename Base::Node;

  // ---- tasks ----

  /// As Runtime::spawn, with `on_rank(r)` as a further attribute; a negative r leaves it to the
  /// placement policy. Returns at once where it is no concern of this rank. Throws Error: bad_call
  /// (inside a body, no such rank), bad_data (empty handle), what is wrong with the ranks, and on
  /// the rank that runs the task what Runtime::spawn throws: then the task does not run, and its
  /// data keep their values.
  template <task_type Type, detail::cluster_attribute... A>
  [[nodiscard]] auto spawn(A const&... attributes) {
    auto rank = std::int32_t{-1};
    ((rank = std::max(rank, detail::rank_of_attribute(attributes))), ...);
    return [this, rank, attributes...]<class... Args>(Args&&... arguments) {
      this->template submit_task<Type>(rank,
                                       std::tuple(detail::local_attribute(attributes)...),
                                       std::forward<Args>(arguments)...);
    };
  }

  /// `spawn(attributes...)(lambda, read(h), ...)`: as Runtime::spawn of a lambda.
  template <detail::cluster_attribute A = detail::NoAttribute,
            detail::cluster_attribute B = detail::NoAttribute,
            detail::cluster_attribute C = detail::NoAttribute,
            detail::cluster_attribute D = detail::NoAttribute,
            detail::cluster_attribute E = detail::NoAttribute,
            detail::cluster_attribute F = detail::NoAttribute>
  [[nodiscard]] auto spawn(A const& a = {},
                           B const& b = {},
                           C const& c = {},
                           D const& d = {},
                           E const& e = {},
                           F const& f = {},
                           std::source_location where = std::source_location::current()) {
    auto rank = std::int32_t{-1};
    for (auto const asked : {detail::rank_of_attribute(a),
                             detail::rank_of_attribute(b),
                             detail::rank_of_attribute(c),
                             detail::rank_of_attribute(d),
                             detail::rank_of_attribute(e),
                             detail::rank_of_attribute(f)}) {
      rank = std::max(rank, asked);
    }
    auto const local = std::tuple(detail::local_attribute(a),
                                  detail::local_attribute(b),
                                  detail::local_attribute(c),
                                  detail::local_attribute(d),
                                  detail::local_attribute(e),
                                  detail::local_attribute(f));
    return [this, rank, local, where]<class Function, class... Args>(Function&& function,
                                                                     Args&&... arguments) {
      this->submit_lambda(
          rank, local, where, std::forward<Function>(function), std::forward<Args>(arguments)...);
    };
  }

private:
  using typename Base::ClusterDatum;
  using typename Base::ClusterUse;
  using typename Base::Uses;

  /// One item for each datum of a spawn: of so many parameters, or, with lists among them, of more.
  template <class Signature, class Item>
  using PerDatum = std::conditional_t<Signature::list_count == 0,
                                      std::array<Item, Signature::data_count>,
                                      std::vector<Item>>;

  template <class Items>
  [[gnu::always_inline]] static void size_to(Items& items, [[maybe_unused]] std::size_t count) {
    if constexpr (requires { items.resize(count); }) {
      items.resize(count);
    }
  }

  /// The data that are among the arguments of a spawn: those of parameters that are no lists, in
  /// order, then those of the lists.
  template <class Signature>
  struct SpawnData {
    PerDatum<Signature, ClusterDatum*> data;
    std::array<std::size_t, Signature::list_count> lengths = {};

    /// The parameter of the datum at a place.
    [[nodiscard, gnu::always_inline]] detail::ParameterInfo const&
    parameter(std::size_t place) const {
      auto k = place;
      if constexpr (Signature::list_count != 0) {
        if (place >= Signature::data_count) {
          auto left = place - Signature::data_count;
          for (k = Signature::data_count; left >= lengths[k - Signature::data_count]; ++k) {
            left -= lengths[k - Signature::data_count];
          }
        }
      }
      return Signature::parameters[k];
    }
  };

  template <class Signature, class... Args>
  [[gnu::always_inline]] static SpawnData<Signature> data_among(Args const&... arguments) {
    static_assert(
        (std::size_t{0} + ... + (detail::is_distributed<Args> ? 1 : 0)) == Signature::data_count &&
            (std::size_t{0} + ... + (detail::is_distributed_list<Args> ? 1 : 0)) ==
                Signature::list_count,
        "hetsched: a DistributedRuntime spawns on a DistributedHandle for each data parameter, and "
        "on a list of them for each Each");
    SpawnData<Signature> found;
    std::size_t k = 0;
    if constexpr (Signature::list_count != 0) {
      std::size_t list = 0;
      auto const measure = [&]<class A>(A const& argument) {
        if constexpr (detail::is_distributed_list<A>) {
          found.lengths[list++] = detail::handles_in(argument).size();
        }
      };
      (measure(arguments), ...);
      found.data.resize(std::accumulate(
          found.lengths.begin(), found.lengths.end(), std::size_t{Signature::data_count}));
    }
    auto const take = [&]<class A>(A const& argument) {
      if constexpr (detail::is_distributed_handle<A>) {
        found.data[k++] = &Base::datum_of(argument);
      } else if constexpr (detail::is_distributed<A>) {
        found.data[k++] = &Base::datum_of(argument.handle);
      }
    };
    (take(arguments), ...);
    if constexpr (Signature::list_count != 0) {
      auto const take_list = [&]<class A>(A const& argument) {
        if constexpr (detail::is_distributed_list<A>) {
          auto const& handles = detail::handles_in(argument);
          for (std::size_t i = 0; i < handles.size(); ++i) {
            found.data[k++] = &Base::datum_of(handles[i]);
          }
        }
      };
      (take_list(arguments), ...);
    }
    return found;
  }

  /// What every rank does for every spawn, so all of it is inlined. `spawn_local(argument_of)`
  /// spawns the task here, with what `argument_of(a)` makes of each argument.
  template <class Signature, class Attributes, class SpawnLocal>
  [[gnu::always_inline]] void submit(detail::CallName const& name,
                                     std::int32_t on,
                                     SpawnData<Signature> const& found,
                                     Attributes const& attributes,
                                     SpawnLocal&& spawn_local) {
    auto const& data = found.data;
    auto const count = data.size();
    PerDatum<Signature, std::uint32_t> numbers;
    size_to(numbers, count);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = data[i]->number;
    }
    if (on < 0) {
      PerDatum<Signature, PlacedDatum> placed;
      size_to(placed, count);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < count; ++i) {
        placed[i] = {data[i]->home, found.parameter(i).mode, data[i]->bytes()};
      }
      on = placement_.rank_of({name.text, placed, this->log().count(), this->ranks()});
    }
    this->check_rank("spawn", on);
    this->record(name, on, numbers);
    bool concerned = on == this->rank();
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      concerned =
          concerned || data[i]->home == this->rank() || data[i]->concerns(found.parameter(i).mode);
    }
    if (concerned) {
      this->template spawn_here<Signature>(
          on, found, attributes, std::forward<SpawnLocal>(spawn_local));
    }
  }

  /// A spawn that concerns this rank.
  template <class Signature, class Attributes, class SpawnLocal>
  [[gnu::noinline]] void spawn_here(std::int32_t on,
                                    SpawnData<Signature> const& found,
                                    Attributes const& attributes,
                                    SpawnLocal&& spawn_local) {
    this->give_up_copies();
    auto const& data = found.data;
    auto const count = data.size();
    PerDatum<Signature, ClusterUse> uses;
    size_to(uses, count);
    for (std::size_t i = 0; i < count; ++i) {
      auto const& parameter = found.parameter(i);
      data[i]->check_usable("spawn");
      uses[i] = {data[i], parameter.mode, parameter.reduction};
      if (parameter.mode == AccessMode::reduce) {
        this->note_reduction();
      }
    }
    auto const urgency = std::apply(
        [](auto const&... all) {
          return static_cast<detail::Attributes const&>(detail::attributes_of(all...)).priority;
        },
        attributes);
    PerDatum<Signature, detail::DataRecord*> records{};
    size_to(records, count);
    Uses const transfers{{*this, urgency}, this->rank()};
    transfers.before(std::span(uses), records, on);
    std::exception_ptr refused;
    if (on == this->rank()) {
      try {
        std::size_t next = 0;
        [[maybe_unused]] std::size_t list = 0;
        [[maybe_unused]] std::size_t next_in_lists = Signature::data_count;
        [[maybe_unused]] auto const next_list = [&] {
          if constexpr (Signature::list_count != 0) {
            auto const length = found.lengths[list++];
            return std::span<detail::DataRecord* const>(records).subspan(
                std::exchange(next_in_lists, next_in_lists + length), length);
          }
        };
        spawn_local([&]<class A>(A&& argument) -> decltype(auto) {
          using Argument = std::remove_cvref_t<A>;
          if constexpr (detail::is_distributed_handle<Argument>) {
            return detail::handle_of<typename Argument::Data>(*records[next++]);
          } else if constexpr (detail::is_distributed<Argument>) {
            return detail::LocalAccess<Argument>(*records[next++]);
          } else if constexpr (detail::distributed_list<Argument>) {
            return detail::local_list<Argument>(next_list());
          } else if constexpr (detail::is_distributed_list<Argument>) {
            return detail::LocalAccess<Argument>(next_list());
          } else {
            return std::forward<A>(argument);
          }
        });
      } catch (...) {
        refused = std::current_exception();
      }
    }
    transfers.after(uses, on);
    if (refused) {
      std::rethrow_exception(refused); // other ranks got the values as they were
    }
  }

  /// Calls `spawn(arguments...)` with what `argument_of` makes of each, from left to right.
  template <class ArgumentOf, class Spawn, class... Args>
  static void spawn_with(ArgumentOf&& argument_of, Spawn&& spawn, Args&&... arguments) {
    std::tuple<decltype(argument_of(std::forward<Args>(arguments)))...> made{
        argument_of(std::forward<Args>(arguments))...};
    std::apply([&](auto&&... all) { spawn(std::forward<decltype(all)>(all)...); }, std::move(made));
  }

  template <class Type, class Attributes, class... Args>
  [[gnu::always_inline]] void
  submit_task(std::int32_t on, Attributes const& attributes, Args&&... arguments) {
    using Signature = detail::SignatureOf<Type>;
    static constexpr detail::CallName name{detail::task_table<Node, Type>.name};
    this->check_outside("spawn");
    auto const data = data_among<Signature>(arguments...);
    this->template submit<Signature>(name, on, data, attributes, [&](auto&& argument_of) {
      std::apply(
          [&](auto const&... all) {
            spawn_with(argument_of,
                       this->node().template spawn<Type>(all...),
                       std::forward<Args>(arguments)...);
          },
          attributes);
    });
  }

  template <class F, class Attributes, class... Args>
  void submit_lambda(std::int32_t on,
                     Attributes const& attributes,
                     std::source_location where,
                     F&& function,
                     Args&&... arguments) {
    using Type =
        detail::LambdaTask<std::decay_t<F>, detail::DeclaredOf<std::remove_cvref_t<Args>>...>;
    using Signature = detail::SignatureOf<Type>;
    this->check_outside("spawn");
    auto const data = data_among<Signature>(arguments...);
    auto const label = std::apply(
        [](auto const&... all) {
          return static_cast<detail::Attributes const&>(detail::attributes_of(all...)).label;
        },
        attributes);
    auto const& type = detail::lambda_types<Type, detail::task_table<Node, Type>>.at(label, where);
    auto const& name = this->name_of(type);
    this->template submit<Signature>(name, on, data, attributes, [&](auto&& argument_of) {
      std::apply(
          [&](auto const&... all) {
            spawn_with(argument_of,
                       this->node().spawn(all..., where),
                       std::forward<F>(function),
                       std::forward<Args>(arguments)...);
          },
          attributes);
    });
  }

  [[no_unique_address]] PlacementPolicy placement_;
};

/// `hs::DistributedRuntime runtime(transport);` has the policies of `Runtime<>`.
template <class T>
DistributedRuntime(T&, Config const& = {}, Duration = {})
    -> DistributedRuntime<policies::WorkStealing<>,
                          policies::Lru,
                          policies::NoModel,
                          OwnerComputes,
                          T>;

} // namespace hetsched
